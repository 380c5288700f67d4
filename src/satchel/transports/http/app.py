"""The routes, and the guard in front of every one of them."""

import asyncio
from collections.abc import Callable, Mapping, MutableMapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from satchel.errors import StoreError
from satchel.log import log, log_surprise
from satchel.model import Scope
from satchel.protocol import INVALID_REQUEST, MAX_MESSAGE_BYTES
from satchel.protocol.posts import Post
from satchel.transports.http import door as doors
from satchel.transports.http.auth import SCOPES, Auth
from satchel.transports.http.door import Door
from satchel.transports.http.endpoint import Endpoint
from satchel.transports.http.guard import Guard, Head, Headers, Refusal, check_body, too_large
from satchel.transports.http.listeners import Listeners
from satchel.transports.http.metrics import Metrics
from satchel.transports.http.replies import Message, Receive, Send, reply, reply_json
from satchel.transports.http.threads import Threads

DOOR = "/mcp/tool/"
METADATA = "/.well-known/oauth-protected-resource"

_PATIENCE = 2.0  # seconds; a database that answers later is not well, whatever it answers


class Request(Struct, frozen=True):
    """What a request says before its body."""

    method: str
    path: str
    query: str
    headers: Headers
    receive: Receive
    send: Send
    post: Post | None = None  # where it was read already


class Expected(Struct, frozen=True):
    """A request whose head is there, and whose body soon will be."""

    endpoint: Endpoint
    headers: Head
    caller: Scope


class App:
    """Every route of the server, as an ASGI application."""

    def __init__(
        self,
        *,
        guard: Guard,
        auth: Auth,
        schema: Callable[[], int],
        endpoints: Mapping[str, Endpoint],
        door: Door,
        threads: Threads,
        listeners: Listeners,
        metrics: Metrics,
        issuer: str | None,
        resource: str,
    ) -> None:
        self._guard = guard
        self._auth = auth
        self._schema = schema  # of the store, by asking it
        self._endpoints = endpoints  # by path
        self._door = door
        self._threads = threads
        self._metrics = metrics
        self._issuer = issuer
        self._resource = resource  # the URL that tokens of the issuer are for
        self.listeners = listeners
        self._checking: asyncio.Future[int | Exception] | None = None

    def expect(self, scope: Mapping[str, Any]) -> "Expected | None":
        """Whether a request may be answered without a task of its own, once its small body is there, as far as its head
        tells; None where anything about it is unusual, or to be refused."""
        endpoint = self._endpoints.get(scope["path"])
        headers = head_of(scope)
        if endpoint is None or self._auth.identify is not None or "origin" in headers.last:
            return None
        try:
            self._guard.check(headers)
            check_body(headers)
            return Expected(endpoint, headers, self._auth.enter(headers, scope["query_string"].decode("latin-1")))
        except Refusal:
            return None  # it is told as all are

    def answer_now(self, expected: "Expected", scope: MutableMapping[str, Any], raw: bytes) -> Message | None:
        """The answer to an expected request; None where it takes time."""
        try:
            post = expected.endpoint.take_in(expected.headers, raw)
            scope["satchel.post"] = post  # so that it is not read twice
            return expected.endpoint.answer_now(post, expected.caller)
        except Exception:
            log_surprise(f"POST {scope['path'][:100]}")
            return None

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        headers = head_of(scope)
        path, query = scope["path"], scope["query_string"].decode("latin-1")
        post = scope.get("satchel.post")
        request = Request(scope["method"], path, query, headers, receive, self._shared(headers, send), post)
        try:
            await self._answer(request)
        except Refusal as refused:
            self._metrics.refused(refused.status)
            await reply_json(request.send, refused.status, _refusal(path, refused), refused.headers)
        except Exception:
            log_surprise(f"{request.method} {path[:100]}")
            surprise = Refusal(500, "server", "Unable to complete request. Please try again.")
            await reply_json(request.send, 500, _refusal(path, surprise))

    async def _answer(self, request: Request) -> None:
        self._guard.check(request.headers)
        methods = self._methods(request.path)
        if methods is None:
            raise Refusal(404, "path", "There is nothing at this path. MCP is served at /mcp.")
        if request.method == "OPTIONS" and self._guard.shares_with(request.headers):
            await reply(request.send, 204, headers=_preflight(methods))
            return
        if request.method not in methods:
            allow = ", ".join(methods)
            raise Refusal(405, "method", f"Use {allow} here.", [("allow", allow)])
        if request.path == "/health":
            await self._health(request.send)
        elif request.path.startswith(METADATA):
            await reply_json(request.send, 200, self._metadata())
        else:
            await self._answer_known(request, await self._enter(request))

    def _methods(self, path: str) -> tuple[str, ...] | None:
        """The methods that a path has; None where there is no such path."""
        if path in self._endpoints:
            return ("GET", "POST")
        if path.startswith(DOOR):
            return ("POST",)
        if path in ("/health", "/metrics") or (self._issuer and path in (METADATA, f"{METADATA}/mcp")):
            return ("GET",)
        return None

    async def _enter(self, request: Request) -> Scope:
        if self._auth.identify is None:
            return self._auth.enter(request.headers, request.query)
        return await self._threads.run(self._auth.enter, request.headers, request.query)

    async def _answer_known(self, request: Request, scope: Scope) -> None:
        """Answer somebody of whom we know who it is."""
        if request.path == "/metrics":
            page, kind = self._metrics.shown()
            await reply(request.send, 200, page, [("content-type", kind)])
        elif request.method == "GET":
            await self._endpoints[request.path].get(request.headers, scope, request.receive, request.send)
        elif request.path in self._endpoints:
            check_body(request.headers)
            endpoint = self._endpoints[request.path]
            post = request.post
            if post is None:
                post = await endpoint.take_in_some(request.headers, await _body(request.receive))
            await endpoint.post(post, scope, request.receive, request.send)
        else:
            tool = request.path[len(DOOR) :]
            self._door.check(tool, scope)
            check_body(request.headers)
            await self._door.post(tool, scope, await _body(request.receive), request.send)

    async def _health(self, send: Send) -> None:
        # Whoever asks while an answer is awaited waits for the same one, and nobody longer than a probe would.
        if self._checking is None or self._checking.done():
            self._checking = asyncio.ensure_future(self._threads.run_apart(self._check))
        try:
            async with asyncio.timeout(_PATIENCE):
                found = await asyncio.shield(self._checking)
        except TimeoutError as error:
            found = error
        if isinstance(found, int):
            await reply_json(send, 200, {"status": "ok", "database": "ok", "schema": found})
        else:
            await reply_json(send, 503, {"status": "unavailable", "database": type(found).__name__})

    def _check(self) -> int | Exception:
        try:
            return self._schema()
        except StoreError as error:
            log(f"health: {error}")
            return error

    def _metadata(self) -> dict[str, Any]:
        return {
            "resource": self._resource,
            "authorization_servers": [self._issuer],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "Satchel",
        }

    def _shared(self, headers: Headers, send: Send) -> Send:
        """Let the pages of a named origin read the answer; no other page may."""
        origin = self._guard.shares_with(headers) if self._guard.origins else None
        if origin is None:
            return send
        shares = [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", b"www-authenticate"),
            (b"vary", b"origin"),
        ]

        async def sharing(message: Mapping[str, Any]) -> None:
            if "headers" in message:
                message = {**message, "headers": [*message["headers"], *shares]}
            await send(message)

        return sharing


