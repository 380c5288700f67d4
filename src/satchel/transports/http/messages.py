"""Requests and responses as ASGI carries them: headers, bodies with a bound, events."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from msgspec import Struct

from satchel.protocol import MAX_MESSAGE_BYTES
from satchel.protocol.codec import encode
from satchel.protocol.streamable_http import Headers

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
HeaderLines = Iterable[tuple[str, str]]

_JSON = ("content-type", "application/json")
_EVENTS = (
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache, no-transform"),
    ("x-accel-buffering", "no"),  # nginx would hold events back
)


class Refusal(Exception):
    """A request that is answered with an HTTP error: the status, the part at fault, a sentence, extra headers.

    `id` is the JSON-RPC id, where the request was read before it was refused.
    """

    def __init__(
        self, status: int, field: str, message: str, headers: HeaderLines = (), id: str | int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.message = message
        self.headers = headers
        self.id = id


class Disconnected(Exception):
    """The client left before its request was complete; there is nobody to answer."""


class Connection:
    """What the application reports to our server (see bounds.py); this one, under any other server, ignores it."""

    def body_taken(self) -> None:
        """Everything that has arrived of the body was read."""

    def request_received(self) -> None:
        """The whole request was read."""

    def stream_opened(self, close: Callable[[], None]) -> None:
        """The response is a stream, which `close` ends when the server shuts down."""

    def response_sent(self) -> None:
        """The request is answered."""


class Response(Struct, frozen=True):
    """A whole response."""

    status: int
    body: bytes = b""
    headers: HeaderLines = ()


class Request:
    """One HTTP request, and the way to answer it."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.method: str = scope["method"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.path = path_of(scope)
        self.headers: Headers = scope["satchel.headers"]
        self.connection: Connection = scope.get("state", {}).get("satchel.connection") or Connection()

    async def body(self, limit: int = MAX_MESSAGE_BYTES) -> bytes:
        """The whole body. How long it may take is the server's to bound (see bounds.py).

        Raises:
            Refusal: it is larger than the limit.
            Disconnected: the client left before its end.
        """
        body = bytearray()
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                raise Disconnected
            body += message.get("body", b"")
            self.connection.body_taken()
            if len(body) > limit:
                raise too_large(limit)
            if not message.get("more_body", False):
                self.connection.request_received()
                return bytes(body)

    async def disconnected(self) -> None:
        """Return when the client has left; call it only once the body has been read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def respond(self, response: Response) -> None:
        """Send a whole response."""
        length = () if response.status == 204 else (("content-length", str(len(response.body))),)
        await self._begin(response.status, [*response.headers, *length])
        await self._send({"type": "http.response.body", "body": response.body})

    async def begin_events(self, close: Callable[[], None]) -> None:
        """Open a stream of events; `close` is called when the server shuts down."""
        self.connection.stream_opened(close)
        await self._begin(200, _EVENTS)

    async def send_event(self, message: bytes) -> None:
        """Send one message, which has no line ends of its own, as an event."""
        await self._send_part(b"event: message\ndata: %s\n\n" % message)

    async def send_comment(self) -> None:
        """Send a line that clients ignore and that keeps proxies from closing the stream."""
        await self._send_part(b": still here\n\n")

    async def end_events(self) -> None:
        """Close the stream."""
        await self._send({"type": "http.response.body", "body": b""})

    async def _begin(self, status: int, headers: HeaderLines) -> None:
        await self._send({"type": "http.response.start", "status": status, "headers": _encode_headers(headers)})

    async def _send_part(self, part: bytes) -> None:
        await self._send({"type": "http.response.body", "body": part, "more_body": True})


def json_response(status: int, value: object, headers: HeaderLines = ()) -> Response:
    """A value as a response in JSON."""
    return encoded_json(status, encode(value), headers)


def encoded_json(status: int, body: bytes, headers: HeaderLines = ()) -> Response:
    """JSON that is encoded already as a response."""
    return Response(status, body, (_JSON, *headers))


def too_large(limit: int = MAX_MESSAGE_BYTES) -> Refusal:
    """The refusal of a body beyond the bound."""
    return Refusal(413, "body", f"A body has at most {limit} bytes.", [("connection", "close")])


def path_of(scope: Scope) -> str:
    """The path of a request below the path that the application is mounted at."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _encode_headers(lines: HeaderLines) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in lines]
