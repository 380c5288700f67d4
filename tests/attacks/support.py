"""What attacks on a server need: users with tokens, a quiet neighbour who measures, peaks of memory, raw sockets."""

import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from satchel.auth import tokens
from satchel.storage.database import open_database
from tests.support.process import eventually, memory_mb
from tests.support.soak import amount
from tests.support.web import HANDSHAKE, PATIENCE, Closed, WebServer, Wire, call

# How much slower a quiet neighbour's median may be than before. The quick form runs beside other tests.
SLOWER = amount(60.0, 2.0)
MAX_MEMORY_MB = 300  # of a server on SQLite, whatever is done to it

Bearer = tuple[str, str]


def make_token(store: str, *, is_read_only: bool = False) -> Bearer:
    """The Authorization header of a new user."""
    database = open_database(store)
    with database.write() as tx:
        _, secret = tokens.create(tx, user=str(uuid4()), is_read_only=is_read_only)
    database.close()
    return "Authorization", f"Bearer {secret}"


class Neighbour:
    """A quiet user with a connection of their own, who calls a tool now and then and notes how long it takes."""

    def __init__(self, server: WebServer, *token: Bearer, tool: str = "list_prompts", path: str = "/mcp") -> None:
        headers, self._body = call(tool, revision=HANDSHAKE)
        self._headers = [*token, *headers]
        self._server = server
        self._path = path
        self._is_over = threading.Event()
        self._during: list[float] = []
        self._failed: list[Any] = []
        self._wire = server.connect()
        self.quiet = statistics.median(self._measure() for _ in range(30))

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._wire.close()
        if kind is None:
            assert not self._failed, self._failed[:5]
            assert self._during, "the neighbour was not served at all"
            assert statistics.median(self._during) <= SLOWER * max(self.quiet, 0.002), (self.quiet, self.figures)

    def was_served(self, times: int = 5) -> bool:
        """Whether so many more calls come to be answered."""
        goal = len(self._during) + times
        return eventually(lambda: len(self._during) >= goal or bool(self._failed))

    @property
    def figures(self) -> str:
        """What was measured, for people."""
        middle, worst = statistics.median(self._during), max(self._during)
        return f"quiet {self.quiet * 1e3:.1f} ms, then {middle * 1e3:.1f} ms, at worst {worst * 1e3:.0f} ms"

    def _watch(self) -> None:
        while not self._is_over.is_set():
            try:
                self._during.append(self._measure())
                health = self._server.ask("GET", "/health")
                if health.status != 200:
                    self._failed.append(health)
            except Exception as error:
                self._failed.append(error)
                return
            time.sleep(0.02)

    def _measure(self) -> float:
        """The time of one call; on a new connection where the old one had to give way."""
        started = time.perf_counter()
        try:
            answer = self._wire.ask("POST", self._path, self._headers, self._body)
        except (Closed, OSError):
            self._wire.close()
            self._wire = self._server.connect()
            answer = self._wire.ask("POST", self._path, self._headers, self._body)
        taken = time.perf_counter() - started
        if answer.status != 200:
            self._failed.append(answer)
        return taken


class PeakMemory:
    """The most memory that a process had since this was made, in MB."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # forgets the peak so far

    @property
    def mb(self) -> float:
        for line in Path(f"/proc/{self._pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return memory_mb(self._pid)


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
