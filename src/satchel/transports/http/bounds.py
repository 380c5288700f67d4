"""What uvicorn lacks against slow and endless clients: time limits, bounds on heads, unread bytes and connections."""

import asyncio
import re
import select
from collections.abc import Callable
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from satchel.transports.http import sockets
from satchel.transports.http.connections import MAX_UNREAD_BYTES, Connections
from satchel.transports.http.early_refusals import TOO_MANY, refuse_admission, refuse_late, write_refusal
from satchel.transports.http.flow import Flow
from satchel.transports.http.guard import LARGE_HEAD, MAX_FIELDS, MAX_HEAD_BYTES
from satchel.transports.http.timeouts import Timeouts
from satchel.transports.http.turns import Metered, Turns

MAX_PIPELINED = 64  # requests that wait on a connection; each takes some 3 KB
MAX_UNREAD = 512 * 1024  # bytes received on one connection, and not taken: heads and pipelined requests
FEW_UNREAD = 16 * 1024  # bytes that a connection may always have

_PIECE = 4096  # bytes of a head, or of a body in chunks, that are parsed in one turn: each may be a chunk of one byte

# Seconds that the event loop needs besides what is measured: to open and close a connection, to read from it, a byte.
_CONNECTION_SECONDS = 0.0003
_READ_SECONDS = 0.00003
_BYTE_SECONDS = 0.5e-9

_CLOSED = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR  # the first tells most, on Linux only
_UPGRADE, _DECLINED = b"\r\nupgrade:", b"\r\nx-asked:"  # of one length


class Refused(Exception):
    """Raised in a callback of the parser, to have it stop: the connection was refused."""


