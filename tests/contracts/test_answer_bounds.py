"""Limits on messages in a batch and on the size of an answer, with the error of every contract."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel.contracts import content
from tests.support.satchel import make_library, ok, refusal
from tests.support.stdio import NEWEST, OLDEST, Client

ADA = "550e8400-e29b-41d4-a716-446655440000"
LIMIT = 5000


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the bound, so that a test reaches it soon."""
    monkeypatch.setattr(content, "MAX_ANSWER_BYTES", LIMIT)


def test_prompt_store_asks_for_a_smaller_limit(store: str, serve: Callable[..., Client]) -> None:
    client = serve("prompt-store", store)
    for number in range(20):
        client.call("add_prompt", title=f"T{number}", content="word " * 40, tags=["t"])
    too_large = {
        "error": {
            "code": "INVALID_INPUT",
            "message": "Invalid limit: the answer has more than 5000 bytes, ask for less",
        }
    }
    for tool, more in (
        ("list_prompts", {}),
        ("search_prompts", {"query": "word"}),
        ("filter_by_tags", {"tags": ["t"]}),
    ):
        result = client.call(tool, {**more, "limit": 20})
        assert (result["structuredContent"], result["isError"]) == (too_large, True)
        assert client.call(tool, {**more, "limit": 2})["structuredContent"]["total"] == 20


def test_todo_and_tasks_name_the_argument_that_asks_for_less(store: str, serve: Callable[..., Client]) -> None:
    todo, tasks = serve("todo", store), serve("tasks", store, OLDEST, "--user", ADA)
    for number in range(40):
        id = todo.call("add_task", user_id=ADA, title=f"T{number}")["structuredContent"]["task"]["id"]
        todo.call("complete_task", user_id=ADA, task_id=id)
    result = todo.call("list_tasks", user_id=ADA)
    assert (result["structuredContent"], result["isError"]) == (
        {
            "success": False,
            "tasks": [],
            "count": 0,
            "message": "The answer has more than 5000 bytes: ask for less with include_completed",
        },
        True,
    )
    assert todo.call("list_tasks", user_id=ADA, include_completed=False)["structuredContent"]["count"] == 0
    said = json.loads(tasks.call("list_tasks")["content"][0]["text"])
    assert said == {
        "success": False,
        "error": "The answer has more than 5000 bytes: ask for less with status",
        "code": "VALIDATION_ERROR",
        "details": {"field": "status", "constraint": "maxLength", "limit": 5000},
    }
    assert json.loads(tasks.call("list_tasks", status="pending")["content"][0]["text"])["success"] is True


def test_mcpkg_names_the_items_of_which_there_are_too_many(store: str, serve: Callable[..., Client]) -> None:
    client = serve("mcpkg", store)
    for number in range(3):
        client.call("create_prompt", name=f"p{number}", content="x", description="d" * 2000)
        client.call("create_resource", name=f"r{number}", uri=f"x:{number}", content="y" * 4900, description="d" * 2000)
    for what in ("prompts", "resources"):
        assert client.request(f"{what}/list")["error"] == {
            "code": -32602,
            "message": "Error: The answer has more than 5000 bytes: keep fewer "
            f"{what} in a project, or shorter descriptions",
        }
    assert "result" in client.request("resources/read", {"uri": "x:0"})
    client.call("update_resource", name="r0", content="y" * 5001)
    assert client.request("resources/read", {"uri": "x:0"})["error"] == {
        "code": -32602,
        "message": "Error: The answer has more than 5000 bytes",
    }


def test_twig_says_that_its_list_is_too_large(tmp_path: Path, serve: Callable[..., Client]) -> None:
    make_library(tmp_path, "desk", {f"letter{number}": ("Dear", ["to"]) for number in range(60)})
    client = serve("twig", str(tmp_path / "unused.db"), NEWEST, "--libraries", str(tmp_path))
    assert client.request("prompts/list")["error"] == {
        "code": -32602,
        "message": "Invalid params",
        "data": {"details": "500 prompts have more than 5000 bytes in a list"},
    }
    assert "result" in client.request("prompts/get", {"name": "desk:letter1"})


def test_satchel_asks_for_less_and_undoes_what_it_cannot_answer(store: str, serve: Callable[..., Client]) -> None:
    client = serve("satchel", store, NEWEST, "--user", ADA)
    for start in range(0, 200, 50):
        ok(client, "add_tasks", lines=[f"T{start + number}" for number in range(50)])
    assert refusal(client, "list_tasks", limit=200) == {
        "code": "invalid_argument",
        "message": "The answer has more than 5000 bytes.",
        "hint": "Use limit to ask for less.",
        "argument": "limit",
    }
    assert len(ok(client, "list_tasks", limit=2)["tasks"]) == 2
    # Each task is in the text and in the value, so the answer is larger than the request.
    error = refusal(client, "add_tasks", lines=["Long"] * 200)
    assert (error["message"], error["argument"]) == ("The answer has more than 5000 bytes.", "arguments")
    assert ok(client, "list_tasks", query="Long")["tasks"] == []


def test_an_error_that_quotes_too_much_is_shortened_to_that(store: str, serve: Callable[..., Client]) -> None:
    client = serve("tasks", store, NEWEST, "--user", ADA)
    body = client.call("add_task", {"title": "T", "x" * 6000: 1})["structuredContent"]
    assert body["details"] == {"field": "arguments", "constraint": "maxLength", "limit": 5000}
    assert client.call("list_tasks")["structuredContent"]["data"] == []


# -- batches ----------------------------------------------------------------------------------------------------

TOO_MANY = {"code": -32600, "message": "Invalid request", "data": {"details": "a batch has at most 100 messages"}}


def batch(count: int) -> list[dict[str, Any]]:
    return [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(count)]


def test_a_batch_of_more_than_100_messages_is_refused_whole(store: str, serve: Callable[..., Client]) -> None:
    client = serve("todo", store, "2025-03-26")
    client.methods |= dict.fromkeys(range(100), ("ping", "2025-03-26"))
    client.send(batch(100))
    assert len(client.read()) == 100
    title = {"name": "add_task", "arguments": {"user_id": ADA, "title": "T"}}
    writing = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": title}
    for messages in ([writing, *batch(100)], [writing] * 101, [*[writing] * 100, 5]):
        client.send(messages)
        assert client.read() == {"jsonrpc": "2.0", "id": None, "error": TOO_MANY}
    # Notifications count as well.
    client.send([{"jsonrpc": "2.0", "method": "notifications/x"}] * 101)
    assert client.read() == {"jsonrpc": "2.0", "id": None, "error": TOO_MANY}
    client.revision = "2025-03-26"
    assert json.loads(client.call("list_tasks", user_id=ADA)["content"][0]["text"])["count"] == 0
