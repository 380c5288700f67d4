"""Two users of one server: one who takes all they can get, and one who only wants to work."""

import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from satchel.auth import tokens
from satchel.storage.database import open_database
from tests.support.web import Answer, WebServer, Wire, call, request

GREEDY = "550e8400-e29b-41d4-a716-446655440000"
QUIET = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"

SLOW_SERVER = (sys.executable, "-m", "tests.attacks.slow_server")
BATCHES = "2025-03-26"  # the revision that has them


class SlowServer(WebServer):
    """A server of tests/attacks/slow_server.py."""

    def __init__(self, store: str, *arguments: str, read_seconds: float = 600) -> None:
        environment = {"READ_SECONDS": str(read_seconds)}
        super().__init__("-d", store, *arguments, command=SLOW_SERVER, environment=environment)


def make_token(store: str, user: str, **more: Any) -> tuple[str, str]:
    """A new token of a user: its id and its secret."""
    database = open_database(store)
    try:
        with database.write() as tx:
            token, secret = tokens.create(tx, user=user, **more)
    finally:
        database.close()
    return token.id, secret


def revoke(store: str, id: str) -> None:
    """Revoke a token."""
    database = open_database(store)
    try:
        with database.write() as tx:
            tokens.revoke(tx, id)
    finally:
        database.close()


def write_call(
    secret: str | None, tool: str, arguments: Mapping[str, Any] | None = None, path: str = "/mcp/slow"
) -> bytes:
    """The bytes of a call."""
    headers, body = call(tool, arguments)
    return request("POST", path, [*headers, *bearer(secret)], body)


def write_batch(secret: str | None, calls: Sequence[tuple[str, object]], path: str = "/mcp/slow") -> bytes:
    """The bytes of a batch of calls."""
    messages = [
        {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        for id, (name, arguments) in enumerate(calls)
    ]
    headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
    given = [*headers, ("MCP-Protocol-Version", BATCHES), *bearer(secret)]
    return request("POST", path, given, json.dumps(messages).encode())


def bearer(secret: str | None) -> list[tuple[str, str]]:
    """The header that shows a token."""
    return [] if secret is None else [("Authorization", f"Bearer {secret}")]


def ask(server: WebServer, secret: str | None, tool: str, arguments: Mapping[str, Any] | None = None) -> str:
    """Call a tool of the slow contract, and give its text."""
    with server.connect() as wire:
        wire.send(write_call(secret, tool, arguments))
        return text_of(wire.read())


def text_of(answer: Answer) -> str:
    """The text that a tool answered."""
    assert answer.status == 200, answer
    return str(answer.json["result"]["content"][0]["text"])


def send_all(server: WebServer, raw: bytes, count: int) -> list[Wire]:
    """Send the same request on so many connections, and read no answer."""
    wires = [server.connect() for _ in range(count)]
    for wire in wires:
        wire.send(raw)
    return wires


def measure(server: WebServer, raw: bytes, count: int) -> tuple[float, float]:
    """The median and the worst time of so many requests, one after the other."""
    times = []
    with server.connect() as wire:
        for _ in range(count):
            started = time.perf_counter()
            wire.send(raw)
            assert wire.read().status == 200
            times.append(time.perf_counter() - started)
    return statistics.median(times), max(times)
