"""The tools of `tasks` as plain HTTP: `POST /mcp/tool/{name}` with the arguments as body, for whoever speaks no MCP."""

import time
from typing import Any

from satchel.contracts.runner import Runner
from satchel.contracts.tasks import COMPLAINTS, error
from satchel.model import Scope
from satchel.protocol import ProtocolError
from satchel.protocol.codec import BadJson, decode
from satchel.transports.http.auth import Auth, for_user
from satchel.transports.http.guard import Refusal
from satchel.transports.http.metrics import Metrics
from satchel.transports.http.replies import Answer, in_json
from satchel.transports.http.threads import Threads

STATUSES = {"VALIDATION_ERROR": 400, "NOT_FOUND": 404}


class TasksApi:
    """Serves the tools of one contract, `tasks`, one path each."""

    def __init__(self, runner: Runner, *, threads: Threads, metrics: Metrics, auth: Auth, user: str) -> None:
        self._runner = runner
        self._threads = threads
        self._metrics = metrics
        self._auth = auth
        self._user = user

    def check(self, name: str, scope: Scope) -> None:
        """Look whether there is such a tool, and whether this caller may use it.

        Raises:
            Refusal: 404 or 403.
        """
        tool = self._runner.tool_named(name)
        if tool is None:
            raise Refusal(404, "tool", f"Unknown tool: {name}")
        if scope.is_read_only and tool.writes:
            raise self._auth.forbidden("Read-only: nothing may be changed.")

    async def post(self, name: str, scope: Scope, raw: bytes) -> Answer:
        """Carry out one call."""
        status, body = await self._threads.run(self._call, name, for_user(scope, self._user), raw)
        return in_json(status, body)

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
        return (200, body) if is_ok else (STATUSES.get(str(code), 500), body)


def status(refused: Refusal) -> int:
    """The status of a refusal: this contract knows no other than 500 for what is our fault."""
    return min(refused.status, 500)


def refusal(refused: Refusal) -> Any:
    """A refusal of the guard in the envelope of this contract."""
    if refused.status == 404:
        return error("NOT_FOUND", refused.message)
    code = "DATABASE_ERROR" if refused.status >= 500 else "VALIDATION_ERROR"
    return error(code, refused.message, {"field": refused.field})
