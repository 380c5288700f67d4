"""The stdio transport: a plain blocking loop. stdout carries protocol lines and nothing else, whoever prints."""

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from satchel.contracts.contract import Report
from satchel.protocol import Call, ClientChange, Connection, Exchange, Offer, ProtocolError
from satchel.transports.lines import LineReader
from satchel.transports.shutdown import Shutdown, Stop

Answer = Callable[[Call, Report], dict[str, Any]]
# Called once, after the first answer, with the means to announce changes: what a cold start can do without begins here.
Begun = Callable[[Callable[[ClientChange], None]], None]


class Streams:
    """stdin and stdout, taken for ourselves: whatever else reads finds nothing, whatever prints lands on stderr."""

    def __init__(self) -> None:
        self.reader, self.writer = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # started without a stderr
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
        os.close(nothing)
        self.shutdown = Shutdown(self.reader)


class StdioServer:
    """Serves one client on a pair of streams until the input ends or a signal comes."""

    def __init__(self, streams: Streams, offer: Offer, answer: Answer, begun: Begun = lambda _announce: None) -> None:
        self._begun: Begun | None = begun
        self._connection = Connection(offer)
        self._answer = answer
        self._lines = LineReader(streams.reader)
        self._writer = streams.writer
        self._shutdown = streams.shutdown
        self._writing = threading.Lock()

    def run(self) -> None:
        """Answer requests, one after the other."""
        with suppress(OSError):  # the client is gone, and so are we
            with suppress(Stop):
                while self._handle(self._wait()):
                    pass
            self._write(self._connection.close)

    def announce(self, change: ClientChange) -> None:
        """Tell the client of a change; from any thread."""
        with suppress(OSError):
            self._write(lambda: self._connection.announce(change))

    def _handle(self, lines: list[bytes | None]) -> bool:
        """Serve some lines, and tell whether there were any. What it took is freed before we wait for the next."""
        # All that has arrived is taken in first, so that a cancellation overtakes what it cancels.
        exchanges = [self._receive(line) for line in lines if line is None or line.strip()]
        if any(exchange.is_listening for exchange in exchanges):
            self._begin()  # before the acknowledgement, so that nothing after it is missed
        for exchange in exchanges:
            self._serve(exchange)
        if exchanges:
            self._begin()
        return bool(lines)

    def _begin(self) -> None:
        begun, self._begun = self._begun, None
        if begun is not None:
            begun(self.announce)

    def _wait(self) -> list[bytes | None]:
        with self._shutdown.waiting():
            return self._lines.read()

    def _receive(self, line: bytes | None) -> Exchange:
        if line is None:
            return self._connection.reject_oversized()
        return self._connection.receive(line)

    def _serve(self, exchange: Exchange) -> None:
        for call in exchange.calls:
            if self._shutdown.is_stopping:
                raise Stop
            self._shutdown.is_at_work()
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
                    rest = rest[self._write_some(rest) :]

    def _write_some(self, rest: memoryview) -> int:
        try:
            return os.write(self._writer, rest)
        except BlockingIOError:  # a client may have made its end of the pipe so
            select.select([], [self._writer], [])
            return 0


def serve(streams: Streams, offer: Offer, answer: Answer, begun: Begun = lambda _announce: None) -> None:
    """Serve the process's own stdin and stdout until they close or a signal comes."""
    StdioServer(streams, offer, answer, begun).run()
