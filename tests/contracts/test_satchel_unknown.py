"""Nothing is swallowed: unknown arguments and tools are refused, with the name that was probably meant."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import UNSET, Struct, UnsetType

from satchel.contracts.satchel.errors import FAILURES
from satchel.contracts.satchel.guesses import explain_unknown_tool, find_argument, find_tool
from satchel.contracts.schema import parse
from satchel.errors import WrongArgument
from tests.support.satchel import ok, refusal
from tests.support.stdio import Client

# -- arguments --------------------------------------------------------------------------------------------------


@pytest.fixture
def client(store: str, serve: Callable[..., Client]) -> Client:
    return serve("satchel", store)


def test_an_argument_by_another_name_is_refused_and_nothing_is_done(client: Client) -> None:
    given = {"title": "Docs", "due_date": "2026-12-01", "depends_on": [3], "labels": ["docs"]}
    assert refusal(client, "add_task", given) == {
        "code": "invalid_argument",
        "message": "Unknown arguments: due_date, depends_on, labels. Nothing was done.",
        "hint": "Use due instead of due_date, blocked_by instead of depends_on, tags instead of labels.",
        "argument": "due_date",
        "near": ["due", "blocked_by", "tags"],
    }
    assert ok(client, "list_tasks", status="all")["tasks"] == []
    assert refusal(client, "list_tasks", tag="docs") == {
        "code": "invalid_argument",
        "message": "Unknown argument: tag. Nothing was done.",
        "hint": "Use tags instead of tag.",
        "argument": "tag",
        "near": ["tags"],
    }


def test_an_unknown_name_is_told_before_what_is_missing_because_of_it(client: Client) -> None:
    assert refusal(client, "complete_task", id=4)["near"] == ["task"]
    assert refusal(client, "add_task", name="Docs")["near"] == ["title"]


def test_an_argument_that_is_like_none_gets_those_that_there_are(client: Client) -> None:
    told = refusal(client, "list_tasks", mood="good", query="x")
    assert (told["message"], told["argument"]) == ("Unknown argument: mood. Nothing was done.", "mood")
    assert told["hint"].startswith("The tool takes status, query, tags, match, limit, cursor")
    assert "near" not in told


def test_an_unknown_argument_is_refused_even_without_a_value(client: Client) -> None:
    assert refusal(client, "add_task", title="Docs", due_date=None)["near"] == ["due"]


def test_a_name_that_a_caller_made_up_is_shown_short_and_printable(client: Client) -> None:
    told = refusal(client, "list_tasks", {"x\0\n" * 1000: 1})
    assert told["argument"] == "x??" * 20 + "..."
    many = refusal(client, "list_tasks", {f"mood{number}": 1 for number in range(50)})
    assert many["message"] == "Unknown arguments: mood0, mood1, mood2, mood3, mood4 and 45 more. Nothing was done."


def test_what_a_host_adds_to_every_call_is_not_the_callers_mistake(client: Client) -> None:
    added = {"sessionId": "s", "action": "sendMessage", "chatInput": "hi", "toolCallId": "c", "tool": "list_tasks"}
    assert ok(client, "list_tasks", status="all", **added)["tasks"] == []
    assert refusal(client, "list_tasks", action="sendMessage")["argument"] == "action"
    assert refusal(client, "list_tasks", tag="x", **added)["near"] == ["tags"]


class Edit(Struct):
    old: str
    new: str
    all: bool = False


class EditText(Struct):
    item: str
    edits: list[Edit] | UnsetType = UNSET
    arguments: dict[str, str] | UnsetType = UNSET


def explain(arguments: dict[str, Any]) -> Any:
    with pytest.raises(WrongArgument) as wrong:
        parse(EditText, arguments, refuses_unknown=True)
    body: Any = FAILURES[WrongArgument](wrong.value)
    return body.structured["error"]


def test_members_of_arguments_are_checked_too() -> None:
    assert explain({"item": "a", "edits": [{"old": "x", "new": "y"}, {"find": "x", "replace": "y", "mood": 1}]}) == {
        "code": "invalid_argument",
        "message": "Unknown arguments: edits[1].find, edits[1].replace, edits[1].mood. Nothing was done.",
        "hint": "Use old instead of find, new instead of replace. edits[1] has old, new, all.",
        "argument": "edits",
        "near": ["old", "new"],
    }


def test_names_that_a_caller_chooses_are_no_mistake() -> None:
    parsed = parse(EditText, {"item": "a", "arguments": {"mood": "good"}}, refuses_unknown=True)
    assert parsed == EditText(item="a", arguments={"mood": "good"})


TASK = ("task", "title", "description", "status", "tags", "priority", "due", "blocked_by", "expected_version", "note")
MEANT = [
    ("dueDate", "due"),
    ("Due", "due"),
    ("due_at", "due"),
    ("deadline", "due"),
    ("blockedBy", "blocked_by"),
    ("blocked-by", "blocked_by"),
    ("dependencies", "blocked_by"),
    ("label", "tags"),
    ("tag", "tags"),
    ("task_id", "task"),
    ("id", "task"),
    ("number", "task"),
    ("new_title", "title"),
    ("statuss", "status"),
    ("prioritiy", "priority"),
    ("version", "expected_version"),
    ("comment", "note"),
    ("details", "description"),
    ("sort", None),
    ("mood", None),
    ("", None),
    ("x" * 10_000, None),
]


def test_what_an_argument_was_meant_to_be() -> None:
    for name, meant in MEANT:
        assert find_argument(name, TASK) == meant


def test_an_argument_that_the_call_has_already_is_meant_last() -> None:
    known = ("title", "content", "name", "description")
    assert find_argument("text", known, ["title", "content"]) == "description"
    assert find_argument("body", ("content", "title"), ["content", "title"]) == "content"


# -- tools ------------------------------------------------------------------------------------------------------

SERVED = (
    *("search", "catch_up", "add_project", "list_prompts", "get_prompt", "add_prompts", "update_prompt"),
    *("list_resources", "read_resource", "add_resources", "update_resource", "edit_text", "list_tasks", "get_task"),
    *("add_tasks", "update_task", "complete_task", "claim_task", "update_items", "delete", "history", "restore"),
)
TOOLS_MEANT = {
    "list_tasks": "get_tasks listTasks mcp__satchel__list_tasks satchel.list-tasks LIST_TASKS list_issues list_todos "
    "ready lst_tasks blocked",
    "claim_task": "next_task get_next_task start_task take_task claim_issue execute_task",
    "add_tasks": "create_issue todo_write TodoWrite add_todo create_task new_task add-tasks split_tasks plan_task",
    "get_task": "show_issue get_task_by_id read_task",
    "update_task": "updateTask update_issue set_task_status add_comment",
    "complete_task": "close_issue close_task finish_task mark_done mark_task_done",
    "add_prompts": "save_prompt create_prompt",
    "list_prompts": "get_prompts list_templates",
    "get_prompt": "use_prompt render_template",
    "add_resources": "write_file remember create_memory save_document create_entities add_observations",
    "read_resource": "read_file get_document",
    "update_resource": "update_document",
    "list_resources": "ls list_files list_documents get_notes",
    "search": "recall find find_tasks search_prompts search_nodes grep search_documents query",
    "edit_text": "str_replace edit_file append",
    "delete": "delete_tasks remove_todo deletePrompt rm bulk_delete",
    "history": "log diff get_version",
    "restore": "undo revert_task",
    "update_items": "complete-tasks tag_prompts add_tag move",
    "catch_up": "whoami get_project list_workspaces list_tags stats",
    "add_project": "create_project",
}


def test_what_tools_of_other_servers_are_called_here() -> None:
    for meant in TOOLS_MEANT:
        assert {name: find_tool(name, SERVED) for name in TOOLS_MEANT[meant].split()} == dict.fromkeys(
            TOOLS_MEANT[meant].split(), meant
        )


def test_a_tool_that_is_like_none_gets_those_that_there_are() -> None:
    assert explain_unknown_tool("frobnicate", ["search", "delete"]) == "There are search, delete."
    assert explain_unknown_tool("", ["search", "delete"]) == "There are search, delete."
    assert explain_unknown_tool("get_tasks", SERVED) == "Did you mean list_tasks?"


def test_a_tool_that_is_not_served_here_gets_no_wrong_suggestion() -> None:
    readers = [name for name in SERVED if not name.startswith(("add", "update", "delete", "complete"))]
    assert find_tool("add_task", readers) is None
    assert find_tool("get_prompt", ["get_task", "list_tasks"]) is None
