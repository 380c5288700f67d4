"""History over the real transport: changes, old versions and restores, on both engines."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.satchel import ok, read_rows, refusal
from tests.support.stdio import NEWEST, Client

ANN = "11111111-1111-4111-8111-111111111111"
BOB = "22222222-2222-4222-8222-222222222222"
LONG = "\n".join(f"{number}. A rule that took an hour to write." for number in range(300))


def test_an_elided_edit_is_undone_in_one_call(own: Client) -> None:
    ok(own, "add_prompt", title="Rules", content=LONG, tags=["a"], description="All of them")
    ok(own, "update_prompt", prompt="rules", content="... (rest unchanged)")
    answer = ok(own, "restore", item="rules")
    assert answer["restored"] == {
        "kind": "prompt",
        "item": "rules",
        "version": 3,
        "from_version": 1,
        "changed": True,
        "lines": [
            "-... (rest unchanged)",
            *(f"+{number}. A rule that took an hour to write." for number in range(5)),
            "and 295 more lines",
        ],
    }
    prompt = ok(own, "get_prompt", prompt="rules", whole=True)["prompt"]
    assert (prompt["content"], prompt["tags"], prompt["description"]) == (LONG, ["a"], "All of them")


def test_a_version_is_read_and_compared(own: Client) -> None:
    ok(own, "add_prompt", title="Rules", content="one\ntwo\nthree\nfour")
    ok(own, "update_prompt", prompt="rules", content="one\ntwo\n3\nfour", tags=["new"])
    answer = ok(own, "history", item="rules", version=1)
    assert answer == {
        "project": "default",
        "kind": "prompt",
        "item": "rules",
        "version": 1,
        "text": "name: rules\ntitle: Rules\n\none\ntwo\nthree\nfour",
    }
    answer = ok(own, "history", item="rules", version=2, against=1)
    assert answer == {
        "project": "default",
        "kind": "prompt",
        "item": "rules",
        "version": 2,
        "against": 1,
        "diff": "--- version 1\n+++ version 2\n+tags: new\n@@ -2,3 +2,3 @@\n two\n-three\n+3\n four",
    }


def test_several_items_are_restored_together_or_none(own: Client) -> None:
    ok(own, "add_prompt", title="Tea", content="x")
    ok(own, "update_prompt", prompt="tea", content="y")
    ok(own, "add_task", title="Drink")
    ok(own, "delete", items=["#1"])
    given = ["tea", "#1", "satchel://prompt/tea"]
    error = refusal(own, "restore", items=[*given, "#9"])
    assert (error["code"], error["argument"]) == ("not_found", "items")
    assert error["message"] == "items[3]: Task #9 does not exist."
    assert ok(own, "restore", items=given) == {
        "project": "default",
        "items": [
            {"kind": "prompt", "item": "tea", "version": 3, "from_version": 1, "changed": True, "lines": ["-y", "+x"]},
            {"kind": "task", "item": "#1", "version": 3, "from_version": 1, "changed": True},
        ],
    }
    for arguments, message in (
        ({}, "item is missing."),
        ({"items": []}, "items needs at least one entry."),
        ({"items": ["tea"], "item": "tea"}, "item cannot be given with items."),
        ({"items": ["tea"], "version": 1}, "version cannot be given with items."),
    ):
        assert refusal(own, "restore", arguments)["message"] == message


def test_the_feed_shows_changes_and_their_programs(own: Client, store: str, serve: Callable[..., Client]) -> None:
    other = serve("prompt-store", store, NEWEST, "--user", BOB)
    marker = ok(own, "history")["since"]
    ok(own, "add_task", title="Water the plants")
    added = other.call("add_prompt", {"title": "Tea", "content": "Boil"})["structuredContent"]
    ok(own, "complete_task", task="#1")
    other.call("delete_prompt", {"id": added["id"]})
    feed = ok(own, "history", since=marker)
    assert read_rows(feed, "kind", "item", "did", "version") == [
        ("prompt", "?", "deleted", 2),  # deleted permanently, so history keeps nothing else
        ("task", "#1", "completed", 2),
        ("task", "#1", "added", 1),
    ]
    by = [one for (one,) in read_rows(feed, "by")]
    assert by[0].startswith(f"user {BOB[:8]}, ")
    assert by[1] == by[2] and not by[1].startswith("user ")
    assert read_rows(ok(own, "history", since=marker, by=BOB), "item") == [("?",)]
    assert read_rows(ok(own, "history", since=marker, by="prompt-store"), "item") == [("?",)]
    assert ok(own, "history", since=feed["since"])["changes"] == []
    assert read_rows(ok(own, "history", since="1d"), "item")[:2] == [("?",), ("#1",)]
    assert ok(own, "history", since="2999-01-01")["changes"] == []


@pytest.mark.parametrize("version", [9, 2**53])
def test_the_error_for_a_missing_version_names_the_kept_ones(own: Client, version: int) -> None:
    ok(own, "add_prompt", title="Tea", content="x")
    ok(own, "update_prompt", prompt="tea", content="y")
    expected = {
        "code": "not_found",
        "message": f"Prompt 'tea' has no version {version}.",
        "hint": "Versions that are kept: 2, 1.",
        "versions": [2, 1],
    }
    assert refusal(own, "history", item="tea", version=version) == expected
    assert refusal(own, "restore", item="tea", version=version) == expected


def test_a_server_of_some_tools_tells_of_their_items_only(
    store: str, serve: Callable[..., Client], own: Client
) -> None:
    ok(own, "add_prompt", title="Tea", content="x")
    ok(own, "add_task", title="Drink")
    narrow = serve("satchel", store, NEWEST, "--user", ANN, "--toolsets", "tasks")
    assert {kind for (kind,) in read_rows(ok(narrow, "history"), "kind")} == {"task", "project"}
    assert refusal(narrow, "history", item="tea")["code"] == "not_found"


def test_a_wrong_argument_is_named(own: Client) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"since": "some day"}, "since"),
        ({"cursor": "made up"}, "cursor"),
        ({"item": "tea", "version": 0}, "version"),
        ({"item": "  "}, "item"),
        ({"item": "tea", "against": "one"}, "against"),
    ]
    for arguments, argument in wrong:
        refused = refusal(own, "history", arguments)
        assert (refused["code"], refused["argument"]) == ("invalid_argument", argument)
