"""The tools for prompts of the contract satchel, on both engines: each success and each failure, replies whole."""

from pathlib import Path
from typing import Any

import pytest

from satchel.storage.database import Database
from tests.support.satchel import MINUTE, Like, deleted, ok, refusal, result_of, wrong
from tests.support.stdio import Client

CORRECT_IT = "Ask the user to correct the file in the library."


def test_a_prompt_is_added_read_changed_and_deleted(client: Client) -> None:
    arguments: list[dict[str, Any]] = [
        {"name": "tone", "description": "How", "required": True, "values": ["warm", "dry"]},
        {"name": "to", "values": None, "open": False},
    ]
    content = "Thanks, {{ to }}! ({{ tone }})"
    more = {"description": "A note", "tags": ["people", "Mail"], "arguments": arguments}
    added = result_of(client, "add_prompt", {"title": " Thank you ", "content": content, **more})
    row = {
        "name": "thank-you",
        "title": "Thank you",
        "version": 1,
        "tags": ["mail", "people"],
        "arguments": ["tone", "to?"],
    }
    assert added == {
        "content": [
            {"type": "text", "text": "Added to project 'default':\n- thank-you [mail, people] (tone, to?) version 1"}
        ],
        "structuredContent": {"project": "default", "prompt": row},
        "isError": False,
    }
    prompt = {
        "name": "thank-you",
        "title": "Thank you",
        "version": 1,
        "description": "A note",
        "tags": ["mail", "people"],
        "arguments": [arguments[0], {"name": "to"}],
        "created": MINUTE,
        "updated": MINUTE,
        "content": content,
    }
    for uses, reference in enumerate(("thank-you", " thank-you ", "Thank you", " Thank you ")):
        got = result_of(client, "get_prompt", {"prompt": reference})
        used = {"uses": uses, "last_used": MINUTE} if uses else {}
        assert got["structuredContent"] == {"project": "default", "prompt": prompt | used}
        assert [one["text"] for one in got["content"]] == [
            content,
            Like(
                rf"\[prompt thank-you, version 1, updated {MINUTE}, created {MINUTE}\]\ndescription: A note\n"
                r"tags: mail, people\narguments: tone = warm \| dry \(How\); to\?"
                + (rf"\nused {uses} times?, last {MINUTE}" if uses else "")
            ),
        ]

    changed = result_of(client, "update_prompt", {"prompt": "thank-you", "title": "Thanks", "expected_version": 1})
    line = "- thank-you: Thanks [mail, people] (tone, to?) version 2"
    assert changed == {
        "content": [{"type": "text", "text": f"Updated in project 'default':\n{line}"}],
        "structuredContent": {"project": "default", "prompt": {**row, "title": "Thanks", "version": 2}},
        "isError": False,
    }
    cleared = ok(client, "update_prompt", prompt="Thanks", description="", tags=[], arguments=[])["prompt"]
    assert cleared == {"name": "thank-you", "title": "Thanks", "version": 3}
    # Without arguments, it is not a template any more.
    assert ok(client, "render_prompt", prompt="thank-you")["text"] == content

    assert result_of(client, "delete", {"items": ["Thanks"]}) == {
        "content": [{"type": "text", "text": "Deleted prompt thank-you"}],
        "structuredContent": {"project": "default", "deleted": [{"kind": "prompt", "item": "thank-you"}]},
        "isError": False,
    }
    gone = deleted("Prompt 'thank-you'", "thank-you")
    assert refusal(client, "get_prompt", prompt="Thanks") == gone
    assert refusal(client, "update_prompt", prompt="Thanks", title="x") == gone


def test_names_come_from_titles_and_can_be_chosen(client: Client) -> None:
    names = [
        ok(client, "add_prompt", title=title, content="x", **more)["prompt"]["name"]
        for title, more in [("Ä  b!", {}), ("a b", {}), ("A B", {}), ("Any", {"name": "My.Own_name-1"}), ("日本", {})]
    ]
    assert names[:4] == ["a-b", "a-b-2", "a-b-3", "My.Own_name-1"]
    assert names[4].startswith("prompt-")
    clash = {"code": "already_exists", "hint": "Choose another name, or update the prompt."}
    assert refusal(client, "add_prompt", title="New", content="x", name="a-b") == {
        **clash,
        "message": "A prompt with the name 'a-b' already exists in project 'default'.",
    }
    assert refusal(client, "add_prompt", title="Any", content="x") == {
        "code": "already_exists",
        "message": "A prompt with the title 'Any' already exists in project 'default'.",
        "hint": "Choose another title, or update the prompt.",
    }
    assert refusal(client, "update_prompt", prompt="a-b", title="Any")["code"] == "already_exists"


