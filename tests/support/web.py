"""A raw HTTP client, which sends exactly the bytes that a test gives, and the server process it talks to."""

import json
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from tests.support.process import PATIENCE as PATIENCE
from tests.support.process import HttpProcess
from tests.support.process import children as children
from tests.support.process import eventually as eventually
from tests.support.process import is_running as is_running
from tests.support.process import memory_mb as memory_mb
from tests.support.process import open_sockets as open_sockets
from tests.support.stdio import NEWEST, modern_meta

HANDSHAKE = "2025-11-25"

Headers = Iterable[tuple[str, str]]


class WebClient:
    """A client that sends raw bytes to a port of this machine."""

    port: int

    def connect(self, patience: float = PATIENCE) -> "Wire":
        return Wire(self.port, patience)

    def ask(self, method: str, path: str, headers: Headers = (), body: bytes | None = None) -> "Answer":
        """Send one request on its own connection."""
        with self.connect() as wire:
            return wire.ask(method, path, headers, body)

    def count(self, headers: Headers = ()) -> float:
        """Count the requests that reached a handler so far, by the server's own metrics."""
        return self.metric("satchel_requests_total", headers)

    def metric(self, name: str, headers: Headers = ()) -> float:
        """Return the sum of a metric over all labels."""
        page = self.ask("GET", "/metrics", headers)
        assert page.status == 200, page
        return sum(float(line.split()[-1]) for line in page.text.splitlines() if re.match(rf"{name}[ {{]", line))


class WebServer(WebClient, HttpProcess):
    """A server process, and its client for raw bytes."""


@dataclass(frozen=True)
class Answer:
    """One whole answer."""

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
    """The server has closed the connection; the value is the part of an answer that it had sent."""


class Wire:
    """One connection, which stays open between requests."""

    def __init__(self, port: int, patience: float = PATIENCE) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""

    def __enter__(self) -> Self:
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
        """Return the next answer.

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
        """Return the head of an answer, and leave the body unread."""
        head = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status = head[0].split(" ")[:2]
        assert version == "HTTP/1.1", head
        pairs = [line.partition(": ") for line in head[1:]]
        return int(status), [(name.lower(), value) for name, _, value in pairs]

    def read_chunk(self) -> bytes:
        """Return the next piece of a chunked body; empty at its end."""
        size = int(self._until(b"\r\n"), 16)
        while len(self._buffer) < size + 2:
            self._more()
        chunk, self._buffer = self._buffer[:size], self._buffer[size + 2 :]
        return chunk

    def is_closed(self, patience: float = PATIENCE) -> bool:
        """Return whether the server closes the connection without sending anything more."""
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
    """Return the bytes of a request, with a Host unless one is given, and a Content-Length if there is a body."""
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
    """Return the headers and the body of a tool call."""
    return rpc("tools/call", {"name": tool, "arguments": dict(arguments or {})}, id=id, revision=revision)


def rpc(
    method: str, params: Mapping[str, Any] | None = None, *, id: object = 1, revision: str = NEWEST
) -> tuple[list[tuple[str, str]], bytes]:
    """Return the headers and the body of a request."""
    headers = [JSON, ("Accept", "application/json, text/event-stream"), ("MCP-Protocol-Version", revision)]
    told = dict(params or {})
    if revision == NEWEST:
        headers.append(("Mcp-Method", method))
        if method == "tools/call":
            headers.append(("Mcp-Name", told["name"]))
        told["_meta"] = modern_meta()
    return headers, json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": told}).encode()


def refusal(route: str, status: int, field: str, message: str, id: int | None = None) -> Any:
    """Return the expected refusal on a route, with the id of the request if it was read."""
    if route.startswith("/mcp/tool/"):
        if status == 404:
            return {"success": False, "error": message, "code": "NOT_FOUND"}
        return {"success": False, "error": message, "code": "VALIDATION_ERROR", "details": {"field": field}}
    if route == "/mcp" or route.startswith("/mcp/"):
        known = {} if id is None else {"id": id}
        return {"jsonrpc": "2.0", **known, "error": {"code": -32600, "message": message}}
    return {"error": message}
