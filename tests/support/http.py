"""A raw MCP client over HTTP: sends what a test gives it, and checks every answer against the official models.

with HttpServer("--contract", "todo", "--database", store) as server:
    answer = server.ask("tools/list")                     # headers and _meta as in 2026-07-28
    answer = server.ask("tools/list", revision="2025-06-18")
    answer = server.ask("tools/list", headers={"Mcp-Method": None})            # without one of them
    assert (answer.status, answer.error["code"]) == (400, -32020)
    with server.listen({"promptsListChanged": True}) as stream:
        assert stream.read()["method"] == "notifications/subscriptions/acknowledged"
"""

import base64
import http.client
import json
import re
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from tests.support import official
from tests.support.process import PATIENCE, HttpProcess
from tests.support.stdio import CLIENT, END, META, NEWEST, REVISIONS, Inbox, modern_meta, plain

BOTH = "application/json, text/event-stream"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

# A header whose value is None is omitted; a header with several values is sent once for each.
Headers = Mapping[str, str | Sequence[str] | None]


@dataclass(frozen=True)
class Answer:
    """The whole answer to one request."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def kind(self) -> str | None:
        """The media type, without parameters."""
        return self.headers.get_content_type() if "content-type" in self.headers else None

    @property
    def messages(self) -> list[Any]:
        """The decoded JSON: one value, or the value of each event of a stream."""
        if not self.body:
            return []
        if self.kind == "text/event-stream":
            return [json.loads(event) for event in re.findall(rb"^data: (.*)$", self.body, re.M)]
        return [json.loads(self.body)]

    @property
    def json(self) -> Any:
        """The only value in the answer."""
        [value] = self.messages
        return value

    @property
    def result(self) -> Any:
        """The result at the end of a successful answer, without the members that 2026-07-28 adds to every result."""
        assert self.status == 200, self
        return plain(self.messages[-1]["result"])

    @property
    def error(self) -> Any:
        """The JSON-RPC error."""
        return self.json["error"]


class HttpClient:
    """A client that speaks MCP over HTTP to a port of this machine."""

    port: int
    token: str | None = None  # sent with each request from now on
    _id = 0

    # -- any request ------------------------------------------------------------------------------------------

    def send(
        self, verb: str, path: str = "/mcp", body: bytes | None = None, headers: Headers | None = None
    ) -> http.client.HTTPResponse:
        """Send one request on its own connection; return the response when its head has arrived."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        given = dict(headers or {})
        is_host_ours = "host" not in {name.lower() for name in given}
        connection.putrequest(verb, path, skip_host=not is_host_ours, skip_accept_encoding=True)
        if self.token is not None:
            given.setdefault("Authorization", f"Bearer {self.token}")
        if body is not None:
            given.setdefault("Content-Length", str(len(body)))
        for name, value in given.items():
            for one in [value] if isinstance(value, str) else value or ():
                connection.putheader(name, one)
        connection.endheaders(body)
        response = connection.getresponse()
        if connection.sock is not None:
            connection.sock.close()  # the response still reads from it, and closes it at the end
        return response

    def fetch(self, verb: str, path: str, body: bytes | None = None, headers: Headers | None = None) -> Answer:
        """Send one request, of MCP or not, and return the whole answer."""
        response = self.send(verb, path, body, headers)
        whole = Answer(response.status, response.headers, response.read())
        response.close()
        return whole

    def metric(self, name: str) -> float:
        """Return the value of a metric without labels."""
        page = self.fetch("GET", "/metrics").body.decode()
        [found] = re.findall(rf"^{re.escape(name)} (\S+)$", page, re.M)
        return float(found)

    # -- MCP --------------------------------------------------------------------------------------------------

    def post(self, message: object, headers: Headers | None = None, path: str = "/mcp") -> Answer:
        """POST a message, or raw bytes, and check the response against the official models and schemas."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        sent = {"Content-Type": "application/json", "Accept": BOTH, **(headers or {})}
        answer = self.fetch("POST", path, body, sent)
        date = sent.get("MCP-Protocol-Version")
        agreed = date if isinstance(date, str) and date in REVISIONS else "2025-03-26"
        for told in answer.messages:
            for one in told if isinstance(told, list) else [told]:
                _judge(one, message, agreed)
        return answer

    def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        revision: str = NEWEST,
        headers: Headers | None = None,
        path: str = "/mcp",
    ) -> Answer:
        """Send a request as a client of a revision does, and return the answer."""
        message = self.message(method, params, revision)
        answer = self.post(message, {**headers_of(message, revision), **(headers or {})}, path)
        for told in answer.messages:
            assert told.get("id", message["id"]) == message["id"] or "method" in told, told
        return answer

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, /, **more: Any) -> Any:
        """Call a tool, and return its result without the members that the revision adds to every result."""
        where = {key: more.pop(key) for key in ("revision", "path", "headers") if key in more}
        return self.ask("tools/call", {"name": tool, "arguments": {**(arguments or {}), **more}}, **where).result

    def message(self, method: str, params: Mapping[str, Any] | None = None, revision: str = NEWEST) -> dict[str, Any]:
        """Return a request as a client of a revision sends it."""
        self._id += 1
        if method == "initialize" and params is None:
            params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT}
        if revision == NEWEST:
            params = {**(params or {}), "_meta": {**modern_meta(), **(params or {}).get("_meta", {})}}
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._id, "method": method}
        return message if params is None else {**message, "params": dict(params)}

    # -- streams ----------------------------------------------------------------------------------------------

    def listen(self, wish: Mapping[str, Any], *, path: str = "/mcp") -> "Stream":
        """Open a stream of changes as in 2026-07-28."""
        return self.begin("subscriptions/listen", {"notifications": wish}, path=path)

    def begin(
        self, method: str, params: Mapping[str, Any] | None = None, *, revision: str = NEWEST, path: str = "/mcp"
    ) -> "Stream":
        """Send a request whose answer is a stream; return the open stream."""
        message = self.message(method, params, revision)
        headers = {"Content-Type": "application/json", "Accept": BOTH, **headers_of(message, revision)}
        return Stream(self.send("POST", path, json.dumps(message).encode(), headers), message, revision)

    def open(self, revision: str = "2025-11-25", *, path: str = "/mcp", accept: str = "text/event-stream") -> "Stream":
        """Open a stream of changes as in the handshake generation."""
        headers = {"Accept": accept, "MCP-Protocol-Version": revision}
        return Stream(self.send("GET", path, headers=headers), {}, revision)


class HttpServer(HttpClient, HttpProcess):
    """A server process and its client over HTTP."""


class Stream(Inbox):
    """An open stream of events; a thread reads them as they arrive."""

    def __init__(self, response: http.client.HTTPResponse, question: dict[str, Any], revision: str) -> None:
        super().__init__()
        assert response.status == 200, (response.status, response.read())
        assert response.headers.get_content_type() == "text/event-stream"
        self.headers = response.headers
        self.id = question.get("id")
        self._question = question
        self._revision = revision
        self._response = response
        self._socket: socket.socket = response.fp.raw._sock  # type: ignore[attr-defined]
        self._comments = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def comments(self) -> int:
        """The number of comments so far, which keep the connection alive."""
        return self._comments

    def read(self, patience: float = PATIENCE) -> Any:
        """Return the next message, after checking it against the official models and schemas of its revision."""
        arrived = self._arrived.get(timeout=patience)
        if arrived is END:
            raise EOFError("the stream has ended")
        message = json.loads(str(arrived))
        _judge(message, self._question, self._revision)
        return message

    def close(self) -> None:
        """Close the connection, as a client that leaves."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join(PATIENCE)
        self._response.close()

    def _read(self) -> None:
        data: list[str] = []
        try:
            while line := self._response.readline():
                text = line.decode().rstrip("\n")
                if text.startswith(":"):
                    self._comments += 1
                elif text.startswith("data: "):
                    data.append(text[len("data: ") :])
                elif not text and data:
                    self._arrived.put("\n".join(data))
                    data = []
        except (OSError, ValueError, http.client.HTTPException):
            pass
        self._arrived.put(END)


