"""The stdio transport: one client on stdin and stdout. Only protocol messages go to stdout, everything else to stderr.

A thread reads. It handles cancellations and answers messages that need no store, such as a ping; calls go into a
queue. The main thread runs them in order and writes their answers.
"""

import io
import os
import queue
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from satchel.clock import new_id
from satchel.contracts.contract import Report
from satchel.errors import Abandoned
from satchel.log import log_call, log_surprise
from satchel.protocol import MAX_MESSAGE_BYTES, Call, ClientChange, Connection, Exchange, Offer, ProtocolError
from satchel.protocol.codec import Bytes
from satchel.work import Work

if TYPE_CHECKING:
    from typing_extensions import Buffer

Answer = Callable[[Call, Report, Work], dict[str, Any]]
# Called once with `announce`: after the first answer, or before the acknowledgement of a subscription if that is
# earlier. So the watchers do not delay a cold start.
OnFirstAnswer = Callable[[Callable[[ClientChange], None]], None]

TIMEOUT = 1.5  # seconds for the running call after a signal, and for each call after the end of the input
_CHUNK = 64 * 1024
_MAX_UNSERVED = 1024 * 1024  # bytes of received messages, as sent; decoded, they take up to 60 times as much
_MAX_QUEUED = 100  # messages waiting for the main thread; each counts as a hundredth of the bytes, if it has fewer
_PAUSE = 0.01  # seconds between two looks of the reader, while either limit is exceeded


class StandardStreams:
    """Duplicates of stdin and stdout. File descriptor 0 becomes /dev/null, and 1 becomes stderr."""

    def __init__(self) -> None:
        self.reader, self.writer = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # the process was started without a stderr
            os.dup2(null, 1)
            os.dup2(null, 2)
        os.close(null)


class Shutdown:
    """Ends the process after SIGTERM, SIGINT or the end of its input, in bounded time and with status 0.

    Python runs signal handlers in the main thread, which a database call or a write to a full pipe may block
    for long. So another thread waits for the byte that Python writes for each signal, and the handlers do nothing.

    The database rolls back uncommitted changes, none of which was acknowledged.
    """

    def __init__(self) -> None:
        self.is_stopping = False  # do not run further calls
        self.on_signal: Callable[[], None] | None = None  # None: the server has not started
        self._progress = 0
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        threading.Thread(target=self._wait_for_signal, args=(reader,), name="satchel-shutdown", daemon=True).start()

    def mark_progress(self) -> None:
        """Restart the timeout that applies after the end of the input."""
        self._progress += 1

    def watch_progress(self) -> None:
        """End the process when it stops making progress; call this in its own thread at the end of the input."""
        while True:
            before = self._progress
            time.sleep(TIMEOUT)
            if self._progress == before:
                os._exit(0)

    def _wait_for_signal(self, reader: int) -> None:
        os.read(reader, 1)
        self.is_stopping = True
        if self.on_signal is not None:
            self.on_signal()
            select.select([reader], [], [], TIMEOUT)  # a second signal ends the process at once
        os._exit(0)


