"""What attacks on a server need: users with tokens, a quiet neighbour who measures, peaks of memory, raw sockets."""

import json
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from satchel.auth import tokens
from satchel.storage.database import open_database
from tests.support.process import ROOT, children, eventually, memory_mb
from tests.support.soak import amount
from tests.support.web import HANDSHAKE, PATIENCE, WebServer, Wire, call, request

# How much slower than beside a twin of the server a quiet user's median may be, and how long the worst answer may take.
# The quick form runs beside other tests, and measures for a moment only.
SLOWER = amount(60.0, 2.0)
WORST = amount(30.0, 1.0)  # seconds
FEW = 0.001  # seconds that a median may always take, because clocks and schedulers are no finer
MAX_MEMORY_MB = 300  # of a server on SQLite, whatever is done to it

Bearer = tuple[str, str]


def make_token(store: str, *, is_read_only: bool = False) -> Bearer:
    """The Authorization header of a new user."""
    database = open_database(store)
    with database.write() as tx:
        _, secret = tokens.create(tx, user=str(uuid4()), is_read_only=is_read_only)
    database.close()
    return "Authorization", f"Bearer {secret}"


class Attacked(WebServer):
    """A server to attack, and beside it its twin: another with the same arguments, which is not attacked."""

    def __init__(self, *arguments: str) -> None:
        super().__init__(*arguments)
        self.twin = WebServer(*arguments)

    def __exit__(self, kind: object, *rest: object) -> None:
        self.twin.__exit__(kind, *rest)
        super().__exit__(kind, *rest)


class Neighbour:
    """A quiet user, who asks the attacked server and its twin in turn and notes how long each takes.

    They are a process of their own, because threads of one Python process wait for each other. They are compared with
    themselves at the twin, at the same moments: attackers, servers and other tests share the processors, which makes
    every program slower, so that a comparison with the time before the attack would tell about the machine. What is
    left is what an attack does to the users of the server that is attacked. The time before it is told beside.
    """

    def __init__(self, server: Attacked, *token: Bearer, tool: str = "list_prompts", path: str = "/mcp") -> None:
        headers, body = call(tool, revision=HANDSHAKE)
        raw = request("POST", path, [*token, *headers], body)
        command = [sys.executable, "-m", "tests.attacks.quiet_user"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        self._rows: list[tuple[int, float, float, int]] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self._process.stdin is not None
        ports = [server.port, server.twin.port]
        self._process.stdin.write(json.dumps({"ports": ports, "request": raw.decode("latin-1")}) + "\n")
        self._process.stdin.flush()
        assert eventually(lambda: len(self._rows) >= amount(10, 100)), self._rows
        self.quiet = statistics.median(seconds for place, _, seconds, _ in self._rows[4:] if not place)

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        assert kind is not None or self.was_served(3)
        ended = time.monotonic()
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        assert self._process.wait(PATIENCE) == 0
        self._reader.join()
        self._process.stdout.close()
        if kind is not None:
            return
        during = [row for row in self._rows if self._began <= row[1] <= ended]
        assert {status for *_, status in during} == {200}, [row for row in during if row[3] != 200][:5]
        ours, twins = ([row[2] for row in during if row[0] == place] for place in (0, 1))
        middle, beside, self.worst = statistics.median(ours), statistics.median(twins), max(ours)
        self.ratio = max(middle, FEW) / max(beside, FEW)
        self.figures = (
            f"{self.ratio:.1f} x: median {middle * 1e3:.1f} ms, at the twin {beside * 1e3:.1f} ms, before "
            f"{self.quiet * 1e3:.1f} ms; at worst {self.worst * 1e3:.0f} ms; {len(ours)} calls"
        )
        print(self.figures)  # `pytest -rP` shows it
        assert self.ratio <= SLOWER and self.worst <= WORST, self.figures

    def was_served(self, times: int = 5) -> bool:
        """Whether so many more calls come to be answered."""
        goal = len(self._rows) + 2 * times
        return eventually(lambda: len(self._rows) >= goal or self._process.poll() is not None)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            place, asked, seconds, status = line.split()
            self._rows.append((int(place), float(asked), float(seconds), int(status)))


class PeakMemory:
    """The most memory that a process, or one of its workers, had since this was made, in MB."""

    def __init__(self, pid: int) -> None:
        self._pids = children(pid) or [pid]
        for one in self._pids:
            Path(f"/proc/{one}/clear_refs").write_text("5")  # forgets the peak so far

    @property
    def mb(self) -> float:
        return max(map(self._find_peak, self._pids))

    def _find_peak(self, pid: int) -> float:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return memory_mb(pid)


@contextmanager
def many_wires(server: WebServer, count: int, receive_buffer: int | None = None) -> Iterator[list[Wire]]:
    """So many connections, closed at the end; with a small buffer, little of an answer is taken unless it is read."""
    wires: list[Wire] = []
    try:
        for _ in range(count):
            wires.append(Wire(server.port, PATIENCE) if receive_buffer is None else SmallWire(server, receive_buffer))
        yield wires
    finally:
        for wire in wires:
            wire.close()


class SmallWire(Wire):
    """A connection whose kernel takes little before the client reads."""

    def __init__(self, server: WebServer, receive_buffer: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", server.port))
        self._buffer = b""


def in_threads(work: Callable[[Any], None], items: list[Any]) -> None:
    """Do something for each item at the same time; the first error is raised."""
    errors: list[BaseException] = []

    def run(item: Any) -> None:
        try:
            work(item)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(item,)) for item in items]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
