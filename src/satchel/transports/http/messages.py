"""Requests and responses as ASGI carries them: headers, bodies with a bound, streams of events."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from satchel.protocol import MAX_MESSAGE_BYTES
from satchel.protocol.codec import encode
from satchel.protocol.elements import Bytes
from satchel.protocol.streamable_http import Headers

if TYPE_CHECKING:
    from satchel.transports.http.budget import Account

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
HeaderLines = Iterable[tuple[str, str]]

CLOSE = ("connection", "close")
RETRY_LATER = ("retry-after", "1")  # seconds
_PIECE = (
    256 * 1024
)  # bytes of a response that are handed to the server at once; it holds the next back until they are sent
_LOOK_INTERVAL = 0.1  # seconds between looks whether a client is still there
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
        self.headers = tuple(headers)
        self.id = id


class Disconnected(Exception):
    """The client left before its request was complete, so that nothing can be answered."""


class Connection:
    """What the application reports to our server (see bounds.py); under any other server this one ignores it."""

    holder = ""  # whose time of the event loop the request takes (see turns.py); empty where time is not counted

    def identified(self, user: str, token: str) -> None:
        """It is known whose request this is."""

    def computed(self, seconds: float) -> None:
        """A thread has computed so long for the request."""

    def body_taken(self) -> None:
        """Everything that has arrived of the body was read."""

    def request_received(self) -> None:
        """The whole request was read."""

    def stream_opened(self, close: Callable[[], None]) -> None:
        """The response is a stream, which `close` ends when the server shuts down."""

    def response_sent(self) -> None:
        """The request is answered."""

    def is_gone(self) -> bool | None:
        """Whether the client has closed the connection; None where only the server can tell."""
        return None


class Response(Struct, frozen=True):
    """A whole response."""

    status: int
    body: Bytes = b""
    headers: HeaderLines = ()
    is_refusable: bool = True  # by a refusal, where too much is in flight; not where a call has changed something


class Request:
    """One HTTP request, and the way to answer it."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.method: str = scope["method"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.path: str = scope["path"].removeprefix(scope.get("root_path", ""))  # below the mount
        self.headers: Headers = scope["satchel.headers"]
        self.account: Account = scope["satchel.account"]
        self.client: str = (scope.get("client") or ("",))[0]  # the address
        self.connection: Connection = scope.get("state", {}).get("satchel.connection") or Connection()

    @property
    def address(self) -> str:
        """The path with the query."""
        return f"{self.path}?{self.query}" if self.query else self.path

    def belongs_to(self, user: str) -> None:
        """Count the request for a user, who has shown a valid token."""
        self.account.belongs_to(user)
        self.connection.identified(user, self.headers.last.get("authorization", "").rpartition(" ")[2])

    async def read_body(self, limit: int = MAX_MESSAGE_BYTES) -> bytearray:
        """The whole body. How long it may take is the server's to bound (see bounds.py).

        Raises:
            Refusal: it is larger than the limit, or too many bytes are in flight.
            Disconnected: the client left before its end.
        """
        body = bytearray()
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                raise Disconnected
            piece = message.get("body", b"")
            self.connection.body_taken()
            if len(body) + len(piece) > limit:
                raise Refusal(413, "body", f"A body has at most {limit} bytes.", [CLOSE])
            self.account.take(len(piece))
            body += piece
            if not message.get("more_body", False):
                self.connection.request_received()
                return body

    async def respond(self, response: Response) -> None:
        """Send a whole response; it is in flight until the client has read all but the last of it."""
        self.account.take_answer(len(response.body), is_refusable=response.is_refusable)
        length = () if response.status == 204 else (("content-length", str(len(response.body))),)
        await self._begin(response.status, [*response.headers, *length])
        await self._send_pieces(response.body, more_body=False)

    async def stream(
        self,
        messages: AsyncIterator[Bytes | None],
        on_disconnect: Callable[[], None],
        on_shutdown: Callable[[], None] = lambda: None,
    ) -> None:
        """Send messages as events until there are no more; None keeps proxies from closing a quiet stream."""
        leaving = asyncio.create_task(self._wait_for_disconnect())
        leaving.add_done_callback(lambda _: on_disconnect())
        self.connection.stream_opened(on_shutdown)
        try:
            await self._begin(200, _EVENTS)
            async for message in messages:
                if message is None:
                    await self._send_pieces(b": still here\n\n", more_body=True)
                else:
                    await self._send_event(message)
            await self._send({"type": "http.response.body", "body": b""})
        finally:
            leaving.cancel()

    async def _send_event(self, message: Bytes) -> None:
        self.account.take(len(message), is_refusable=False)
        try:
            if len(message) <= _PIECE:
                await self._send_pieces(b"event: message\ndata: %s\n\n" % message, more_body=True)
            else:
                for part in (b"event: message\ndata: ", message, b"\n\n"):
                    await self._send_pieces(part, more_body=True)
        finally:
            self.account.give_back(len(message))

    async def _send_pieces(self, body: Bytes, *, more_body: bool) -> None:
        is_long = len(body) > _PIECE
        for place in range(0, len(body), _PIECE) if is_long else ():
            piece = body[place : place + _PIECE]
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
        if not (is_long and more_body):  # an empty last piece waits until the others were sent
            await self._send({"type": "http.response.body", "body": b"" if is_long else body, "more_body": more_body})

    async def wait_until_gone(self) -> None:
        """Wait until the client has closed the connection; for use once the body was read."""
        while (is_gone := self.connection.is_gone()) is False:
            await asyncio.sleep(_LOOK_INTERVAL)
        if is_gone is None:
            await self._wait_for_disconnect()

    async def _wait_for_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _begin(self, status: int, headers: HeaderLines) -> None:
        encoded = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})


def json_response(status: int, value: object, headers: HeaderLines = ()) -> Response:
    """A value, or JSON that is encoded already, as a response."""
    return Response(status, value if isinstance(value, bytes | bytearray) else encode(value), (_JSON, *headers))
