"""HTTP connections, with bounds: a deadline for a whole request and for a client that takes no answer, a limit on heads
and trailers, and on how many connections there are.

The parser is Node's (llhttp, by httptools). What it finds is answered here without anything in between: most requests
are there in one piece, and are answered in the moment that they are. The answers of one turn of the event loop leave
together at its end: to be woken for each of them costs a client more than to read it, and us more than to send it.
"""

import asyncio
from collections import deque
from math import inf
from typing import TYPE_CHECKING

import httptools

from satchel.log import log_surprise
from satchel.transports.http.heads import read_address, read_head
from satchel.transports.http.replies import CLOSE, JSON, Answer, Lines, head
from satchel.transports.http.request import Request

if TYPE_CHECKING:
    from satchel.transports.http.wires import Wires

DEADLINE = 30.0  # seconds from the first byte of a request to its last
KEEP_ALIVE = 75.0  # seconds that a quiet connection is kept
MAX_HEAD_BYTES = 64 * 1024

_ENOUGH = 64 * 1024  # bytes of a body that are read before anybody asks for them


class Wire(asyncio.Protocol):
    """One connection. Whoever is slow or endless is cut off; the time that an answer takes is not counted."""

    deadline = DEADLINE
    transport: asyncio.Transport

    def __init__(self, wires: "Wires") -> None:
        self.loop = wires.loop
        self.due = inf  # when a request has to be there, or a quiet connection is closed
        self.reader_due = inf  # when the client has to have read something
        self._wires = wires
        self._app = wires.app
        self._parser = _parser(self)
        self._answering: Request | None = None  # whose answer is due
        self._reading: Request | None = None  # whose body is arriving
        self._waiting: deque[Request] = deque()  # behind the one that is answered
        self._outgoing = b""  # its answer, until the end of this turn of the loop
        self._closes = False  # after that
        self._is_last = False  # nothing more is read: what was asked is answered, and that was it
        self._drained: asyncio.Future[None] | None = None  # somebody waits for the client to read
        self._unread = 0  # bytes that the client had not read when we last looked
        self._is_stuck = False  # there is too much that it has not read
        self._is_paused = False  # it is we who do not read
        self._paused_at = 0.0
        # Of what is being read:
        self._is_arriving = False  # a request, or rubbish
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._other_bytes = 0  # since the last that was a body: an unfinished head, trailers, blank lines
        self._piece = 0  # the size of what came last,
        self._uncounted = 0  # and of what came when we began to count those others

    # -- the life of a connection -------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self._wires.open.add(self)
        if len(self._wires.open) > self._wires.limit:
            self._refuse(b"503 Service Unavailable", b"Too many connections. Try again later.")
        elif self._wires.is_ending:
            transport.close()
        else:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wires.open.discard(self)
        self.due = self.reader_due = inf
        self.resume_writing()
        for request in {self._answering, self._reading, *self._waiting}:
            if request is not None:
                request.leave()
        self._answering = self._reading = None
        self._waiting.clear()
        del self._parser  # which knows us, too

    def data_received(self, data: bytes) -> None:
        rest: bytes | None = data
        while rest is not None and not self.transport.is_closing():
            rest = self._take(rest)

    def eof_received(self) -> bool:
        """The client says nothing more. It may still wait for an answer, though hardly for the end of a stream.

        Most have left, though, and cannot be told from those that wait: they must not take the room of others.
        """
        if len(self._wires.open) <= self._wires.limit // 2 and self._conclude():
            return True
        self._close()
        return False

    def pause_writing(self) -> None:
        self._is_stuck = True
        self._unread = self.transport.get_write_buffer_size()
        self.reader_due = self.loop.time() + self.deadline

    def resume_writing(self) -> None:
        self._is_stuck = False
        if not self.transport.is_closing():
            self.reader_due = inf
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        if self._waiting:
            self._go_on()

    def look_at_the_clock(self, now: float) -> None:
        """Cut off who is overdue."""
        if self.reader_due <= now:
            unread, before = self.transport.get_write_buffer_size(), self._unread
            if unread >= before:
                self.transport.abort()
                return
            self._unread, self.reader_due = unread, now + self.deadline
        if self.due > now:
            return
        if self._is_arriving and self._is_paused:
            return  # it is we who do not read on
        if self._is_arriving:
            self._refuse(b"408 Request Timeout", b"A request has 30 seconds to arrive.")
        elif self.transport.get_write_buffer_size():
            self.transport.abort()  # closing would wait for a client that reads nothing
        else:
            self.transport.close()

    def end(self) -> None:
        """Close as soon as everything is answered."""
        if self._answering is None and not self._waiting:
            self._close()

    # -- what the parser finds ----------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if not self._is_arriving:
            self._expect()
        self._url = b""
        self._headers = []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))  # trailers too, which nobody looks at

    def on_headers_complete(self) -> None:
        parser = self._parser
        if parser.should_upgrade():
            return  # _decline takes it from here
        if self._other_bytes + self._uncounted > MAX_HEAD_BYTES and self._head_bytes() > MAX_HEAD_BYTES:
            self._refuse_head()
            raise ValueError("the head is too large")  # so that the parser stops
        self._other_bytes, self._uncounted = 0, self._piece
        if self._is_last or self.transport.is_closing():
            return  # nobody would hear the answer
        path, query, host = read_address(self._url)
        headers = read_head(self._headers, host)
        request = Request(self, parser.get_method().decode("ascii"), path, query, headers)
        request.is_old = parser.get_http_version() != "1.1"
        request.is_kept = not request.is_old and parser.should_keep_alive()
        if "expect" in headers.last:
            request.asks_first = not request.is_old and headers.last["expect"].lower() == "100-continue"
        self._reading = request
        if self._answering is None and not self._waiting and not self._is_stuck:
            self._begin(request)
        else:
            self._waiting.append(request)
            self._pause_reading()

    def on_body(self, body: bytes) -> None:
        self._other_bytes, self._uncounted = 0, self._piece
        request = self._reading
        if request is None or request.is_begun:
            return  # nobody wants it any more
        request.take(body)
        if request.size > _ENOUGH and not request.is_awaited:
            self._pause_reading()

    def on_message_complete(self) -> None:
        request = self._reading
        if request is None:
            return  # an upgrade, or nobody wants it any more
        self._reading = None
        self._is_arriving = False
        self.due = inf
        request.complete()
        if request is self._answering:
            if request.expected is not None:
                self._answer_now(request)
        elif self._answering is None and not self._waiting:
            self._rest()

    def _begin(self, request: Request) -> None:
        """Answer a request whose head is there, as soon as that can be."""
        self._answering = request
        if request.method == "POST":
            request.expected = self._app.expect(request)
        if request.expected is None:
            self._start(request)
        elif request.is_complete:
            self._answer_now(request)

    def _answer_now(self, request: Request) -> None:
        answer = self._app.answer_now(request)
        if answer is None:
            self._start(request)
        else:
            self.answer(request, answer)

    def _start(self, request: Request) -> None:
        """Answer a request that takes its time."""
        self._wires.start(self._app.answer(request))

    def _go_on(self) -> None:
        """Turn to the next request that waits."""
        if self._waiting and self._answering is None and not self._is_stuck and not self.transport.is_closing():
            request = self._waiting.popleft()
            if not self._waiting:
                self.resume_reading()
            self._begin(request)

    # -- what is answered ---------------------------------------------------------------------------------------

    def answer(self, request: Request, answer: Answer) -> None:
        """Send an answer that is whole."""
        if request.is_gone:
            return
        request.is_begun = True
        body, headers = answer.body, answer.headers
        if request.shares:
            headers += request.shares
        if self._closes_after(request) and CLOSE[0] not in headers:
            headers += CLOSE
        self._closes = headers is not JSON and CLOSE[0] in headers
        length = b"" if answer.status == 204 else b"content-length: %d\r\n" % len(body)
        if request.method == "HEAD":
            body = b""
        self._outgoing = b"%s%s%s\r\n%s" % (head(answer.status, headers), self._wires.date, length, body)
        self._wires.send_soon(self)

    def send(self) -> None:
        """Send the answer that is ready."""
        outgoing, self._outgoing = self._outgoing, b""
        if not self.transport.is_closing():
            self.transport.write(outgoing)
            self._done(self._closes)

    def begin_stream(self, request: Request, headers: Lines) -> None:
        """Send the head of an answer without a known end."""
        if request.is_gone:
            return
        if request.is_old or self._is_ending:
            request.is_kept = False
        framing: Lines = () if request.is_old else (("transfer-encoding", "chunked"),)
        closing = () if request.is_kept else CLOSE
        self.write(head(200, headers + request.shares + framing + closing) + self._wires.date + b"\r\n")

    async def send_part(self, request: Request, part: bytes) -> None:
        """Send a part of an answer, and wait for a client that does not read."""
        if request.is_gone:
            return
        self.write(part if request.is_old else b"%x\r\n%s\r\n" % (len(part), part))
        while self._is_stuck and not request.is_gone:
            self._drained = self.loop.create_future()
            await self._drained

    def end_stream(self, request: Request) -> None:
        """Send the end of an answer."""
        if request.is_gone:
            return
        if not request.is_old:
            self.write(b"0\r\n\r\n")
        self._done(not request.is_kept)

    def write(self, raw: bytes) -> None:
        """Send something as it is."""
        if not self.transport.is_closing():
            self.transport.write(raw)

    def resume_reading(self) -> None:
        """Read on."""
        if self._is_paused and not self._is_last and not self.transport.is_closing():
            self._is_paused = False
            self.due += self.loop.time() - self._paused_at
            self.transport.resume_reading()

    def _pause_reading(self) -> None:
        if not self._is_paused and not self.transport.is_closing():
            self._is_paused = True
            self._paused_at = self.loop.time()
            self.transport.pause_reading()

    def _closes_after(self, request: Request) -> bool:
        """Whether no other request follows: its client wants so, or may take its own body for an unwanted one, or we
        are ending."""
        if not request.is_kept or (request.asks_first and not request.is_complete):
            return True
        return self._is_ending and not self._waiting

    @property
    def _is_ending(self) -> bool:
        return self._is_last or self._wires.is_ending

    def _done(self, closes: bool) -> None:
        """An answer is sent."""
        self._answering = None
        if closes or (self._is_ending and not self._waiting):
            self._close()
        elif self._waiting:
            self.loop.call_soon(self._go_on)  # later, so that others get their turn
        else:
            if self._is_paused:
                self.resume_reading()
            if not self._is_arriving:
                self._rest()

    # -- time and bounds ----------------------------------------------------------------------------------------

    def _expect(self) -> None:
        """From now on, count the time of a request."""
        self._is_arriving = True
        self.due = self.loop.time() + self.deadline

    def _rest(self) -> None:
        """From now on, count the time of silence."""
        self.due = self.loop.time() + KEEP_ALIVE

    def _take(self, data: bytes) -> bytes | None:
        """Take in some bytes; gives what is to be taken in next."""
        if not self._is_arriving and self._answering is None:
            self._expect()  # also for bytes that are no request, or they could go on for ever
        self._piece = len(data)
        self._other_bytes += self._piece
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            return self._decline(data[upgrade.args[0] :])
        except httptools.HttpParserCallbackError as error:
            if not isinstance(error.__context__, ValueError):  # which is how we tell of a head that is none
                log_surprise("a request")
            self._refuse(b"400 Bad Request", b"This is no request.")
        except httptools.HttpParserError:
            self._refuse(b"400 Bad Request", b"This is not HTTP.")
        if self._other_bytes > MAX_HEAD_BYTES:
            self._refuse_head()
        return None

    def _decline(self, rest: bytes) -> bytes | None:
        """Read a request again without its wish for another protocol.

        The parser leaves out the body of such a request, and Java's client wishes for HTTP/2 in every first one.
        """
        method, version = self._parser.get_method(), self._parser.get_http_version()
        if method == b"CONNECT":
            self._refuse(b"400 Bad Request", b"This is no proxy.")
            return None
        lines = [b"%s %s HTTP/%s" % (method, self._url, version.encode())]
        kept = [line for line in self._headers if line[0].lower() != b"upgrade"]
        lines += [b"%s: %s" % line for line in kept]
        self._parser = _parser(self)
        self._other_bytes = 0
        return b"\r\n".join(lines) + b"\r\n\r\n" + rest

    def _head_bytes(self) -> int:
        """The size of the head that was read."""
        return len(self._url) + sum(len(name) + len(value) + 4 for name, value in self._headers)

    def _refuse_head(self) -> None:
        self._refuse(b"431 Request Header Fields Too Large", b"The head of a request has at most 64 KiB.")

    def _refuse(self, status: bytes, message: bytes) -> None:
        """Say what is wrong with what came, and close."""
        if self.transport.is_closing() or self._conclude():
            return
        if self._answering is not None and self._answering.is_begun:
            self.transport.abort()  # whatever we said would pass for a part of the stream
            return
        lines = b"content-type: text/plain\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(message)
        self.transport.write(b"HTTP/1.1 %s\r\n%s%s" % (status, lines, message))
        self._close()

    def _conclude(self) -> bool:
        """Read nothing more, and close when what was asked is answered; whether anything was. A stream has no end."""
        due, unfinished = self._answering, self._reading
        if due is not None and not self._outgoing and (due.is_begun or not due.is_complete):
            return False
        if self._waiting and self._waiting[-1] is unfinished:
            self._waiting.pop()
        if due is None and not self._waiting:
            return False
        self._reading = None
        self._is_last = True
        self._pause_reading()
        return True

    def _close(self) -> None:
        """Close as soon as the client has read everything, or is too slow to."""
        self.transport.close()
        self._unread = self.transport.get_write_buffer_size()
        self.due, self.reader_due = inf, self.loop.time() + self.deadline


def _parser(wire: Wire) -> httptools.HttpRequestParser:
    parser = httptools.HttpRequestParser(wire)
    # A client that says it will close after this request may have sent another all the same.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser
