"""Templates of the contract satchel: checked when saved, with arguments from their variables, and filled in."""

from typing import Any

import pytest

from satchel.library.render import Parts, Renderer, RenderFailed, TemplateNames
from satchel.work import Work
from tests.support.satchel import ok, refusal, result_of, wrong
from tests.support.stdio import Client

MAKE = "If it is a template, declare its arguments."
CORRECT_IT = "Correct it, or give arguments: [] to keep it as plain text."


def notes(client: Client, tool: str, **arguments: Any) -> list[str]:
    result = result_of(client, tool, arguments)
    assert result["isError"] is False, result
    told: list[str] = result["structuredContent"].get("notes", [])
    for note in told:
        assert note in result["content"][0]["text"].split("\n")
    return told


def arguments_of(client: Client, prompt: str) -> list[dict[str, Any]]:
    declared: list[dict[str, Any]] = ok(client, "get_prompt", prompt=prompt)["prompt"].get("arguments", [])
    return declared


def test_a_template_that_cannot_be_parsed_is_refused_with_its_line(client: Client) -> None:
    what = "line 2: Expected an expression, got 'end of statement block'"
    broken = {"title": "B", "content": "a\n{% if %}", "arguments": [{"name": "x"}]}
    assert refusal(client, "add_prompt", broken) == wrong(
        f"content is not a valid template: {what}.", "content", CORRECT_IT
    )
    assert refusal(client, "add_prompts", prompts=[{"title": "A", "content": "x"}, broken]) == wrong(
        f"prompts[1].content: content is not a valid template: {what}.", "prompts", CORRECT_IT
    )
    ok(client, "add_prompt", title="P", content="{{ x }}", arguments=[{"name": "x"}])
    changed = {"prompt": "p", "content": "a\n{% if %}"}
    assert refusal(client, "update_prompt", changed) == wrong(
        f"content is not a valid template: {what}.", "content", CORRECT_IT
    )
    for argument, value in (("edits", [{"old": "{{ x }}", "new": "a\n{% if %}"}]), ("append", "{% if %}")):
        assert refusal(client, "edit_text", {"item": "p", argument: value}) == wrong(
            f"With these edits, content is not a valid template: {what}. Nothing was changed.",
            argument,
            "Correct the edit, or make the prompt plain text: update_prompt with arguments: [].",
        )
    ok(client, "add_prompt", title="Plain", content="a\n{% if %}", arguments=[])
    only_arguments = {"prompt": "plain", "arguments": [{"name": "x"}]}
    assert refusal(client, "update_prompt", only_arguments)["message"] == f"content is not a valid template: {what}."
    assert [one["name"] for one in ok(client, "list_prompts")["prompts"]][:2] == ["plain", "p"]


def test_variables_and_arguments_that_do_not_match_are_reported(client: Client) -> None:
    declared = [{"name": "x"}, {"name": "z"}]
    undeclared = "Not declared, so always empty: y (line 2), w (line 3). Declare them as arguments."
    unused = "Declared, but not used by the template: z."
    content = "{{ x }}\n{{ y }}\n{{ w|default('-') }}"
    assert notes(client, "add_prompt", title="P", content=content, arguments=declared) == [undeclared, unused]
    assert notes(client, "update_prompt", prompt="p", content="no variables") == [
        "Declared, but not used by the template: x, z."
    ]
    assert notes(client, "update_prompt", prompt="p", content="{{ x }}{{ f() }}", arguments=declared[:1]) == [
        "Functions that do not exist: f (line 1)."
    ]
    assert notes(client, "update_prompt", prompt="p", arguments=declared) == [
        "Functions that do not exist: f (line 1).",
        unused,
    ]
    assert notes(client, "edit_text", item="p", edits=[{"old": "{{ f() }}", "new": "{{ z }}{{ q }}"}]) == [
        "Not declared, so always empty: q (line 1). Declare them as arguments."
    ]
    assert notes(client, "update_prompt", prompt="p", title="Q") == []
    many = "".join(f"{{{{ v{one} }}}}" for one in range(15))
    [listed] = notes(client, "update_prompt", prompt="p", content=f"{{{{ x }}}}{{{{ z }}}}{many}")
    assert listed.endswith("v9 (line 1) and 5 more. Declare them as arguments.")


