"""An HTTP connection of uvicorn's with the bounds that it lacks: on time, on heads, and on waiting connections."""

import re
from asyncio import TimerHandle, Transport
from typing import Any

from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

MAX_FIELDS = 100
MAX_HEAD_BYTES = 64 * 1024
LARGE_HEAD = f"The head of a request has at most {MAX_FIELDS} fields and {MAX_HEAD_BYTES // 1024} KiB."

_MAX_PIPELINED = 64  # requests that wait behind another on a connection; each takes some 3 KB
_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)


class Limits(Struct, frozen=True, kw_only=True):
    """How many clients a process waits for, and how long."""

    connections: int = 1000
    request: float = 30.0  # seconds for a request to arrive; its body has more
    body_rate: int = 16 * 1024  # bytes that give a body one more second
    body: float = 600.0  # seconds for a request with a body at most
    write: float = 30.0  # seconds in which a client must take some of what was sent to it
    keep_alive: int = 75  # seconds that a connection may be idle between two requests
    shutdown: int = 10  # seconds for running requests when the server ends


class ParsingStopped(Exception):
    """Raised in a callback of the parser to stop it: the connection was refused."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection. It is `waiting` until a whole request has arrived, and again once that is answered."""

    def __init__(self, *, limits: Limits, waiting: "dict[BoundedProtocol, None]", **options: Any) -> None:
        super().__init__(**options)
        self._limits = limits
        self._waiting = waiting  # all such connections of the process, the one that waits longest first
        self._running: RequestResponseCycle | None = None  # unlike `cycle`, which may be of a pipelined request
        self._deadline: TimerHandle | None = None
        self._began_at = 0.0  # the request that is arriving
        self._is_arriving = False
        self._body_size = 0
        self._unparsed = 0  # bytes since the parser last completed a part of a message
        self._has_head = False  # of the request that is arriving
        self._held = b""

    # -- the connection -----------------------------------------------------------------------------------------

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_deadline()
        self._waiting[self] = None
        if len(self.connections) > self._limits.connections:
            oldest = next(iter(self._waiting))
            if oldest is self:
                self._refuse(503, b"All connections are in use. Try again later.")
            else:
                del self._waiting[oldest]
                oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._waiting.pop(self, None)
        self._stop_deadline()
        self._unset_keepalive_if_required()
        if self._running is not None:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        if end_streams := self.app_state.get("end_streams"):
            end_streams()
        super().shutdown()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._unparsed += len(data)
        if not self._has_head:
            data = self._hide_upgrade(data)
        super().data_received(data)
        if self._unparsed > MAX_HEAD_BYTES:
            self._refuse(431, LARGE_HEAD.encode())
        elif self._is_arriving or self._unparsed:
            self._start_deadline()

    def _hide_upgrade(self, data: bytes) -> bytes:
        """Rename the header `Upgrade`, behind which httptools drops the body. Java's client sends one with its first POST.

        A part of its name that ends a packet is kept for the next.
        """
        data, self._held = self._held + data, b""
        end = data.find(b"\r\n\r\n")
        if end >= 0:
            return _UPGRADE.sub(b"\r\nx-upgrade:", data[:end]) + data[end:]
        cut = data.rfind(b"\r")
        if cut >= 0 and b"\r\nupgrade:".startswith(data[cut:].lower()):
            data, self._held = data[:cut], data[cut:]
        return _UPGRADE.sub(b"\r\nx-upgrade:", data)

    # -- callbacks of the parser --------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._is_arriving = True
        self._has_head = False
        self._body_size = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) >= MAX_FIELDS:
            self._refuse(431, LARGE_HEAD.encode())
            raise ParsingStopped
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= _MAX_PIPELINED:
            self._refuse(503, b"At most %d requests wait on a connection." % _MAX_PIPELINED)
            raise ParsingStopped
        self._has_head = True
        self._unparsed = 0
        super().on_headers_complete()
        self.headers = []  # trailers must not become headers that the application sees

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        self._body_size += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_arriving = self._has_head = False
        self._unparsed = 0
        self._waiting.pop(self, None)
        self._stop_deadline()
        super().on_message_complete()
        if self.cycle.response_complete:  # it was refused before its body had arrived
            self.on_response_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg.encode())

    # -- the application ----------------------------------------------------------------------------------------

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and self._running is not None and self._running.response_complete:
            self._waiting[self] = None

    # -- bounds -------------------------------------------------------------------------------------------------

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._began_at = self.loop.time()
            self._deadline = self.loop.call_later(self._limits.request, self._check_deadline)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _check_deadline(self) -> None:
        """Refuse a request that is late. A body has more time the more of it has arrived."""
        if self.flow.read_paused or self._is_answering():  # the client waits for us
            self._began_at = self.loop.time()
        allowed = min(self._limits.request + self._body_size / self._limits.body_rate, self._limits.body)
        left = self._began_at + allowed - self.loop.time()
        if left > 0:
            self._deadline = self.loop.call_later(left, self._check_deadline)
        else:
            self._refuse(408, b"The request did not arrive in time.")

    def _is_answering(self) -> bool:
        running = self._running
        is_due = running is not None and not running.response_complete
        return running is not None and is_due and (running.response_started or not running.more_body)

    def _refuse(self, status: int, message: bytes) -> None:
        """Answer and close; without an answer where it would pass for that of another request."""
        if self._is_answering():
            self.transport.abort()
        elif not self.transport.is_closing():
            later = b"retry-after: 1\r\n" if status == 503 else b""
            head = b"%scontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % (
                later,
                len(message),
            )
            self.transport.write(STATUS_LINE[status] + head + message)
            self.transport.close()
