"""The routes, and the guard in front of every one of them."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from satchel.errors import StoreError
from satchel.log import log, log_surprise
from satchel.model import Scope
from satchel.protocol import INVALID_REQUEST
from satchel.transports.http import tasks_api as doors
from satchel.transports.http.auth import SCOPES, Auth
from satchel.transports.http.endpoint import Endpoint
from satchel.transports.http.guard import Guard, Refusal, check_body
from satchel.transports.http.listeners import Listeners
from satchel.transports.http.metrics import Metrics
from satchel.transports.http.replies import Answer, Lines, in_json
from satchel.transports.http.request import Request
from satchel.transports.http.tasks_api import TasksApi
from satchel.transports.http.threads import Threads

DOOR = "/mcp/tool/"
METADATA = "/.well-known/oauth-protected-resource"

_PATIENCE = 2.0  # seconds; a database that answers later is not well, whatever it answers


class Expected(Struct, frozen=True):
    """Who will answer a request, once it is complete, and for whom."""

    endpoint: Endpoint
    caller: Scope


class App:
    """Every route of the server."""

    def __init__(
        self,
        *,
        guard: Guard,
        auth: Auth,
        schema: Callable[[], int],
        endpoints: Mapping[str, Endpoint],
        door: TasksApi,
        threads: Threads,
        listeners: Listeners,
        metrics: Metrics,
        issuer: str | None,
        url: str,
    ) -> None:
        self._guard = guard
        self._auth = auth
        self._schema = schema  # of the store, by asking it
        self._endpoints = endpoints  # by path
        self._door = door
        self._threads = threads
        self._metrics = metrics
        self._issuer = issuer
        self._url = url  # by which we are reached
        self.listeners = listeners
        self._checking: asyncio.Future[int | Exception] | None = None

    def expect(self, request: Request) -> Expected | None:
        """Whether a request may be answered without a task of its own, once its small body is there, as far as its head
        tells; None where anything about it is unusual, or to be refused."""
        endpoint, headers = self._endpoints.get(request.path), request.headers
        if endpoint is None or not self._auth.is_at_hand or not headers.is_plain or not self._guard.knows(headers):
            return None
        try:
            return Expected(endpoint, self._auth.enter(headers, request.query))
        except Refusal:
            return None  # it is told as all are

    def answer_now(self, request: Request) -> Answer | None:
        """The answer to a request that was expected and is complete; None where it takes time."""
        expected = request.expected
        assert expected is not None
        try:
            post = request.post = expected.endpoint.take_in(request.headers, request.small_body())
            return expected.endpoint.answer_now(post, expected.caller)
        except Exception:
            log_surprise(f"POST {request.path[:100]}")
            return None

    async def answer(self, request: Request) -> None:
        """Answer a request, whatever it takes."""
        request.shares = self._shares(request)
        try:
            answer = await self._answer(request)
        except Refusal as refused:
            self._metrics.refused(refused.status)
            status = doors.status(refused) if request.path.startswith(DOOR) else refused.status
            answer = in_json(status, _refusal(request.path, refused), self._told(request.path, refused))
        except Exception:
            log_surprise(f"{request.method} {request.path[:100]}")
            surprise = Refusal(500, "server", "Unable to complete request. Please try again.")
            answer = in_json(500, _refusal(request.path, surprise))
        if answer is None:
            return  # a stream was
        if request.is_begun:
            request.abort()  # in the middle of a stream
        else:
            request.answer(answer)

    async def _answer(self, request: Request) -> Answer | None:
        """The answer; None where it was a stream."""
        self._guard.check(request.headers)
        methods = self._methods(request.path)
        if methods is None:
            raise Refusal(404, "path", "There is nothing at this path. MCP is served at /mcp.")
        if request.method == "OPTIONS" and request.shares:
            return Answer(204, headers=_preflight(methods))
        if request.method not in methods:
            # Whether there is anything to GET is the endpoint's to say, to somebody whom it knows.
            is_mute = request.path in self._endpoints and not self._endpoints[request.path].has_news
            allow = "POST" if is_mute else ", ".join(methods)
            raise Refusal(405, "method", f"Use {allow} here.", [("allow", allow)])
        if request.path == "/health":
            return await self._health()
        if request.path.startswith(METADATA):
            return in_json(200, self._metadata(request.path[len(METADATA) :] or "/mcp"))
        return await self._answer_known(request, await self._enter(request))

    def _methods(self, path: str) -> tuple[str, ...] | None:
        """The methods that a path has; None where there is no such path."""
        if path in self._endpoints:
            return ("GET", "POST")
        if path.startswith(DOOR):
            return ("POST",)
        if path in ("/health", "/metrics") or (self._issuer and self._is_metadata(path)):
            return ("GET",)
        return None

    def _is_metadata(self, path: str) -> bool:
        return path == METADATA or (path.startswith(METADATA) and path[len(METADATA) :] in self._endpoints)

    async def _enter(self, request: Request) -> Scope:
        if request.expected is not None:
            return request.expected.caller
        if self._auth.is_at_hand:
            return self._auth.enter(request.headers, request.query)
        return await self._threads.run(self._auth.enter, request.headers, request.query)

    async def _answer_known(self, request: Request, scope: Scope) -> Answer | None:
        """Answer somebody of whom we know who it is."""
        if request.path == "/metrics":
            page, kind = self._metrics.shown()
            return Answer(200, page, (("content-type", kind),))
        if request.method == "GET":
            await self._endpoints[request.path].get(request, scope)
            return None
        if request.path in self._endpoints:
            check_body(request.headers)
            return await self._endpoints[request.path].post(request, scope)
        tool = request.path[len(DOOR) :]
        self._door.check(tool, scope)
        check_body(request.headers)
        return await self._door.post(tool, scope, await request.body())

    async def _health(self) -> Answer:
        # Whoever asks while an answer is awaited waits for the same one, and nobody longer than a probe would.
        if self._checking is None or self._checking.done():
            self._checking = asyncio.ensure_future(self._threads.run_apart(self._check))
        try:
            async with asyncio.timeout(_PATIENCE):
                found = await asyncio.shield(self._checking)
        except TimeoutError as error:
            log("health: the database takes too long to answer")
            found = error
        if isinstance(found, int):
            return in_json(200, {"status": "ok", "database": "ok", "schema": found})
        return in_json(503, {"status": "unavailable", "database": "unavailable"})

    def _check(self) -> int | Exception:
        try:
            return self._schema()
        except StoreError as error:
            log(f"health: {error}")
            return error

    def _told(self, path: str, refused: Refusal) -> Lines:
        """The headers of a refusal; who needs a token learns where it is said whom to ask for one."""
        if self._issuer is None:
            return tuple(refused.headers)
        where = f', resource_metadata="{self._url}{METADATA}{path if path in self._endpoints else "/mcp"}"'
        return tuple((name, value + where if name == "www-authenticate" else value) for name, value in refused.headers)

    def _metadata(self, path: str) -> dict[str, Any]:
        """What a client of a path has to know to ask for a token (RFC 9728)."""
        return {
            "resource": self._url + path,
            "authorization_servers": [self._issuer],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "Satchel",
        }

    def _shares(self, request: Request) -> Lines:
        """Let the pages of a named origin read the answer; no other page may."""
        origin = self._guard.shares_with(request.headers) if self._guard.origins else None
        if origin is None:
            return ()
        exposed = ("access-control-expose-headers", "www-authenticate")
        return (("access-control-allow-origin", origin), exposed, ("vary", "origin"))


def _preflight(methods: tuple[str, ...]) -> Lines:
    return (
        ("access-control-allow-methods", ", ".join(methods)),
        (
            "access-control-allow-headers",
            "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, last-event-id, mcp-session-id, "
            "satchel-project",
        ),
        ("access-control-max-age", "600"),
    )


def _refusal(path: str, refused: Refusal) -> Any:
    if path.startswith(DOOR):
        return doors.refusal(refused)
    if path == "/mcp" or path.startswith("/mcp/"):
        known = {} if refused.id is None else {"id": refused.id}
        return {"jsonrpc": "2.0", **known, "error": {"code": INVALID_REQUEST, "message": refused.message}}
    return {"error": refused.message}