class StdioServer:
    """Serves one client until its input ends or a signal comes."""

    def __init__(
        self,
        streams: StandardStreams,
        shutdown: Shutdown,
        offer: Offer,
        answer: Answer,
        on_first_answer: OnFirstAnswer = lambda _: None,
    ) -> None:
        self._input = io.BufferedReader(_Input(streams.reader, closefd=False), _CHUNK)
        self._writer = streams.writer
        self._shutdown = shutdown
        self._connection = Connection(offer, session=new_id())
        self._answer = answer
        self._on_first_answer = on_first_answer
        self._is_first = True  # the next message is the first one
        self._is_watching = False  # `on_first_answer` was called
        self._has_input_ended = False
        self._queue: queue.SimpleQueue[tuple[Exchange, int] | None] = queue.SimpleQueue()  # None wakes the main thread
        self._unserved = 0  # bytes of the messages that the main thread has not finished
        self._running: tuple[Call, Work] | None = None
        # Protects the connection and the output, so that no notification overtakes its acknowledgement.
        self._lock = threading.Lock()

    def run(self) -> None:
        """Run the calls in this thread, and read their messages in another."""
        self._shutdown.on_signal = self._wake
        threading.Thread(target=self._read, name="satchel-reader", daemon=True).start()
        with suppress(OSError):  # the client closed its end
            while self._serve_next():
                pass
            self._give_up_questions()
            self._write(self._connection.close)

    def announce(self, change: ClientChange) -> None:
        """Notify the client of a change, from any thread."""
        with suppress(OSError):
            self._write(lambda: self._connection.announce(change))

    def _wake(self) -> None:
        self._queue.put(None)

    # -- the reader thread --------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            while self._receive_next():
                pass
        except OSError:
            pass  # the client closed its end
        except Exception:
            log_surprise("the stdio reader")
        self._has_input_ended = True
        self._wake()
        self._shutdown.watch_progress()

    def _receive_next(self) -> bool:
        """Wait for a line and receive it; return False at the end of the input.

        This is a separate function so that a large message is freed before the next wait.
        """
        line = self._input.readline(MAX_MESSAGE_BYTES + 1)
        if len(line) > MAX_MESSAGE_BYTES and not line.endswith(b"\n"):
            self._receive(None)  # refused at once, because the line may never end
            while line and not line.endswith(b"\n"):
                line = self._input.readline(_CHUNK)
        elif line.strip():
            self._receive(line)
        return bool(line)

    def _receive(self, line: bytes | None) -> None:
        with self._lock:
            exchange = self._connection.reject_oversized() if line is None else self._connection.receive(line)
            running = self._running
        if exchange.cancelled_ids and running is not None and running[0].is_cancelled:
            running[1].cancel()
        for name in exchange.refused_tools:
            log_call(name, "InvalidParams", time.perf_counter())
        is_first, self._is_first = self._is_first, False
        if not (exchange.calls or exchange.is_subscribing or is_first):
            self._write(exchange.output)
            return
        size = max(len(line or b""), _MAX_UNSERVED // _MAX_QUEUED)
        with self._lock:
            self._unserved += size
        self._queue.put((exchange, size))
        while self._unserved > _MAX_UNSERVED:
            time.sleep(_PAUSE)

    # -- the main thread ----------------------------------------------------------------------------------------

    def _serve_next(self) -> bool:
        """Serve the next exchange or expired question; return False at the end."""
        if self._shutdown.is_stopping or (self._has_input_ended and self._queue.empty()):
            return False
        with self._lock:
            deadline = self._connection.questions.deadline
        with suppress(queue.Empty):
            queued = self._queue.get(timeout=None if deadline is None else max(0.0, deadline - time.monotonic()))
            if queued is not None:
                exchange, size = queued
                self._serve(exchange)
                with self._lock:
                    self._unserved -= size
        if deadline is not None:
            self._give_up_questions(time.monotonic())
        return True

    def _give_up_questions(self, now: float | None = None) -> None:
        with self._lock:
            overdue = self._connection.questions.give_up(now)
        for exchange in overdue:
            self._serve(exchange)

    def _serve(self, exchange: Exchange) -> None:
        if exchange.is_subscribing:
            self._watch()  # before the acknowledgement, so that no later change is missed
        for call in exchange.calls:
            if self._shutdown.is_stopping:
                return
            self._shutdown.mark_progress()
            self._run(exchange, call)
        self._write(exchange.output)
        self._watch()

    def _watch(self) -> None:
        if not self._is_watching:
            self._is_watching = True
            self._on_first_answer(self.announce)

    def _run(self, exchange: Exchange, call: Call) -> None:
        def report(progress: float, total: float | None = None, message: str | None = None) -> None:
            with suppress(OSError):  # if the client closed its end, sending the answer will notice it
                self._write(lambda: self._connection.report_progress(call, progress, total, message))

        work = Work()
        with self._lock:
            if call.is_cancelled:
                return
            self._running = call, work
        outcome: dict[str, Any] | ProtocolError
        try:
            exchange.check_room()
            outcome = self._answer(call, report, work)
        except ProtocolError as error:
            outcome = error.with_traceback(None)  # its frames would hold this one, and so the answer
        except Abandoned:
            return  # a cancelled call gets no answer
        finally:
            self._running = None
        with self._lock:
            if not call.is_cancelled:
                exchange.settle(call, outcome)

    # -- both threads -------------------------------------------------------------------------------------------

    def _write(self, make: Callable[[], Sequence[Bytes]]) -> None:
        with self._lock:
            for message in make():
                rest = memoryview(message + b"\n")
                while rest:
                    rest = rest[self._write_some(rest) :]
                    self._shutdown.mark_progress()

    def _write_some(self, rest: memoryview) -> int:
        try:
            return os.write(self._writer, rest)
        except BlockingIOError:  # the client may have made the shared pipe non-blocking
            select.select([], [self._writer], [])
            return 0


class _Input(io.FileIO):
    """The input, which waits for bytes even if the client has made the shared pipe non-blocking."""

    def readinto(self, buffer: "Buffer") -> int:
        while (count := super().readinto(buffer)) is None:
            select.select([self], [], [])
        return count
