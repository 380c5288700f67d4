"""What uvicorn lacks against slow and endless clients: time limits, a bound on unread bytes and on connections."""

import asyncio
import re
import select
import socket
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from satchel.transports.http.timeouts import Timeouts

MAX_UNREAD_BYTES = 512 * 1024  # received and not taken by the application: heads and pipelined requests
_CLOSED = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR  # the first tells most, on Linux only
_UPGRADE, _DECLINED = re.compile(rb"\r\nupgrade:", re.IGNORECASE), b"\r\nx-asked:"  # of one length


class BoundedProtocol(HttpToolsProtocol):
    """An HTTP connection with bounds; the application finds it in `scope["state"]`, and reports how far it has read."""

    def __init__(self, *, app_state: dict[str, Any], max_connections: int, timeouts: Timeouts, **options: Any) -> None:
        super().__init__(app_state={**app_state, "satchel.connection": self}, **options)
        self._max_connections = max_connections
        self._timeouts = timeouts
        self._timer: asyncio.TimerHandle | None = None
        self._is_idle = True  # the next byte begins a request
        self._unread = 0
        self._cycles: list[RequestResponseCycle] = []  # uvicorn reports a loss to the last of pipelined requests only
        self._close_stream: Callable[[], None] | None = None

    def body_taken(self) -> None:
        """The application has read what has arrived so far."""
        self._unread = 0

    def request_received(self) -> None:
        """The application has the whole request: no time limit runs until the next one begins."""
        self._unread = 0
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
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            limit = int(self._timeouts.write * 1000)
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limit)
        if len(self.connections) > self._max_connections:
            self._refuse(b"503 Service Unavailable", b"Too many connections. Try again later.")
        else:
            self._start_timer()

    def data_received(self, data: bytes) -> None:
        if self._is_idle:
            self._is_idle = False
            if self._timer is None:
                self._start_timer()
            # httptools drops the body of a request for another protocol, as Java's client sends first: hide that wish.
            head, end, body = data.partition(b"\r\n\r\n")
            if _UPGRADE.search(head):
                data = _UPGRADE.sub(_DECLINED, head) + end + body
        self._unread += len(data)
        super().data_received(data)
        if self._unread > MAX_UNREAD_BYTES:
            self._refuse(b"431 Request Header Fields Too Large", b"The head of a request has at most 64 KiB.")

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.headers = []  # uvicorn would add the trailers of a body to the headers that the application sees
        self._cycles = [cycle for cycle in (*self._cycles, self.cycle) if not cycle.response_complete]

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        if self.cycle.response_complete:
            self._unread = 0  # the rest of a body that was refused is dropped

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self.response_sent()
            self.on_response_complete()  # keeps the connection for the usual time

    def connection_lost(self, exc: Exception | None) -> None:
        self.request_received()
        self._unset_keepalive_if_required()
        for cycle in self._cycles:
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        super().shutdown()
        if self._close_stream is not None:
            self._close_stream()
        if self.transport.is_closing():
            self.loop.call_later(self._timeouts.linger, self.transport.abort)

    def _start_timer(self) -> None:
        late = b"A request has %d seconds to arrive." % self._timeouts.request
        self._timer = self.loop.call_later(self._timeouts.request, self._refuse, b"408 Request Timeout", late)

    def _refuse(self, status: bytes, message: bytes) -> None:
        if self._close_stream is not None:
            self.transport.abort()  # a status line would be read as part of the stream
        elif not self.transport.is_closing():
            lines = b"content-type: text/plain\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(message)
            self.transport.write(b"HTTP/1.1 %s\r\n%s%s" % (status, lines, message))
            self.transport.close()
