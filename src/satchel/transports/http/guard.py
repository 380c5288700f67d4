"""The one guard in front of every request: Host, Origin, sizes, tokens; and refusals as responses."""

import time
from collections.abc import Callable, MutableMapping
from functools import partial
from typing import Any, TypeVar

from anyio.to_thread import run_sync
from msgspec.structs import replace

from satchel.auth.allowed_names import AllowedNames
from satchel.auth.callers import AccessDenied, Callers
from satchel.errors import Unanswered
from satchel.log import log_call, log_surprise
from satchel.model import Scope as CallScope
from satchel.protocol import MAX_MESSAGE_BYTES
from satchel.protocol.streamable_http import Headers
from satchel.transports.http.budget import Account, Budget
from satchel.transports.http.messages import (
    CLOSE,
    App,
    Disconnected,
    Receive,
    Refusal,
    Request,
    Response,
    Scope,
    Send,
)
from satchel.transports.http.turns import Timed, is_user

Value = TypeVar("Value")

MAX_FIELDS = 100
MAX_HEAD_BYTES = 64 * 1024
LARGE_HEAD = f"The head of a request has at most {MAX_FIELDS} fields and {MAX_HEAD_BYTES // 1024} KiB."


class Guard:
    """The outermost ASGI application: refuses what no route should see, and turns refusals into responses."""

    def __init__(
        self,
        app: App,
        allowed: AllowedNames,
        *,
        refuse: Callable[[str, Refusal], Response],
        close: Callable[[], None],
    ) -> None:
        self._app = app
        self._allowed = allowed
        self._budget = Budget()
        self._refuse = refuse  # a refusal in the words of the path
        self.close = close  # lets go of the store and ends every stream; called at the end of the lifespan
        self.on_start: Callable[[], None] = lambda: None  # for the server, at the start of the lifespan
        self.on_end: Callable[[], None] = lambda: None  # and when everything is closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # we serve no WebSocket; the server closes it
        started = time.perf_counter()
        has_begun = False
        shared: list[tuple[bytes, bytes]] = []

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff"), *shared]
            await send(message)

        raw_path: bytes = scope.get("raw_path") or b""
        if b"%2f" in raw_path.lower():
            scope["path"] = raw_path.decode("latin-1")  # an encoded slash separates nothing, as proxies read it
        is_large = _has_large_head(scope)  # nothing is made of its fields then
        scope["satchel.headers"] = headers = Headers(() if is_large else scope["headers"])
        scope["satchel.account"] = account = Account(self._budget, (scope.get("client") or ("",))[0])
        request = Request(scope, receive, send_guarded)
        origin = headers.last.get("origin")
        if origin in self._allowed.origins and "origin" not in headers.repeated:
            shared += _share_with(str(origin))
            scope["satchel.is_shared"] = True
        try:
            if is_large:
                raise Refusal(431, "headers", LARGE_HEAD, [CLOSE])
            self._check(headers)
            await self._app(scope, receive, send_guarded)
        except Disconnected:
            return
        except Exception as error:
            if has_begun:
                raise ConnectionAbortedError("the response had begun") from error  # the server closes the connection
            refusal = self._make_refusal(request, error, started)
            error.__traceback__ = None  # its frames hold the body, and here they would hold themselves
            # A refusal is not refused itself, even where it is for what is in flight.
            await request.respond(replace(self._refuse(request.path, refusal), is_refusable=False))
        finally:
            account.close()
            request.connection.response_sent()

    def _make_refusal(self, request: Request, error: Exception, started: float) -> Refusal:
        calls = error.tools if isinstance(error, AccessDenied) else ()
        if isinstance(error, AccessDenied):
            error = _refuse_access(error)
        refusal = error if isinstance(error, Refusal) else _apologize(request)
        if refusal.status == 403:
            for name in calls or [f"{request.method} {request.path}"]:
                log_call(name, "Forbidden", started)
        if "expect" in request.headers.last:  # the client may or may not send its body now
            refusal.headers += (CLOSE,) if CLOSE not in refusal.headers else ()
        return refusal

    def _check(self, headers: Headers) -> None:
        """Look at where a request says it comes from and goes to.

        Raises:
            Refusal: 421 for a foreign Host, 403 for a foreign Origin.
        """
        hosts = headers.all("host")
        if len(hosts) != 1 or not self._allowed.has_host(hosts[0]):
            raise Refusal(421, "host", "This host name is not served here. Add it with --allow-host.")
        origins = headers.all("origin")
        if origins and (len(origins) != 1 or not self._allowed.has_origin(origins[0])):
            raise Refusal(403, "origin", "Requests from this origin are not taken. Add it with --allow-origin.")


def check_body(headers: Headers) -> None:
    """Look at what a request says of its body, before the body is read.

    Raises:
        Refusal: 415 for anything but plain JSON, 413 for more than we take.
    """
    # A charset parameter has no effect (RFC 8259): JSON is UTF-8.
    kinds = [kind.partition(";")[0].rstrip(" \t").lower() for kind in headers.all("content-type")]
    if kinds != ["application/json"]:
        raise Refusal(415, "body", "The body must be application/json.")
    if any(coding.lower() != "identity" for coding in headers.all("content-encoding")):
        raise Refusal(415, "body", "The body must not be compressed.")
    length = headers.last.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > MAX_MESSAGE_BYTES:
        raise Refusal(413, "body", f"A body has at most {MAX_MESSAGE_BYTES} bytes.", [CLOSE])


async def enter(request: Request, callers: Callers) -> CallScope:
    """The scope of a request: who is calling, and in which project. Raises AccessDenied."""
    if callers.is_lookup:
        scope = callers.find_scope(request.headers.all, request.query)
    else:
        try:
            if not is_user(request.connection.holder):  # a stranger, for whom there are threads apart
                raise Unanswered
            scope = await callers.find_scope_ahead(request.headers.all, request.query)
        except Unanswered:
            scope = await run_alone(request, partial(callers.find_scope, request.headers.all, request.query))
    if callers.identify is not None and scope.user is not None:
        request.belongs_to(scope.user)
    return scope


async def run_alone(request: Request, act: Callable[[], Value]) -> Value:
    """Run something short in a thread, such as to ask the database who is calling.

    One at a time for a user, and a few for all who are not known yet.
    """
    timed = Timed(act)
    limiter = request.account.find_lookups(request.connection.holder)
    try:
        return await run_sync(timed.run, abandon_on_cancel=True, limiter=limiter)
    finally:
        request.connection.computed(timed.seconds)


def _has_large_head(scope: Scope) -> bool:
    raw = scope["headers"]
    size = len(scope["path"]) + len(scope["query_string"])
    return len(raw) > MAX_FIELDS or size + sum(len(name) + len(value) for name, value in raw) > MAX_HEAD_BYTES


def _refuse_access(denied: AccessDenied) -> Refusal:
    field = "query" if denied.status == 400 else "authorization"
    headers = () if denied.challenge is None else (("www-authenticate", denied.challenge),)
    return Refusal(denied.status, field, denied.message, headers, denied.id)


def _apologize(request: Request) -> Refusal:
    """Log the exception being handled, and refuse without a word about it."""
    log_surprise(f"{request.method} {request.path[:100]}")
    return Refusal(500, "server", "Unable to complete request. Please try again.")


def _share_with(origin: str) -> list[tuple[bytes, bytes]]:
    """The headers that let the pages of an origin read a response."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", b"www-authenticate, mcp-session-id"),
        (b"vary", b"origin"),
    ]
