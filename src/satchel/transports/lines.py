"""Lines from a file descriptor: bounded, and without reading more of an endless line than the bound."""

import os
import select

from satchel.protocol import MAX_MESSAGE_BYTES

_CHUNK = 64 * 1024


class LineReader:
    """Splits what arrives into lines. A line beyond the bound is skipped and reported as None."""

    def __init__(self, file: int, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._file = file
        self._limit = limit
        self._rest = bytearray()  # the start of a line whose end has not arrived
        self._is_skipping = False
        self._has_ended = False

    def read(self) -> list[bytes | None]:
        """Wait for at least one line and give all that are there; an empty list at the end of the input."""
        lines: list[bytes | None] = []
        while not lines and not self._has_ended:
            chunk = self._read_some()
            if chunk:
                self._take(chunk, lines)
            else:
                self._has_ended = True
                if self._rest:
                    lines.append(bytes(self._rest))  # whoever ends without a newline has still said something
        return lines

    def _read_some(self) -> bytes:
        while True:
            try:
                return os.read(self._file, _CHUNK)
            except BlockingIOError:  # a client may have made its end of the pipe so
                select.select([self._file], [], [])

    def _take(self, chunk: bytes, lines: list[bytes | None]) -> None:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._grow(end, lines)
            if self._is_skipping:
                self._is_skipping = False
            else:
                lines.append(bytes(self._rest))
            self._rest.clear()
        self._grow(rest, lines)

    def _grow(self, piece: bytes, lines: list[bytes | None]) -> None:
        if self._is_skipping:
            return
        if len(self._rest) + len(piece) > self._limit:
            lines.append(None)  # answered at once, not when the line ends, which may be never
            self._is_skipping = True
            self._rest = bytearray()  # and its memory with it
        else:
            self._rest += piece
