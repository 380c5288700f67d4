"""Bounds of messages: the elements of one, the messages and the answers of a batch."""

import json
from collections.abc import Callable

import pytest

from satchel.protocol import connection
from satchel.protocol.codec import MAX_ELEMENTS
from tests.attacks.floods import BATCHES, MAX_MEMORY_MB, PeakMemory
from tests.support.in_process_http import WebInProcess
from tests.support.soak import amount
from tests.support.stdio import Server
from tests.support.web import JSON, call

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


def test_a_message_with_too_many_elements_is_refused_before_it_is_decoded(store: str) -> None:
    with WebInProcess("-c", "prompt-store", "-d", store) as server:
        for what, bomb in BOMBS.items():
            answer = server.ask("POST", "/mcp", [JSON, ("MCP-Protocol-Version", BATCHES)], bomb)
            assert (answer.status, answer.json["error"]["data"]) == (400, TOO_MANY), what
            plain = server.ask("POST", "/mcp/tool/list_tasks", [JSON], bomb)
            assert (plain.status, plain.json["details"]["field"]) == (400, "body"), what


def test_over_stdio_too(store: str, serve_process: Callable[..., Server]) -> None:
    client = serve_process("prompt-store", store)
    peak = PeakMemory(client.process.pid)
    for bomb in BOMBS.values():
        client.send_line(bomb)
        assert client.read()["error"]["data"] == TOO_MANY
    assert peak.mb <= MAX_MEMORY_MB


def test_a_text_may_have_any_number_of_commas_and_brackets(store: str, serve: Callable[..., Server]) -> None:
    client = serve("prompt-store", store)
    assert client.call("add_prompt", title="a table", content="a,b,[c],{d}\n" * 300_000)["isError"] is False


def test_calls_beyond_the_limit_of_a_batch_are_not_run(
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