def test_a_name_goes_before_a_title(client: Client) -> None:
    ok(client, "add_prompt", title="first", content="1", name="one")
    ok(client, "add_prompt", title="one", content="2", name="two")
    assert ok(client, "get_prompt", prompt="one")["prompt"]["content"] == "1"


@pytest.mark.parametrize("tool", ["render_prompt", "get_prompt"])
def test_prompts_are_filled_in(client: Client, tool: str) -> None:
    literal = "{{ stays }} {% as is %}"
    ok(client, "add_prompt", title="Literal", content=literal, arguments=[])
    ok(client, "add_prompt", title="Filled", content="Hi {{ a }}{{ b }}", arguments=[{"name": "a", "required": True}])
    assert result_of(client, tool, {"prompt": "Literal", "arguments": {}}) == {
        "content": [{"type": "text", "text": literal}],
        "structuredContent": {"project": "default", "name": "literal", "text": literal},
        "isError": False,
    }
    assert ok(client, tool, prompt="filled", arguments={"a": "{{ b }}"})["text"] == "Hi {{ b }}"
    assert ok(client, tool, prompt="filled", arguments={"a": ""})["text"] == "Hi "
    assert ok(client, tool, prompt="desk:letter", arguments={"to": "Ann", "news": None}) == {
        "project": "default",
        "name": "desk:letter",
        "text": "Dear Ann, ",
    }
    needs = "Give each value by its name in arguments."
    for spelling in ("DESK:Letter", "satchel://prompt/desk:letter", " desk:LETTER "):
        assert ok(client, tool, prompt=spelling, arguments={"to": "Ann"})["name"] == "desk:letter"
    assert refusal(client, tool, prompt="desk:letter", arguments={}) == wrong(
        "The prompt needs a value for to.", "to", needs
    )
    assert refusal(client, tool, prompt="filled", arguments={"a": None})["argument"] == "a"
    described = [
        {"name": "diff", "description": "The change to review", "required": True},
        {"name": "tone", "required": True, "values": ["warm", "dry"], "open": True},
        {"name": "depth"},
        {"name": "until", "required": True},
    ]
    ok(client, "add_prompt", title="Three", content="{{ diff }}{{ tone }}{{ depth }}{{ until }}", arguments=described)
    listed = "diff (The change to review), tone (warm, dry or another value) and until"
    assert refusal(client, tool, prompt="three", arguments={}) == wrong(
        f"The prompt needs a value for {listed}.", "diff", needs
    )
    assert refusal(client, tool, prompt="filled", arguments={"a": {}}) == wrong(
        "arguments.a must be a text.", "arguments", "Put it into quotes."
    )


def test_values_that_a_prompt_does_not_take_are_refused(client: Client) -> None:
    ok(client, "add_prompt", title="Plain", content="x")
    tones = {"name": "tone", "values": ["warm", "dry"]}
    mood = {"name": "mood", "values": ["good"], "open": True}
    size = {"name": "size", "required": True, "values": ["s", "m"]}
    content = "{{ tone }} {{ mood }} {{ size }}"
    ok(client, "add_prompt", title="Choice", content=content, arguments=[tones, mood, size])
    assert refusal(client, "get_prompt", prompt="choice", arguments={"size": "m", "tome": "dry"}) == {
        **wrong("Prompt 'choice' has no argument 'tome'.", "tome", "Did you mean tone? It takes tone?, mood?, size."),
        "near": ["tone"],
    }
    assert refusal(client, "get_prompt", prompt="choice", arguments={"zzzz": "m"}) == {
        **wrong("Prompt 'choice' has no argument 'zzzz'.", "zzzz", "Did you mean size? It takes tone?, mood?, size."),
        "near": ["size"],
    }
    assert refusal(client, "get_prompt", prompt="plain", arguments={"x": "y"}) == wrong(
        "Prompt 'plain' has no argument 'x'.", "x", "It takes none."
    )
    assert refusal(client, "render_prompt", prompt="choice", arguments={"size": "m", "tone": "cold"}) == {
        **wrong("tone must be one of warm, dry.", "tone", "Choose one of them."),
        "near": ["warm", "dry"],
    }
    assert refusal(client, "render_prompt", prompt="choice", arguments={"size": ""})["near"] == ["s", "m"]
    given = {"size": "m", "tone": "", "mood": "any"}  # an empty optional argument, and an open one
    assert ok(client, "get_prompt", prompt="choice", arguments=given)["text"] == " any m"
    assert ok(client, "get_prompt", prompt="choice")["prompt"]["arguments"] == [tones, mood, size]
    [_, facts] = result_of(client, "get_prompt", {"prompt": "choice"})["content"]
    assert "\narguments: tone? = warm | dry; mood? = good | ...; size = s | m\n" in facts["text"]


