"""Many prompts or documents in one call of the contract satchel: all or none, short rows, keys, progress."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.satchel import missing, ok, refusal, result_of, wrong
from tests.support.stdio import Client

PROMPTS = [
    {"title": "First", "content": "1", "tags": ["b", "A"], "description": "Not in the echo"},
    {"title": "Second one", "content": "2", "name": "two", "arguments": None, "tags": None},
    {"title": "Third", "content": "{{ x }}", "arguments": [{"name": "x", "values": ["a"]}]},
]


def names(client: Client, tool: str, member: str) -> list[str]:
    return [one["name"] for one in ok(client, tool)[member] if ":" not in one["name"]]


def test_prompts_are_added_together(client: Client) -> None:
    rows = [
        {"name": "first", "title": "First", "version": 1, "tags": ["a", "b"]},
        {"name": "two", "title": "Second one", "version": 1},
        {"name": "third", "title": "Third", "version": 1, "arguments": ["x?"]},
    ]
    lines = ["- first [a, b] version 1", "- two: Second one version 1", "- third (x?) version 1"]
    assert result_of(client, "add_prompts", {"prompts": PROMPTS}) == {
        "content": [{"type": "text", "text": "\n".join(["Added to project 'default':", *lines])}],
        "structuredContent": {"project": "default", "prompts": rows},
        "isError": False,
    }
    assert names(client, "list_prompts", "prompts") == ["third", "two", "first"]
    assert ok(client, "get_prompt", prompt="first")["prompt"]["description"] == "Not in the echo"


def test_documents_are_added_together(client: Client) -> None:
    given = [
        {"name": "a.md", "content": "# A", "description": "About a"},
        {"name": "b.png", "content": "QUJD", "uri": "file:///b.png"},
        {"name": "c", "content": "x", "mime_type": "text/csv"},
    ]
    rows = [
        {"name": "a.md", "size": 3, "version": 1},
        {"name": "b.png", "size": 3, "version": 1, "uri": "file:///b.png"},
        {"name": "c", "size": 1, "version": 1, "mime_type": "text/csv"},
    ]
    lines = [
        "- a.md (3 bytes, version 1)",
        "- b.png (file:///b.png, 3 bytes, version 1)",
        "- c (1 byte, text/csv, version 1)",
    ]
    assert result_of(client, "add_resources", {"resources": given, "project": "garden"}) == {
        "content": [{"type": "text", "text": "\n".join(["Added to project 'garden':", *lines])}],
        "structuredContent": {"project": "garden", "resources": rows},
        "isError": False,
    }
    assert ok(client, "read_resource", resource="a.md", project="garden")["resource"]["mime_type"] == "text/markdown"


WRONG: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"title": " ", "content": "x"},
        wrong("prompts[1].title: title must not be empty.", "prompts", "Give title: a short line for people."),
    ),
    (
        {"title": "x" * 201, "content": "x"},
        wrong("prompts[1].title: title can have at most 200 characters.", "prompts", "Shorten it."),
    ),
    (
        {"title": "x", "content": "x", "tags": ["a b"]},
        wrong("prompts[1].tags[0]: tags[0]: a tag has 1 to 50 letters, digits, - and _.", "prompts"),
    ),
    (
        {"title": "x", "content": None},
        wrong(
            "prompts[1] must be an object with content.",
            "prompts",
            'For example {"title": "Review", "content": "Review the diff."}.',
        ),
    ),
    (
        {"title": "x", "content": "x", "name": "start-task"},
        wrong("prompts[1].name: name cannot be start-task: the server has a prompt of that name.", "prompts"),
    ),
    (
        {"title": "First", "content": "x"},
        {
            "code": "already_exists",
            "message": "prompts[1]: A prompt with the title 'First' already exists in project 'default'.",
            "hint": "Choose another title, or update the prompt.",
            "argument": "prompts",
        },
    ),
    ({"title": 1, "content": "x"}, wrong("prompts[1].title must be a text.", "prompts", "Put it into quotes.")),
]


def test_one_wrong_prompt_refuses_all_and_says_which(client: Client) -> None:
    for entry, error in WRONG:
        assert refusal(client, "add_prompts", prompts=[PROMPTS[0], entry]) == error
        assert names(client, "list_prompts", "prompts") == []


def test_one_wrong_document_refuses_all_and_says_which(client: Client) -> None:
    good = {"name": "a", "content": "x"}
    for entry, message in (
        ({"name": "a", "content": "y"}, "resources[1]: A document with the name 'a' already exists"),
        ({"name": "??.md", "content": "y"}, "resources[1].name: name can have letters"),
        ({"name": "b.png", "content": "?"}, "resources[1].content: content must be base64"),
        ({"name": None, "content": "y"}, "resources[1] must be an object with name."),
    ):
        error = refusal(client, "add_resources", resources=[good, entry])
        assert error["message"].startswith(message) and error["argument"] == "resources", error
    assert names(client, "list_resources", "resources") == []


@pytest.mark.parametrize(("tool", "member"), [("add_prompts", "prompts"), ("add_resources", "resources")])
def test_a_call_takes_one_to_two_hundred_entries(client: Client, tool: str, member: str) -> None:
    def many(count: int) -> list[dict[str, Any]]:
        key = "title" if member == "prompts" else "name"
        return [{key: f"n{number}", "content": "x"} for number in range(count)]

    assert refusal(client, tool, {member: []}) == wrong(f"{member} needs at least one entry.", member)
    assert refusal(client, tool, {member: many(201)}) == wrong(f"{member} can have at most 200 entries.", member)
    assert refusal(client, tool, {member: many(1), "project": "gardn"}) == missing(
        "Project 'gardn' does not exist.", "Did you mean garden?", "garden"
    )
    assert len(ok(client, tool, {member: many(200)})[member]) == 200


@pytest.mark.parametrize(
    ("tool", "member", "entry"),
    [
        ("add_prompts", "prompts", {"title": "a", "content": "{{ x }}"}),
        ("add_resources", "resources", {"name": "a", "content": "x"}),
    ],
)
def test_a_repeated_call_with_its_key_adds_once(client: Client, tool: str, member: str, entry: dict[str, Any]) -> None:
    first = ok(client, tool, {member: [entry], "key": "k1"})
    again = ok(client, tool, {member: [entry], "key": "k1"})
    note = "The call with the key 'k1' was made before; nothing was added now."
    assert again == {**first, "notes": [*first.get("notes", []), note]}
    other = refusal(client, tool, {member: [{**entry, "content": "other"}], "key": "k1"})
    assert (other["code"], other["argument"]) == ("conflict", "key")
    assert refusal(client, tool, {member: [entry], "key": "k2"})["code"] == "already_exists"
    assert refusal(client, tool, {member: [entry]})["code"] == "already_exists"


def test_a_long_call_reports_how_far_it_has_come(store: str, serve: Callable[..., Client]) -> None:
    client = serve("satchel", store, "2025-11-25")
    prompts = [{"title": f"n{number}", "content": "x"} for number in range(120)]
    params = {"name": "add_prompts", "arguments": {"prompts": prompts}, "_meta": {"progressToken": 7}}
    identity = client.ask("tools/call", params)
    told = []
    while (message := client.read()).get("id") != identity:
        if message["method"] == "notifications/progress":
            told.append((message["params"]["progress"], message["params"]["total"]))
    assert told == [(50, 120), (100, 120)]
    assert len(message["result"]["structuredContent"]["prompts"]) == 120
