"""Bounds of messages: the elements of one, the messages and the answers of a batch."""

import json
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from satchel.protocol import connection
from satchel.protocol.codec import MAX_ELEMENTS
from satchel.protocol.connection import MAX_BATCH_ANSWER_BYTES
from tests.attacks.floods import BATCHES, MAX_MEMORY_MB, PeakMemory, Token, make_token
from tests.support.soak import amount
from tests.support.stdio import Server
from tests.support.web import HANDSHAKE, JSON, PATIENCE, WebServer, call

SIZE = amount(4, 30) << 20

TOO_MANY = {"details": f"a message has at most {MAX_ELEMENTS} values, objects and lists"}
BOMBS = {
    "numbers": b"[" + b"1," * (SIZE // 2) + b"1]",
    "lists": b"[" + b"[]," * (SIZE // 3) + b"[]]",
    "objects": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[' + b'{"a":1},' * (SIZE // 8) + b"{}]}",
    "strings": b'["' + b'","' * (SIZE // 3) + b'"]',
    "broken off": b"[" + b"[]," * (SIZE // 3) + b'"and so on',
    "nested": b"[" * (SIZE // 1),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("messages") / "s.db")


@pytest.fixture(scope="module")
def ada(store: str) -> Token:
    return make_token(store)


@pytest.fixture(scope="module")
def server(store: str, ada: Token) -> Iterator[WebServer]:
    with WebServer("-c", "prompt-store", "-d", store, "--auth", "token") as server:
        yield server


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_message_with_too_many_elements_is_refused_before_it_is_decoded(
    server: WebServer, ada: Token, bomb: bytes
) -> None:
    answer = server.ask("POST", "/mcp", [ada.header, JSON, ("MCP-Protocol-Version", BATCHES)], bomb)
    assert (answer.status, answer.json["error"]) == (
        400,
        {"code": -32600, "message": "Invalid request", "data": TOO_MANY},
    )
    plain = server.ask("POST", "/mcp/tool/list_tasks", [ada.header, JSON], bomb)
    assert (plain.status, plain.json["code"], plain.json["details"]["field"]) == (400, "VALIDATION_ERROR", "body")


def test_over_stdio_too(store: str, serve_process: Callable[..., Server]) -> None:
    client = serve_process("prompt-store", store)
    peak = PeakMemory(client.process.pid)
    for bomb in BOMBS.values():
        client.send_line(bomb)
        assert client.read()["error"]["data"] == TOO_MANY
    assert peak.mb <= MAX_MEMORY_MB


def test_a_text_may_have_any_number_of_commas_and_brackets(server: WebServer, ada: Token) -> None:
    table = "a,b,[c],{d}\n" * 300_000
    headers, body = call("add_prompt", {"title": "a table", "content": table}, revision=HANDSHAKE)
    added = server.ask("POST", "/mcp", [ada.header, *headers], body)
    assert not added.json["result"]["isError"], added.text[:500]


def fetch(url: str, headers: dict[str, str], body: bytes) -> bytes:
    """Return the whole of a large answer."""
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=PATIENCE) as response:
        answer: bytes = response.read()
    return answer


def make_batch(tool: str, arguments: dict[str, Any], count: int) -> bytes:
    messages = (call(tool, arguments, id=id, revision=HANDSHAKE)[1] for id in range(count))
    return b"[" + b",".join(messages) + b"]"


def test_the_answers_to_a_batch_are_bounded_together(server: WebServer, ada: Token) -> None:
    headers, body = call("add_prompt", {"title": "long", "content": "x" * 4_000_000}, revision=HANDSHAKE)
    prompt = server.ask("POST", "/mcp", [ada.header, *headers], body).tool["id"]
    batch = make_batch("get_prompt", {"id": prompt}, 100)
    headers = [ada.header, JSON, ("MCP-Protocol-Version", BATCHES)]
    body = fetch(f"{server.url}/mcp", dict(headers), batch)
    assert len(body) <= MAX_BATCH_ANSWER_BYTES + 100 * 1000
    replies = json.loads(body)
    assert [reply["id"] for reply in replies] == list(range(100))
    whole = [reply for reply in replies if "result" in reply]
    assert len(whole) == MAX_BATCH_ANSWER_BYTES // 4_000_000
    details = [reply["error"]["data"]["details"].partition("; ")[2] for reply in replies[len(whole) :]]
    assert details[0] == "this request was carried out, ask for its answer alone"
    assert set(details[1:]) == {"this request was not carried out, send it again"}


def test_what_does_not_fit_into_a_batch_is_not_carried_out(
    store: str, serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_BATCH_ANSWER_BYTES", 900)
    client = serve("prompt-store", store, BATCHES)
    client.send_line(
        b"[%s]"
        % b",".join(call("add_prompt", {"title": f"B{n}", "content": "y"}, id=n, revision=BATCHES)[1] for n in range(9))
    )
    client.methods |= dict.fromkeys(range(9), ("tools/call", BATCHES))
    replies = client.read()
    refused = [reply["id"] for reply in replies if "not carried out" in str(reply)]
    assert refused == list(range(refused[0], 9))
    found = client.call("list_prompts", limit=100)
    titles = {one["title"] for one in json.loads(found["content"][0]["text"])["prompts"]}
    assert {f"B{n}" for n in range(9)} & titles == {f"B{n}" for n in range(refused[0])}
    assert "was carried out" in str(replies[refused[0] - 1])
