"""`satchel serve` in a thread of the test process: settings, store, runner and the stdio loop are the real ones.

It saves the start of an interpreter, so the contract tests use it. Features of a process (signals, exit status,
clean stdout, kills) are tested with `stdio.Server`. `tests/contracts/test_real_transports.py` checks that a process and
an HTTP server give the same answers.
"""

import os
import threading
from collections.abc import Mapping
from typing import Self

from satchel import config, log
from satchel.app import stdio as app_stdio
from satchel.cli.serve import parse
from satchel.transports import stdio
from satchel.transports.stdio import Shutdown
from tests.support.process import TIMEOUT
from tests.support.stdio import Client


class _NoShutdown(Shutdown):
    """Handles no signals, which only the main thread can do, and does not end the process, in which other tests run."""

    def __init__(self) -> None:
        self.is_stopping = False
        self._progress = 0

    def watch_progress(self) -> None:
        pass


class _Pipes(stdio.StandardStreams):
    """A pair of pipes instead of the process's stdin and stdout."""

    def __init__(self) -> None:
        self.reader, self.from_client = os.pipe()
        self.to_client, self.writer = os.pipe()


class InProcess(Client):
    """A server in a thread of this process, with the same client as `stdio.Server`."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        super().__init__()
        flags = parse(arguments)
        assert flags is not None, arguments
        settings = config.load(flags, {**os.environ, **(environment or {})})
        self._streams = _Pipes()
        self._input = open(self._streams.from_client, "wb", buffering=0)  # noqa: SIM115 - closed by close()
        self._status = 1
        self._reader = threading.Thread(target=self._read)
        self._thread = threading.Thread(target=self._serve, args=(settings,))
        self._lines = keep_log(self._thread)
        self._reader.start()
        self._thread.start()

    @property
    def stderr(self) -> str:
        """The log lines of the server's thread so far."""
        return b"".join(self._lines).decode("utf-8", "replace")

    def send_line(self, line: bytes) -> None:
        rest = memoryview(line + b"\n")
        while rest:
            rest = rest[self._input.write(rest) :]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.close() == 0, self.stderr

    def close(self, patience: float = TIMEOUT) -> int:
        self._input.close()
        for thread in (self._thread, self._reader):
            thread.join(patience)
            assert not thread.is_alive(), "the server does not end"
        forget_log(self._thread)
        return self._status

    def _serve(self, settings: config.Settings) -> None:
        try:
            self._status = app_stdio.serve(settings, self._streams, _NoShutdown())
        finally:
            os.close(self._streams.writer)
            os.close(self._streams.reader)

    def _read(self) -> None:
        with open(self._streams.to_client, "rb") as stream:
            self._read_lines(stream)


# The log lines of each running server, by its thread.
_logs: dict[threading.Thread, list[bytes]] = {}
_write_to_stderr = log._write


def keep_log(server: threading.Thread) -> list[bytes]:
    """Begin to keep the log lines of a server; return the list that receives them."""
    return _logs.setdefault(server, [])


def forget_log(server: threading.Thread) -> None:
    """Stop keeping the log lines of a server; the list keeps the earlier ones."""
    _logs.pop(server, None)


def _write(raw: bytes) -> None:
    """Add a log line to the list of the server whose thread wrote it; add a watcher's line to every list."""
    own = _logs.get(threading.current_thread())
    for lines in [own] if own is not None else list(_logs.values()):
        lines.append(raw)
    if not _logs:
        _write_to_stderr(raw)


log._write = _write
