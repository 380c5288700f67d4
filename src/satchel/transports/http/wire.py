"""HTTP connections as uvicorn serves them, with what it leaves open: a deadline for a whole request and for a client
that takes no answer, a bound on heads and trailers, and on how many connections there are."""

import asyncio
import re
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from satchel.transports.http.app import App, Expected
from satchel.transports.http.replies import WHOLE

DEADLINE = 30.0  # seconds from the first byte of a request to its last
MAX_HEAD_BYTES = 64 * 1024
_SMALL = 32 * 1024  # bytes of a body

_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")


class Cycle(RequestResponseCycle):
    """One request and its answer. An answer that is whole goes out at once: uvicorn would send head and body apart."""

    async def send(self, message: Any) -> None:
        if message["type"] != WHOLE:
            await super().send(message)
            return
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        self.finish(message)

    def finish(self, message: Any) -> None:
        """Send a whole answer now."""
        if self.disconnected:
            return
        headers = [*self.default_headers, *message["headers"]]
        if not self.keep_alive:
            headers.append((b"connection", b"close"))
        elif (b"connection", b"close") in headers:
            self.keep_alive = False
        lines = b"".join([b"%s: %s\r\n" % header for header in headers])
        body = b"" if self.scope["method"] == "HEAD" else message["body"]
        self.transport.write(STATUS_LINE[message["status"]] + lines + b"\r\n" + body)
        self.response_started = self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


class _Alarm:
    """A time-out that is put off with every request and seldom comes: the loop has one timer for many of them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        return self._due is not None

    def set(self, seconds: float) -> None:
        self._due = self._loop.time() + seconds
        if self._timer is None:
            self._timer = self._loop.call_at(self._due, self._look)

    def clear(self) -> None:
        self._due = None

    def forget(self) -> None:
        self._due = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._due is None:
            return
        if self._loop.time() + 0.001 < self._due:
            self._timer = self._loop.call_at(self._due, self._look)
        else:
            self._due = None
            self._ring()


class BoundedProtocol(HttpToolsProtocol):
    """One connection. Whoever is slow or endless is cut off; the time that an answer takes is not counted."""

    max_connections = 1000
    deadline = DEADLINE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._arrival = _Alarm(self.loop, self._expired)  # of a whole request
        self._quiet = _Alarm(self.loop, self.timeout_keep_alive_handler)
        self._stall: asyncio.TimerHandle | None = None
        self._running: RequestResponseCycle | None = None  # whose answer is due; `cycle` may wait behind it
        self._is_in_head = True
        self._expected: Expected | None = None  # what is being read, where it is answered when it is all there
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
        self._arrival.forget()
        self._quiet.forget()
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
        if not self._arrival.is_set:
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
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

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
        self._begin_cycle()

    def on_body(self, body: bytes) -> None:
        self._other_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._arrival.clear()
        self._is_in_head = True
        super().on_message_complete()
        expected, self._expected = self._expected, None
        if expected is not None:
            self._answer_small(expected)

    def _promises_little(self) -> bool:
        """Whether a request will be all there in a moment, so that it may be answered without a task of its own."""
        if self.scope["method"] != "POST" or self.expect_100_continue:
            return False
        for name, value in self.headers:
            if name == b"content-length":
                return value.isdigit() and len(value) <= 5 and int(value) <= _SMALL
        return False

    def _answer_small(self, expected: Expected) -> None:
        cycle = self.cycle
        if isinstance(cycle, Cycle) and isinstance(self.app, App) and not self.flow.write_paused:
            message = self.app.answer_now(expected, cast("dict[str, Any]", cycle.scope), bytes(cycle.body))
            if message is not None:
                self._running = cycle
                cycle.finish(message)
                return
        self._start_asgi_task(cycle, self.app)

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._quiet.set(self.timeout_keep_alive)

    def _unset_keepalive_if_required(self) -> None:
        self._quiet.clear()

    def _begin_cycle(self) -> None:
        """Begin to answer a request whose head is there; what uvicorn does, with our cycle and without websockets."""
        version = self.parser.get_http_version()
        address = httptools.parse_url(self.url)
        path = address.path.decode("ascii")
        self.scope["method"] = self.parser.get_method().decode("ascii")
        self.scope["http_version"] = version
        self.scope["path"] = unquote(path) if "%" in path else path
        self.scope["raw_path"] = address.path
        self.scope["query_string"] = address.query or b""
        before = self.cycle
        self.cycle = Cycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and self.parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        if before is None or before.response_complete:
            if isinstance(self.app, App) and self._promises_little():
                self._expected = self.app.expect(cast("dict[str, Any]", self.scope))
            if self._expected is None:
                self._start_asgi_task(self.cycle, self.app)
        else:  # one behind another
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    # -- ours ---------------------------------------------------------------------------------------------------

    def _take(self, data: bytes) -> bytes | None:
        """Take in some bytes; gives what is to be taken in next."""
        if not self._arrival.is_set and not self._is_answering:
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
        self._arrival.set(self.deadline)

    def _expired(self) -> None:
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
