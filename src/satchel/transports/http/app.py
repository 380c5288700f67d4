"""The ASGI application: one guard in front of every route, and the routes."""

import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from satchel.auth.callers import SCOPES, AccessDenied, Callers
from satchel.extras import install_command
from satchel.log import log_call, log_surprise
from satchel.protocol import INVALID_REQUEST, MAX_MESSAGE_BYTES
from satchel.protocol.streamable_http import Headers
from satchel.transports.http import tasks_api
from satchel.transports.http.endpoint import Endpoint
from satchel.transports.http.health import Health
from satchel.transports.http.limits import LARGE_HEAD, MAX_FIELDS, MAX_HEAD_BYTES, Account, InFlight
from satchel.transports.http.messages import CLOSE, BytesResponse, Refusal, deny, identify, json_response, path_of
from satchel.transports.http.metrics import Metrics
from satchel.transports.http.pages import NOTHING, Pages
from satchel.transports.http.tasks_api import TasksApi

METADATA = "/.well-known/oauth-protected-resource"

_LOOKUPS = 8  # simultaneous token lookups, in threads separate from those for calls

_PREFLIGHT = (
    ("access-control-allow-methods", "GET, POST"),
    (
        "access-control-allow-headers",
        "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, last-event-id, mcp-session-id, "
        "satchel-project",
    ),
    ("access-control-max-age", "600"),
)


LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?")  # a name or an IPv6 address in brackets, and a port


class AllowedNames(Struct, frozen=True):
    """The host names of a server, and the origins that may call it.

    A web page in a browser on this machine can send requests here, even under its own host name if that resolves to
    this server (DNS rebinding). It cannot choose the Host and Origin that the browser sends, so both must be allowed.
    """

    hosts: frozenset[str]  # a name with a port allows only that port
    origins: frozenset[str]  # in addition to the origins of this machine

    def has_host(self, host: str) -> bool:
        """Return whether a Host is allowed: its name with any port, or with exactly this port."""
        folded = host.lower()
        return folded in self.hosts or _find_name(folded) in self.hosts

    def has_origin(self, origin: str) -> bool:
        """Return whether an Origin is allowed or belongs to this machine."""
        scheme, _, host = origin.partition("://")
        return origin in self.origins or (scheme in ("http", "https") and _find_name(host.lower()) in LOOPBACK)


def allow(hosts: Iterable[str], origins: Iterable[str]) -> AllowedNames:
    """Allow the names of this machine and the given names; ignore empty ones, which come from an extra comma."""
    named = (host.lower() for host in hosts if host)
    return AllowedNames(frozenset({*LOOPBACK, *named}), frozenset(origin for origin in origins if origin))


def _find_name(host: str) -> str | None:
    """Return the name in a Host, which may also have a port; None if the Host is malformed."""
    found = _HOST.fullmatch(host)
    return found[1] if found is not None and 0 < int(found[2] or 1) <= 65535 else None


