"""One request over HTTP, and the way back for its answer."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from satchel.protocol import MAX_MESSAGE_BYTES
from satchel.protocol.streamable_http import Post
from satchel.transports.http.guard import Refusal, too_large
from satchel.transports.http.heads import Head
from satchel.transports.http.replies import STREAM, Answer, Lines

if TYPE_CHECKING:
    from satchel.transports.http.app import Expected
    from satchel.transports.http.wire import Wire


class Request:
    """What was asked. It is answered with one `Answer`, or with a stream of events."""

    is_old = False  # HTTP/1.0
    is_kept = True  # the connection, for another request
    asks_first = False  # whether to send the body (Expect: 100-continue)
    is_complete = False  # the body is there
    is_begun = False  # the answer: it is ready, or a stream of it
    is_gone = False  # the client
    shares: Lines = ()  # headers that let a page of another origin read the answer
    expected: "Expected | None" = None  # how it is answered in the moment that it is complete
    post: Post | None = None  # the body, where it was read already
    _body: bytes | bytearray = b""
    _waiter: asyncio.Future[None] | None = None
    _on_leaving: Callable[[], None] | None = None

    def __init__(self, wire: "Wire", method: str, path: str, query: str, headers: Head) -> None:
        self._wire = wire
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers

    # -- for whoever answers ------------------------------------------------------------------------------------

    async def body(self) -> bytes:
        """The whole body, counted while it is read.

        Raises:
            Refusal: it has more bytes than we take, or its client left.
        """
        if self.asks_first and not self.is_complete:
            self.asks_first = False
            self._wire.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while len(self._body) <= MAX_MESSAGE_BYTES:
            if self.is_complete:
                body, self._body = bytes(self._body), b""  # or it would be kept twice
                return body
            if self.is_gone:
                raise Refusal(400, "body", "The body ended early.")
            self._waiter = self._wire.loop.create_future()
            self._wire.resume_reading()
            await self._waiter
        raise too_large()

    def when_gone(self, act: Callable[[], None]) -> None:
        """Do something when the client leaves before it has its answer."""
        if self.is_gone:
            act()
        else:
            self._on_leaving = act

    def begin_stream(self) -> None:
        """Open a stream of events."""
        self.is_begun = True
        self._wire.begin_stream(self, STREAM)

    async def send_event(self, message: bytes) -> None:
        """Send one message as an event; it has no line ends of its own."""
        await self._wire.send_part(self, b"event: message\ndata: %s\n\n" % message)

    async def send_comment(self) -> None:
        """Send a sign of life, which clients ignore."""
        await self._wire.send_part(self, b": still here\n\n")

    def end_stream(self) -> None:
        """Close the stream."""
        self._wire.end_stream(self)

    def answer(self, answer: Answer) -> None:
        """Send an answer that is whole."""
        self._wire.answer(self, answer)

    def small_body(self) -> bytes:
        """The body of a request that is complete and was expected to be small."""
        return bytes(self._body)

    def abort(self) -> None:
        """Leave the client without an answer, or with a part of one."""
        self._wire.transport.abort()

    # -- for the wire -------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The bytes of the body that are there."""
        return len(self._body)

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for the rest of the body."""
        return self._waiter is not None

    def take(self, part: bytes) -> None:
        """Take in some of the body."""
        if not self._body:
            self._body = part
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += part
        if self._waiter is not None:
            self._wake()

    def complete(self) -> None:
        """The body is all there."""
        self.is_complete = True
        if self._waiter is not None:
            self._wake()

    def leave(self) -> None:
        """The client is gone."""
        self.is_gone = True
        if self._waiter is not None:
            self._wake()
        if self._on_leaving is not None:
            self._on_leaving()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
