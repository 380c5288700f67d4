"""Includes: stored prompts take documents and prompts of their project and of `personal`."""

from typing import Any

import pytest

from tests.support.satchel import ok, refusal, result_of, wrong
from tests.support.stdio import Client
from tests.support.variants import both_engines

FIRST = "Add the included text first, or give arguments: [] to keep it as plain text."


def fill(client: Client, prompt: str, project: str = "default", **values: str) -> str:
    text: str = ok(client, "get_prompt", prompt=prompt, project=project, arguments=values)["text"]
    return text


def notes(client: Client, tool: str, **arguments: Any) -> list[str]:
    told: list[str] = ok(client, tool, arguments).get("notes", [])
    return told


def save(client: Client, name: str, content: str, **more: Any) -> Any:
    return ok(client, "add_prompt", {"title": name, "name": name, "content": content, **more})


def keep(client: Client, name: str, content: str, **more: Any) -> Any:
    return ok(client, "add_resource", {"name": name, "content": content, **more})


@both_engines
def test_a_prompt_includes_texts_of_its_project_and_of_personal(client: Client) -> None:
    keep(client, "tone.md", "Be {{ tone }}.")
    save(client, "tone.md", "The document comes first.")
    save(client, "signature", "Yours, {{ who|default('Ann') }}", project="personal")
    keep(client, "tone.md", "Be kind.", project="personal")
    [row] = ok(
        client,
        "add_prompts",
        prompts=[{"title": "Letter", "content": '{% include "tone.md" %}\n{% include "signature" %}'}],
    )["prompts"]
    assert row == {"name": "letter", "title": "Letter", "version": 1, "arguments": ["tone", "who?"]}
    assert fill(client, "letter", tone="brief") == "Be brief.\nYours, Ann"
    got = client.request("prompts/get", {"name": "letter", "arguments": {"tone": "warm", "who": "Bo"}})["result"]
    assert got["messages"] == [{"role": "user", "content": {"type": "text", "text": "Be warm.\nYours, Bo"}}]
    whole = ok(client, "get_prompt", prompt="letter")["prompt"]
    assert whole["includes"] == ["tone.md", "signature"]
    assert whole["links"] == ["satchel://resource/tone.md", "satchel://prompt/signature"]
    assert ok(client, "read_resource", resource="tone.md")["resource"]["linked_from"] == [
        "satchel://prompt/letter Letter"
    ]
    # In another project, the names mean what that project or the personal one has.
    save(client, "letter", '{% include "tone.md" %}', project="garden")
    assert fill(client, "letter", "garden") == "Be kind."
    from_personal = ok(client, "read_resource", resource="tone.md", project="personal")["resource"]
    assert from_personal["linked_from"] == ["satchel://prompt/garden/letter letter"]
    # A personal prompt is filled in alike from everywhere.
    save(client, "note", '{% include "tone.md" %}', project="personal")
    assert fill(client, "note") == fill(client, "note", "garden") == "Be kind."


@both_engines
def test_a_uri_names_a_text_of_its_project_or_of_personal(client: Client) -> None:
    ok(client, "add_project", name="launch")
    keep(client, "glossary.md", "A {{ word }}.", project="launch")
    keep(client, "tone.md", "Be kind.", project="personal")
    save(client, "glossary.md", "A prompt.", project="launch")
    content = (
        '{% include "satchel://resource/launch/glossary.md" %} {% include "satchel://prompt/glossary.md" %} '
        "{% include 'satchel://resource/personal/tone.md' %} {% include 'satchel://prompt/base' %}"
    )
    prompts = [{"title": "Letter", "content": content}, {"title": "Base", "content": "Beside."}]
    [row, _] = ok(client, "add_prompts", prompts=prompts, project="launch")["prompts"]
    assert row == {"name": "letter", "title": "Letter", "version": 1, "arguments": ["word"]}
    assert fill(client, "letter", "launch", word="word") == "A word. A prompt. Be kind. Beside."
    for name, project in (("glossary.md", "launch"), ("tone.md", "personal")):
        linked = ok(client, "read_resource", resource=name, project=project)["resource"]["linked_from"]
        assert [one.rpartition("/")[2] for one in linked] == ["letter Letter"]
    told = result_of(client, "delete", {"items": ["satchel://resource/personal/tone.md"]})["content"][0]["text"]
    assert "was included by satchel://prompt/launch/letter" in told
    for uri, what in (
        ("resource/launch/gone", "line 1: there is no document or prompt 'satchel://resource/launch/gone' to include"),
        (
            "resource/garden/x",
            "satchel://resource/garden/x is in project garden. "
            "An include takes names of its own project or of personal",
        ),
    ):
        refused = wrong(f"content cannot be filled in: {what}.", "content", FIRST)
        new = {"title": "New", "content": f'{{% include "satchel://{uri}" %}}', "project": "launch"}
        assert refusal(client, "add_prompt", new) == refused


