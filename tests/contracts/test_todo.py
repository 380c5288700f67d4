"""The todo contract to the letter: whole replies over real stdio, on both engines.

todo.json beside this file has the messages of the document, and changes only with it.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from satchel import clock
from satchel.auth import tokens
from satchel.storage.database import Database
from tests.support.in_process_http import HttpInProcess
from tests.support.published import answered, published_output
from tests.support.stdio import NEWEST, OLDEST, Server
from tests.support.variants import oldest_too

IN_ORDER = partial(json.loads, object_pairs_hook=OrderedDict)  # objects whose order of keys counts in comparisons
PRINTED = IN_ORDER((Path(__file__).parent / "todo.json").read_text())
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
ADA, BOB = "550e8400-e29b-41d4-a716-446655440000", "11111111-2222-4333-8444-555555555555"
NOBODY = "00000000-0000-4000-8000-000000000000"
NOT_YOURS = "You don't have permission to modify this task"


@pytest.fixture
def client(revision: str, store: str, serve: Callable[..., Server]) -> Server:
    return serve("todo", store, revision)


def call(client: Server, tool: str, **arguments: Any) -> Any:
    return IN_ORDER(json.dumps(answered(client, "todo", tool, arguments)))


def added(client: Server, user: str, title: str) -> str:
    id: str = call(client, "add_task", user_id=user, title=title)["task"]["id"]
    return id


def failure(message: str, **instead: Any) -> dict[str, Any]:
    return {"success": False, **(instead or {"task": None}), "message": message}


def test_five_tools_are_listed_as_printed(client: Server) -> None:
    printed = [
        {
            "name": name,
            "description": tool["description"],
            "inputSchema": tool["inputSchema"],
            "outputSchema": published_output("todo", name),
        }
        for name, tool in PRINTED.items()
    ]
    assert json.dumps(client.request("tools/list")["result"]["tools"]) == json.dumps(printed)  # in the same order


@oldest_too
def test_the_printed_examples(client: Server) -> None:
    """Each printed input gets its printed output; ids and times are compared by form."""
    example = PRINTED["add_task"]["examples"]
    said = call(client, "add_task", **example["Input"])
    assert UUID.fullmatch(said["task"]["id"]) and TIME.fullmatch(said["task"]["created_at"])
    groceries = {"id": said["task"]["id"], "created_at": said["task"]["created_at"]}
    assert said == example["Output"] | {"task": example["Output"]["task"] | groceries}

    example = PRINTED["list_tasks"]["examples"]
    mom = call(client, "add_task", user_id=ADA, title="Call mom")["task"]
    call(client, "complete_task", user_id=ADA, task_id=mom["id"])
    said = call(client, "list_tasks", **example["Input"])
    first, second = example["Output"]["tasks"]
    newest_first = [second | {"id": mom["id"], "created_at": mom["created_at"]}, first | groceries]
    assert said == example["Output"] | {"tasks": newest_first}

    example = PRINTED["update_task"]["examples"]
    said = call(client, "update_task", **example["Input"] | {"task_id": groceries["id"]})
    assert TIME.fullmatch(said["task"]["updated_at"])
    generated = {"id": groceries["id"], "updated_at": said["task"]["updated_at"]}
    output = example["Output (success)"]
    assert said == output | {"task": output["task"] | generated}

    example = PRINTED["complete_task"]["examples"]
    assert call(client, "complete_task", **example["Input"]) == example["Output (not found)"]
    call(client, "update_task", user_id=ADA, task_id=groceries["id"], title="Buy groceries")
    output = example["Output (success)"]
    said = call(client, "complete_task", **example["Input"] | {"task_id": groceries["id"]})
    assert said == output | {"task": output["task"] | {"id": groceries["id"]}}

    example = PRINTED["delete_task"]["examples"]
    assert call(client, "delete_task", **example["Input"]) == example["Output (not found)"]
    said = call(client, "delete_task", **example["Input"] | {"task_id": groceries["id"]})
    assert said == example["Output (success)"] | {"deleted_task_id": groceries["id"]}


def test_an_update_that_changes_nothing_still_renews_the_time(client: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    id = added(client, ADA, "Buy milk")
    first = call(client, "update_task", user_id=ADA, task_id=id, title="Buy milk")["task"]["updated_at"]
    monkeypatch.setattr(clock, "_last", clock._last + 2_000_000)  # two seconds later
    assert call(client, "update_task", user_id=ADA, task_id=id, title="Buy milk")["task"]["updated_at"] > first


def test_lists_are_the_users_own_newest_first_with_or_without_what_is_done(client: Server) -> None:
    assert call(client, "list_tasks", user_id=ADA) == {
        "success": True,
        "tasks": [],
        "count": 0,
        "message": "Found 0 tasks",
    }
    ids = [added(client, ADA, f"T{number}") for number in range(3)]
    added(client, BOB, "Bob's")
    call(client, "complete_task", user_id=ADA, task_id=ids[1])
    everything = call(client, "list_tasks", user_id=ADA, include_completed=None)
    assert [task["title"] for task in everything["tasks"]] == ["T2", "T1", "T0"]
    pending = call(client, "list_tasks", user_id=ADA, include_completed=False)
    assert [task["title"] for task in pending["tasks"]] == ["T2", "T0"]
    assert (pending["count"], pending["message"]) == (2, "Found 2 tasks")
    assert call(client, "list_tasks", user_id=BOB)["message"] == "Found 1 task"


def test_completing_twice_succeeds_and_changes_nothing_the_second_time(client: Server) -> None:
    id = added(client, ADA, "  Buy milk  ")
    first = call(client, "complete_task", user_id=ADA, task_id=id)
    assert first == {
        "success": True,
        "task": {"id": id, "title": "Buy milk", "completed": True},
        "message": "Task 'Buy milk' marked as complete",
    }
    assert call(client, "complete_task", user_id=ADA, task_id=id.upper()) == first
    assert call(client, "update_task", user_id=ADA.upper(), task_id=id, title="x")["task"]["completed"] is True


def test_a_deleted_task_is_gone_permanently(client: Server, database: Database) -> None:
    id = added(client, ADA, "Going")
    call(client, "update_task", user_id=ADA, task_id=id, title="Gone")
    assert call(client, "delete_task", user_id=ADA, task_id=id)["success"]
    assert call(client, "delete_task", user_id=ADA, task_id=id)["message"] == "Task not found"
    with database.read() as tx:
        assert tx.all("select 1 from tasks") == tx.all("select 1 from search_words") == []
        assert tx.all("select action from revisions where kind = 'task'") == [("delete",)]


def test_another_users_task_is_distinguished_from_a_missing_one(client: Server) -> None:
    id = added(client, BOB, "Bob's")
    for tool, key, more in (
        ("complete_task", "task", {}),
        ("delete_task", "deleted_task_id", {}),
        ("update_task", "task", {"title": "Mine now"}),
    ):
        assert call(client, tool, user_id=ADA, task_id=id, **more) == failure(NOT_YOURS, **{key: None})
        assert call(client, tool, user_id=ADA, task_id=NOBODY, **more) == failure("Task not found", **{key: None})
    [task] = call(client, "list_tasks", user_id=BOB)["tasks"]
    assert (task["title"], task["completed"]) == ("Bob's", False)


def test_errors_have_the_words_of_the_contract(client: Server) -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("add_task", {}, "Missing required field: user_id"),
        ("add_task", {"user_id": 5}, "Missing required field: title"),
        ("add_task", {"user_id": ADA, "title": 5}, "Invalid title: must be a string"),
        ("add_task", {"user_id": ADA, "title": None}, "Invalid title: must be a string"),
        ("add_task", {"user_id": ADA, "title": "a\0b"}, "Invalid title: contains NUL or half a character"),
        ("add_task", {"user_id": f"{ADA}\ud800", "title": "a"}, "Invalid user_id: contains NUL or half a character"),
        ("add_task", {"user_id": 5, "title": "x"}, "Invalid user_id: must be a UUID"),
        ("add_task", {"user_id": "x", "title": "x"}, "Invalid user_id: must be a UUID"),
        ("add_task", {"user_id": "x", "title": 5}, "Invalid title: must be a string"),
        ("add_task", {"user_id": f"{{{ADA}}}", "title": "x"}, "Invalid user_id: must be a UUID"),
        ("add_task", {"user_id": ADA + "\n", "title": "x"}, "Invalid user_id: must be a UUID"),
        ("add_task", {"user_id": ADA, "title": ""}, "Task title cannot be empty"),
        ("add_task", {"user_id": ADA, "title": " \t\n"}, "Task title cannot be empty"),
        ("add_task", {"user_id": ADA, "title": "x" * 501}, "Task title must be at most 500 characters"),
        ("update_task", {"user_id": ADA, "task_id": "x", "title": ""}, "Invalid task_id: must be a UUID"),
        ("update_task", {"user_id": ADA, "task_id": NOBODY, "title": " "}, "Task title cannot be empty"),
        ("complete_task", {"user_id": ADA}, "Missing required field: task_id"),
        ("complete_task", {"user_id": ADA, "task_id": 7}, "Invalid task_id: must be a UUID"),
    ]
    for tool, arguments, message in cases:
        assert call(client, tool, **arguments) == failure(message), arguments
    nothing = {"tasks": [], "count": 0}
    assert call(client, "list_tasks") == failure("Missing required field: user_id", **nothing)
    said = call(client, "list_tasks", user_id=ADA, include_completed="yes")
    assert said == failure("Invalid include_completed: must be a boolean", **nothing)
    assert call(client, "delete_task", user_id=ADA, task_id="7") == failure(
        "Invalid task_id: must be a UUID", deleted_task_id=None
    )
    assert call(client, "list_tasks", user_id=ADA)["count"] == 0
    added(client, ADA, "é" * 500)


def test_a_pinned_connection_acts_for_no_other_user(store: str, serve: Callable[..., Server]) -> None:
    client = serve("todo", store, NEWEST, "--user", ADA.upper())
    id = added(client, ADA, "Mine")
    everything: dict[str, dict[str, Any]] = {
        "add_task": {"task": None},
        "list_tasks": {"tasks": [], "count": 0},
        "complete_task": {"task": None},
        "delete_task": {"deleted_task_id": None},
        "update_task": {"task": None},
    }
    assert everything.keys() == PRINTED.keys()
    for tool, instead in everything.items():
        # The user is checked before all other arguments, once user_id itself is well-formed.
        for arguments in ({}, {"task_id": id, "title": "x"}, {"task_id": 5, "title": ""}):
            assert call(client, tool, user_id=BOB, **arguments) == failure(NOT_YOURS, **instead)
        said = call(client, tool, user_id="x", task_id=id, title="x")
        assert said == failure("Invalid user_id: must be a UUID", **instead)
    assert call(client, "list_tasks", user_id=ADA)["count"] == 1


def test_the_instructions_say_whose_tasks_are_served(store: str, serve: Callable[..., Server]) -> None:
    text = f"Tasks of user {ADA}. Pass this as user_id."
    assert (
        serve("todo", store, NEWEST, "--user", ADA.upper()).request("server/discover")["result"]["instructions"] == text
    )
    assert serve("todo", store, NEWEST, "--user", ADA).initialize(OLDEST)["result"]["instructions"] == text
    assert "instructions" not in serve("todo", store).initialize(OLDEST)["result"]
    assert "instructions" not in serve("todo", store).request("server/discover")["result"]


def test_over_http_the_instructions_are_those_of_the_token(store: str, database: Database) -> None:
    def told(server: HttpInProcess) -> list[str | None]:
        found = (
            server.ask("server/discover", path="/mcp/todo"),
            server.ask("initialize", revision=OLDEST, path="/mcp/todo"),
        )
        return [answer.result.get("instructions") for answer in found]

    with database.write() as tx:
        secrets = {user: tokens.create(tx, user=user)[1] for user in (ADA, BOB)}
    with HttpInProcess("--database", store, "--auth", "token") as server:
        for user, server.token in secrets.items():
            assert told(server) == [f"Tasks of user {user}. Pass this as user_id."] * 2
    with HttpInProcess("--database", store, "--user", ADA) as server:
        assert told(server) == [f"Tasks of user {ADA}. Pass this as user_id."] * 2
    with HttpInProcess("--database", store) as server:
        assert told(server) == [None] * 2
