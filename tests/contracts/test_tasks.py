"""The tasks contract to the letter: one envelope, codes and details, strict inputs; over real stdio, both engines."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.published import answered
from tests.support.stdio import NEWEST, OLDEST, Server
from tests.support.variants import oldest_too

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
ADA, BOB = "550e8400-e29b-41d4-a716-446655440000", "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def client(revision: str, store: str, serve: Callable[..., Server]) -> Server:
    return serve("tasks", store, revision, "--user", ADA)


def call(client: Server, tool: str, **arguments: Any) -> Any:
    return answered(client, "tasks", tool, arguments)


def wrong(client: Server, tool: str, arguments: dict[str, Any]) -> Any:
    """Return the details of a validation error."""
    said = call(client, tool, **arguments)
    assert (said["success"], said["code"]) == (False, "VALIDATION_ERROR") and isinstance(said["error"], str)
    return said["details"]


def test_the_server_is_the_task_manager(store: str, serve: Callable[..., Server]) -> None:
    answer = serve("tasks", store).initialize(OLDEST)["result"]
    assert answer["serverInfo"]["name"] == "task-manager"
    assert answer["capabilities"] == {"tools": {"listChanged": False}}


def test_exactly_five_tools_with_strict_schemas(client: Server) -> None:
    tools = {tool["name"]: tool["inputSchema"] for tool in client.request("tools/list")["result"]["tools"]}
    assert list(tools) == ["add_task", "list_tasks", "update_task", "complete_task", "delete_task"]
    title = {"type": "string", "minLength": 1, "maxLength": 255, "description": "Task title"}
    description = {"type": ["string", "null"], "maxLength": 1000, "description": "Task description"}
    task_id = {"type": "integer", "minimum": 1, "description": "ID of the task"}
    strict = {"type": "object", "additionalProperties": False}
    one = strict | {"properties": {"task_id": task_id}, "required": ["task_id"]}
    status = {
        "type": ["string", "null"],
        "enum": ["pending", "completed", None],
        "description": "Only tasks with this status",
    }
    assert tools == {
        "add_task": strict | {"properties": {"title": title, "description": description}, "required": ["title"]},
        "list_tasks": strict | {"properties": {"status": status}, "required": []},
        "update_task": strict
        | {"properties": {"task_id": task_id, "title": title, "description": description}, "required": ["task_id"]},
        "complete_task": one,
        "delete_task": one,
    }


@oldest_too
def test_a_task_from_beginning_to_end(client: Server) -> None:
    said = call(client, "add_task", title="  Test task ", description=" Test description ")
    task = said["data"]
    assert said == {
        "success": True,
        "data": {
            "id": task["id"],
            "title": "Test task",
            "description": "Test description",
            "status": "pending",
            "created_at": task["created_at"],
            "completed_at": None,
        },
        "message": "Task created successfully",
    }
    assert isinstance(task["id"], int) and TIME.fullmatch(task["created_at"])
    said = call(client, "update_task", task_id=task["id"], title=" Other ")
    assert said == {"success": True, "data": task | {"title": "Other"}, "message": "Task updated successfully"}
    said = call(client, "complete_task", task_id=task["id"])
    completed_at = said["data"]["completed_at"]
    assert TIME.fullmatch(completed_at)
    done = task | {"title": "Other", "status": "completed", "completed_at": completed_at}
    assert said == {"success": True, "data": done, "message": "Task marked as completed"}
    again = call(client, "complete_task", task_id=task["id"])
    assert again == {**said, "message": "Task is already completed"}
    said = call(client, "delete_task", task_id=task["id"])
    assert said == {
        "success": True,
        "data": {"task_id": task["id"], "deleted": True},
        "message": "Task deleted successfully",
    }
    for tool, more in (("complete_task", {}), ("delete_task", {}), ("update_task", {"title": "x"})):
        assert call(client, tool, task_id=task["id"], **more) == {
            "success": False,
            "error": "Task not found",
            "code": "NOT_FOUND",
            "details": {"task_id": task["id"]},
        }


def test_an_empty_update_names_the_possible_arguments(client: Server) -> None:
    id = call(client, "add_task", title="T")["data"]["id"]
    for arguments in ({"task_id": id}, {"task_id": id + 1}, {"task_id": "x"}, {"task_id": id, "status": "completed"}):
        assert call(client, "update_task", **arguments) == {
            "success": False,
            "error": "Nothing to update: give title or description",
            "code": "VALIDATION_ERROR",
            "details": {"field": "title", "constraint": "required"},
        }


def test_numbers_never_return(client: Server) -> None:
    first = call(client, "add_task", title="A")["data"]["id"]
    call(client, "delete_task", task_id=first)
    assert call(client, "add_task", title="B")["data"]["id"] > first


def test_lists_are_whole_newest_first_and_counted_in_words(client: Server) -> None:
    for status in (None, "pending", "completed"):
        assert call(client, "list_tasks", status=status) == {"success": True, "data": [], "message": "No tasks found"}
    for number in range(3):
        call(client, "add_task", title=f"T{number}")
    ids = [task["id"] for task in call(client, "list_tasks")["data"]]
    call(client, "complete_task", task_id=ids[1])
    said = {status: call(client, "list_tasks", status=status) for status in (None, "pending", "completed")}
    assert [task["title"] for task in said[None]["data"]] == ["T2", "T1", "T0"]
    assert [task["title"] for task in said["pending"]["data"]] == ["T2", "T0"]
    assert [task["title"] for task in said["completed"]["data"]] == ["T1"]
    assert [page["message"] for page in said.values()] == [
        "Found 3 tasks",
        "Found 2 pending tasks",
        "Found 1 completed task",
    ]


def test_descriptions_are_cleared_by_null_and_kept_when_absent(client: Server) -> None:
    for empty in (None, "", "   "):
        assert call(client, "add_task", title="T", description=empty)["data"]["description"] is None
    id = call(client, "add_task", title="T", description="kept")["data"]["id"]
    assert call(client, "update_task", task_id=id, title="U")["data"]["description"] == "kept"
    assert call(client, "update_task", task_id=id, description=" new ")["data"]["description"] == "new"
    assert call(client, "update_task", task_id=id, description=None)["data"]["description"] is None


LONG = {"field": "description", "constraint": "maxLength", "limit": 1000}
STATUS = {"field": "status", "constraint": "enum", "allowed_values": ["pending", "completed"]}


def test_errors_name_field_constraint_and_limit(client: Server) -> None:
    id = call(client, "add_task", title="T")["data"]["id"]
    cases: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("add_task", {}, {"field": "title", "constraint": "required"}),
        ("add_task", {"description": 5, "x": 1}, {"field": "title", "constraint": "required"}),
        ("add_task", {"title": None}, {"field": "title", "constraint": "type"}),
        ("add_task", {"title": 5}, {"field": "title", "constraint": "type"}),
        ("add_task", {"title": "a\0"}, {"field": "title", "constraint": "type"}),
        ("add_task", {"title": "", "description": 5}, {"field": "description", "constraint": "type"}),
        ("add_task", {"title": "", "x": 1}, {"field": "title", "constraint": "minLength", "limit": 1}),
        ("add_task", {"title": "  "}, {"field": "title", "constraint": "minLength", "limit": 1}),
        ("add_task", {"title": "x" * 256}, {"field": "title", "constraint": "maxLength", "limit": 255}),
        ("add_task", {"title": "T", "description": "x" * 1001}, LONG),
        ("add_task", {"title": "T", "priority": "high"}, {"field": "priority", "constraint": "additionalProperties"}),
        ("add_task", {"title": "T", "priority": None}, {"field": "priority", "constraint": "additionalProperties"}),
        ("list_tasks", {"status": "Pending"}, STATUS),
        ("list_tasks", {"status": 5}, {"field": "status", "constraint": "type"}),
        ("list_tasks", {"limit": 5}, {"field": "limit", "constraint": "additionalProperties"}),
        ("update_task", {}, {"field": "task_id", "constraint": "required"}),
        ("update_task", {"task_id": id}, {"field": "title", "constraint": "required"}),
        ("update_task", {"task_id": "x"}, {"field": "title", "constraint": "required"}),
        ("update_task", {"task_id": id, "title": None}, {"field": "title", "constraint": "type"}),
        ("complete_task", {"task_id": 0}, {"field": "task_id", "constraint": "minimum", "limit": 1}),
        ("complete_task", {"task_id": "5"}, {"field": "task_id", "constraint": "type"}),
        ("complete_task", {"task_id": 5.5}, {"field": "task_id", "constraint": "type"}),
        ("complete_task", {"task_id": True}, {"field": "task_id", "constraint": "type"}),
        ("complete_task", {"task_id": None}, {"field": "task_id", "constraint": "type"}),
        ("delete_task", {"task_id": -(10**30)}, {"field": "task_id", "constraint": "minimum", "limit": 1}),
    ]
    for tool, arguments, details in cases:
        assert wrong(client, tool, arguments) == details, (tool, arguments)
    for number in (2**53 + 1, 2**63, 2**64, 10**30):
        said = call(client, "delete_task", task_id=number)
        assert (said["code"], said["details"]) == ("NOT_FOUND", {"task_id": number})
    call(client, "add_task", title="é" * 255, description="é" * 1000)
    assert len(call(client, "list_tasks")["data"]) == 2


def test_a_task_of_todo_appears_in_tasks_whatever_its_length(
    client: Server, store: str, serve: Callable[..., Server]
) -> None:
    todo = serve("todo", store)
    title = "t" * 400
    result = todo.call("add_task", user_id=ADA, title=title)
    id = json.loads(result["content"][0]["text"])["task"]["id"]
    [task] = call(client, "list_tasks")["data"]
    assert task["title"] == title and task["description"] is None
    call(client, "complete_task", task_id=task["id"])
    listed = json.loads(todo.call("list_tasks", user_id=ADA)["content"][0]["text"])["tasks"]
    assert [(one["id"], one["completed"]) for one in listed] == [(id, True)]


def test_a_cancelled_task_is_completed_here_and_stays_as_it_is(
    client: Server, store: str, serve: Callable[..., Server]
) -> None:
    satchel, todo = serve("satchel", store, NEWEST, "--user", ADA), serve("todo", store)
    id = answered(todo, "todo", "add_task", {"user_id": ADA, "title": "Tea"})["task"]["id"]
    satchel.call("update_task", task=1, status="cancelled")
    [shown] = call(client, "list_tasks", status="completed")["data"]
    already = {"success": True, "data": shown, "message": "Task is already completed"}
    assert call(client, "complete_task", task_id=1) == already
    assert answered(todo, "todo", "complete_task", {"user_id": ADA, "task_id": id})["success"]
    assert satchel.call("get_task", task=1)["structuredContent"]["task"]["status"] == "cancelled"
