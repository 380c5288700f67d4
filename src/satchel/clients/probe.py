"""Starts the server of an entry as a client would, or calls its address, and asks for its name and tools."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from satchel.clients.entries import Local, Remote

TIMEOUT = 20.0  # seconds for a server to start and to answer; a cold start takes less than one
_MAX_ANSWER = 4 * 2**20  # bytes of an answer to read
_REVISION = "2025-06-18"
_HELLO = {
    "protocolVersion": _REVISION,
    "capabilities": {},
    "clientInfo": {"name": "satchel-doctor", "version": "1"},
}


class Answer(NamedTuple):
    """The name, version and number of tools of a server."""

    server: str
    version: str
    tools: int | None  # None if the server offers no tools


class NoAnswer(Exception):
    """A server cannot be started or reached, or does not speak MCP; the message says why."""


def call(target: Local | Remote, environment: Mapping[str, str], timeout: float = TIMEOUT) -> Answer:
    """Start or call the server of an entry, and ask for its name and its tools.

    Raises:
        NoAnswer: the server did not answer.
    """
    if isinstance(target, Local):
        return _start(target, environment, timeout)
    return _reach(target, environment, timeout)


def _messages() -> Iterator[dict[str, Any]]:
    yield {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO}
    yield {"jsonrpc": "2.0", "method": "notifications/initialized"}
    yield {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def _read_hello(message: Any) -> tuple[Answer, bool]:
    """Read the answer to initialize: the server's name, and whether it offers tools."""
    result = message.get("result") if isinstance(message, dict) else None
    info = result.get("serverInfo") if isinstance(result, dict) else None
    if not isinstance(info, dict):
        raise NoAnswer(f"it answered initialize with {json.dumps(message)[:200]}")
    has_tools = isinstance(result, dict) and "tools" in (result.get("capabilities") or {})
    return Answer(str(info.get("name")), str(info.get("version")), None), has_tools


def _read_tools(answer: Answer, message: Any) -> Answer:
    try:
        return answer._replace(tools=len(message["result"]["tools"]))
    except (KeyError, TypeError) as error:
        raise NoAnswer(f"it answered tools/list with {json.dumps(message)[:200]}") from error


def _start(target: Local, environment: Mapping[str, str], timeout: float) -> Answer:
    """Start a server, send all messages and the end of its input, and read its output until it ends."""
    sent = b"".join(json.dumps(message).encode() + b"\n" for message in _messages())
    try:
        done = subprocess.run(  # noqa: S603 - as the client would  # nosec B603
            [target.command, *target.arguments],
            input=sent,
            capture_output=True,
            timeout=timeout,
            env={**environment, **target.variables},
            check=False,
        )
        answered, complaint, why = done.stdout, done.stderr, "it ended before it answered"
    except subprocess.TimeoutExpired as late:
        answered, complaint, why = late.stdout or b"", late.stderr or b"", "it did not answer in time"
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise NoAnswer(f"{target.command} cannot be started: {what}") from error
    try:
        answer, has_tools = _read_hello(_find_answer(answered, 1, why))
        return _read_tools(answer, _find_answer(answered, 2, why)) if has_tools else answer
    except NoAnswer as error:
        said = complaint.decode("utf-8", "replace").strip()
        raise NoAnswer(f"{error}; it said: {said[-400:]}" if said else str(error)) from error


def _find_answer(answered: bytes, id: int, why: str) -> Any:
    """Return the answer with this id among a server's messages; if there is none, fail for the reason `why`."""
    for line in answered.splitlines(keepends=True):
        try:
            message = json.loads(line)
        except ValueError as error:
            raise NoAnswer(f"it wrote something that is not JSON to stdout: {line[:100]!r}") from error
        if isinstance(message, dict) and message.get("id") == id:
            return message
    raise NoAnswer(why)


def _reach(target: Remote, environment: Mapping[str, str], timeout: float) -> Answer:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if target.token_variable:
        token = environment.get(target.token_variable)
        if not token:
            raise NoAnswer(f"the environment variable {target.token_variable}, which has the token, is not set")
        headers["Authorization"] = f"Bearer {token}"
    first, _, last = _messages()
    answer, has_tools = _read_hello(_post(target.url, first, headers, timeout))
    headers["MCP-Protocol-Version"] = _REVISION
    return _read_tools(answer, _post(target.url, last, headers, timeout)) if has_tools else answer


def _post(url: str, message: dict[str, Any], headers: Mapping[str, str], timeout: float) -> Any:
    import http.client  # 20 ms
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout)
    place = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request("POST", place, json.dumps(message).encode(), dict(headers))
        response = connection.getresponse()
        body = response.read(_MAX_ANSWER)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAnswer(f"{url} cannot be reached: {error}") from error
    finally:
        connection.close()
    if response.status in (401, 403):
        raise NoAnswer(f"{url} refused the token (status {response.status})")
    if response.status != 200:
        raise NoAnswer(f"{url} answered with status {response.status}")
    return _read_body(body, response.getheader("Content-Type") or "")


def _read_body(body: bytes, kind: str) -> Any:
    """Read the message in the body of a response, which may be a stream of events."""
    text = body.decode("utf-8", "replace")
    if kind.startswith("text/event-stream"):
        data = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
        text = next((one for one in data if '"result"' in one or '"error"' in one), "")
    try:
        return json.loads(text)
    except ValueError as error:
        raise NoAnswer(f"it answered with something that is not JSON: {text[:100]!r}") from error
