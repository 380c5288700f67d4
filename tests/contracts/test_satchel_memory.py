"""`remember`: one line for a project or for all of them, in the document `memory.md`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from satchel.storage.database import Database
from tests.support import stdio
from tests.support.satchel import Like, ok, refusal, text
from tests.support.stdio import NEWEST, Client
from tests.support.variants import both_engines

ANN = "11111111-1111-4111-8111-111111111111"
DAY = r"\d{4}-\d\d-\d\d"


@both_engines
def test_a_line_is_kept_with_day_and_author_and_can_be_found_corrected_and_undone(
    own: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(stdio.CLIENT, "name", "codex:\u202e beta")
    first = Like(rf"{DAY} codex beta: Deploy with make release")
    assert ok(own, "remember", text=" Deploy with\n\n make release ") == {
        "project": "default",
        "added": True,
        "line": first,
    }
    monkeypatch.setitem(stdio.CLIENT, "name", "cursor")
    assert text(own, "remember", text="Ask Ben about: DNS") == Like(
        rf"Added to memory\.md of project 'default':\n- {DAY} cursor: Ask Ben about: DNS"
    )
    document = ok(own, "read_resource", resource="memory.md")["resource"]
    assert (document["version"], document["mime_type"]) == (2, "text/markdown")
    assert document["text"] == Like(
        rf"- {DAY} codex beta: Deploy with make release\n- {DAY} cursor: Ask Ben about: DNS\n"
    )
    assert ok(own, "search", query="release")["hits"][0]["reference"] == "memory.md"
    told = ok(own, "catch_up")["memory"]
    assert told == [first, Like(rf"{DAY} cursor: Ask Ben about: DNS")]
    ok(own, "edit_text", item="memory.md", edits=[{"old": "Ben", "new": "Eve"}])
    assert ok(own, "catch_up")["memory"] == [first, Like(rf"{DAY} cursor: Ask Eve about: DNS")]
    ok(own, "restore", item="memory.md")
    assert ok(own, "catch_up")["memory"] == told


def test_a_line_that_repeats_one_is_not_added(own: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ok(own, "remember", text="Use tabs: always")
    monkeypatch.setitem(stdio.CLIENT, "name", "cursor")
    assert ok(own, "remember", text="USE  tabs:\nalways") == {
        "project": "default",
        "added": False,
        "line": Like(rf"{DAY} satchel-tests: Use tabs: always"),
        "notes": ["It was remembered before: edit memory.md if it changed."],
    }
    assert refusal(own, "remember", text="red \x1b[31m")["message"] == "text has an invisible character: U+001B."
    ok(own, "edit_text", item="memory.md", append="- By hand")
    assert ok(own, "remember", text="by hand")["added"] is False
    assert ok(own, "remember", text="always")["added"] is True
    assert ok(own, "read_resource", resource="memory.md")["resource"]["version"] == 3


def test_the_personal_memory_is_told_in_every_project(store: str, serve: Callable[..., Client]) -> None:
    client = serve("satchel", store, NEWEST, "--user", ANN)
    made = "Project 'personal' was made: its prompts and documents are read in every project."
    answer = ok(client, "remember", text="Be brief", project="personal")
    assert (answer["project"], answer["notes"]) == ("personal", [made])
    ok(client, "remember", text="Here only")
    here = ok(client, "catch_up")
    assert here["memory"] == [Like(rf"{DAY} satchel-tests: Here only")]
    assert here["personal_memory"] == [Like(rf"{DAY} satchel-tests: Be brief")]
    there = ok(client, "catch_up", project="personal")
    assert there["memory"] == here["personal_memory"]
    assert "personal_memory" not in there


def test_only_the_newest_lines_are_told(own: Client) -> None:
    lines = [f"- 2026-11-{day:02} codex: line {day}" for day in range(1, 15)]
    ok(own, "add_resource", name="memory.md", content="# What we know\n\n" + "\n".join(lines))
    assert (ok(own, "catch_up")["memory"], ok(own, "catch_up")["more_memory"]) == (
        [line[2:] for line in lines[4:]],
        4,
    )
    assert "Remembered in 'default':\n- 2026-11-05 codex: line 5\n" in text(own, "catch_up")
    assert "\nand 4 older: read_resource memory.md\n" in text(own, "catch_up")
    for number in range(9):
        ok(own, "remember", text=f"{number} " + "long " * 100)
    told = ok(own, "catch_up")["memory"]
    assert len(told) == 4 and max(map(len, told)) <= 203 and told[-1][11:].startswith("satchel-tests: 8 long")


def test_a_full_memory_and_one_that_is_no_text_are_refused(own: Client) -> None:
    ok(own, "add_resource", name="memory.md", content="- x\n" * 1000)
    assert refusal(own, "remember", text="more") == {
        "code": "invalid_argument",
        "message": "memory.md is full: it can have at most 1000 lines and 64 KiB.",
        "hint": "Shorten it with edit_text, then remember the line again.",
        "argument": "text",
    }
    ok(own, "update_resource", resource="memory.md", content="- " + "x" * 65_500)
    assert refusal(own, "remember", text="y" * 100)["message"].startswith("memory.md is full")
    ok(own, "add_project", name="web")
    ok(own, "add_resource", name="memory.md", content="AAAA", mime_type="image/png", project="web")
    assert refusal(own, "remember", text="more", project="web")["message"] == (
        "Nothing can be remembered, because document memory.md of the project is not a text."
    )
    assert "memory" not in ok(own, "catch_up", project="web")


@both_engines
def test_two_writers_at_once_both_keep_their_lines(
    own: Client, store: str, database: Database, serve: Callable[..., Client]
) -> None:
    ok(own, "add_tasks", lines=["Make the project"])
    clients = [serve("satchel", store, NEWEST, "--user", ANN) for _ in range(4)]

    def write(writer: int) -> None:
        for number in range(5):
            assert ok(clients[writer], "remember", text=f"writer {writer} line {number}")["added"]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    kept = ok(own, "read_resource", resource="memory.md")["resource"]["text"]
    assert sorted(line.partition("writer ")[2] for line in kept.splitlines()) == [
        f"{writer} line {number}" for writer in range(4) for number in range(5)
    ]