def head_of(scope: Mapping[str, Any]) -> Head:
    """The headers of a request. White space behind a value is no part of it; the parser takes away what is in front."""
    return Head([_read_header(header) for header in scope["headers"]])


@lru_cache(maxsize=1024)  # most are the same from request to request
def _read_header(header: tuple[bytes, bytes]) -> tuple[str, str]:
    return header[0].decode("latin-1"), header[1].decode("latin-1").strip(" \t")


def _preflight(methods: tuple[str, ...]) -> Headers:
    return [
        ("access-control-allow-methods", ", ".join(methods)),
        (
            "access-control-allow-headers",
            "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, last-event-id, mcp-session-id, "
            "satchel-project",
        ),
        ("access-control-max-age", "600"),
    ]


async def _body(receive: Receive) -> bytes:
    """The whole body, counted while it is read.

    Raises:
        Refusal: it has more bytes than we take, or its client left.
    """
    chunks, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "body", "The body ended early.")
        chunks.append(message["body"])
        size += len(message["body"])
        if size > MAX_MESSAGE_BYTES:
            raise too_large()
        if not message["more_body"]:
            return b"".join(chunks)


def _refusal(path: str, refused: Refusal) -> Any:
    if path.startswith(DOOR):
        return doors.refusal(refused)
    if path == "/mcp" or path.startswith("/mcp/"):
        return {"jsonrpc": "2.0", "error": {"code": INVALID_REQUEST, "message": refused.message}}
    return {"error": refused.message}
