"""Texts with NUL or half a character: the error of every contract names the argument or the entry of a list."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.satchel import make_library, refusal
from tests.support.stdio import NEWEST, OLDEST, Client

ADA = "550e8400-e29b-41d4-a716-446655440000"
SAYS = "contains NUL or half a character"


@pytest.fixture(params=["a\0b", "\ud800", "x\udfff"])
def bad(request: pytest.FixtureRequest) -> str:
    text: str = request.param
    return text


def test_prompt_store_refuses_unstorable_texts(bad: str, store: str, serve: Callable[..., Client]) -> None:
    client = serve("prompt-store", store)
    for tool, arguments, place in (
        ("add_prompt", {"title": bad, "content": "x"}, "title"),
        ("add_prompt", {"title": "", "content": bad}, "content"),  # counts as a type, so it comes before bounds
        ("add_prompt", {"title": "T", "content": "x", "tags": ["ok", "o!k", bad]}, "tags[2]"),
        ("update_prompt", {"id": ADA, "title": "T", "content": "x", "tags": [bad]}, "tags[0]"),
        ("get_prompt", {"id": bad}, "id"),
        ("delete_prompt", {"id": bad}, "id"),
        ("search_prompts", {"query": bad}, "query"),
        ("filter_by_tags", {"tags": ["a", bad]}, "tags[1]"),
    ):
        error = client.call(tool, arguments)["structuredContent"]["error"]
        assert error == {"code": "INVALID_INPUT", "message": f"Invalid {place}: {SAYS}"}
    for tags, place in (([1], "tags[0]"), (["a", None], "tags[1]"), (["a", "b", {}], "tags[2]")):
        for tool in ("add_prompt", "filter_by_tags"):
            error = client.call(tool, title="T", content="x", tags=tags)["structuredContent"]["error"]
            assert error == {"code": "INVALID_INPUT", "message": f"Invalid {place}: must be of type string"}
    for argument in ("limit", "offset"):
        error = client.call("list_prompts", {argument: "5"})["structuredContent"]["error"]
        assert error == {"code": "INVALID_INPUT", "message": f"Invalid {argument}: must be of type integer"}
    assert client.call("list_prompts")["structuredContent"]["total"] == 0


def test_mcpkg_refuses_unstorable_texts(bad: str, store: str, serve: Callable[..., Client]) -> None:
    client = serve("mcpkg", store, OLDEST)
    prompt = {"name": "p", "content": "x", "description": "d"}
    resource = {"name": "r", "uri": "x:r", "content": "x", "mime_type": "text/plain", "description": "d"}
    for tool, arguments in (("create_prompt", prompt), ("create_resource", resource)):
        for argument in arguments:
            said = client.call(tool, {**arguments, argument: bad})
            assert said["content"][0]["text"] == f"Error: Invalid argument '{argument}': {SAYS}"
    for method, params, details in (
        ("prompts/get", {"name": bad}, f"name {SAYS}"),
        ("prompts/get", {"name": "p", "arguments": {"a": bad}}, f"Argument 'a' {SAYS}"),
        ("prompts/get", {"name": "p", "arguments": {bad: "a"}}, f"The name of an argument {SAYS}"),
        ("resources/read", {"uri": bad}, f"uri {SAYS}"),
    ):
        error = client.request(method, params)["error"]
        assert error == {"code": -32602, "message": "Invalid params", "data": {"details": details}}
    assert client.request("prompts/list")["result"] == {"prompts": []}


def test_twig_refuses_unstorable_texts(bad: str, tmp_path: Path, serve: Callable[..., Client]) -> None:
    make_library(tmp_path, "desk", {"letter": ("Dear {{ to }}", ["to!"])})
    client = serve("twig", str(tmp_path / "unused.db"), OLDEST, "--libraries", str(tmp_path))
    error = client.request("prompts/get", {"name": "desk:letter", "arguments": {"to": bad}})["error"]
    assert error == {"code": -32602, "message": "Invalid params", "data": {"details": f"Argument 'to' {SAYS}"}}


def test_todo_refuses_unstorable_texts(bad: str, store: str, serve: Callable[..., Client]) -> None:
    client = serve("todo", store)
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("add_task", {"user_id": ADA, "title": bad}, "title"),
        ("add_task", {"user_id": bad, "title": ""}, "user_id"),
        ("update_task", {"user_id": ADA, "task_id": bad, "title": "x"}, "task_id"),
    )
    for tool, arguments, field in cases:
        body = client.call(tool, arguments)["structuredContent"]
        assert body == {"success": False, "task": None, "message": f"Invalid {field}: {SAYS}"}
    assert client.call("list_tasks", user_id=ADA)["structuredContent"]["count"] == 0


def test_tasks_refuses_unstorable_texts(bad: str, store: str, serve: Callable[..., Client]) -> None:
    client = serve("tasks", store, NEWEST, "--user", ADA)
    for tool, arguments, field in (
        ("add_task", {"title": bad}, "title"),
        ("add_task", {"title": "T", "description": bad}, "description"),
        ("list_tasks", {"status": bad}, "status"),
        ("update_task", {"task_id": 1, "description": bad}, "description"),
    ):
        assert client.call(tool, arguments)["structuredContent"] == {
            "success": False,
            "error": f"Invalid {field}: {SAYS}",
            "code": "VALIDATION_ERROR",
            "details": {"field": field, "constraint": "type"},
        }
    assert client.call("list_tasks")["structuredContent"]["data"] == []


def test_satchel_refuses_unstorable_texts(bad: str, store: str, serve: Callable[..., Client]) -> None:
    client = serve("satchel", store, NEWEST, "--user", ADA)
    new = {"title": "T", "content": "x"}
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("add_prompt", {**new, "title": bad}, "title"),
        ("add_prompt", {**new, "tags": ["a", bad]}, "tags[1]"),
        ("add_prompt", {**new, "arguments": [{"name": "a", "values": ["x", bad]}]}, "arguments[0].values[1]"),
        ("render_prompt", {"prompt": "p", "arguments": {"who": bad}}, "arguments.who"),
        ("list_prompts", {"tags": ["a", bad]}, "tags[1]"),
        ("add_task", {"title": "T", "blocked_by": ["1", bad]}, "blocked_by[1]"),
        ("complete_task", {"task": bad}, "task"),
        ("add_resource", {"name": "r", "content": bad}, "content"),
        ("list_resources", {"project": bad}, "project"),
    )
    for tool, arguments, place in cases:
        error = refusal(client, tool, arguments)
        assert (error["code"], error["message"]) == ("invalid_argument", f"{place} {SAYS}."), (tool, place)
        assert error["argument"] == place.split("[")[0].split(".")[0]
