"""HTTP connections as uvicorn serves them, with what it leaves open: a deadline for a whole request and for a client
that takes no answer, a bound on heads and trailers, and on how many connections there are."""

import asyncio
import re
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

DEADLINE = 30.0  # seconds from the first byte of a request to its last
MAX_HEAD_BYTES = 64 * 1024

_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")


class BoundedProtocol(HttpToolsProtocol):
    """One connection. Whoever is slow or endless is cut off; the time that an answer takes is not counted."""

    max_connections = 1000
    deadline = DEADLINE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._running: RequestResponseCycle | None = None  # whose answer is due; `cycle` may wait behind it
        self._is_in_head = True
        self._head_bytes = 0  # of the head that is being read, as far as it is understood
        self._other_bytes = 0  # since the last that was a body: an unfinished head, trailers, blank lines

    # -- the life of a connection -------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            self._refuse(b"503 Service Unavailable", b"Too many connections. Try again later.")
            return
        self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self.resume_writing()
        super().connection_lost(exc)
        if self._running is not None and not self._running.response_complete:
            # uvicorn tells the last request only, and a stream with another behind it would never end.
            self._running.disconnected = True
            self._running.message_event.set()

    def data_received(self, data: bytes) -> None:
        rest: bytes | None = data
        while rest is not None and not self.transport.is_closing():
            rest = self._take(rest)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stall is None:
            self._await_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # closing would wait for a client that reads nothing
        else:
            super().timeout_keep_alive_handler()

    def send_400_response(self, msg: str) -> None:
        self._refuse(b"400 Bad Request", msg.encode("ascii", "replace"))

    # -- what the parser finds ----------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._timer is None:
            self._start()
        self._is_in_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._head_bytes += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_in_head:
            return  # a trailer, which must not pass for a header
        self._head_bytes += len(name) + len(value) + 4
        super().on_header(name, value.rstrip(b" \t"))  # the parser leaves only the blanks in front out

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # _decline takes it from here
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse_head()
            raise ValueError("the head is too large")  # so that the parser stops
        self._is_in_head = False
        self._other_bytes = 0
        absolute = _ABSOLUTE.match(self.url)
        if absolute is not None:
            # The address says which host is meant then, whatever the header says.
            self.headers[:] = [(name, absolute[1] if name == b"host" else value) for name, value in self.headers]
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._other_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._stop()
        self._is_in_head = True
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    # -- ours ---------------------------------------------------------------------------------------------------

    def _take(self, data: bytes) -> bytes | None:
        """Take in some bytes; gives what is to be taken in next."""
        if self._timer is None and not self._is_answering:
            self._start()  # also for bytes that are no request, or they could go on for ever
        self._unset_keepalive_if_required()
        self._other_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            return self._decline(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("This is not HTTP.")
        if self._other_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse_head()
        return None

    def _decline(self, rest: bytes) -> bytes | None:
        """Read a request again without its wish for another protocol.

        The parser leaves out the body of such a request, and Java's client wishes for HTTP/2 in every first one.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version()
        if method == b"CONNECT":
            self.send_400_response("This is no proxy.")
            return None
        lines = [b"%s %s HTTP/%s" % (method, self.url, version.encode())]
        lines += [b"%s: %s" % header for header in self.headers if header[0] not in (b"connection", b"upgrade")]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn has it
        self._other_bytes = 0
        return b"\r\n".join(lines) + b"\r\n\r\n" + rest

    @property
    def _is_answering(self) -> bool:
        return self._running is not None and not self._running.response_complete

    def _start(self) -> None:
        self._timer = self.loop.call_later(self.deadline, self._expired)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expired(self) -> None:
        self._timer = None
        if self.flow.read_paused and not self.transport.is_closing():
            self._start()  # it is we who do not read on
        else:
            self._refuse(b"408 Request Timeout", b"A request has 30 seconds to arrive.")

    def _await_reader(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._stall = self.loop.call_later(self.deadline, self._stalled, unread)

    def _stalled(self, before: int) -> None:
        if self.transport.get_write_buffer_size() >= before:
            self.transport.abort()
        else:
            self._await_reader()

    def _refuse_head(self) -> None:
        self._refuse(b"431 Request Header Fields Too Large", b"The head of a request has at most 64 KiB.")

    def _refuse(self, status: bytes, message: bytes) -> None:
        if self.transport.is_closing():
            return
        running = self._running
        if running is not None and self._is_answering and (running.response_started or not running.more_body):
            self.transport.abort()  # whatever we said would pass for a part of the answer that is due
            return
        self.transport.write(
            b"HTTP/1.1 "
            + status
            + b"\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: "
            + str(len(message)).encode()
            + b"\r\n\r\n"
            + message
        )
        self.transport.close()
