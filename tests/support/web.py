"""A server over HTTP in a process of its own, and a raw client that sends exactly the bytes a test says."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.stdio import NEWEST, modern_meta

PATIENCE = 20.0
HANDSHAKE = "2025-11-25"

Headers = Iterable[tuple[str, str]]


class WebServer:
    """A process that serves over HTTP: `--port 0`, the real port from what it says on stderr."""

    def __init__(self, *arguments: str, command: list[str] | None = None, environment: Mapping[str, str] | None = None):
        command = command or [sys.executable, "-m", "satchel"]
        port = () if "--port" in arguments else ("--port", "0")
        self.process = subprocess.Popen(
            [*command, "serve", "--transport", "http", *port, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        self._lines: list[bytes] = []
        self._spoke = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.port = int(self.said(r"serving \S+ at https?://\S+:(\d+)/mcp")[1])

    def __enter__(self) -> "WebServer":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.kill()
            return
        assert self.stop() == 0, self.stderr
        assert "surprise in" not in self.stderr, self.stderr
        assert "Traceback" not in self.stderr, self.stderr

    @property
    def stderr(self) -> str:
        return b"".join(self._lines).decode("utf-8", "replace")

    def said(self, pattern: str, patience: float = PATIENCE) -> re.Match[str]:
        """Wait until stderr has something that matches."""
        found: re.Match[str] | None = None

        def look() -> bool:
            nonlocal found
            found = re.search(pattern, self.stderr)
            return found is not None or not self._reader.is_alive()

        with self._spoke:
            assert self._spoke.wait_for(look, patience) and found is not None, f"{pattern!r} not in {self.stderr}"
        return found

    def connect(self, patience: float = PATIENCE) -> "Wire":
        return Wire(self.port, patience)

    def ask(self, method: str, path: str, headers: Headers = (), body: bytes | None = None) -> "Answer":
        """One request on a connection of its own."""
        with self.connect() as wire:
            return wire.ask(method, path, headers, body)

    def count(self, headers: Headers = ()) -> float:
        """How many requests reached a handler so far, by the server's own metrics."""
        page = self.ask("GET", "/metrics", headers)
        assert page.status == 200, page
        return sum(
            float(line.split()[-1]) for line in page.text.splitlines() if line.startswith("satchel_requests_total")
        )

    def children(self) -> list[int]:
        """The processes of its workers."""
        return children(self.process.pid)

    def stop(self, patience: float = PATIENCE) -> int:
        """End it as an operator does; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(patience)
        self._reader.join(patience)
        return status

    def kill(self) -> None:
        """End it as the kernel does when there is no memory."""
        for child in self.children():
            os.kill(child, signal.SIGKILL)
        self.process.kill()
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                with self._spoke:
                    self._lines.append(line)
                    self._spoke.notify_all()
        with self._spoke:
            self._spoke.notify_all()


@dataclass(frozen=True)
class Answer:
    """One answer, whole."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    def header(self, name: str) -> str | None:
        found = self.all(name)
        assert len(found) <= 1, self.headers
        return found[0] if found else None

    @property
    def tool(self) -> Any:
        """The body of the tool's answer in a JSON-RPC answer."""
        return json.loads(self.json["result"]["content"][0]["text"])


class Closed(Exception):
    """The server has closed the connection: with what it had sent of an answer by then."""


