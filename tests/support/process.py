"""A server in its own process: start it, read its stderr, stop or kill it. All clients of the tests use this module.

These classes add a client: `stdio.Server` (lines), `http.HttpServer` (MCP over HTTP), `web.WebServer` (raw bytes).
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

# Seconds that a test waits at most. This only decides how long a failure takes, so it is generous.
TIMEOUT = 60.0
PATIENCE = TIMEOUT

ROOT = Path(__file__).resolve().parents[2]
SERVE = (sys.executable, "-m", "satchel", "serve")
READY = r"satchel: serving .* at https?://\S+:(\d+)/mcp"


class ServerProcess:
    """A process whose stderr is kept."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        cwd: Path | None = None,
        has_pipes: bool = False,
    ) -> None:
        other = subprocess.PIPE if has_pipes else subprocess.DEVNULL
        self.process = subprocess.Popen(
            command,
            stdin=other,
            stdout=other,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            cwd=cwd,
        )
        self._lines: list[bytes] = []
        self._new_line = threading.Condition()
        self._stderr_reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._stderr_reader.start()

    @property
    def stderr(self) -> str:
        """Everything that the process has written to stderr."""
        return b"".join(self._lines).decode("utf-8", "replace")

    def said(self, pattern: str, patience: float = TIMEOUT) -> re.Match[str]:
        """Wait until stderr matches a pattern, and return the match."""
        found: re.Match[str] | None = None

        def look() -> bool:
            nonlocal found
            found = re.search(pattern, self.stderr)
            return found is not None or not self._stderr_reader.is_alive()

        with self._new_line:
            self._new_line.wait_for(look, patience)
        assert found is not None, f"{pattern!r} is not in {self.stderr!r}"
        return found

    def children(self) -> list[int]:
        """Return the process ids of its workers."""
        return children(self.process.pid)

    def stop(self, patience: float = TIMEOUT) -> int:
        """Send SIGTERM and return the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait(patience)

    def wait(self, patience: float = TIMEOUT) -> int:
        """Wait for the end and return the exit status; a process that outlasts the wait is killed."""
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        finally:
            self._stderr_reader.join(patience)

    def kill(self) -> None:
        """Send SIGKILL to the process and its children."""
        for child in self.children():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self.process.kill()
        self.process.wait(TIMEOUT)
        self._stderr_reader.join(TIMEOUT)

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                with self._new_line:
                    self._lines.append(line)
                    self._new_line.notify_all()
        with self._new_line:
            self._new_line.notify_all()


class HttpProcess(ServerProcess):
    """A process that serves over HTTP, on the free port that it names on stderr."""

    def __init__(
        self, *arguments: str, environment: Mapping[str, str] | None = None, command: Sequence[str] | None = None
    ) -> None:
        port = () if "--port" in arguments else ("--port", "0")
        command = [*(command or SERVE), "--transport", "http", *port, *arguments]
        super().__init__(command, environment, cwd=ROOT)  # because some commands import `tests`
        self.port = int(self.said(READY)[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.kill()
            return
        assert self.stop() == 0, self.stderr
        assert "surprise in" not in self.stderr, self.stderr
        assert "Traceback" not in self.stderr, self.stderr

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def children(pid: int) -> list[int]:
    """Return the children of a process; none once it has ended."""
    try:
        found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        # multiprocessing starts one more process beside the workers.
        return [one for one in found if b"resource_tracker" not in Path(f"/proc/{one}/cmdline").read_bytes()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def open_sockets(pid: int) -> int:
    """Count the open sockets of a process. Files do not count: a store opens more of them under load."""
    count = 0
    for number in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):
            count += os.readlink(f"/proc/{pid}/fd/{number}").startswith("socket:")
    return count


def count_watches(pid: int) -> int:
    """Count the inotify watches of a process."""
    count = 0
    for file in Path(f"/proc/{pid}/fdinfo").iterdir():
        with suppress(FileNotFoundError):
            count += file.read_text().count("inotify wd:")
    return count


def eventually(claim: Callable[[], bool], patience: float = TIMEOUT) -> bool:
    """Return whether a claim becomes true within a time limit."""
    deadline = time.monotonic() + patience
    while not claim():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