class BoundedProtocol(HttpToolsProtocol):
    """An HTTP connection with bounds; the application finds it in `scope["state"]`, and reports how far it has read."""

    def __init__(
        self, *, app_state: dict[str, Any], register: Connections, turns: Turns, timeouts: Timeouts, **options: Any
    ) -> None:
        super().__init__(app_state={**app_state, "satchel.connection": self}, **options)
        self.flow: Flow
        self.address = ""
        self._register = register
        self._turns = turns
        self.holder = ""  # whose time of the event loop this connection takes
        self._timeouts = timeouts
        self._timer: asyncio.TimerHandle | None = None
        self._progress: sockets.Progress | None = None
        self._progress_timer: asyncio.TimerHandle | None = None
        self._is_idle = True  # the next byte begins a request
        self._is_parsing = False  # a head, whose request it is the turn of
        self._has_length = False  # the body that arrives is not in chunks
        self._is_for_probes = False  # there was no room for anything else
        self._began_at = 0.0  # the request that arrives
        self._body_bytes = 0  # of it
        self._unread = 0
        self._cycles: list[RequestResponseCycle] = []  # uvicorn reports a loss to the last of pipelined requests only
        self._close_stream: Callable[[], None] | None = None

    # -- what the application reports -------------------------------------------------------------------------

    def identified(self, user: str, token: str) -> None:
        """The application knows whose request this is."""
        self.holder = self._turns.identify(token.encode("latin-1"), user)

    def computed(self, seconds: float) -> None:
        """A thread has computed so long for the request, in the interpreter that the event loop needs, too."""
        self._turns.used(self.holder, seconds)

    def body_taken(self) -> None:
        """The application has read what has arrived so far."""
        self._count_unread(0)

    def request_received(self) -> None:
        """The application has the whole request: no time limit runs until the next one begins."""
        self._count_unread(0)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def stream_opened(self, close: Callable[[], None]) -> None:
        """The response is a stream; `close` ends it when the server shuts down."""
        self.request_received()
        self._close_stream = close

    def response_sent(self) -> None:
        """The application has done with a request; one behind it may have begun already."""
        self.request_received()
        self._close_stream = None
        following = [cycle for cycle in self._cycles if not cycle.response_complete]
        self._is_idle = not following
        if following and following[0].more_body:
            self._start_timer()
        self._tell_state()

    # -- what the connection reports ----------------------------------------------------------------------------

    def is_gone(self) -> bool:
        """Whether the client has closed the connection, which uvicorn does not notice while requests are pipelined."""
        if self.transport.is_closing():
            return True
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), _CLOSED)
        if poll.poll(0):
            self.transport.abort()  # the requests behind this one are not begun
            return True
        return False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.flow = Flow(transport)
        self._progress = sockets.Progress(transport)
        self._progress_timer = self.loop.call_later(self._timeouts.write / 4, self._check_progress)
        admission = self._register.admit(self)
        refusal = refuse_admission(admission)
        if refusal is None:
            self._is_for_probes = admission == "probes only"
            self._start_timer()
        else:
            self._end_with(refusal)

    def data_received(self, data: bytes) -> None:
        begins = self._is_idle and (self.cycle is None or not self.cycle.more_body)  # else a refused body goes on
        seconds = _READ_SECONDS + len(data) * _BYTE_SECONDS
        if self._is_idle:
            self._is_idle = False
            if self._timer is None:
                self._start_timer()
        if begins:
            seconds += 0.0 if self.holder else _CONNECTION_SECONDS
            self.holder = self._turns.find_holder(data, self.address)
        self._turns.used(self.holder, seconds)
        self._count_unread(self._unread + len(data))
        if not self._turns.take(self.holder, partial(self._parse, data, begins=begins)):
            self.flow.wait()
        self._tell_state()
        if self._unread > MAX_UNREAD:
            self._refuse(b"431 Request Header Fields Too Large", b"The head of a request has at most 64 KiB.")
        elif self._unread > FEW_UNREAD and self._register.unread > MAX_UNREAD_BYTES:
            self._refuse(b"503 Service Unavailable", b"Too many bytes are in flight. Try again later.")

    def _parse(self, data: bytes, *, begins: bool) -> None:
        """Have uvicorn parse what has arrived, when it is its turn."""
        if self.parser is None or self.transport.is_closing():
            return
        if self.flow.is_waiting and self.is_gone():  # which is not noticed while nothing is read
            return
        # httptools drops the body of a request for another protocol, as Java's client sends first: hide that wish.
        if begins and _UPGRADE in data[:MAX_HEAD_BYTES].lower():
            head, end, body = data.partition(b"\r\n\r\n")
            data = re.sub(_UPGRADE, _DECLINED, head, flags=re.IGNORECASE) + end + body
        piece = data if self._has_length else data[:_PIECE]
        super().data_received(piece)
        if self.transport.is_closing():
            return
        if len(piece) < len(data):
            self.flow.wait()
            self._turns.follow(self.holder, partial(self._parse, data[len(piece) :], begins=False))
        elif self.flow.is_waiting:
            self.flow.go_on()
        self._tell_state()

    def connection_lost(self, exc: Exception | None) -> None:
        self.request_received()
        self._unset_keepalive_if_required()
        if self._progress_timer is not None:
            self._progress_timer.cancel()
        self._register.remove(self)
        for cycle in self._cycles:
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    # -- what the parser reports --------------------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) >= MAX_FIELDS:  # at once, because every field costs time
            self._refuse(b"431 Request Header Fields Too Large", LARGE_HEAD.encode())
            raise Refused
        super().on_header(name, value)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        def run(scope: Any, receive: Any, send: Any) -> Metered:
            return Metered(app(scope, receive, send), lambda seconds: self._turns.used(self.holder, seconds))

        def start() -> None:
            if not self.transport.is_closing():
                HttpToolsProtocol._start_asgi_task(self, cycle, run)

        if self._is_parsing:
            start()
        else:
            self._turns.take(self.holder, start)  # the request waited behind another one on this connection

    def on_headers_complete(self) -> None:
        if self._is_for_probes and self.url.partition(b"?")[0] != b"/health":
            self._end_with(TOO_MANY)
            raise Refused
        if len(self.pipeline) >= MAX_PIPELINED:
            self._refuse(b"503 Service Unavailable", b"At most %d requests wait on a connection." % MAX_PIPELINED)
            raise Refused
        self._has_length = not any(name == b"transfer-encoding" for name, _ in self.headers)
        self._is_parsing = True
        super().on_headers_complete()
        self._is_parsing = False
        self.headers = []  # uvicorn would add the trailers of a body to the headers that the application sees
        self._cycles = [cycle for cycle in (*self._cycles, self.cycle) if not cycle.response_complete]
        self._body_bytes = 0

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._body_bytes += len(body)
        if self.cycle.response_complete:
            self._count_unread(0)  # the rest of a body that was refused is dropped

    def on_message_complete(self) -> None:
        self._has_length = False
        super().on_message_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self.response_sent()
            self.on_response_complete()  # keeps the connection for the usual time

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():  # else it was refused already
            super().send_400_response(msg)

    # -- the end ------------------------------------------------------------------------------------------------

    def shutdown(self) -> None:
        super().shutdown()
        if self._close_stream is not None:
            self._close_stream()
        if self.transport.is_closing():
            self.loop.call_later(self._timeouts.linger, self.transport.abort)

    def give_way(self) -> None:
        """Close, because another connection needs the room."""
        if self._is_idle and not self.transport.get_write_buffer_size():
            self.transport.close()
        else:
            self.transport.abort()

    # -- bounds -------------------------------------------------------------------------------------------------

    def _count_unread(self, size: int) -> None:
        self._register.unread += size - self._unread
        self._unread = size

    def _tell_state(self) -> None:
        """Tell the register whether this connection waits for its client."""
        unanswered = next((cycle for cycle in self._cycles if not cycle.response_complete), None)
        if unanswered is None:
            self._register.change(self, "idle" if self._is_idle else "arriving")
        else:
            self._register.change(self, "arriving" if unanswered.more_body else "busy")

    def _start_timer(self) -> None:
        self._began_at = self.loop.time()
        self._body_bytes = 0
        self._timer = self.loop.call_later(self._timeouts.request, self._check_arrival)

    def _check_arrival(self) -> None:
        """Refuse a request that is late. A body has more time the more of it has arrived."""
        limits = self._timeouts
        allowed = min(limits.request + self._body_bytes / limits.body_rate, limits.body)
        left = self._began_at + allowed - self.loop.time()
        if left > 0:
            self._timer = self.loop.call_later(left, self._check_arrival)
            return
        self._end_with(refuse_late(limits))

    def _check_progress(self) -> None:
        """Cut off a client that has read nothing of what waits for it for too long, however slow it may read."""
        assert self._progress is not None
        if self._progress.stalled_for(self.loop.time()) >= self._timeouts.write:
            self.transport.abort()
        else:
            self._progress_timer = self.loop.call_later(self._timeouts.write / 4, self._check_progress)

    def _refuse(self, status: bytes, message: bytes) -> None:
        self._end_with(write_refusal(status, message))

    def _end_with(self, response: bytes) -> None:
        if self._close_stream is not None:
            self.transport.abort()  # a status line would be read as part of the stream
        elif not self.transport.is_closing():
            self.transport.write(response)
            self.transport.close()