class Guard:
    """The outermost application: refuses bad requests before they reach a route, and turns refusals into responses."""

    def __init__(
        self,
        app: ASGIApp,
        allowed: AllowedNames,
        *,
        refuse: Callable[[str, Refusal], Response],
        close: Callable[[], None],
    ) -> None:
        self._app = app
        self._allowed = allowed
        self._in_flight = InFlight()
        self._lookups = CapacityLimiter(_LOOKUPS)
        self._refuse = refuse  # formats a refusal as clients of the path expect
        self.close = close  # closes the store and every stream at the end of the lifespan

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":
            return  # there is no WebSocket here; the server closes it
        started = time.perf_counter()
        scope = dict(scope)  # a copy, because an application that mounts this one still uses its own
        is_large = _has_large_head(scope)  # its fields are not read then
        headers = Headers(() if is_large else scope["headers"])
        account = Account(self._in_flight, (scope.get("client") or ("",))[0])
        origin = headers.last.get("origin")
        is_shared = origin in self._allowed.origins and len(headers.all("origin")) == 1
        has_begun, received = False, 0

        async def send_guarded(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                shared = _share_with(str(origin)) if is_shared else ()
                message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff"), *shared]
            await send(message)

        async def receive_guarded() -> Message:
            nonlocal received
            message = await receive()
            if message["type"] == "http.request":
                size = len(message.get("body", b""))
                received += size
                if received > MAX_MESSAGE_BYTES:
                    raise Refusal(413, "body", f"A body has at most {MAX_MESSAGE_BYTES} bytes.", [CLOSE])
                if size:
                    account.add(size)
                    account.check()
            return message

        raw_path: bytes = scope.get("raw_path") or b""
        if b"%2f" in raw_path.lower():
            scope["path"] = raw_path.decode("latin-1")  # an encoded slash is no separator, as for proxies
        scope["satchel.headers"], scope["satchel.account"], scope["satchel.lookups"] = headers, account, self._lookups
        # Starlette raises 404 and 405 if it finds an application here, and then looks up its exception handlers.
        scope["app"], scope["starlette.exception_handlers"] = self, ({}, {})
        try:
            if is_large:
                raise Refusal(431, "headers", LARGE_HEAD, [CLOSE])
            self._check(headers)
            if is_shared and scope["method"] == "OPTIONS":
                await BytesResponse(204, headers=_PREFLIGHT)(scope, receive, send_guarded)
            else:
                await self._app(scope, receive_guarded, send_guarded)
        except ClientDisconnect:
            return
        except Exception as error:
            if has_begun:
                raise ConnectionAbortedError("the response had begun") from error  # the server closes the connection
            refusal = _make_refusal(scope, headers, error, started)
            error.__traceback__ = None  # its frames hold the body
            await self._refuse(path_of(scope), refusal)(scope, receive, send_guarded)
        finally:
            account.close()

    def _check(self, headers: Headers) -> None:
        """Check the Host and the Origin of a request.

        Raises:
            Refusal: 421 for a foreign Host, 403 for a foreign Origin.
        """
        hosts = headers.all("host")
        if len(hosts) != 1 or not self._allowed.has_host(hosts[0]):
            raise Refusal(421, "host", "This host name is not served here. Add it with --allow-host.")
        origins = headers.all("origin")
        if origins and (len(origins) != 1 or not self._allowed.has_origin(origins[0])):
            raise Refusal(403, "origin", "This origin is not allowed. Add it with --allow-origin.")


def _has_large_head(scope: Scope) -> bool:
    raw = scope["headers"]
    size = len(scope["path"]) + len(scope["query_string"])
    return len(raw) > MAX_FIELDS or size + sum(len(name) + len(value) for name, value in raw) > MAX_HEAD_BYTES


def _make_refusal(scope: Scope, headers: Headers, error: Exception, started: float) -> Refusal:
    where = f"{scope['method']} {path_of(scope)[:100]}"
    if isinstance(error, Refusal):
        refusal = error
    elif isinstance(error, AccessDenied):
        refusal = deny(error)
    elif isinstance(error, HTTPException) and error.status_code == 405:
        allowed = ", ".join(sorted((error.headers or {})["Allow"].split(", ")))
        refusal = Refusal(405, "method", f"Use {allowed} here.", [("allow", allowed)])
    elif isinstance(error, HTTPException) and error.status_code == 404:
        refusal = Refusal(404, "path", NOTHING)
    else:
        log_surprise(where)
        refusal = Refusal(500, "server", "Unable to complete request. Please try again.")
    if refusal.status == 403:
        for name in refusal.tools or [where]:
            log_call(name, "Forbidden", started)
    if "expect" in headers.last and CLOSE not in refusal.headers:  # the client may still send its body now
        refusal.headers += (CLOSE,)
    return refusal


def _share_with(origin: str) -> list[tuple[bytes, bytes]]:
    """Return the headers that allow pages of an origin to read a response."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"www-authenticate, mcp-session-id"),
        (b"vary", b"origin"),
    ]


def build_app(
    *,
    allowed: AllowedNames,
    callers: Callers,
    endpoints: Mapping[str, Endpoint],
    tasks: TasksApi,
    health: Health,
    metrics: Metrics,
    issuer: str | None,
    url: str,
    end_streams: Callable[[], None],
    close: Callable[[], None],
    pages: Pages | None = None,
) -> Guard:
    """Build a server's application from endpoints by path; clients use `url`, and OAuth tokens come from `issuer`."""

    async def show_metrics(request: Request) -> Response:
        await identify(request, callers)
        shown = await run_sync(metrics.show)
        if shown is None:
            what = f"Metrics need an extra. Install it with: {install_command('metrics')}. Then start the server again."
            raise Refusal(501, "path", what)
        page, kind = shown
        return BytesResponse(200, page, [("content-type", kind)])

    async def describe_resource(request: Request) -> Response:
        """Return the metadata of a path: where its clients get a token (RFC 9728)."""
        return json_response(
            200,
            {
                "resource": url + (path_of(request.scope).removeprefix(METADATA) or "/mcp"),
                "authorization_servers": [issuer],
                "scopes_supported": list(SCOPES),
                "bearer_methods_supported": ["header"],
                "resource_name": "Satchel",
            },
        )

    def refuse(path: str, refusal: Refusal) -> Response:
        metrics.refused(refusal.status)
        if issuer is not None:
            described = f"{url}{METADATA}{path if path in endpoints else '/mcp'}"
            refusal.headers = tuple(
                (name, f'{value}, resource_metadata="{described}"' if name == "www-authenticate" else value)
                for name, value in refusal.headers
            )
        return _refuse(path, refusal)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[dict[str, Any]]:
        yield {"end_streams": end_streams}  # the server calls this before waiting for its connections
        await run_sync(close)

    routes = [Route(path, endpoint) for path, endpoint in endpoints.items()]
    routes += [
        Route(f"{tasks_api.PREFIX}{{tool:path}}", tasks.handle, methods=["POST"]),
        Route("/health", health.handle, methods=["GET"]),
        Route("/metrics", show_metrics, methods=["GET"]),
    ]
    if issuer is not None:
        routes += [Route(METADATA + path, describe_resource, methods=["GET"]) for path in ("", *endpoints)]
    router = Router(routes, redirect_slashes=False, default=pages, lifespan=lifespan)
    return Guard(router, allowed, refuse=refuse, close=close)


def _refuse(path: str, refusal: Refusal) -> Response:
    """Return a refusal in the form that the clients of a path expect."""
    if path.startswith(tasks_api.PREFIX):
        return tasks_api.refuse(refusal)
    if path == "/mcp" or path.startswith("/mcp/"):
        known = {} if refusal.id is None else {"id": refusal.id}
        body = {"jsonrpc": "2.0", **known, "error": {"code": INVALID_REQUEST, "message": refusal.message}}
    else:
        body = {"error": refusal.message}
    return json_response(refusal.status, body, refusal.headers)
