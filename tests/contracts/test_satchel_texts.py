"""Parts of texts in the contract satchel: edited by edit_text, read by lines and headings, on both engines."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.satchel import deleted, missing, ok, refusal, result_of, wrong
from tests.support.stdio import Client

GUIDE = "# Guide\n\nIntro\n\n## Set up\n\nInstall it.\n\n## Use\n\nRun it.\n"
LONG = "# Long\n\n" + "".join(f"## Part {one}\n\n{'Some words. ' * 30}\n\n" for one in range(40))


def edit(item: str, *edits: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"item": item, "edits": [{"old": old, "new": new} for old, new in edits], **more}


# -- edits ------------------------------------------------------------------------------------------------------


def test_a_part_of_each_kind_of_text_is_edited(client: Client) -> None:
    ok(client, "add_prompt", title="Greeting", content="Dear Sir,\nhello.\nBye")
    ok(client, "add_resource", name="guide.md", content=GUIDE)
    ok(client, "add_task", title="Plant", description="Tulips\nand roses")
    changed = [{"line": 2, "text": "good morning."}]
    assert result_of(client, "edit_text", edit("greeting", ("hello", "good morning"))) == {
        "content": [{"type": "text", "text": "Edited greeting, version 2:\n2: good morning."}],
        "structuredContent": {"project": "default", "item": "greeting", "version": 2, "changed": changed},
        "isError": False,
    }
    edited = ok(client, "edit_text", edit("guide.md", ("Install", "Get"), ("Run", "Start"), expected_version=1))
    assert edited == {
        "project": "default",
        "item": "guide.md",
        "version": 2,
        "changed": [{"line": 7, "text": "Get it."}, {"line": 11, "text": "Start it."}],
    }
    for reference in (1, "#1", "satchel://task/1"):
        ok(client, "edit_text", item=reference, append="and more")
    task = ok(client, "edit_text", item="#1", prepend="First:", edits=[{"old": "and more", "new": "+", "all": True}])
    assert (task["item"], task["version"], len(task["changed"])) == ("#1", 5, 4)
    assert ok(client, "get_prompt", prompt="greeting")["prompt"]["content"] == "Dear Sir,\ngood morning.\nBye"
    assert "Get it." in ok(client, "read_resource", resource="guide.md")["resource"]["text"]
    assert ok(client, "get_task", task=1)["task"]["description"] == "First:\nTulips\nand roses\n+\n+\n+"


def test_a_text_is_edited_under_every_name_it_has(client: Client) -> None:
    ok(client, "add_prompt", title="Code review", content="a")
    ok(client, "add_resource", name="notes", content="a", uri="file:///notes")
    ok(client, "add_resource", name="plan", content="a")
    names = ("code-review", "Code review", "satchel://prompt/code-review", "notes", "file:///notes")
    for name in (*names, "satchel://resource/plan"):
        ok(client, "edit_text", item=name, append="b")
    ok(client, "add_prompt", title="Plan", content="a")
    both = refusal(client, "edit_text", item="plan", append="b")
    assert both["near"] == ["satchel://prompt/plan", "satchel://resource/plan"]
    for name in both["near"]:
        ok(client, "edit_text", item=name, append="b")


def test_an_edit_that_does_not_fit_changes_nothing(client: Client) -> None:
    ok(client, "add_prompt", title="P", content="one two\ntwo three\nfour five six")
    assert refusal(client, "edit_text", edit("p", ("one", "1"), ("two", "2"))) == {
        **wrong(
            "edits[1].old occurs 2 times, first in lines 1, 2. Nothing was changed.",
            "edits",
            "Include more of the surrounding text in old, or set all: true.",
        ),
        "count": 2,
        "lines": [1, 2],
    }
    assert refusal(client, "edit_text", edit("p", ("four fife six", "x"))) == {
        **wrong(
            "edits[0].old does not occur in the text. Nothing was changed.",
            "edits",
            "The most similar text is 'four five six' in line 3.",
        ),
        "near": {"line": 3, "text": "four five six"},
    }
    assert refusal(client, "edit_text", edit("p", ("zzz", "x")))["hint"] == "Read the text again and copy from it."
    assert refusal(client, "edit_text", edit("p", ("", "x")))["message"] == "edits[0].old is empty."
    same = wrong("Nothing would change.", "edits", "The text may already be as you want it: read it again.")
    assert refusal(client, "edit_text", edit("p", ("one", "one"))) == same
    assert refusal(client, "edit_text", edit("p", ("one", "1"), ("1", "one"))) == same
    for nothing in ({}, {"edits": []}, {"append": ""}):
        none = wrong("There is nothing to update.", "edits", "Give one of edits, append, prepend.")
        assert refusal(client, "edit_text", item="p", **nothing) == none
    whole = edit("p", ("one two\ntwo three\nfour five six", ""))
    assert refusal(client, "edit_text", whole) == wrong(
        "With these edits, content must not be empty. Nothing was changed.",
        "edits",
        "Leave some text, or delete the item.",
    )
    assert refusal(client, "edit_text", edit("p", ("one", "1"), expected_version=7)) == {
        "code": "conflict",
        "message": "Prompt 'p' has version 1, not 7.",
        "hint": "There is no version 7 yet. Read it again, then repeat the update with the new version.",
        "version": 1,
    }
    assert ok(client, "get_prompt", prompt="p")["prompt"]["version"] == 1


def test_a_text_that_cannot_be_edited_is_explained(client: Client) -> None:
    ok(client, "add_resource", name="logo.png", content="QUJD")
    ok(client, "add_prompt", title="Letters", content="x")
    assert refusal(client, "edit_text", item="logo.png", append="x") == wrong(
        "logo.png is not text.", "item", "Replace it with update_resource."
    )
    assert refusal(client, "edit_text", item="desk:letter", append="x") == wrong(
        "Prompt 'desk:letter' belongs to a library and cannot be changed here.",
        "prompt",
        "Save a copy with add_prompts.",
    )
    look = "Look for it with search or a list tool; restore brings back deleted items."
    assert refusal(client, "edit_text", item="zzz", append="x") == missing("Item 'zzz' does not exist.", look)
    assert refusal(client, "edit_text", item="leters", append="x")["near"] == ["letters"]
    ok(client, "add_tasks", lines=["Water the plants"])
    assert refusal(client, "edit_text", item="watr the plants", append="x")["near"] == ["#1"]
    assert refusal(client, "edit_text", item="#1", append="x" * 10_001) == wrong(
        "With these edits, description can have at most 10000 characters. Nothing was changed.", "append", "Shorten it."
    )
    one = '{"old": "a", "new": "b"}'
    for edits, example in ((True, f"[{one}]"), ("x", one), (["x"], one)):
        assert refusal(client, "edit_text", item="letters", edits=edits)["hint"] == f"For example {example}."
    assert refusal(client, "edit_text", item="satchel://project/default", append="x")["message"] == (
        "'default' is a project."
    )
    ok(client, "delete", items=["letters"])
    assert refusal(client, "edit_text", item="letters", append="x") == deleted("Prompt 'letters'", "letters")
    assert refusal(client, "edit_text", item="x", append="y", project="gardn")["near"] == ["garden"]


# -- parts ------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["prompt", "resource"])
def read(request: pytest.FixtureRequest, client: Client) -> Callable[..., Any]:
    """Return a function that saves a text as a prompt or as a document, and reads it."""
    kind: str = request.param
    tool, member = ("get_prompt", "content") if kind == "prompt" else ("read_resource", "text")

    def add(content: str) -> None:
        given = {"title": "Text.md"} if kind == "prompt" else {"name": "text.md"}
        ok(client, f"add_{kind}", {**given, "content": content})

    def read(**arguments: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        name = "text-md" if kind == "prompt" else "text.md"
        result = result_of(client, tool, {kind: name, **arguments})
        structured = result["structuredContent"]
        if "error" in structured:
            return structured["error"], []
        part = {**structured[kind], "notes": structured.get("notes", [])}
        return {"text": part.pop(member), **part}, result["content"]

    read.add = add  # type: ignore[attr-defined]
    return read


def test_a_missing_number_is_answered_with_the_nearest_of_its_chapter(read: Any) -> None:
    read.add("# Aurora\n## 1.1 Goals\n## 7.1 Names\n## 7.2 Scope\n## 7.20 Ports\n## 8.22 End")
    near = "7.2 Scope", "7.20 Ports", "7.1 Names"
    assert read(heading="7.22")[0] == {
        **missing("The text has no heading '7.22'.", f"Did you mean {' or '.join(near)}?", *near),
        "argument": "heading",
    }


def test_a_part_is_read_by_lines_or_by_heading(read: Any) -> None:
    read.add(GUIDE)
    name = read()[0]["name"]
    setup = {"name": name, "version": 1, "lines": "5-8", "of": 11, "notes": []}
    for wish in ({"lines": "5-8"}, {"heading": "set up"}, {"heading": "## Set up"}):
        part, content = read(**wish)
        assert part == {**setup, "text": "## Set up\n\nInstall it.\n\n"}
        assert content[0]["text"] == part["text"]
        assert content[1]["text"].split("\n")[1:] == ["lines 5-8 of 11"]
    assert read(lines=7)[0]["text"] == "Install it.\n"
    assert read(lines="9-")[0]["lines"] == "9-11"
    assert "lines" not in read(lines="1-")[0]
    unknown, _ = read(heading="setup")
    assert unknown == {
        **missing("The text has no heading 'setup'.", "Did you mean Set up?", "Set up"),
        "argument": "heading",
    }
    assert read(lines="5-", heading="Use")[0] == wrong(
        "Give heading or lines, not both.", "heading", "Leave one of them out."
    )
    assert read(lines="99")[0] == wrong("The last line of the text is 11.", "lines", "Ask for lines up to that number.")
    assert read(lines="x")[0] == wrong("lines must be a range like 10-40, 10- or 25.", "lines", "Lines count from 1.")


def test_a_long_text_is_shown_by_its_outline_and_beginning(read: Any) -> None:
    read.add(LONG)
    part, content = read()
    total = LONG.count("\n")
    note = (
        f'It has {len(LONG)} characters in {total} lines. Read on with lines (like "40-90"), a heading, or whole: true.'
    )
    assert part["notes"] == [note]
    assert (part["lines"], part["of"]) == ("1-18", total)
    assert part["text"] == "".join(LONG.splitlines(keepends=True)[:18])
    assert part["outline"][:3] == ["1 # Long", "3 ## Part 0", "7 ## Part 1"] and len(part["outline"]) == 41
    assert content[0]["text"] == part["text"]
    facts = content[1]["text"].split("\n")
    assert facts[-44:] == [f"lines 1-18 of {total}", "outline:", *part["outline"], note]
    uri = {"text-md": "satchel://prompt/text-md", "text.md": "satchel://resource/text.md"}[part["name"]]
    link = {"type": "resource_link", "uri": uri, "name": part["name"], "mimeType": "text/markdown", "size": len(LONG)}
    assert content[2:] == [link]
    assert read(whole=True)[0]["text"] == LONG
    assert len(read(whole=True)[1]) == 2
    assert read(heading="part 39")[0]["text"] == LONG[LONG.index("## Part 39") :]


def test_an_outline_shows_as_many_headings_as_fit(read: Any) -> None:
    read.add(long := "# Master agreement\n" + f"## 7.2 Scope\n{'word ' * 150}\n" * 80)
    part, _ = read()
    assert part["outline"] == ["1 # Master agreement", *(f"{line} ## 7.2 Scope" for line in range(2, 120, 2))]
    assert part["notes"] == [
        f"It has {len(long)} characters in 161 lines. Its outline leaves out 21 headings, the first in line 120. "
        'Read on with lines (like "40-90"), a heading, or whole: true.'
    ]


def test_other_headings_with_the_same_text_are_listed(read: Any) -> None:
    read.add("# A\n## Same\n1\n# B\n## Same\n2\n")
    part, content = read(heading="same")
    assert (part["text"], part["notes"]) == ("## Same\n1\n", ["The same heading is also in lines 5."])
    assert content[1]["text"].endswith("The same heading is also in lines 5.")


def test_a_filled_in_prompt_has_no_parts(client: Client) -> None:
    ok(client, "add_prompt", title="P", content="Hi {{ a }}")
    assert refusal(client, "get_prompt", prompt="p", arguments={"a": "x"}, lines="1") == wrong(
        "Give arguments or lines, not both.", "arguments", "A filled-in prompt is always returned whole."
    )
