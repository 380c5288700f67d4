"""Takes in connections, so that several processes on one socket get about as many each.

Left to itself, the event loop of whichever process wakes first takes in everybody who waits, and keeps them for as long
as they keep their connections: one process works, and the others have nothing to do.
"""

import socket

from satchel.log import log
from satchel.transports.http.wires import Wires

_PATIENCE = 0.0002  # seconds that a process waits for each guest that it has, so that one with fewer goes first
_GUESTS = 5  # beyond which it does not wait any longer


class Entrance:
    """The listening socket of one process, perhaps shared with others."""

    def __init__(self, listening: socket.socket, wires: Wires, *, is_shared: bool) -> None:
        self._listening = listening
        self._wires = wires
        self._loop = wires.loop
        self._is_shared = is_shared
        listening.setblocking(False)
        self._open()

    def close(self) -> None:
        """Take in nobody any more."""
        self._loop.remove_reader(self._listening)
        self._listening.close()

    def _open(self) -> None:
        if not self._wires.is_ending:
            self._loop.add_reader(self._listening, self._look)

    def _look(self) -> None:
        """Somebody wants to come in."""
        guests = len(self._wires.open) if self._is_shared else 0
        if guests:
            self._loop.remove_reader(self._listening)
            self._loop.call_later(min(guests, _GUESTS) * _PATIENCE, self._take)
        else:
            self._accept()

    def _take(self) -> None:
        self._open()
        for _ in range(1 + len(self._wires.open) // 8):  # with many guests, one more or less makes no difference
            if self._wires.is_ending or not self._accept():
                return

    def _accept(self) -> bool:
        """Take in one; whether there was one."""
        try:
            connection, _ = self._listening.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return False  # another process has it, or its client left
        except OSError as error:
            log(f"cannot take in connections: {error}")
            self._loop.remove_reader(self._listening)
            self._loop.call_later(1.0, self._open)
            return False
        self._wires.start(self._loop.connect_accepted_socket(self._wires.wire, connection))
        return True
