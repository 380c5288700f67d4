"""HTTP connections as uvicorn serves them, with what it leaves open: a deadline for a whole request, a bound on its
head, and on how many connections there are."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

DEADLINE = 30.0  # seconds from the first byte of a request to its last
MAX_HEAD_BYTES = 64 * 1024


class BoundedProtocol(HttpToolsProtocol):
    """One connection. Whoever is slow or endless is cut off; the time that an answer takes is not counted."""

    max_connections = 1000
    deadline = DEADLINE

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._is_in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            self._refuse(b"503 Service Unavailable", b"Too many connections. Try again later.")
            return
        self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._start()  # also for bytes that are no request, or they could go on for ever
        if self._is_in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._is_in_head and self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(b"431 Request Header Fields Too Large", b"The head of a request has at most 64 KiB.")

    def on_message_begin(self) -> None:
        if self._timer is None:
            self._start()
        self._is_in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._head_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._stop()
        self._is_in_head = True
        super().on_message_complete()

    def _start(self) -> None:
        self._timer = self.loop.call_later(self.deadline, self._expired)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expired(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()
        else:
            self._refuse(b"408 Request Timeout", b"A request has 30 seconds to arrive.")

    def _refuse(self, status: bytes, message: bytes) -> None:
        self.transport.write(
            b"HTTP/1.1 "
            + status
            + b"\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: "
            + str(len(message)).encode()
            + b"\r\n\r\n"
            + message
        )
        self.transport.close()
