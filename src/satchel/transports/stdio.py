"""The stdio transport: a blocking loop. stdout carries only protocol messages; any other output goes to stderr."""

import os
import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from satchel.clock import new_id
from satchel.contracts.contract import Report
from satchel.log import log_call
from satchel.protocol import MAX_MESSAGE_BYTES, Call, ClientChange, Connection, Exchange, Offer, ProtocolError
from satchel.transports.shutdown import Shutdown, Stop

Answer = Callable[[Call, Report], dict[str, Any]]
# Called once, after the first response or before the first acknowledgement of a subscription, with `announce`. What it
# starts does not delay a cold start.
OnFirstResponse = Callable[[Callable[[ClientChange], None]], None]


_CHUNK = 64 * 1024


class Streams:
    """Our own copies of stdin and stdout. File descriptor 0 becomes /dev/null, and 1 becomes stderr."""

    def __init__(self) -> None:
        self.reader, self.writer = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # started without a stderr
            os.dup2(null, 1)
            os.dup2(null, 2)
        os.close(null)
        self.shutdown = Shutdown(self.reader)


class StdioServer:
    """Serves one client until its input ends or a signal comes."""

    def __init__(
        self, streams: Streams, offer: Offer, answer: Answer, on_first_response: OnFirstResponse | None = None
    ) -> None:
        self._on_first_response = on_first_response
        self._connection = Connection(offer, session=new_id())
        self._answer = answer
        self._lines = LineReader(streams.reader)
        self._writer = streams.writer
        self._shutdown = streams.shutdown
        self._writing = threading.Lock()

    def run(self) -> None:
        """Answer requests one after the other."""
        with suppress(OSError):  # the client closed its end
            with suppress(Stop):
                while self._handle(self._wait()):
                    self._give_up_questions(time.monotonic())
                self._give_up_questions()
            self._write(self._connection.close)

    def announce(self, change: ClientChange) -> None:
        """Notify the client of a change; from any thread."""
        with suppress(OSError):
            self._write(lambda: self._connection.announce(change))

    def _handle(self, lines: list[bytes | None]) -> bool:
        """Answer some lines; False at the end of the input.

        A function of its own, so that the memory of large messages is freed before the next wait.
        """
        # All lines are received first, so that a cancellation takes effect before the call it cancels.
        exchanges = [self._receive(line) for line in lines if line is None or line.strip()]
        if any(exchange.is_listening for exchange in exchanges):
            self._start_watching()  # before the acknowledgement, so that no change after it is missed
        for exchange in exchanges:
            self._serve(exchange)
        if exchanges:
            self._start_watching()
        return bool(lines)

    def _start_watching(self) -> None:
        start, self._on_first_response = self._on_first_response, None
        if start is not None:
            start(self.announce)

    def _wait(self) -> list[bytes | None]:
        """Wait for lines; meanwhile, calls whose question stays unanswered are answered."""
        while (deadline := self._connection.questions.deadline) is not None:
            with self._shutdown.idle():
                if self._lines.wait(deadline - time.monotonic()):
                    break
            self._give_up_questions(time.monotonic())
        with self._shutdown.idle():
            return self._lines.read()

    def _give_up_questions(self, now: float | None = None) -> None:
        for exchange in self._connection.questions.give_up(now):
            self._serve(exchange)

    def _receive(self, line: bytes | None) -> Exchange:
        if line is None:
            return self._connection.reject_oversized()
        return self._connection.receive(line)

    def _serve(self, exchange: Exchange) -> None:
        for name in exchange.refused_tools:
            log_call(name, "InvalidParams", time.perf_counter())
        for call in exchange.calls:
            if self._shutdown.is_stopping:
                raise Stop
            self._shutdown.mark_progress()
            if not call.is_cancelled:
                exchange.settle(call, self._run(call))
        self._write(exchange.output)

    def _run(self, call: Call) -> dict[str, Any] | ProtocolError:
        def report(progress: float, total: float | None = None, message: str | None = None) -> None:
            self._write(lambda: self._connection.report_progress(call, progress, total, message))

        try:
            return self._answer(call, report)
        except ProtocolError as error:
            return error

    def _write(self, messages: Callable[[], list[bytes]]) -> None:
        # Messages are made and written under one lock, so that no notification precedes its acknowledgement.
        with self._writing:
            for message in messages():
                rest = memoryview(message + b"\n")
                while rest:
                    rest = rest[self._write_some(rest) :]

    def _write_some(self, rest: memoryview) -> int:
        try:
            return os.write(self._writer, rest)
        except BlockingIOError:  # the client may have made the shared pipe non-blocking
            select.select([], [self._writer], [])
            return 0


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

    def wait(self, seconds: float) -> bool:
        """Wait until something arrives, or the input ends; False if nothing did in this time."""
        return bool(select.select([self._file], [], [], max(0.0, seconds))[0])

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
