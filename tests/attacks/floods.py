"""Attacks on a server over HTTP: a site with its users, a quiet user who works meanwhile, and peaks of memory."""

import json
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from msgspec import Struct

from satchel.auth import tokens
from satchel.storage.database import open_database
from tests.support.process import children, memory_mb
from tests.support.web import HANDSHAKE, PATIENCE, Answer, Closed, WebClient, WebServer, Wire, call, request

MAX_MEMORY_MB = 300  # of each process of a server, under any attack
ANSWER_SECONDS = 30.0  # within which a quiet user is answered, under any attack

Bearer = tuple[str, str]  # an Authorization header

SLOW_TEMPLATE = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}" * 20


# -- users ----------------------------------------------------------------------------------------------------------


class Token(Struct, frozen=True):
    """A token of a user, and the header that shows it."""

    id: str
    user: str
    header: Bearer


def make_token(store: str, user: str | None = None, *, is_read_only: bool = False) -> Token:
    """Create a token of a user, by default a new one."""
    owner = user or str(uuid4())
    database = open_database(store)
    try:
        with database.write() as tx:
            token, secret = tokens.create(tx, user=owner, is_read_only=is_read_only)
    finally:
        database.close()
    return Token(token.id, owner, ("Authorization", f"Bearer {secret}"))


def revoke(store: str, token: Token) -> None:
    """Revoke a token."""
    database = open_database(store)
    try:
        with database.write() as tx:
            tokens.revoke(tx, token.id)
    finally:
        database.close()


def tool_request(
    token: Token | None, tool: str, arguments: dict[str, Any] | None = None, *, id: int = 1, session: str | None = None
) -> bytes:
    """Return the bytes of a call of the contract `tasks`."""
    headers, body = call(tool, arguments, id=id, revision=HANDSHAKE)
    headers += [("Mcp-Session-Id", session)] if session else []
    return request("POST", "/mcp/tasks", [*headers, *([token.header] if token else [])], body)


def list_titles(server: WebClient, token: Token | None) -> list[str]:
    """Return the titles of a user's tasks, in alphabetical order."""
    with server.connect() as wire:
        wire.send(tool_request(token, "list_tasks"))
        return read_titles(wire.read())


def read_titles(answer: Answer) -> list[str]:
    """Return the titles in an answer of list_tasks, in alphabetical order."""
    assert answer.status == 200, answer
    return sorted(task["title"] for task in answer.json["result"]["structuredContent"]["data"])


# -- the site -------------------------------------------------------------------------------------------------------


class Site(Struct, frozen=True):
    """A server with an attacker, who has a prompt of 4 MB, and a quiet user."""

    server: WebServer
    store: str
    mallory: Token
    ada: Token
    prompt: str  # the id of the prompt


@contextmanager
def open_site(store: str, folder: Path, workers: int = 1) -> Iterator[Site]:
    """Serve a new store with tokens, and with a library `a` of a slow template."""
    make_library(folder / "libraries" / "a")
    mallory, ada = make_token(store), make_token(store)
    options = ("--workers", str(workers), "--calls-per-minute", "0", "--libraries", str(folder / "libraries"))
    with WebServer("-c", "prompt-store", "-d", store, "--auth", "token", *options) as server:
        headers, body = call("add_prompt", {"title": "long", "content": "word " * 800_000}, revision=HANDSHAKE)
        added = server.ask("POST", "/mcp", [mallory.header, *headers], body)
        yield Site(server, store, mallory, ada, added.tool["id"])


def make_library(folder: Path) -> None:
    """Write a library of a template that renders until it is ended."""
    (folder / "prompts").mkdir(parents=True)
    (folder / "twig.toml").write_text(f'[library]\nname = "{folder.name}"\n[prompts.slow]\n')
    (folder / "prompts" / "slow.md").write_text(SLOW_TEMPLATE)


