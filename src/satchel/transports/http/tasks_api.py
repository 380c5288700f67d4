"""The tools of `tasks` as plain HTTP, without MCP: `POST /mcp/tool/{name}` with the arguments as body."""

import time
from typing import Any

from msgspec import Struct

from satchel.auth.callers import Callers
from satchel.contracts.runner import Runner
from satchel.contracts.tasks import COMPLAINTS, error
from satchel.errors import Abandoned
from satchel.log import log_call
from satchel.model import Scope
from satchel.protocol.codec import BadJson, TooManyElements, decode
from satchel.transports.http.calls import Calls
from satchel.transports.http.guard import check_body, enter
from satchel.transports.http.messages import Disconnected, Refusal, Request, Response, json_response
from satchel.transports.http.metrics import Metrics
from satchel.work import Work

PREFIX = "/mcp/tool/"

_STATUSES = {"VALIDATION_ERROR": 400, "NOT_FOUND": 404}


class TasksApi(Struct, frozen=True):
    """Serves the tools of one contract, `tasks`, one path each."""

    runner: Runner
    callers: Callers
    calls: Calls
    metrics: Metrics

    async def handle(self, request: Request) -> Response:
        """Carry out one call."""
        started = time.perf_counter()
        scope = await enter(request, self.callers)
        name = request.path.removeprefix(PREFIX)
        tool = self.runner.tools.get(name)
        if tool is None:
            log_call(name, "UnknownTool", started)
            raise Refusal(404, "tool", f"Unknown tool: {name}")
        if scope.is_read_only and tool.writes:
            raise self.callers.refuse_write([name])
        work = self.calls.begin(scope)
        self.calls.rates.count(work.user, 1)
        check_body(request.headers)
        raw = await self.calls.read_body(request)
        acting, received = self.callers.as_user(scope), time.monotonic()

        def call() -> Response:
            self.calls.check_token(request, received)
            return self._call(name, acting, raw, work)

        try:
            return await self.calls.run(request, work, call, "writes" if tool.writes else "reads")
        except Abandoned:
            raise Disconnected from None

    def _call(self, name: str, scope: Scope, raw: bytearray, work: Work) -> Response:
        started = time.perf_counter()
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
        return json_response(_STATUSES.get(decode(body)["code"], 500) if result["isError"] else 200, body)


def refuse(refusal: Refusal) -> Response:
    """A refusal in the envelope of this contract, which has no status beyond 500."""
    if refusal.status == 404:
        body = error("NOT_FOUND", refusal.message)
    else:
        code = "DATABASE_ERROR" if refusal.status >= 500 else "VALIDATION_ERROR"
        body = error(code, refusal.message, {"field": refusal.field})
    return json_response(min(refusal.status, 500), body, refusal.headers)


def _refuse_body(name: str, started: float, message: str, constraint: str) -> Response:
    log_call(name, "InvalidParams", started)
    return json_response(400, error("VALIDATION_ERROR", message, {"field": "body", "constraint": constraint}))