def test_a_text_whose_only_tag_is_an_include_is_a_template(client: Client) -> None:
    keep(client, "tone.md", "Be brief.")
    note = "Saved as a template, because it includes other texts. Saved with no arguments, it is plain text."
    content = 'Hello. {% include "tone.md" %}'
    assert save(client, "p", content)["notes"] == [note]
    assert fill(client, "p") == "Hello. Be brief."
    assert "notes" not in save(client, "plain", content, arguments=[])
    assert fill(client, "plain") == content
    assert "notes" not in ok(client, "update_prompt", prompt="p", description="As before")
    assert fill(client, "p") == "Hello. Be brief."
    assert len(notes(client, "edit_text", item="plain", edits=[{"old": "Hello", "new": "Bye"}])) == 1
    assert fill(client, "plain") == content.replace("Hello", "Bye")
    ok(client, "edit_text", item="p", edits=[{"old": "Hello", "new": "Bye"}])
    assert fill(client, "p") == "Bye. Be brief."
    ok(client, "update_prompt", prompt="p", arguments=[])
    assert fill(client, "p") == 'Bye. {% include "tone.md" %}'
    assert ok(client, "history", item="p")["versions"][0]["fields"] == ["arguments"]
    assert ok(client, "history", item="p", against=3)["diff"].split("\n")[2:] == ["-template: without arguments"]
    ok(client, "restore", item="p", version=3)
    assert fill(client, "p") == "Bye. Be brief."
    moved = notes(client, "update_items", items=["p"], to="garden")
    assert moved[1] == "p: It includes tone.md, which project garden lacks."
    save(client, "q", content)
    assert "notes" not in ok(client, "update_items", items=["q", "tone.md"], to="garden", copy=True)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('a\n{% include "gone" %}', "line 2: there is no document or prompt 'gone' to include"),
        ("{% include part %}", 'line 1: write one name in quotes, such as {% include "tone.md" %}'),
        ("{% include ['a', 'b'] %}", 'line 1: write one name in quotes, such as {% include "tone.md" %}'),
        ('{% include "logo.png" %}', "document 'logo.png' is binary and cannot be included"),
        ('{% include "broken" %}', "line 1: broken:2: Expected an expression, got 'end of statement block'"),
        (
            '{% include "large" %}{% include "larger" %}',
            "it has more than 1048576 bytes with the texts that it includes",
        ),
        ('{% include "p" %}', "line 1: texts include each other in a circle: p → p"),
        ('{% include "part" %}', "line 1: texts include each other in a circle: p → part → p"),
    ],
)
def test_what_cannot_be_included_is_refused(client: Client, content: str, what: str) -> None:
    keep(client, "logo.png", "AAAA")
    keep(client, "broken", "\n{% if %}")
    keep(client, "large", "x" * 600_000)
    keep(client, "larger", "x" * 500_000)
    save(client, "p", "Plain")
    save(client, "part", '{% include "p" %}')
    refused = wrong(f"content cannot be filled in: {what}.", "content", FIRST)
    assert refusal(client, "update_prompt", prompt="p", content=content) == refused
    edited = refusal(client, "edit_text", item="p", edits=[{"old": "Plain", "new": content}])
    assert edited["message"] == f"With these edits, content cannot be filled in: {what}. Nothing was changed."
    if "circle" not in what:
        assert refusal(client, "add_prompt", title="New", content=content) == refused
    assert notes(client, "update_prompt", prompt="p", content=content, arguments=[]) == []
    assert fill(client, "p") == content


