"""What the kernel knows of a connection: how much of what was sent its client has taken."""

import asyncio
import socket
import struct
import sys

_BYTES_ACKED = 120  # the place of tcpi_bytes_acked in struct tcp_info
_INFO_SIZE = 128


class Progress:
    """Tells since when a client has taken nothing, though something waits for it. Speed does not count."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._taken: int | None = None
        self._moved_at: float | None = None

    def stalled_for(self, now: float) -> float:
        """For how many seconds nothing has moved; 0 where nothing waits."""
        waiting, taken = self._measure()
        if not waiting or taken != self._taken or self._moved_at is None:
            self._taken, self._moved_at = taken, now
        return now - self._moved_at

    def _measure(self) -> tuple[int, int]:
        """How many bytes wait for the client, and a number that changes whenever it takes some."""
        buffered = self._transport.get_write_buffer_size()
        found = self._transport.get_extra_info("socket")
        if not sys.platform.startswith("linux") or found is None:
            return buffered, buffered
        import fcntl  # Windows lacks both
        import termios

        try:
            [queued] = struct.unpack("i", fcntl.ioctl(found.fileno(), termios.TIOCOUTQ, bytes(4)))
            info = found.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_SIZE)
            [taken] = struct.unpack_from("Q", info, _BYTES_ACKED)
        except (OSError, struct.error):  # it is closed, or the kernel is older than 4.1
            return buffered, buffered
        return buffered + queued, taken
