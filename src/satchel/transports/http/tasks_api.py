"""The tools of `tasks` as plain HTTP, without MCP: `POST /mcp/tool/{name}` with the arguments as body."""

import time
from functools import partial
from typing import Any

from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from satchel.contracts.runner import Runner
from satchel.contracts.tasks import COMPLAINTS, error
from satchel.errors import Abandoned
from satchel.log import log_call
from satchel.model import Scope
from satchel.protocol.codec import BadJson, TooManyElements, decode
from satchel.transports.http import messages
from satchel.transports.http.endpoint import Calls
from satchel.transports.http.limits import LARGE_MESSAGE
from satchel.transports.http.messages import Refusal
from satchel.transports.http.metrics import Metrics
from satchel.work import Work

PREFIX = "/mcp/tool/"

_STATUSES = {"VALIDATION_ERROR": 400, "NOT_FOUND": 404}


class TasksApi(Struct, frozen=True):
    """Serves the tools of the contract `tasks`, each at its own path."""

    runner: Runner
    calls: Calls
    metrics: Metrics

    async def handle(self, request: Request) -> Response:
        """Run one call."""
        started = time.perf_counter()
        callers = self.calls.callers
        scope = callers.fill_in(await messages.identify(request, callers))
        name = messages.path_of(request.scope).removeprefix(PREFIX)
        tool = self.runner.tools.get(name)
        if tool is None:
            log_call(name, "UnknownTool", started)
            raise Refusal(404, "tool", f"Unknown tool: {name}")
        if scope.is_read_only and tool.writes:
            raise messages.deny(callers.refuse_write(), tools=[name])
        work = self.calls.begin(scope)
        self.calls.rate.count(work.user, 1)
        raw = await _read_arguments(request)
        try:
            act = partial(self._call, request, name, scope, raw, work)
            return await self.calls.run(request, work, act, writes=tool.writes, is_large=len(raw) > LARGE_MESSAGE)
        except Abandoned:
            raise ClientDisconnect from None

    def _call(self, request: Request, name: str, scope: Scope, raw: bytearray, work: Work) -> Response:
        started = time.perf_counter()
        messages.account_of(request).check()
        messages.check_token(request, self.calls.callers)
        try:
            arguments: Any = decode(raw)
        except TooManyElements as bad:
            return _refuse_body(name, started, f"The body has too many elements: {bad}", "maxItems")
        except BadJson:
            return _refuse_body(name, started, "The body is not JSON", "format")
        if not isinstance(arguments, dict):
            return _refuse_body(name, started, COMPLAINTS["type"].format(field="body", limit="object"), "type")
        result = self.runner.run_tool(name, arguments, scope, lambda *_: None, None, work)
        seconds = time.perf_counter() - started
        self.metrics.called("tasks", "door", name, seconds=seconds, is_error=result["isError"])
        body = bytes(result["structuredContent"])
        return messages.json_response(_STATUSES.get(decode(body)["code"], 500) if result["isError"] else 200, body)


async def _read_arguments(request: Request) -> bytearray:
    """Read a body. A missing one means `{}`, whatever its type; in chunks, only its end shows that it is empty."""
    head = messages.head_of(request)
    is_chunked = "transfer-encoding" in head.last
    raw = bytearray()
    if not is_chunked and head.last.get("content-length", "0") != "0":
        messages.check_body(head)
        raw = await messages.read_body(request)
    elif is_chunked and (raw := await messages.read_body(request)):
        messages.check_body(head)
    return raw or bytearray(b"{}")


def refuse(refusal: Refusal) -> messages.BytesResponse:
    """Return a refusal in the envelope of this contract, with a status of at most 500."""
    if refusal.status == 404:
        body = error("NOT_FOUND", refusal.message)
    elif refusal.status < 500:
        body = error("VALIDATION_ERROR", refusal.message, {"field": refusal.field})
    else:
        # A request is refused because of the database only when its token cannot be looked up.
        code = "DATABASE_ERROR" if refusal.field == "authorization" else "INTERNAL_ERROR"
        body = error(code, refusal.message)
    return messages.json_response(min(refusal.status, 500), body, refusal.headers)


def _refuse_body(name: str, started: float, message: str, constraint: str) -> Response:
    log_call(name, "InvalidParams", started)
    return messages.json_response(400, error("VALIDATION_ERROR", message, {"field": "body", "constraint": constraint}))
