"""A client of stdio servers that times its calls and measures memory and processor time of the server."""

import os
import selectors
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

TICK = os.sysconf("SC_CLK_TCK")
PATIENCE = 120.0  # seconds for one answer, which only ends a call that hangs
INITIALIZE = {
    "protocolVersion": "2025-06-18",  # which all rivals speak
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Client:
    """One server process and the conversation with it."""

    def __init__(self, command: list[str], environment: dict[str, str], cwd: Path | None = None) -> None:
        self._id = 0
        self._rest = b""
        started = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=cwd,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._poll = selectors.DefaultSelector()
        self._poll.register(self._out, selectors.EVENT_READ)
        try:
            self.ask("initialize", INITIALIZE)
            self.start_ms = (time.perf_counter() - started) * 1000
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except (RuntimeError, OSError):
            self.close()
            raise

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[float, Any]:
        """Call a tool; return the milliseconds from the first byte sent to the last byte received, and the result."""
        taken, result = self.ask_timed("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(f"{tool} answered {str(result)[:300]}")
        return taken, result

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request; return its result."""
        return self.ask_timed(method, params)[1]

    def ask_timed(self, method: str, params: dict[str, Any]) -> tuple[float, Any]:
        """Send a request; return the milliseconds and the result. Answer requests of the server in between."""
        self._id += 1
        raw = msgspec.json.encode({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}) + b"\n"
        started = time.perf_counter()
        self._write(raw)
        while True:
            line = self._read_line()
            taken = (time.perf_counter() - started) * 1000
            try:
                answer = msgspec.json.decode(line)
            except msgspec.DecodeError:
                continue  # some rivals log to stdout
            if not isinstance(answer, dict):
                continue
            if "method" in answer:
                if "id" in answer:
                    self.send({"jsonrpc": "2.0", "id": answer["id"], "result": {"roots": []}})
            elif answer.get("id") == self._id:
                if "result" not in answer:
                    raise RuntimeError(f"{method} answered {line[:300]!r}")
                return taken, answer["result"]

    def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        self._write(msgspec.json.encode(message) + b"\n")

    def close(self) -> None:
        """Close the pipes, and wait until the server and its children have ended."""
        self._poll.close()
        started = find_tree(self.process.pid)[1:]
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            for pid in started:
                _kill(pid)
            self.process.kill()
            self.process.wait()

    def _write(self, raw: bytes) -> None:
        rest = memoryview(raw)
        while rest:
            rest = rest[os.write(self._in, rest) :]

    def _read_line(self) -> bytes:
        more = self._rest
        while b"\n" not in more:
            if not self._poll.select(PATIENCE):
                raise RuntimeError(f"no answer within {PATIENCE:.0f} s")
            more = os.read(self._out, 1 << 20)
            if not more:
                raise RuntimeError(f"it has ended, with {self.process.wait(10)}")
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def find_tree(pid: int) -> list[int]:
    """Return the ids of a process and all its descendants."""
    try:
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in below for one in find_tree(int(child)))]


def read_memory(pid: int) -> float:
    """Return the resident memory of a process tree in MiB; shared pages count once per process."""
    total = 0.0
    for one in find_tree(pid):
        for line in Path(f"/proc/{one}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                total += int(line.split()[1]) / 1024
    return total


def read_cpu(pid: int) -> float:
    """Return the seconds of processor time of a process tree, including children that have ended.

    Living threads are counted in nanoseconds; the usual ticks of 10 ms are samples, and wrong on a busy machine.
    """
    total = 0.0
    for one in find_tree(pid):
        folder = Path(f"/proc/{one}")
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        total += sum(int(field) for field in fields[13:15]) / TICK  # children that have ended
        for thread in (folder / "task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                total += int((thread / "schedstat").read_text().split()[0]) / 1e9
    return total


def _kill(pid: int) -> None:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return
