"""Reads lines from a file descriptor, and buffers no more of a line than a limit."""

import os
import select

from satchel.protocol import MAX_MESSAGE_BYTES

_CHUNK = 64 * 1024


class LineReader:
    """Splits the input into lines. A line beyond the limit is skipped and reported as None."""

    def __init__(self, file: int, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._file = file
        self._limit = limit
        self._partial = bytearray()  # the start of a line whose end has not arrived
        self._is_skipping = False
        self._has_ended = False

    def read(self) -> list[bytes | None]:
        """Wait for at least one line and return all that have arrived; an empty list at the end of the input."""
        lines: list[bytes | None] = []
        while not lines and not self._has_ended:
            chunk = self._read_chunk()
            if chunk:
                self._split(chunk, lines)
            else:
                self._has_ended = True
                if self._partial:
                    lines.append(bytes(self._partial))  # the last line needs no newline
        return lines

    def _read_chunk(self) -> bytes:
        while True:
            try:
                return os.read(self._file, _CHUNK)
            except BlockingIOError:  # the client may have made the shared pipe non-blocking
                select.select([self._file], [], [])

    def _split(self, chunk: bytes, lines: list[bytes | None]) -> None:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._extend(end, lines)
            if self._is_skipping:
                self._is_skipping = False
            else:
                lines.append(bytes(self._partial))
            self._partial.clear()
        self._extend(rest, lines)

    def _extend(self, piece: bytes, lines: list[bytes | None]) -> None:
        if self._is_skipping:
            return
        if len(self._partial) + len(piece) > self._limit:
            lines.append(None)  # reported at once, because the line may never end
            self._is_skipping = True
            self._partial = bytearray()  # clear() would keep the memory
        else:
            self._partial += piece