class Wire:
    """One connection, which stays open from request to request."""

    def __init__(self, port: int, patience: float = PATIENCE) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, raw: bytes) -> None:
        self.socket.sendall(raw)

    def ask(self, method: str, path: str, headers: Headers = (), body: bytes | None = None) -> Answer:
        self.send(request(method, path, headers, body))
        return self.read(is_head=method == "HEAD")

    def read(self, *, is_head: bool = False) -> Answer:
        """The next answer.

        Raises:
            Closed: there is none.
        """
        status, headers = self.read_head()
        given = dict(headers)
        if is_head or status in (204, 304) or status < 200:
            return Answer(status, headers, b"")
        if given.get("transfer-encoding") == "chunked":
            body = b""
            while chunk := self.read_chunk():
                body += chunk
            return Answer(status, headers, body)
        size = int(given["content-length"])
        while len(self._buffer) < size:
            self._more()
        body, self._buffer = self._buffer[:size], self._buffer[size:]
        return Answer(status, headers, body)

    def read_head(self) -> tuple[int, list[tuple[str, str]]]:
        """The head of an answer whose body goes on for a while."""
        head = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status = head[0].split(" ")[:2]
        assert version == "HTTP/1.1", head
        pairs = [line.partition(": ") for line in head[1:]]
        return int(status), [(name.lower(), value) for name, _, value in pairs]

    def read_chunk(self) -> bytes:
        """The next piece of a chunked body; empty at its end."""
        size = int(self._until(b"\r\n"), 16)
        while len(self._buffer) < size + 2:
            self._more()
        chunk, self._buffer = self._buffer[:size], self._buffer[size + 2 :]
        return chunk

    def is_closed(self, patience: float = PATIENCE) -> bool:
        """Whether the server closes the connection, saying nothing more."""
        self.socket.settimeout(patience)
        try:
            return not self._buffer and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def _until(self, end: bytes) -> bytes:
        while end not in self._buffer:
            self._more()
        found, _, self._buffer = self._buffer.partition(end)
        return found

    def _more(self) -> None:
        try:
            data = self.socket.recv(1 << 18)
        except ConnectionResetError:
            data = b""
        if not data:
            raise Closed(self._buffer[:1000])
        self._buffer += data


def request(method: str, path: str, headers: Headers = (), body: bytes | None = None) -> bytes:
    """The bytes of a request: a Host unless one is given, and a length where there is a body."""
    given = list(headers)
    names = {name.lower() for name, _ in given}
    if "host" not in names:
        given.insert(0, ("Host", "localhost"))
    if body is not None and not names & {"content-length", "transfer-encoding"}:
        given.append(("Content-Length", str(len(body))))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")


JSON = ("Content-Type", "application/json")


def call(
    tool: str, arguments: Mapping[str, Any] | None = None, *, id: object = 1, revision: str = NEWEST
) -> tuple[list[tuple[str, str]], bytes]:
    """The headers and the body of a call of a tool."""
    return rpc("tools/call", {"name": tool, "arguments": dict(arguments or {})}, id=id, revision=revision)


def rpc(
    method: str, params: Mapping[str, Any] | None = None, *, id: object = 1, revision: str = NEWEST
) -> tuple[list[tuple[str, str]], bytes]:
    """The headers and the body of a request."""
    headers = [JSON, ("Accept", "application/json, text/event-stream"), ("MCP-Protocol-Version", revision)]
    told = dict(params or {})
    if revision == NEWEST:
        headers.append(("Mcp-Method", method))
        if method == "tools/call":
            headers.append(("Mcp-Name", told["name"]))
        told["_meta"] = modern_meta()
    return headers, json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": told}).encode()


def refusal(route: str, status: int, field: str, message: str, id: int | None = None) -> Any:
    """What a refusal looks like on a route; with the id of a request that was read."""
    if route.startswith("/mcp/tool/"):
        if status == 404:
            return {"success": False, "error": message, "code": "NOT_FOUND"}
        return {"success": False, "error": message, "code": "VALIDATION_ERROR", "details": {"field": field}}
    if route == "/mcp" or route.startswith("/mcp/"):
        known = {} if id is None else {"id": id}
        return {"jsonrpc": "2.0", **known, "error": {"code": -32600, "message": message}}
    return {"error": message}


def children(pid: int) -> list[int]:
    """The children of a process; none once it is gone."""
    try:
        found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        # multiprocessing starts a process of its own beside those that we mean.
        return [one for one in found if b"resource_tracker" not in Path(f"/proc/{one}/cmdline").read_bytes()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def memory_mb(pid: int) -> float:
    """The resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def open_sockets(pid: int) -> int:
    """How many sockets a process has open; of files, a store opens more when there is more to do."""
    count = 0
    for number in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):
            count += os.readlink(f"/proc/{pid}/fd/{number}").startswith("socket:")
    return count


def eventually(claim: Any, patience: float = PATIENCE) -> bool:
    """Whether something becomes true in time."""
    deadline = time.monotonic() + patience
    while not claim():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
