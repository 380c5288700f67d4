"""uvicorn's HTTP connection with limits on time, the size of heads, and idle connections."""

import re
from asyncio import TimerHandle, Transport
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from satchel.transports.http.limits import LARGE_HEAD, MAX_FIELDS, MAX_HEAD_BYTES, MAX_PIPELINED, Timeouts

Waiting = dict["BoundedProtocol", None]

_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)


class BoundedProtocol(HttpToolsProtocol):
    """A connection, which is `waiting` until a whole request has arrived, and again after the answer."""

    def __init__(self, *, connections: int, timeouts: Timeouts, waiting: "Waiting", **options: Any) -> None:
        super().__init__(**options)
        self._most_connections, self._timeouts = connections, timeouts
        self._waiting = waiting  # all such connections of the process, longest wait first
        self._running: RequestResponseCycle | None = None  # unlike `cycle`, which may belong to a pipelined request
        self._deadline: TimerHandle | None = None
        self._is_arriving = self._has_head = False  # of the current request
        self._began_at, self._body_size = 0.0, 0  # of the current request
        self._unparsed, self._held = 0, b""  # bytes since the parser last completed a part of a message

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_deadline()
        self._waiting[self] = None
        if len(self.connections) > self._most_connections:
            oldest = next(iter(self._waiting))  # this connection, if all others are in use
            del self._waiting[oldest]
            oldest._refuse(503, b"All connections are in use. Try again later.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._waiting.pop(self, None)
        self._stop_deadline()
        if self._running is not None:  # uvicorn notifies only the latest request
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        if end_streams := self.app_state.get("end_streams"):
            end_streams()
        super().shutdown()

    def data_received(self, data: bytes) -> None:
        self._unparsed += len(data)
        super().data_received(data if self._has_head else self._hide_upgrade(data))
        if self._unparsed > MAX_HEAD_BYTES:
            self._refuse(431, LARGE_HEAD.encode())
        elif self._is_arriving or self._unparsed:
            self._start_deadline()

    def _hide_upgrade(self, data: bytes) -> bytes:
        """Rename the header `Upgrade`, which Java's client sends, because httptools drops the body of such requests."""
        data, self._held = self._held + data, b""
        head, end, rest = data.partition(b"\r\n\r\n")
        cut = -1 if end else head.rfind(b"\r")
        if cut >= 0 and b"\r\nupgrade:".startswith(head[cut:].lower()):  # the rest of the name is in the next packet
            head, self._held = head[:cut], head[cut:]
        return _UPGRADE.sub(b"\r\nx-upgrade:", head) + end + rest

    def on_message_begin(self) -> None:
        self._is_arriving, self._has_head, self._body_size = True, False, 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) >= MAX_FIELDS:
            self._refuse(431, LARGE_HEAD.encode())
            raise ConnectionAbortedError  # stops the parser
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINED:
            self._refuse(503, b"At most %d requests wait on a connection." % MAX_PIPELINED)
            raise ConnectionAbortedError
        self._has_head, self._unparsed = True, 0
        super().on_headers_complete()
        self.headers = []  # otherwise, the application would see trailers as headers

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        self._body_size += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_arriving, self._has_head, self._unparsed = False, False, 0
        self._waiting.pop(self, None)
        self._stop_deadline()
        super().on_message_complete()
        if self.cycle.response_complete:  # the request was refused before its body had arrived
            self.on_response_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg.encode())

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and not self._is_answering():
            self._waiting[self] = None

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._began_at = self.loop.time()
            self._deadline = self.loop.call_later(self._timeouts.request, self._check_deadline)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _check_deadline(self) -> None:
        if self.flow.read_paused or self._is_answering():  # the client is waiting for the server
            self._began_at = self.loop.time()
        left = self._began_at + self._timeouts.for_request(self._body_size) - self.loop.time()
        if left > 0:
            self._deadline = self.loop.call_later(left, self._check_deadline)
        else:
            self._refuse(408, b"The request did not arrive in time.")

    def _is_answering(self) -> bool:
        running = self._running
        if running is None or running.response_complete:
            return False
        return running.response_started or not running.more_body

    def _refuse(self, status: int, message: bytes) -> None:
        """Send an error and close the connection; omit the error if the client would match it to another request."""
        if self._is_answering():
            self.transport.abort()
        elif not self.transport.is_closing():
            later = b"retry-after: 1\r\n" if status == 503 else b""
            head = b"content-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n" % len(message)
            self.transport.write(STATUS_LINE[status] + later + head + b"\r\n" + message)
            self.transport.close()