@pytest.mark.parametrize(
    ("content", "declared"),
    [
        ("Hi {{ who }}", ["who"]),
        ("{{ a }}{{ b|default('x') }}{{ c or 'x' }}", ["a", "b?", "c?"]),
        (
            "{% if a %}{{ a }}{% endif %}{% if b is defined %}{{ b }}{% endif %}{{ d if d else '' }}",
            ["a?", "b?", "d?"],
        ),
        ("{% if a %}{{ b }}{% endif %}{{ a }}", ["a", "b"]),
        ("{% for one in items %}{{ one }}{{ loop.index }}{% endfor %}", ["items"]),
        ("{% set tone = tone or 'warm' %}{{ tone }}", ["tone?"]),
        ("{% set x = 1 %}{{ x }}{{ y }}", ["y"]),
        ("{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b) }}", ["b"]),
    ],
)
def test_arguments_are_declared_from_the_template(client: Client, content: str, declared: list[str]) -> None:
    [note] = notes(client, "add_prompt", title="P", content=content)
    listed = ", ".join(declared)
    assert note == (f"Arguments were declared from the template: {listed}. Saved with no arguments, it is plain text.")
    assert arguments_of(client, "p") == [
        {"name": one.rstrip("?")} if one.endswith("?") else {"name": one, "required": True} for one in declared
    ]


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("{% if", "Kept as plain text, because it is not a valid template: line 1: unexpected 'end of template'."),
        ("{{ 1 + 1 }}", "Kept as plain text, because it has no variables."),
        ("{{ a }}" + "x" * 65_536, "Kept as plain text: a template has at most 65536 bytes."),
        (
            "".join(f"{{{{ v{one} }}}}" for one in range(101)),
            "Kept as plain text, because it has more than 100 variables.",
        ),
        ("run:\n  ${{ secrets.TOKEN }}", f"Kept as plain text, because it has secrets.TOKEN (line 2). {MAKE}"),
        ("{{ a }}{{ b[0] }}{{ f(a) }}", f"Kept as plain text, because it has b[] (line 1), f() (line 1). {MAKE}"),
        ("{{ a }}\n{# no #}", f"Kept as plain text, because it has {{# #}} (line 2). {MAKE}"),
        (
            "{{ a }}{% raw %}{{ b }}{% endraw %}",
            f"Kept as plain text, because it has {{% raw %}} (line 1). {MAKE}",
        ),
    ],
)
def test_text_that_is_not_a_template_is_kept_as_plain_text(client: Client, content: str, note: str) -> None:
    assert notes(client, "add_prompt", title="P", content=content) == [note]
    assert arguments_of(client, "p") == []
    assert ok(client, "render_prompt", prompt="p")["text"] == content


def test_plain_text_becomes_a_template_when_arguments_are_declared(client: Client) -> None:
    ok(client, "add_prompt", title="P", content="{{ who.upper() }}{# no #}")
    assert notes(client, "update_prompt", prompt="p", arguments=[{"name": "who"}]) == []
    assert ok(client, "get_prompt", prompt="p", arguments={"who": "ann"})["text"] == "ANN"


def test_plain_text_with_braces_stays_so(client: Client) -> None:
    assert notes(client, "add_prompt", title="P", content="{{ a }}", arguments=[]) == []
    kept = ["Kept as plain text, as it was. To make it a template, declare its arguments."]
    assert notes(client, "edit_text", item="p", append="{{ b }}") == kept
    assert notes(client, "update_prompt", prompt="p", content="{{ c }}") == kept
    assert notes(client, "update_prompt", prompt="p", content="{{ c }}", arguments=[]) == []
    assert arguments_of(client, "p") == []
    assert notes(client, "add_prompt", title="No braces", content="{ a } {# b #}") == []


def test_a_broken_template_becomes_one_when_it_is_corrected(client: Client) -> None:
    broken = "Kept as plain text, because it is not a valid template: line 1: unexpected 'end of template'."
    declared = "Arguments were declared from the template: name. Saved with no arguments, it is plain text."
    for name, change in (
        ("p", lambda content: notes(client, "update_prompt", prompt="p", content=content)),
        ("q", lambda content: notes(client, "edit_text", item="q", edits=[{"old": "{% if", "new": content}])),
    ):
        assert notes(client, "add_prompt", title=name, content="{% if") == [broken]
        assert change("Hi {% if") == [broken]
        assert change("Hello {{ name }}")[-1] == declared
        assert ok(client, "get_prompt", prompt=name, arguments={"name": "Bo"})["text"].endswith("Hello Bo")


def test_a_text_that_becomes_a_template_gets_arguments(client: Client) -> None:
    ok(client, "add_prompt", title="P", content="Hi")
    [note] = notes(client, "edit_text", item="p", append="{{ who }}")
    assert note.startswith("Arguments were declared from the template: who.")
    assert arguments_of(client, "p") == [{"name": "who", "required": True}]
    [note] = notes(client, "edit_text", item="p", append="{{ tone }}")
    assert note == "Not declared, so always empty: tone (line 3). Declare them as arguments."
    assert notes(client, "update_prompt", prompt="p", arguments=[{"name": "who"}, {"name": "tone"}]) == []


def test_a_template_that_the_worker_cannot_check_is_kept(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_renderer: Renderer, _template: str, _work: Work, _files: Parts) -> TemplateNames:
        raise RenderFailed("it took longer than 500 ms", is_exhausted=True)

    monkeypatch.setattr(Renderer, "check", fail)
    assert notes(client, "add_prompt", title="P", content="{{ x }}", arguments=[{"name": "x"}]) == [
        "The template could not be checked: it took longer than 500 ms."
    ]


def test_filling_in_says_what_is_empty_or_out_of_date(client: Client) -> None:
    ok(client, "add_resource", name="tone.md", content="Be {{ tone }}.")
    given = [{"name": "who", "required": True}, {"name": "tone"}, {"name": "close"}]
    content = '{{ who }}: {% include "tone.md" %}{% if close %} {{ close }}{% endif %}'
    ok(client, "add_prompt", title="Letter", content=content, arguments=given)
    assert ok(client, "get_prompt", prompt="letter", arguments={"who": "Bo"}) == {
        "project": "default",
        "name": "letter",
        "text": "Bo: Be .",
        "notes": ["Left empty: tone."],
    }
    ok(client, "update_prompt", prompt="letter", expires="2020-01-01")
    ok(client, "update_resource", resource="tone.md", expires="2020-01-02")
    ok(client, "add_prompt", title="Letter two", content="x")
    ok(client, "update_prompt", prompt="letter", replaced_by="letter-two")
    for tool in ("get_prompt", "render_prompt"):
        assert notes(client, tool, prompt="letter", arguments={"who": "Bo", "tone": "kind"}) == [
            "letter: expired on 2020-01-01, replaced by letter-two.",
            "tone.md: expired on 2020-01-02.",
        ]
    got = client.request("prompts/get", {"name": "letter", "arguments": {"who": "Bo", "tone": "kind"}})["result"]
    assert got["description"] == "Letter (expired on 2020-01-01, replaced by letter-two)"


def test_numbers_and_booleans_are_values_as_texts(client: Client) -> None:
    ok(client, "add_prompt", title="P", content="{{ a }} {{ b }} {{ c }} {{ d }}")
    values = {"a": 2, "b": True, "c": 2.5, "d": 10.0}
    assert ok(client, "get_prompt", prompt="p", arguments=values)["text"] == "2 true 2.5 10"
    assert refusal(client, "get_prompt", prompt="p", arguments={**values, "d": {"x": 1}})["argument"] == "arguments"
