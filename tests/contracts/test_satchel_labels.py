"""Labels of versions of prompts: set, moved, read, removed."""

from typing import Any

from tests.support.satchel import ok, refusal, result_of, wrong
from tests.support.stdio import Client
from tests.support.variants import both_engines


def label(client: Client, name: str, **more: Any) -> Any:
    return ok(client, "update_prompt", {"prompt": "greet", "label": name, **more})


def start(client: Client) -> None:
    """Add a prompt with three versions."""
    ok(client, "add_prompt", title="Greet", content="Hello {{ who }}")
    ok(
        client,
        "update_prompt",
        prompt="greet",
        content="Dear {{ name }}",
        arguments=[{"name": "name", "required": True}],
    )
    ok(client, "update_prompt", prompt="greet", title="Greeting", content="Hi")


def fill(client: Client, prompt: str, **values: str) -> str:
    text: str = ok(client, "get_prompt", prompt=prompt, arguments=values)["text"]
    return text


@both_engines
def test_a_label_names_a_version_with_its_arguments(client: Client) -> None:
    start(client)
    answer = result_of(client, "update_prompt", {"prompt": "greet", "label": "production", "version": 1})
    row = {"name": "greet", "title": "Greeting", "version": 3, "arguments": ["name"]}
    assert answer["structuredContent"]["prompt"] == {**row, "labels": [{"label": "production", "version": 1}]}
    assert answer["structuredContent"]["notes"] == ["The label production is on version 1."]
    assert "labels production (version 1)" in answer["content"][0]["text"]
    old = ok(client, "get_prompt", prompt="greet@production")["prompt"]
    assert (old["version"], old["label"], old["title"], old["content"]) == (1, "production", "Greet", "Hello {{ who }}")
    assert [one["name"] for one in old["arguments"]] == ["who"]
    assert ok(client, "get_prompt", prompt="Greeting@production", arguments={"who": "Ann"}) == {
        "project": "default",
        "name": "greet",
        "version": 1,
        "label": "production",
        "text": "Hello Ann",
    }
    got = client.request("prompts/get", {"name": "greet@production", "arguments": {"who": "Ann"}})["result"]
    assert got["messages"][0]["content"]["text"] == "Hello Ann"
    missing = refusal(client, "get_prompt", prompt="greet@production", arguments={})
    assert missing["message"] == "The prompt needs a value for who."
    reference = {"type": "ref/prompt", "name": "greet@production"}
    given = {"ref": reference, "argument": {"name": "who", "value": ""}}
    assert client.request("completion/complete", given)["result"]["completion"]["values"] == ["Ann"]
    page = client.request("resources/read", {"uri": "satchel://prompt/greet%40production"})["result"]
    assert page["contents"][0]["text"] == "Hello {{ who }}"
    # The newest version, after the change in the same call, is the default.
    moved = label(client, "production", content="Bye {{ name }}")
    assert moved["prompt"]["labels"] == [{"label": "production", "version": 4}]
    assert moved["notes"] == ["The label production is on version 4, before on version 1."]
    assert fill(client, "greet@production", name="Ann") == "Bye Ann"
    same = label(client, "production")
    assert "notes" not in same and same["prompt"]["version"] == 4
    label(client, "staging", version=2)
    versions = result_of(client, "history", {"item": "greet"})
    assert [one.get("labels") for one in versions["structuredContent"]["versions"]] == [
        ["production"],
        None,
        ["staging"],
        None,
    ]
    assert versions["content"][0]["text"].split("\n")[1].endswith(" [production]")
    whole = ok(client, "get_prompt", prompt="greet")["prompt"]
    assert whole["labels"] == [{"label": "production", "version": 4}, {"label": "staging", "version": 2}]
    assert label(client, "-production")["prompt"]["labels"] == [{"label": "staging", "version": 2}]


@both_engines
def test_labels_that_do_not_fit_are_refused(client: Client) -> None:
    start(client)
    known = "Its labels are production."
    label(client, "production")
    unknown = {"code": "not_found", "message": "Prompt 'greet' has no label 'staging'.", "hint": known}
    assert refusal(client, "get_prompt", prompt="greet@staging") == {**unknown, "near": ["production"]}
    assert refusal(client, "get_prompt", prompt="greet@staging", arguments={}) == {**unknown, "near": ["production"]}
    assert refusal(client, "update_prompt", prompt="greet", label="-staging") == {**unknown, "near": ["production"]}
    details = client.request("prompts/get", {"name": "greet@staging"})["error"]["data"]["details"]
    assert details == f"Prompt 'greet' has no label 'staging'. {known}"
    assert refusal(client, "get_prompt", prompt="no@production")["code"] == "not_found"
    assert refusal(client, "update_prompt", prompt="greet", label="staging", version=9) == {
        "code": "not_found",
        "message": "Prompt 'greet' has no version 9.",
        "hint": "Versions that are kept: 3, 2, 1.",
        "versions": [3, 2, 1],
    }
    for name in ("a@b", "a b", "--a", "-", "x" * 65, "ü"):
        assert refusal(client, "update_prompt", prompt="greet", label=name)["argument"] == "label", name
    assert refusal(client, "update_prompt", prompt="greet", title="New", version=1) == wrong(
        "version says which version gets a label.",
        "version",
        "Give label too. An old version becomes the newest with restore.",
    )
    assert refusal(client, "update_prompt", prompt="greet@production", content="x")["near"] == ["greet"]


def test_a_title_with_an_at_sign_comes_first(client: Client) -> None:
    start(client)
    label(client, "home")
    ok(client, "add_prompt", title="greet@home", content="Welcome", name="welcome")
    assert fill(client, "greet@home") == "Welcome"
    ok(client, "delete", items=["welcome"])
    assert fill(client, "greet@home", name="Ann") == "Hi"


@both_engines
def test_a_deleted_prompt_keeps_its_labels_and_a_copy_has_none(client: Client) -> None:
    start(client)
    label(client, "production", version=1)
    ok(client, "delete", items=["greet"])
    ok(client, "restore", item="greet")
    assert fill(client, "greet@production", who="Ann") == "Hello Ann"
    copied = ok(client, "update_items", items=["greet"], to="garden", copy=True)
    lost = "greet: Its labels (production) stay with the original, because they name its versions."
    assert copied["notes"] == [lost]
    found = refusal(client, "get_prompt", prompt="greet@production", project="garden")
    assert found["hint"] == "It has no labels: update_prompt with label sets one."


def test_at_most_twenty_labels(client: Client) -> None:
    start(client)
    for number in range(20):
        label(client, f"v{number}")
    assert refusal(client, "update_prompt", prompt="greet", label="more") == wrong(
        "A prompt can have at most 20 labels.", "label", "Remove one first: label: -NAME."
    )
    label(client, "v3", version=1)
