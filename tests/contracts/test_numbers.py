"""Numbers in arguments: without a fraction they are integers in every contract; huge ones match nothing."""

import json
from collections.abc import Callable
from typing import Any

from tests.support.satchel import ok
from tests.support.stdio import NEWEST, Client, modern_meta
from tests.support.variants import both_engines

ADA = "550e8400-e29b-41d4-a716-446655440000"
ONE = {"number": 1, "title": "One", "project": None}
HUGE = ["1e300", "9007199254740993", "1" + "0" * 30, "1" + "0" * 3999, "1" + "0" * 5000, "1e999"]


def call_raw(client: Client, tool: str, arguments: str) -> Any:
    """Return the result of a call with exactly this JSON text as arguments; Python would rewrite its numbers."""
    params = json.dumps({"name": tool, "arguments": 0, "_meta": modern_meta()})
    params = params.replace('"arguments": 0', f'"arguments": {arguments}')
    client.methods["raw"] = ("tools/call", NEWEST)
    client.send_line(f'{{"jsonrpc": "2.0", "id": "raw", "method": "tools/call", "params": {params}}}'.encode())
    return client.read()["result"]["structuredContent"]


def test_a_number_without_a_fraction_is_an_integer(store: str, serve: Callable[..., Client]) -> None:
    prompts, tasks = serve("prompt-store", store), serve("tasks", store, NEWEST, "--user", ADA)
    own = serve("satchel", store, NEWEST, "--user", ADA)
    for title in ("One", "Two"):
        tasks.call("add_task", title=title)
    for two in ("2", "2.0", "2e0", "20e-1", "0.2E1", "2.000000000000000000000001"):
        page = call_raw(prompts, "list_prompts", f'{{"limit": {two}, "offset": {two}}}')
        assert (page["limit"], page["offset"]) == (2, 2)
        assert [type(page[name]) for name in ("limit", "offset")] == [int, int]
        task = call_raw(tasks, "complete_task", f'{{"task_id": {two}}}')["data"]
        assert (task["id"], type(task["id"])) == (2, int)
        assert call_raw(own, "list_tasks", f'{{"limit": {two}}}')["tasks"] == [ONE]
        blocked = call_raw(own, "update_task", f'{{"task": 1.0, "blocked_by": [{two}], "expected_version": {two}}}')
        assert blocked["error"]["code"] == "conflict"


def test_a_fraction_and_a_truth_value_are_no_integers(store: str, serve: Callable[..., Client]) -> None:
    prompts, tasks = serve("prompt-store", store), serve("tasks", store, NEWEST, "--user", ADA)
    own = serve("satchel", store, NEWEST, "--user", ADA)
    for given in ("5.5", "true", '"5"', "1e-3", "-0.5", "5.000000001"):
        error = call_raw(prompts, "list_prompts", f'{{"limit": {given}}}')["error"]
        assert error == {"code": "INVALID_INPUT", "message": "Invalid limit: must be of type integer"}
        assert call_raw(tasks, "delete_task", f'{{"task_id": {given}}}') == {
            "success": False,
            "error": "Invalid task_id: must be of type integer",
            "code": "VALIDATION_ERROR",
            "details": {"field": "task_id", "constraint": "type"},
        }
        if given != '"5"':  # which satchel takes for 5
            error = call_raw(own, "list_tasks", f'{{"limit": {given}}}')["error"]
            assert error["message"] == "limit must be a whole number."


@both_engines
def test_a_number_beyond_all_bounds_is_valid_and_finds_nothing(store: str, serve: Callable[..., Client]) -> None:
    prompts, tasks = serve("prompt-store", store), serve("tasks", store, NEWEST, "--user", ADA)
    own = serve("satchel", store, NEWEST, "--user", ADA)
    prompts.call("add_prompt", title="A", content="x", tags=["t"])
    ok(own, "add_task", title="One")
    for number in HUGE:
        for tool, more in (
            ("list_prompts", "{"),
            ("search_prompts", '{"query": "x", '),
            ("filter_by_tags", '{"tags": ["t"], '),
        ):
            page = call_raw(prompts, tool, f'{more}"offset": {number}}}')
            assert (page["prompts"], page["total"], page["has_more"]) == ([], 1, False)
            assert type(page["offset"]) is int and page["offset"] > 2**53
        for tool, more in (("complete_task", ""), ("delete_task", ""), ("update_task", ', "title": "x"')):
            said = call_raw(tasks, tool, f'{{"task_id": {number}{more}}}')
            assert (said["error"], said["code"]) == ("Task not found", "NOT_FOUND")
            assert type(said["details"]["task_id"]) is int and said["details"]["task_id"] > 2**53
            below = call_raw(tasks, tool, f'{{"task_id": -{number}{more}}}')
            assert below["details"] == {"field": "task_id", "constraint": "minimum", "limit": 1}
        for given in (number, f"-{number}"):
            assert call_raw(own, "complete_task", f'{{"task": {given}}}')["error"]["code"] == "not_found"
            error = call_raw(own, "add_task", f'{{"title": "x", "blocked_by": [{given}]}}')["error"]
            assert error["code"] == "not_found"
    assert tasks.call("list_tasks")["structuredContent"]["message"] == "Found 1 task"
