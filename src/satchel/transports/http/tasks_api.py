"""The tools of `tasks` as plain HTTP, without MCP: `POST /mcp/tool/{name}` with the arguments as body."""

import time
from typing import Any

from anyio.to_thread import run_sync

from satchel.contracts.runner import Runner
from satchel.contracts.tasks import COMPLAINTS, error
from satchel.model import Scope
from satchel.protocol import ProtocolError
from satchel.protocol.codec import BadJson, decode
from satchel.transports.http.callers import Callers
from satchel.transports.http.guard import check_body
from satchel.transports.http.messages import Refusal, Request, Response, json_response
from satchel.transports.http.metrics import Metrics

PREFIX = "/mcp/tool/"

_STATUSES = {"VALIDATION_ERROR": 400, "NOT_FOUND": 404}


class TasksApi:
    """Serves the tools of one contract, `tasks`, one path each."""

    def __init__(self, runner: Runner, *, callers: Callers, metrics: Metrics) -> None:
        self._runner = runner
        self._callers = callers
        self._metrics = metrics

    async def handle(self, request: Request) -> Response:
        """Carry out one call."""
        scope = await self._callers.enter(request)
        name = request.path.removeprefix(PREFIX)
        tool = self._runner.tools.get(name)
        if tool is None:
            raise Refusal(404, "tool", f"Unknown tool: {name}")
        if scope.is_read_only and tool.writes:
            raise self._callers.refuse_write()
        check_body(request.headers)
        raw = await request.body()
        status, body = await run_sync(self._call, name, self._callers.as_user(scope), raw, abandon_on_cancel=True)
        return json_response(status, body)

    def _call(self, name: str, scope: Scope, raw: bytes) -> tuple[int, Any]:
        started = time.perf_counter()
        try:
            arguments = decode(raw)
        except BadJson:
            return 400, error("VALIDATION_ERROR", "The body is not JSON", {"field": "body", "constraint": "format"})
        if not isinstance(arguments, dict):
            message = COMPLAINTS["type"].format(field="body", limit="object")
            return 400, error("VALIDATION_ERROR", message, {"field": "body", "constraint": "type"})
        try:
            body, is_ok = self._runner.run_tool(name, arguments, scope, lambda *_: None)
        except ProtocolError as unknown:
            return 404, error("NOT_FOUND", unknown.message)
        seconds = time.perf_counter() - started
        self._metrics.called("tasks", "door", name, seconds=seconds, is_error=not is_ok)
        code = body.get("code") if isinstance(body, dict) else None
        return (200, body) if is_ok else (_STATUSES.get(str(code), 500), body)


def refuse(refusal: Refusal) -> Response:
    """A refusal in the envelope of this contract, which has no status beyond 500."""
    if refusal.status == 404:
        body = error("NOT_FOUND", refusal.message)
    else:
        code = "DATABASE_ERROR" if refusal.status >= 500 else "VALIDATION_ERROR"
        body = error(code, refusal.message, {"field": refusal.field})
    return json_response(min(refusal.status, 500), body, refusal.headers)