def headers_of(message: Mapping[str, Any], revision: str) -> dict[str, str]:
    """Return the headers that a revision requires with a request."""
    if revision != NEWEST:
        is_silent = revision == "2025-03-26" or message["method"] == "initialize"  # 2025-03-26 has no such header
        return {} if is_silent else {"MCP-Protocol-Version": revision}
    method, params = message["method"], message["params"]
    headers = {"MCP-Protocol-Version": revision, "Mcp-Method": method}
    if method in NAMES and isinstance(params.get(NAMES[method]), str):
        headers["Mcp-Name"] = encoded(params[NAMES[method]])
    return headers


def encoded(value: str) -> str:
    """Return a value in the form of a header: plain if possible, otherwise as Base64."""
    if re.fullmatch(r"[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?", value) and not re.fullmatch(r"=\?base64\?.*\?=", value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def _judge(message: Any, question: object, revision: str) -> None:
    """Check a message against the revision of the request it answers; `revision` is the default of the connection."""
    for one in question if isinstance(question, list) else [question]:
        if isinstance(one, dict) and (one.get("id") == message.get("id") or "method" in message):
            official.check(message, one.get("method") if "method" not in message else None, _spoken(one, revision))
            return
    assert "error" in message, f"an answer to nothing we asked: {message}"
    official.check(message, None, revision)


def _spoken(question: Mapping[str, Any], revision: str) -> str:
    params = question.get("params")
    if not isinstance(params, dict):
        return revision
    if question.get("method") == "initialize" and params.get("protocolVersion") in REVISIONS[:-1]:
        return str(params["protocolVersion"])
    meta = params.get("_meta")
    return NEWEST if isinstance(meta, dict) and f"{META}protocolVersion" in meta else revision