def test_a_prompt_that_cannot_be_filled_in_is_explained(client: Client, shelf: Path, database: Database) -> None:
    ok(client, "add_prompt", title="Broken", content="one\n{% if a %}{% endif %}", arguments=[{"name": "a"}])
    with database.write() as tx:  # as an older version stored it
        tx.run("update prompts set content = :content", content="one\n{% if %}")
    ok(
        client,
        "add_prompt",
        title="Endless",
        content="{% for i in range(99999) %}{% for j in range(99999) %}{{ a }}{% endfor %}{% endfor %}",
        arguments=[{"name": "a"}],
    )
    broken = refusal(client, "render_prompt", prompt="broken")
    assert broken["message"].startswith("Prompt 'broken' cannot be filled in at line 2: ")
    assert (broken["code"], broken["hint"]) == ("invalid_argument", "Correct its content with update_prompt.")
    assert refusal(client, "render_prompt", prompt="endless", arguments={"a": "x"})["code"] == "invalid_argument"
    # The broken template can still be read.
    assert ok(client, "get_prompt", prompt="broken")["prompt"]["content"] == "one\n{% if %}"

    letter = shelf / "desk" / "prompts" / "letter.md"
    letter.write_text("x" * 70_000)
    reason = "The file of prompt 'desk:letter' cannot be read: it is larger than 65536 bytes."
    for tool in ("get_prompt", "render_prompt"):
        more = {"arguments": {"to": "x"}} if tool == "render_prompt" else {}
        assert refusal(client, tool, prompt="desk:letter", **more) == wrong(reason, None, CORRECT_IT)
    letter.write_bytes(b"\xff\xfe")
    assert refusal(client, "get_prompt", prompt="desk:letter")["message"].endswith("it is not UTF-8.")
    letter.unlink()
    assert refusal(client, "get_prompt", prompt="desk:letter") == wrong(
        "The file of prompt 'desk:letter' is missing.", None, CORRECT_IT
    )


def test_prompts_of_libraries_are_read_but_not_changed(client: Client) -> None:
    assert ok(client, "get_prompt", prompt="desk:letter")["prompt"] == {
        "name": "desk:letter",
        "description": "About letter",
        "arguments": [{"name": "to", "required": True}, {"name": "news"}],
        "content": "Dear {{ to }}, {{ news }}",
    }
    no = wrong(
        "Prompt 'desk:letter' belongs to a library and cannot be changed here.",
        "prompt",
        "Save a copy with add_prompts.",
    )
    assert refusal(client, "update_prompt", prompt="desk:letter", title="x") == no


def test_reading_and_changing_mean_the_same_prompt(client: Client) -> None:
    ok(client, "add_prompt", title="desk:plain", content="mine")
    for reference in ("desk:plain", " desk:plain "):
        assert ok(client, "get_prompt", prompt=reference)["prompt"]["content"] == "Just so."
        assert ok(client, "render_prompt", prompt=reference)["name"] == "desk:plain"
        no = wrong(
            "Prompt 'desk:plain' belongs to a library and cannot be changed here.",
            "prompt",
            "The stored prompt with this title is called 'desk-plain': use that name.",
        )
        assert refusal(client, "update_prompt", prompt=reference, content="x") == no
    assert ok(client, "get_prompt", prompt="desk-plain")["prompt"]["content"] == "mine"
    assert ok(client, "update_prompt", prompt="desk-plain", content="x")["prompt"]["version"] == 2
    assert ok(client, "delete", items=["desk-plain"])["deleted"] == [{"kind": "prompt", "item": "desk-plain"}]
