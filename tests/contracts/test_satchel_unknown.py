"""Unknown arguments are refused, with the name that was probably meant; none is ignored."""

from typing import Any

import pytest
from msgspec import UNSET, Struct, UnsetType

from satchel.contracts.satchel.errors import FAILURES
from satchel.contracts.satchel.guesses import find_argument
from satchel.contracts.schema import parse
from satchel.errors import WrongArgument
from tests.support.satchel import ok, refusal
from tests.support.stdio import Client

# -- arguments --------------------------------------------------------------------------------------------------


def test_an_argument_by_another_name_is_refused_and_nothing_is_done(client: Client) -> None:
    given = {"title": "Docs", "due_date": "2026-12-01", "depends_on": [3]}
    assert refusal(client, "add_task", given) == {
        "code": "invalid_argument",
        "message": "Unknown arguments: due_date, depends_on. Nothing was done.",
        "hint": "Use due instead of due_date. "
        "The tool takes title, description, tags, priority, due, blocked_by, parent, project.",
        "argument": "due_date",
        "near": ["due"],
    }
    assert ok(client, "list_tasks", status="all")["tasks"] == []
    assert refusal(client, "list_tasks", tag="docs") == {
        "code": "invalid_argument",
        "message": "Unknown argument: tag. Nothing was done.",
        "hint": "Use tags instead of tag.",
        "argument": "tag",
        "near": ["tags"],
    }


def test_an_unknown_name_is_reported_before_the_missing_argument_that_it_causes(client: Client) -> None:
    assert refusal(client, "complete_task", task_id=4)["near"] == ["task"]


def test_an_argument_unlike_all_others_gets_the_list_of_arguments(client: Client) -> None:
    told = refusal(client, "list_tasks", mood="good", query="x")
    assert (told["message"], told["argument"]) == ("Unknown argument: mood. Nothing was done.", "mood")
    assert told["hint"].startswith("The tool takes status, query, tags, match, due, priority, limit, cursor")
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
    assert explain(
        {"item": "a", "edits": [{"old": "x", "new": "y"}, {"old_text": "x", "new_text": "y", "mood": 1}]}
    ) == {
        "code": "invalid_argument",
        "message": "Unknown arguments: edits[1].old_text, edits[1].new_text, edits[1].mood. Nothing was done.",
        "hint": "Use old instead of old_text, new instead of new_text. edits[1] has old, new, all.",
        "argument": "edits",
        "near": ["old", "new"],
    }


def test_names_that_a_caller_chooses_are_no_mistake() -> None:
    parsed = parse(EditText, {"item": "a", "arguments": {"mood": "good"}}, refuses_unknown=True)
    assert parsed == EditText(item="a", arguments={"mood": "good"})


TASK = ("task", "title", "description", "status", "tags", "priority", "due", "blocked_by", "expected_version", "note")
MEANT = {
    "due": "dueDate Due due_at",
    "blocked_by": "blockedBy blocked-by",
    "tags": "tag",
    "task": "task_id",
    "title": "new_title",
    "status": "statuss",
    "priority": "prioritiy",
    "expected_version": "version",
}


def test_what_an_argument_was_meant_to_be() -> None:
    for meant, names in MEANT.items():
        assert {find_argument(name, TASK) for name in names.split()} == {meant}
    assert {find_argument(name, TASK) for name in ("sort", "mood", "", "x" * 10_000)} == {None}


def test_an_argument_that_the_call_already_has_is_suggested_last() -> None:
    assert find_argument("new_text", ("text", "new"), ["text"]) == "new"
    assert find_argument("new_text", ("text", "new"), ["text", "new"]) == "text"


def test_a_new_name_for_a_prompt_gets_advice(client: Client) -> None:
    ok(client, "add_prompt", title="Tea", content="x")
    for name in ("name", "newName"):
        told = refusal(client, "update_prompt", {"prompt": "tea", name: "coffee"})
        assert told["hint"] == (
            "A prompt keeps its name, because calls and links use it. Change its title, or save it under the new name "
            "with add_prompts and delete the old one."
        )


def test_arguments_that_other_systems_have_are_explained(client: Client) -> None:
    for tool, given, said in (
        ("update_task", {"task": 1, "assignee": "ann"}, "Tasks have no assignee; claim_task says who works on one."),
        ("update_task", {"task": 1, "reminder": "9:00"}, "Tasks have no reminder; catch_up lists tasks due today or"),
        ("add_task", {"title": "x", "estimate": "2h"}, "Tasks have no estimate; write it in the description."),
        ("list_tasks", {"sort": "due"}, "Lists have a fixed order: open tasks by priority, then by due day."),
        ("add_task", {"title": "x", "recurrence": "week"}, "Tasks do not repeat; add the next one with add_tasks."),
        ("delete", {"items": ["#1"], "permanent": True}, "Deleted items stay in the trash until a person purges them."),
        ("list_prompts", {"deleted": True}, "To see what was deleted, use history."),
    ):
        assert refusal(client, tool, given)["hint"].startswith(said)
