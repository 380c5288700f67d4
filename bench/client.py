"""A client of stdio servers that times what it waits for, and the environment in which all of them run alike."""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

HERE = Path(__file__).resolve().parent
PYTHON = sys.executable
SATCHEL = str(Path(sys.executable).parent / "satchel")

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def environment(cache: Path, **more: str) -> dict[str, str]:
    """The surroundings of a server: nothing of ours leaks in, and bytecode is kept, in a folder of the run's own.

    An installed package has its bytecode beside it; a checkout has it after one start, unless
    PYTHONDONTWRITEBYTECODE is set, as it is in many containers. A warm-up fills the folder for all rivals alike.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SATCHEL_"))}
    return {**kept, "PYTHONPYCACHEPREFIX": str(cache), **more}


class Client:
    """One server process and the conversation with it."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        first = msgspec.json.encode(INITIALIZE) + b"\n"
        started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout
        os.write(self._in, first)
        answer = self._out.readline()
        self.start_ms = (time.perf_counter() - started) * 1000
        if b'"result"' not in answer:
            raise RuntimeError(f"{command} answered {answer!r}")
        self._next = 1

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[float, Any]:
        """Call a tool; the milliseconds from the first byte sent to the last byte received, and what it said."""
        if self._next == 1:
            self._send(msgspec.json.encode(INITIALIZED) + b"\n")
        params = {"name": tool, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": self._next, "method": "tools/call", "params": params}
        self._next += 1
        raw = msgspec.json.encode(request) + b"\n"
        started = time.perf_counter()
        self._send(raw)
        line = self._out.readline()
        taken = (time.perf_counter() - started) * 1000
        answer = msgspec.json.decode(line)
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{tool} answered {line[:500]!r}")
        result = answer["result"]
        return taken, result.get("structuredContent") or msgspec.json.decode(result["content"][0]["text"])

    def send(self, message: dict[str, Any]) -> None:
        """Send one message, whatever it is."""
        self._send(msgspec.json.encode(message) + b"\n")

    def read_line(self) -> bytes:
        """The next line that the server says."""
        return self._out.readline()

    def memory_kb(self) -> dict[str, int]:
        """Resident memory now: all of it (rss), and with shared pages divided among those who share them (pss)."""
        folder = Path(f"/proc/{self.process.pid}")
        names = {"VmRSS:": "rss", "Pss:": "pss"}
        files = [file for file in (folder / "status", folder / "smaps_rollup") if file.exists()]
        lines = [line.split() for file in files for line in file.read_text().splitlines()]
        return {names[words[0]]: int(words[1]) for words in lines if words and words[0] in names}

    def close(self) -> None:
        """Leave, and wait until the server has left too."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self._out.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _send(self, raw: bytes) -> None:
        rest = memoryview(raw)
        while rest:
            rest = rest[os.write(self._in, rest) :]


def quantile(values: list[float], share: float) -> float:
    """The value below which a share of all values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def median(values: list[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Rows as a table in Markdown, with the columns aligned: the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(cells: tuple[str, ...]) -> str:
        padded = [
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = [("-" * (width + 1) + ":") if place else ("-" * (width + 2)) for place, width in enumerate(widths)]
    return "\n".join([line(head), f"|{'|'.join(rule)}|", *map(line, rows)])