class QuietUser:
    """A user who adds tasks and lists them while others attack, and compares each list with what was acknowledged.

    A request that gets 503, or whose connection is closed, is sent again, as clients do. Its time runs from the first
    attempt to the answer. Now and then /health is asked on a new connection.
    """

    ADDED = 20  # so many tasks; each other request lists them

    def __init__(self, port: int, token: Token, pause: float = 0.01) -> None:
        self.seconds: list[float] = []  # what each answer took
        self._port, self._token, self._pause = port, token, pause
        self._titles: list[str] = []
        self._wire: Wire | None = None
        self._is_over = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        if self._error is not None and kind is None:
            raise self._error

    @property
    def median(self) -> float:
        """The middle time of an answer, in seconds."""
        return statistics.median(self.seconds)

    @property
    def worst(self) -> float:
        """The longest time of an answer, in seconds."""
        return max(self.seconds)

    def _run(self) -> None:
        try:
            while not self._is_over.wait(self._pause) or len(self.seconds) < 4:
                self._work(len(self.seconds))
        except BaseException as error:
            self._error = error
        finally:
            if self._wire is not None:
                self._wire.close()

    def _work(self, count: int) -> None:
        if count % 5 == 0 and len(self._titles) < self.ADDED:
            title = f"task {len(self._titles):02}"
            answer = self._ask(tool_request(self._token, "add_task", {"title": title}))
            assert answer.status == 200, answer
            self._titles.append(title)
        elif count % 20 == 19:
            answer = self._ask(request("GET", "/health"), is_new=True)
            assert answer.status == 200, answer
        else:
            found = read_titles(self._ask(tool_request(self._token, "list_tasks")))
            assert sorted({*found}) == self._titles, found  # one that was sent again may be there twice

    def _ask(self, raw: bytes, *, is_new: bool = False) -> Answer:
        began = time.monotonic()
        while True:
            left = began + ANSWER_SECONDS - time.monotonic()
            assert left > 0, f"no answer within {ANSWER_SECONDS:.0f} s"
            try:
                if self._wire is None or is_new:
                    self._close()
                    self._wire = Wire(self._port, left)
                self._wire.socket.settimeout(left)
                self._wire.send(raw)
                answer = self._wire.read()
            except (OSError, Closed):
                self._close()
                continue
            if answer.status == 503:  # too busy just now
                time.sleep(0.1)
                continue
            self.seconds.append(time.monotonic() - began)
            return answer

    def _close(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None


class PeakMemory:
    """The most memory that a process, or one of its workers, had since this was made, in MB."""

    def __init__(self, pid: int) -> None:
        self._pids = [pid, *children(pid)]
        for one in self._pids:
            with suppress(FileNotFoundError):  # a renderer that has ended
                Path(f"/proc/{one}/clear_refs").write_text("5")  # forgets the peak so far

    @property
    def mb(self) -> float:
        return max(map(self._find_peak, self._pids))

    def _find_peak(self, pid: int) -> float:
        with suppress(FileNotFoundError):
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
            return memory_mb(pid)
        return 0.0


# -- many clients ---------------------------------------------------------------------------------------------------


class SmallWire(Wire):
    """A connection whose kernel takes little before the client reads."""

    def __init__(self, port: int, receive_buffer: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", port))
        self._buffer = b""


@contextmanager
def many_wires(port: int, count: int) -> Iterator[list[Wire]]:
    """Open so many connections, and close them at the end."""
    with ExitStack() as stack:
        yield [stack.enter_context(Wire(port)) for _ in range(count)]


def send_all(server: WebClient, raw: bytes, count: int) -> list[Wire]:
    """Send the same request on so many new connections, and read no answer."""
    wires = [server.connect() for _ in range(count)]
    for wire in wires:
        wire.send(raw)
    return wires


def batch_request(token: Token | None, calls: list[tuple[str, dict[str, Any]]], path: str) -> bytes:
    """Return the bytes of a batch of calls."""
    messages = [
        {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        for id, (name, arguments) in enumerate(calls)
    ]
    headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
    headers += [("MCP-Protocol-Version", BATCHES), *([token.header] if token else [])]
    return request("POST", path, headers, json.dumps(messages).encode())


BATCHES = "2025-03-26"  # the revision that has them
