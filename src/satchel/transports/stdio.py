"""The stdio transport: a plain blocking loop. stdout carries protocol lines and nothing else, whoever prints."""

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from satchel.contracts.contract import Report
from satchel.protocol import Call, Change, Connection, Exchange, Offer, ProtocolError
from satchel.transports.lines import LineReader

Answer = Callable[[Call, Report], dict[str, Any]]

# A client that has stopped reading can hold us in a write; after SIGTERM it can do so no longer than this.
_LAST_GRACE = 0.8


class Stop(Exception):
    """Raised by a signal while we wait for input, and only then."""


class StdioServer:
    """Serves one client on a pair of file descriptors until the input ends or `stop` is called."""

    def __init__(self, offer: Offer, answer: Answer, reader: int, writer: int) -> None:
        self._connection = Connection(offer)
        self._answer = answer
        self._lines = LineReader(reader)
        self._writer = writer
        self._writing = threading.Lock()
        self._is_waiting = False
        self._is_stopping = False

    def run(self) -> None:
        """Answer requests, one after the other."""
        with suppress(BrokenPipeError):  # the client is gone, and so are we
            try:
                while not self._is_stopping and (lines := self._wait()):
                    # All that has arrived is taken in first, so that a cancellation overtakes what it cancels.
                    exchanges = [self._receive(line) for line in lines if line is None or line.strip()]
                    for exchange in exchanges:
                        self._serve(exchange)
            except Stop:
                pass
            self._write(self._connection.close)

    def announce(self, change: Change) -> None:
        """Tell the client of a change; from any thread."""
        with suppress(BrokenPipeError):
            self._write(lambda: self._connection.announce(change))

    def stop(self, *_: object) -> None:
        """End soon: at once while idle, else after the request at hand. Fit for a signal handler."""
        self._is_stopping = True
        if self._is_waiting:
            raise Stop

    def _wait(self) -> list[bytes | None]:
        self._is_waiting = True
        try:
            if self._is_stopping:  # the signal came a moment before we began to wait
                return []
            return self._lines.read()
        finally:
            self._is_waiting = False

    def _receive(self, line: bytes | None) -> Exchange:
        if line is None:
            return self._connection.receive_oversized()
        return self._connection.receive(line)

    def _serve(self, exchange: Exchange) -> None:
        for call in exchange.calls:
            if self._is_stopping:
                return
            if not call.is_cancelled:
                exchange.settle(call, self._outcome(call))
        self._write(exchange.output)

    def _outcome(self, call: Call) -> dict[str, Any] | ProtocolError:
        def report(progress: float, total: float | None = None, message: str | None = None) -> None:
            self._write(lambda: self._connection.report_progress(call, progress, total, message))

        try:
            return self._answer(call, report)
        except ProtocolError as error:
            return error

    def _write(self, messages: Callable[[], list[bytes]]) -> None:
        # Made and written under one lock: no other message between, and none before an acknowledgement.
        with self._writing:
            for message in messages():
                rest = memoryview(message + b"\n")
                while rest:
                    rest = rest[os.write(self._writer, rest) :]


def serve(offer: Offer, answer: Answer) -> None:
    """Serve the process's own stdin and stdout until they close or a SIGTERM comes."""
    server = StdioServer(offer, answer, *_take_streams())

    def stop(*_: object) -> None:
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, _LAST_GRACE)
        server.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    server.run()


def _take_streams() -> tuple[int, int]:
    """Keep stdin and stdout to ourselves: whatever else reads finds nothing, whatever prints lands on stderr."""
    reader, writer = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    os.close(nothing)
    return reader, writer