def test_includes_are_at_most_five_deep(client: Client) -> None:
    save(client, "n0", "the end")
    for number in range(1, 6):
        save(client, f"n{number}", f'{number} {{% include "n{number - 1}" %}}')
    assert fill(client, "n5") == "5 4 3 2 1 the end"
    what = "line 1: texts include each other more than 5 deep: n5 → n4 → n3 → n2 → n1 → n0"
    assert refusal(client, "add_prompt", title="n6", content='{% include "n5" %}') == wrong(
        f"content cannot be filled in: {what}.", "content", FIRST
    )


def test_prompts_that_are_added_together_may_include_each_other(client: Client) -> None:
    base = {"title": "Base", "content": "Be {{ tone }}"}
    derived = {"title": "Derived", "content": '{% include "base" %}!'}
    rows = ok(client, "add_prompts", prompts=[derived, base])["prompts"]
    assert rows[0] == {"name": "derived", "title": "Derived", "version": 1, "arguments": ["tone"]}
    assert fill(client, "derived", tone="kind") == "Be kind!"
    again = {"title": "base", "content": '{% include "base" %}?'}  # the name is taken, so this is not a circle
    assert ok(client, "add_prompts", prompts=[again])["prompts"][0]["name"] == "base-2"
    assert fill(client, "base-2", tone="kind") == "Be kind?"


@both_engines
def test_deleting_or_moving_what_is_included_says_who_includes_it(client: Client) -> None:
    keep(client, "tone.md", "Be brief.")
    save(client, "letter", '{% include "tone.md" %}')
    whole = result_of(client, "delete", {"items": ["tone.md"]})
    assert whole["structuredContent"]["referred"] == [{"item": "tone.md", "by": ["satchel://prompt/letter"]}]
    lost = "tone.md was included by satchel://prompt/letter, which cannot be filled in without it."
    assert lost in whole["content"][0]["text"].split("\n")
    failed = {
        "code": "invalid_argument",
        "message": "Prompt 'letter' cannot be filled in at line 1: "
        "there is no document or prompt 'tone.md' to include.",
        "hint": "Add or restore what it includes, or correct its content with update_prompt.",
    }
    assert refusal(client, "get_prompt", prompt="letter", arguments={}) == failed
    answered = client.request("prompts/get", {"name": "letter"})["error"]["data"]
    assert answered == {"details": failed["message"]}
    ok(client, "delete", items=["letter"])
    assert notes(client, "restore", item="letter") == ["It includes tone.md, which project default lacks."]
    ok(client, "restore", item="tone.md")
    assert fill(client, "letter") == "Be brief."
    assert lost in notes(client, "update_items", items=["tone.md"], to="garden")
    ok(client, "restore", item="satchel://resource/garden/tone.md")
    assert lost not in notes(client, "update_items", items=["tone.md", "letter"], to="garden")
    keep(client, "motto", "Per aspera", project="personal")
    save(client, "card", '{% include "motto" %}', project="garden")
    assert ok(client, "delete", items=["motto"], project="personal")["referred"] == [
        {"item": "motto", "by": ["satchel://prompt/garden/card"]}
    ]


def test_other_contracts_serve_the_text_as_it_is(client: Client, store: str, serve: Any) -> None:
    keep(client, "tone.md", "Be brief.")
    save(client, "letter", '{% include "tone.md" %}')
    got = serve("mcpkg", store).request("prompts/get", {"name": "letter"})["result"]
    assert got["messages"][0]["content"]["text"] == '{% include "tone.md" %}'


def test_a_restored_version_says_all_that_differs(client: Client) -> None:
    ok(client, "add_resource", name="old.md", content="x")
    ok(client, "add_prompt", name="memo", title="Memo", content='{% include "old.md" %}')
    ok(client, "update_prompt", prompt="memo", content="plain", arguments=[])
    ok(client, "delete", items=["old.md", "memo"])
    ok(client, "add_prompt", name="memo", title="Another", content="y")
    assert ok(client, "restore", item="Memo", version=1)["notes"] == [
        "The name memo is taken; the item is now called memo-2.",
        "It includes old.md, which project default lacks.",
    ]
