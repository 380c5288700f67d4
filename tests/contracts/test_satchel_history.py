"""History over the real transport: changes, old versions and restores, on both engines."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.satchel import MINUTE, Like, missing, ok, read_rows, refusal, text
from tests.support.stdio import CLIENT, NEWEST, Client
from tests.support.variants import both_engines

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


# -- notes ------------------------------------------------------------------------------------------------------


@both_engines
def test_a_note_is_a_change_but_no_version(own: Client) -> None:
    ok(own, "add_tasks", lines=["Fix the gate"])
    before = ok(own, "history")["since"]
    ok(own, "update_task", task=1, note="The hinge\nis rusty", priority="high")
    ok(own, "complete_task", task=1, note="Oiled it")
    feed = ok(own, "history", since=before)
    assert read_rows(feed, "item", "action", "version", "title") == [
        ("#1", "note", 3, "Fix the gate"),
        ("#1", "complete", 3, "Fix the gate"),
        ("#1", "note", 2, "Fix the gate"),
        ("#1", "update", 2, "Fix the gate"),
    ]
    assert [row.get("text") for row in feed["changes"]] == ["Oiled it", None, "The hinge is rusty", None]
    assert text(own, "history", since=before).split("\n")[:3] == [
        Like(rf"{MINUTE} note by satchel-tests 1 on #1: Oiled it"),
        Like(rf"{MINUTE} #1 Fix the gate completed, v3, by satchel-tests 1"),
        Like(rf"{MINUTE} note by satchel-tests 1 on #1: The hinge is rusty"),
    ]
    assert text(own, "history", item="#1").split("\n") == [
        "task #1",
        Like(rf"{MINUTE} note by satchel-tests 1: Oiled it"),
        Like(rf"v3 {MINUTE} completed by satchel-tests 1"),
        Like(rf"{MINUTE} note by satchel-tests 1: The hinge is rusty"),
        Like(rf"v2 {MINUTE} changed priority by satchel-tests 1"),
        Like(rf"v1 {MINUTE} added by satchel-tests 1"),
    ]
    assert ok(own, "restore", item="#1")["restored"]["from_version"] == 2
    assert read_rows(ok(own, "history", item="#1", by="satchel-tests", until="2999-01-01", since=before), "did") == [
        ("restored",),
        ("noted",),
        ("completed",),
        ("noted",),
        ("changed",),
    ]


@both_engines
def test_get_task_with_since_gives_what_is_new(own: Client) -> None:
    ok(own, "add_tasks", lines=["Fix the gate\n  It squeaks."])
    ok(own, "update_task", task=1, note="The hinge is rusty")
    marker = ok(own, "get_task", task=1)["since"]
    nothing = ok(own, "get_task", task=1, since=marker)
    assert (nothing["since"], nothing["changes"], nothing["task"].get("notes")) == (marker, [], None)
    assert "No changes and no notes since then." in text(own, "get_task", task=1, since=marker)
    ok(own, "update_task", task=1, note="Oil is ordered", tags=["+tools"], description="It squeaks\nin the wind.")
    news = ok(own, "get_task", task=1, since=marker)
    assert news == {
        "project": "default",
        "task": {
            "number": 1,
            "title": "Fix the gate",
            "status": "pending",
            "version": 2,
            "created": MINUTE,
            "updated": MINUTE,
            "tags": ["tools"],
            "notes": [{"at": MINUTE, "by": "satchel-tests 1", "text": "Oil is ordered"}],
        },
        "changes": [
            {
                "version": 2,
                "at": MINUTE,
                "action": "update",
                "by": "satchel-tests 1",
                "fields": ["tags", "description (2 lines)"],
            }
        ],
        "since": news["since"],
    }
    assert text(own, "get_task", task=1, since=marker) == Like(
        rf"#1 Fix the gate \+tools @default\nversion 2, created {MINUTE}, updated {MINUTE}\n\n"
        rf"Changes:\n- v2 {MINUTE} changed tags, description \(2 lines\) by satchel-tests 1\n\n"
        rf"Notes:\n- {MINUTE} satchel-tests 1: Oil is ordered\n\nLater changes: since {news['since']}"
    )
    assert [one["text"] for one in ok(own, "get_task", task=1, since="1h")["task"]["notes"]] == [
        "The hinge is rusty",
        "Oil is ordered",
    ]
    assert ok(own, "history", since=news["since"])["changes"] == []


@both_engines
def test_a_search_finds_the_words_of_notes(own: Client) -> None:
    ok(own, "add_tasks", lines=["Fix the gate\n  It squeaks.", "Paint the fence"])
    ok(own, "update_task", task=1, note="Done so far: nothing.\nThe hinge is galvanised")
    ok(own, "update_task", task=1, title="Repair the gate")
    for query in ("galvanised hinge", '"hinge is GALV"'):
        [hit] = ok(own, "search", query=query)["hits"]
        assert hit == {
            "kind": "task",
            "reference": "#1",
            "title": "Repair the gate",
            "text": "note: The hinge is galvanised",
        }
    ok(own, "delete", items=["#1"])
    assert ok(own, "search", query='"galvanised"')["hits"] == []
    ok(own, "restore", item="#1")
    for query in ("galvanised", '"galvanised"'):
        assert [hit["reference"] for hit in ok(own, "search", query=query)["hits"]] == ["#1"]
    assert ok(own, "list_tasks", query="galvanised")["tasks"] == []


# -- who, when and what -----------------------------------------------------------------------------------------


@both_engines
def test_an_author_is_named_as_answers_print_it(
    own: Client, store: str, serve: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CLIENT, "name", "Codex")
    again = serve("satchel", store, NEWEST, "--user", ANN)
    ok(own, "add_prompt", title="Tea", content="x")
    monkeypatch.setitem(CLIENT, "name", "cursor")
    monkeypatch.setitem(CLIENT, "version", "0.9")
    ok(own, "update_prompt", prompt="tea", content="y")
    assert [by for (by,) in read_rows(ok(own, "history", item="tea"), "by")] == ["cursor 0.9", "Codex 1"]
    ok(again, "update_prompt", prompt="tea", content="z")
    by = [one for (one,) in read_rows(ok(own, "history", item="tea"), "by")]
    assert by == [Like(r"cursor 0\.9 \([0-9a-f]{4}\)"), Like(r"cursor 0\.9 \([0-9a-f]{4}\)"), "Codex 1"]
    assert by[0] != str(by[1])
    for name, numbers in (
        ("codex", [1]),
        ("CODEX 1", [1]),
        ("cursor", [3, 2]),
        ("Cursor 0.9", [3, 2]),
        (by[0], [3]),
        (by[1], [2]),
        ("model", [3, 2, 1]),
        ("person", []),
    ):
        assert [one for (one,) in read_rows(ok(own, "history", item="tea", by=name), "version")] == numbers, name
        changes = read_rows(ok(own, "history", by=name), "item", "version")
        assert [version for item, version in changes if item == "tea"] == numbers, name
    hint = "Authors of changes here: cursor 0.9; Codex 1."
    unknown = {**missing("No change here is by 'claude'.", hint, "cursor 0.9", "Codex 1"), "argument": "by"}
    assert refusal(own, "history", item="tea", by="claude") == unknown
    assert refusal(own, "history", by="claude")["near"][:2] == ["cursor 0.9", "Codex 1"]
    # A known author without changes at that time gets an empty list.
    assert ok(own, "history", by="codex", until="2020-01-01")["changes"] == []
    assert ok(own, "history", item="tea", by="codex", until="2020-01-01")["versions"] == []


def test_times_narrow_the_versions_of_an_item_too(own: Client) -> None:
    ok(own, "add_prompt", title="Tea", content="x")
    marker = ok(own, "history")["since"]
    ok(own, "update_prompt", prompt="tea", content="y")
    for arguments, numbers in (
        ({"since": marker}, [2]),
        ({"since": "1h"}, [2, 1]),
        ({"until": "1h"}, []),
        ({"until": "2999-01-01"}, [2, 1]),
        ({"since": "2999-01-01"}, []),
    ):
        assert [one for (one,) in read_rows(ok(own, "history", item="tea", **arguments), "version")] == numbers
    today = ok(own, "history", item="tea")["versions"][0]["at"]
    assert len(ok(own, "history", item="tea", until=today)["versions"]) == 2  # to the end of that minute
    assert len(ok(own, "history", item="tea", until=today[:10])["versions"]) == 2  # to the end of that day


def test_a_bad_since_names_the_forms_in_every_tool(own: Client) -> None:
    ok(own, "add_task", title="Fix the gate")
    forms = "an age like 2h or 3d, a time like 2026-11-17 or 2026-11-17T12:30, or the since of an answer"
    expected = {
        "code": "invalid_argument",
        "message": f"since must be {forms}.",
        "hint": "For example 2h.",
        "argument": "since",
    }
    for tool, arguments in (("history", {}), ("history", {"item": "#1"}), ("catch_up", {}), ("get_task", {"task": 1})):
        assert refusal(own, tool, {**arguments, "since": "bogus"}) == expected
    assert refusal(own, "history", until="bogus")["argument"] == "until"


def test_a_version_names_the_fields_that_it_changed(own: Client, client: Client) -> None:
    ok(own, "add_prompt", title="Tea", content="one\ntwo\nthree")
    ok(own, "update_prompt", prompt="tea", content="one\n2\nthree\nfour")
    ok(own, "update_prompt", prompt="tea", tags=["hot"], description="How to")
    ok(own, "restore", item="tea", version=1)
    ok(own, "delete", items=["tea"])
    ok(own, "restore", item="tea")
    assert [(row["version"], row.get("fields")) for row in ok(own, "history", item="tea")["versions"]] == [
        (6, None),
        (5, None),
        (4, ["description", "tags", "content (2 lines)"]),
        (3, ["description", "tags"]),
        (2, ["content (2 lines)"]),
        (1, None),
    ]
    assert text(own, "history", item="tea").split("\n")[3:5] == [
        Like(rf"v4 {MINUTE} restored description, tags, content \(2 lines\) by satchel-tests 1"),
        Like(rf"v3 {MINUTE} changed description, tags by satchel-tests 1"),
    ]
    ok(own, "add_task", title="Drink")
    ok(own, "update_task", task=1, to="garden", due="2027-01-01")
    ok(own, "complete_task", task=1)
    ok(own, "update_task", task=1, status="pending", title="Drink tea")
    assert [(row["action"], row.get("fields")) for row in ok(own, "history", item="#1")["versions"]] == [
        ("reopen", ["title"]),
        ("complete", None),
        ("update", ["due", "project"]),
        ("add", None),
    ]


# -- long texts -------------------------------------------------------------------------------------------------


def test_an_old_version_of_a_long_text_comes_in_parts(own: Client) -> None:
    long = "\n".join(f"## Part {number}\n{'word ' * 40}" for number in range(300))
    ok(own, "add_resource", name="long.md", content=long, description="Old")
    ok(own, "update_resource", resource="long.md", content="short")
    old = ok(own, "history", item="long.md", version=1)
    assert (old["lines"], old["of"], old["outline"][:2]) == (Like(r"1-\d+"), 600, ["1 ## Part 0", "3 ## Part 1"])
    assert long.startswith(old["text"]) and len(old["text"]) < 20_000
    size = f"It has {len(long)} characters in 600 lines."
    assert old["notes"] == [
        f"{size} Its outline leaves out 240 headings, the first in line 121. "
        'Read on with lines (like "40-90") or a heading.'
    ]
    said = text(own, "history", item="long.md", version=1)
    assert "[document long.md, version 1]\nname: long.md\ndescription: Old\n" in said
    part = ok(own, "history", item="long.md", version=1, lines="599-600")
    assert (part["text"], part["lines"], part["of"]) == (f"## Part 299\n{'word ' * 40}", "599-600", 600)
    assert ok(own, "history", item="long.md", version=1, heading="part 299") == part
    assert ok(own, "history", item="long.md", lines="1")["text"] == "short"
    assert refusal(own, "history", item="long.md", heading="Part 1")["message"] == "The text has no heading 'Part 1'."
    assert refusal(own, "history", item="long.md", version=2, lines="7")["argument"] == "lines"


def test_lines_that_changed_far_apart_are_counted(own: Client) -> None:
    lines = [f"{number}. A rule" for number in range(424)]
    contents = ["\n".join(lines)]
    for place, new in ((0, ["a"]), (100, []), (200, ["b", "c"]), (300, ["d"]), (421, ["e", "f", "g"])):
        lines[place : place + 1] = new
    contents += ["\n".join(lines), "\n".join(reversed(lines))]
    ok(own, "add_resource", name="rules.md", content=contents[0])
    for content in contents[1:]:
        ok(own, "update_resource", resource="rules.md", content=content)
    versions = ok(own, "history", item="rules.md")["versions"]
    assert [row.get("fields") for row in versions] == [["content (lines moved)"], ["content (7 lines)"], None]


def test_a_difference_in_a_long_line_is_shown_where_it_is(own: Client) -> None:
    before, after = "a" * 900, "z" * 900
    ok(own, "add_prompt", title="Tea", content=f"{before} old {after}")
    ok(own, "update_prompt", prompt="tea", content=f"{before} new {after}")
    diff = ok(own, "history", item="tea", version=2, against=1)["diff"].split("\n")[3:]
    assert [line[0] for line in diff] == ["-", "+"] and all(len(line) < 410 for line in diff)
    assert all(
        f"a {word} z" in line and line[1] == line[-1] == "…" for word, line in zip(("old", "new"), diff, strict=True)
    )
    shown = ok(own, "restore", item="tea")["restored"]["lines"]
    assert [line[0] for line in shown] == ["-", "+"] and all(len(line) < 110 for line in shown)
    assert all(
        f"a {word} z" in line and line[1] == line[-1] == "…" for word, line in zip(("new", "old"), shown, strict=True)
    )
