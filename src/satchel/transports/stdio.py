"""The stdio transport: a blocking loop. stdout carries only protocol messages; any other output goes to stderr.

While a call takes long, because it waits for the store for example, a second thread reads on and answers what needs no
store (see stand_in.py). Calls are run by the main thread alone, in the order in which they came.
"""

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from satchel.clock import new_id
from satchel.contracts.contract import Report
from satchel.log import log_call
from satchel.protocol import MAX_MESSAGE_BYTES, Call, ClientChange, Connection, Exchange, Offer, ProtocolError
from satchel.protocol.elements import Bytes
from satchel.transports.shutdown import Shutdown, Stop
from satchel.transports.stand_in import StandIn

Answer = Callable[[Call, Report], dict[str, Any]]
# Called once, after the first response or before the first acknowledgement of a subscription, with `announce`. What it
# starts does not delay a cold start.
OnFirstResponse = Callable[[Callable[[ClientChange], None]], None]


_CHUNK = 64 * 1024
_BESIDE_WAIT = 0.02  # seconds that the second thread waits for input before it looks whether it is still needed
_MAX_PENDING = 100  # messages that are read while a call takes long, and wait for it


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
        self,
        streams: Streams,
        offer: Offer,
        answer: Answer,
        on_first_response: OnFirstResponse | None = None,
        needs_store: Callable[[Call], bool] = lambda _: True,
    ) -> None:
        self._on_first_response = on_first_response
        self._connection = Connection(offer, session=new_id())
        self._answer = answer
        self._needs_store = needs_store
        self._lines = LineReader(streams.reader)
        self._writer = streams.writer
        self._shutdown = streams.shutdown
        self._pending: deque[Exchange] = deque()  # received, and not served yet
        self._read_ahead = 0  # bytes, by the second thread
        self._lock = threading.Lock()  # for the connection, what it has made, and the output
        self._reading = threading.Lock()
        self._stand_in = StandIn(self._serve_beside)

    def run(self) -> None:
        """Answer requests one after the other."""
        with suppress(OSError):  # the client closed its end
            try:
                with suppress(Stop):
                    while self._handle(self._wait()):
                        self._give_up_questions(time.monotonic())
                    self._give_up_questions()
            finally:
                self._stand_in.close()
                with self._reading:
                    pass  # now the second thread reads no more
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
        self._receive(lines)
        while (exchange := self._take_pending()) is not None:
            if exchange.is_listening:
                self._start_watching()  # before the acknowledgement, so that no change after it is missed
            self._serve(exchange)
            self._start_watching()
        self._read_ahead = 0
        return bool(lines)

    def _take_pending(self) -> Exchange | None:
        with self._lock:
            return self._pending.popleft() if self._pending else None

    def _start_watching(self) -> None:
        start, self._on_first_response = self._on_first_response, None
        if start is not None:
            start(self.announce)

    def _wait(self) -> list[bytes | None]:
        """Wait for lines; meanwhile, calls whose question stays unanswered are answered."""
        while (deadline := self._connection.questions.deadline) is not None:
            with self._shutdown.idle(), self._reading:
                if self._pending or self._lines.wait(deadline - time.monotonic()):
                    break
            self._give_up_questions(time.monotonic())
        with self._shutdown.idle(), self._reading:
            return [b""] if self._pending else self._lines.read()  # the second thread may have read them

    def _give_up_questions(self, now: float | None = None) -> None:
        for exchange in self._connection.questions.give_up(now):
            self._serve(exchange)

    def _receive(self, lines: list[bytes | None]) -> None:
        with self._lock:
            for line in lines:
                if line is None:
                    self._pending.append(self._connection.reject_oversized())
                elif line.strip():
                    self._pending.append(self._connection.receive(line))

    def _serve_beside(self, is_needed: Callable[[], bool]) -> None:
        """Read on, and answer what needs no store, while a call of the main thread takes long; in another thread."""
        while is_needed():
            with self._lock:
                quick = [exchange for exchange in self._pending if self._is_quick(exchange)]
                for exchange in quick:
                    self._pending.remove(exchange)
            for exchange in quick:
                self._serve_quick(exchange)
            is_enough = len(self._pending) >= _MAX_PENDING or self._read_ahead > MAX_MESSAGE_BYTES
            if is_enough or self._lines.has_ended:
                return
            with self._reading:
                if is_needed() and self._lines.wait(_BESIDE_WAIT):
                    lines = self._lines.read_available()
                    self._read_ahead += sum(map(len, filter(None, lines)))
                    self._receive(lines)

    def _is_quick(self, exchange: Exchange) -> bool:
        return not exchange.is_listening and not any(map(self._needs_store, exchange.calls))

    def _serve_quick(self, exchange: Exchange) -> None:
        self._log_refused(exchange)
        for call in exchange.calls:
            self._settle(exchange, call, self._run(exchange, call))
        self._write(exchange.output)

    def _log_refused(self, exchange: Exchange) -> None:
        for name in exchange.refused_tools:
            log_call(name, "InvalidParams", time.perf_counter())

    def _serve(self, exchange: Exchange) -> None:
        self._log_refused(exchange)
        for call in exchange.calls:
            if self._shutdown.is_stopping:
                raise Stop
            self._shutdown.mark_progress()
            if not call.is_cancelled:
                with self._stand_in:
                    outcome = self._run(exchange, call)
                self._settle(exchange, call, outcome)
        self._write(exchange.output)

    def _run(self, exchange: Exchange, call: Call) -> dict[str, Any] | ProtocolError:
        def report(progress: float, total: float | None = None, message: str | None = None) -> None:
            self._write(lambda: self._connection.report_progress(call, progress, total, message))

        try:
            exchange.check_room()
            return self._answer(call, report)
        except ProtocolError as error:
            return error

    def _settle(self, exchange: Exchange, call: Call, outcome: dict[str, Any] | ProtocolError) -> None:
        with self._lock:
            if not call.is_cancelled:  # meanwhile
                exchange.settle(call, outcome)

    def _write(self, messages: Callable[[], Sequence[Bytes]]) -> None:
        # Messages are made and written under one lock, so that no notification precedes its acknowledgement.
        with self._lock:
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
        self.has_ended = False

    def read(self) -> list[bytes | None]:
        """Wait for at least one line and return all that have arrived; an empty list at the end of the input."""
        lines: list[bytes | None] = []
        while not lines and not self.has_ended:
            lines = self.read_available()
        return lines

    def read_available(self) -> list[bytes | None]:
        """The lines that end with the next chunk of input; there may be none."""
        lines: list[bytes | None] = []
        chunk = self._read_chunk()
        if chunk:
            self._split(chunk, lines)
        else:
            self.has_ended = True
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
