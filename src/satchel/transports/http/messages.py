"""Requests and responses of every route: the caller, the head, refusals, JSON answers and streams of events."""

import time
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from satchel.auth.callers import AccessDenied, Callers
from satchel.model import Scope as CallScope
from satchel.protocol import MAX_MESSAGE_BYTES
from satchel.protocol.codec import Bytes, encode
from satchel.protocol.streamable_http import Headers

if TYPE_CHECKING:
    from satchel.transports.http.limits import Account

HeaderLines = Iterable[tuple[str, str]]

CLOSE = ("connection", "close")
RETRY_LATER = ("retry-after", "1")  # seconds

_PIECE = 256 * 1024  # bytes that the server gets at once; the next ones wait until these are sent
_TOKEN_AGE = 0.02  # seconds after which a token is checked again before a call begins
_WITH_HEAD = 0.001  # seconds within which a body counts as having arrived with its head
_EVENT_HEADERS = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",  # nginx would delay events
}


class Refusal(Exception):
    """A request is refused with an HTTP error: a status, the part at fault, a sentence, extra headers.

    If the request was parsed, `id` is its JSON-RPC id and `tools` are the names of the tools that it calls.
    """

    def __init__(
        self,
        status: int,
        field: str,
        message: str,
        headers: HeaderLines = (),
        id: str | int | None = None,
        tools: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.message = message
        self.headers = tuple(headers)
        self.id = id
        self.tools = tools


def deny(denied: AccessDenied, id: str | int | None = None, tools: Sequence[str] = ()) -> Refusal:
    """Return the refusal for a denied caller."""
    challenge = () if denied.challenge is None else (("www-authenticate", denied.challenge),)
    return Refusal(
        denied.status, "query" if denied.status == 400 else "authorization", denied.message, challenge, id, tools
    )


def head_of(request: Request) -> Headers:
    """Return the headers of a request in the form that the protocol reads."""
    headers: Headers = request.scope["satchel.headers"]
    return headers


def account_of(request: Request) -> "Account":
    """Return the account of a request's bytes in flight."""
    account: Account = request.scope["satchel.account"]
    return account


def path_of(scope: Scope) -> str:
    """Return the path of a request below the point where the application is mounted."""
    path: str = scope["path"]
    root: str = scope.get("root_path") or ""
    return path[len(root) :] if root and (path == root or path.startswith(f"{root}/")) else path


def find_caller(request: Request, callers: Callers) -> CallScope:
    """Return the caller and the project of a request; this may query the database. Raises AccessDenied."""
    return callers.find_scope(head_of(request).all, request.scope["query_string"].decode("latin-1"))


async def identify(request: Request, callers: Callers) -> CallScope:
    """Return the caller of a request, and count the request for them. Raises AccessDenied."""
    find = partial(find_caller, request, callers)
    if callers.is_local:
        caller = find()
    else:
        caller = await run_sync(find, limiter=request.scope["satchel.lookups"], abandon_on_cancel=True)
    if callers.identify is not None and caller.user is not None:
        account_of(request).belongs_to(caller.user)
    request.scope["satchel.identified"] = time.monotonic()
    return caller


def check_token(request: Request, callers: Callers) -> None:
    """Check the token of a call again after the call had to wait. Raises AccessDenied."""
    if time.monotonic() - request.scope["satchel.identified"] > _TOKEN_AGE:
        find_caller(request, callers)
        request.scope["satchel.identified"] = time.monotonic()


def check_body(headers: Headers) -> None:
    """Check the headers that describe the body, before reading it.

    Raises:
        Refusal: 415 for anything but plain JSON, 413 for a body that is too large.
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


async def read_body(request: Request) -> bytearray:
    """Return the whole body, whose size the guard limits; check the token again if the body arrived later."""
    started = time.monotonic()
    body = bytearray()
    async for piece in request.stream():
        body += piece
    if time.monotonic() - started > _WITH_HEAD:
        request.scope["satchel.identified"] = 0.0
    return body


class BytesResponse(Response):
    """A response whose body is sent in pieces and counted, so that memory holds it once."""

    def __init__(self, status: int, body: Bytes = b"", headers: HeaderLines = ()) -> None:
        super().__init__(status_code=status)
        self.content = body
        length = () if status == 204 else (("content-length", str(len(body))),)
        self.raw_headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in (*headers, *length)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        account: Account = scope["satchel.account"]
        account.add(len(self.content))
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        last = max(0, len(self.content) - 1) // _PIECE * _PIECE
        for start in range(0, last, _PIECE):
            piece = self.content[start : start + _PIECE]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": self.content[last:] if last else self.content})


def json_response(status: int, value: object, headers: HeaderLines = ()) -> BytesResponse:
    """Return a response with a value, or with encoded JSON."""
    body = value if isinstance(value, bytes | bytearray) else encode(value)
    return BytesResponse(status, body, (("content-type", "application/json"), *headers))


def event_stream(messages: AsyncIterator[Bytes | None]) -> StreamingResponse:
    """Return a response that sends messages as events; None becomes a comment, so that proxies keep the stream open."""

    async def events() -> AsyncIterator[bytes]:
        async for message in messages:
            if message is None:
                yield b": still here\n\n"
            elif len(message) <= _PIECE:
                yield b"event: message\ndata: %s\n\n" % message
            else:
                yield b"event: message\ndata: "
                for start in range(0, len(message), _PIECE):
                    yield bytes(message[start : start + _PIECE])
                yield b"\n\n"

    return StreamingResponse(events(), headers=_EVENT_HEADERS)
