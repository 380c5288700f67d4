"""A raw MCP client over stdio: sends what a test gives it, and checks every answer against the official models."""

import json
import queue
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any, Self

from tests.support import official
from tests.support.process import PATIENCE, SERVE, TIMEOUT, ServerProcess

__all__ = ["CLIENT", "META", "NEWEST", "OLDEST", "PATIENCE", "REVISIONS", "Client", "Server", "modern_meta", "plain"]

NEWEST, OLDEST = "2026-07-28", "2024-11-05"
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
META = "io.modelcontextprotocol/"
CLIENT = {"name": "satchel-tests", "version": "1"}

END = object()


def modern_meta(version: str = NEWEST) -> dict[str, Any]:
    """Return the `_meta` of a request of the per-request generation."""
    return {f"{META}protocolVersion": version, f"{META}clientInfo": CLIENT, f"{META}clientCapabilities": {}}


class Inbox:
    """The unread messages from a server, with `END` after the last."""

    def __init__(self) -> None:
        self._arrived: queue.Queue[object] = queue.Queue()

    def ended(self, patience: float = PATIENCE) -> bool:
        """Return whether the server ends without another message."""
        return self._arrived.get(timeout=patience) is END

    def is_silent(self, seconds: float = 0.2) -> bool:
        """Return whether nothing more arrives for a while."""
        try:
            self._arrived.put(self._arrived.get(timeout=seconds))
        except queue.Empty:
            return True
        return False


class Client(Inbox):
    """A raw client: numbers its requests and checks every message it reads. Subclasses move the lines."""

    def __init__(self) -> None:
        super().__init__()
        self.methods: dict[object, tuple[str, str]] = {}  # id → method and revision of our request
        self.revision: str | None = None
        self._id = 0

    @property
    def stderr(self) -> str:
        """The log lines of the server so far."""
        raise NotImplementedError

    def send_line(self, line: bytes) -> None:
        """Send exactly these bytes as one line."""
        raise NotImplementedError

    def close(self, patience: float = TIMEOUT) -> int:
        """Close the server's input and return its exit status."""
        raise NotImplementedError

    def send(self, message: object) -> None:
        self.send_line(json.dumps(message).encode())

    def read(self, patience: float = PATIENCE) -> Any:
        """Return the next message, after checking it against the official models and schemas of its revision."""
        arrived = self._arrived.get(timeout=patience)
        if arrived is END:
            raise EOFError(f"the server has ended: {self.stderr}")
        assert isinstance(arrived, bytes)
        message = json.loads(arrived)
        for one in message if isinstance(message, list) else [message]:
            self._judge(one)
        return message

    def request(self, method: str, params: dict[str, Any] | None = None, revision: str | None = None) -> Any:
        """Send a request, and return the response; no notification may come before it."""
        identity = self.ask(method, params, revision)
        answer = self.read()
        assert answer.get("id") == identity, answer
        return answer

    def ask(self, method: str, params: dict[str, Any] | None = None, revision: str | None = None) -> int:
        """Send a request as a client of a revision does, and return its id."""
        self._id += 1
        revision = revision or self.revision or NEWEST
        if revision == NEWEST:
            params = {**(params or {}), "_meta": {**modern_meta(), **(params or {}).get("_meta", {})}}
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._id, "method": method}
        if params is not None:
            message["params"] = params
        self.methods[self._id] = (method, revision)
        self.send(message)
        return self._id

    def initialize(self, revision: str, capabilities: dict[str, Any] | None = None) -> Any:
        """Perform the handshake of the handshake generation."""
        params = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": CLIENT}
        self.revision = revision if revision in REVISIONS[:-1] else "2025-11-25"
        answer = self.request("initialize", params)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, /, **more: Any) -> Any:
        """Call a tool, and return its result without the members that the revision adds to every result."""
        answer = self.request("tools/call", {"name": tool, "arguments": {**(arguments or {}), **more}})
        assert "result" in answer, answer
        return plain(answer["result"])

    def _judge(self, message: dict[str, Any]) -> None:
        method, revision = self.methods.get(message.get("id"), (None, self.revision or NEWEST))
        if "method" in message and f"{META}subscriptionId" in message.get("params", {}).get("_meta", {}):
            revision = NEWEST
        official.check(message, method, revision)

    def _read_lines(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._arrived.put(line)
        self._arrived.put(END)


class Server(ServerProcess, Client):
    """A server in its own process, and its client over stdin and stdout."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None, command: list[str] | None = None):
        Client.__init__(self)
        ServerProcess.__init__(self, [*(command or SERVE), *arguments], environment, has_pipes=True)
        assert self.process.stdin is not None and self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._reader = threading.Thread(target=self._read_lines, args=(self._stdout,))
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.process.kill()
        status = self.close()
        assert kind is not None or status == 0, self.stderr

    def send_line(self, line: bytes) -> None:
        self._stdin.write(line + b"\n")
        self._stdin.flush()

    def close(self, patience: float = TIMEOUT) -> int:
        if not self._stdin.closed:
            with suppress(BrokenPipeError):
                self._stdin.close()
        status = self.wait(patience)
        self._reader.join(patience)
        self._stdout.close()
        return status


def plain(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result without the members that 2026-07-28 adds to every result, after checking them."""
    if "resultType" not in result:
        return result
    meta = result["_meta"][f"{META}serverInfo"]
    assert result["resultType"] == "complete" and set(meta) - {"icons"} == {"name", "version"}
    return {key: value for key, value in result.items() if key not in ("resultType", "_meta", "ttlMs", "cacheScope")}
