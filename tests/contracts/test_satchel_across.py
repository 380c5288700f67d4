"""Other projects: links with a project, what is found there instead, and lists of all projects."""

from tests.support.satchel import HINT, MINUTE, ok, refusal, text
from tests.support.stdio import Client
from tests.support.variants import both_engines

TONE, BEDS = "satchel://prompt/garden/tone", "satchel://resource/garden/beds.md"


def fill(client: Client) -> None:
    """Save a prompt and a document in the project garden, and links to them in the project default."""
    ok(client, "add_prompt", project="garden", title="Tone", content="Calm, as in satchel://resource/beds.md")
    ok(client, "add_resource", project="garden", name="beds.md", uri="file:///beds", content="# Beds\nthree")
    ok(client, "add_prompt", title="Letter", content=f"Dear, {TONE} {BEDS} satchel://prompt/garden/none")
    ok(client, "add_task", title="Dig", description=f"See {BEDS} and satchel://prompt/default/letter")


@both_engines
def test_a_link_with_its_project_is_followed_from_everywhere(client: Client) -> None:
    fill(client)
    letter = ok(client, "get_prompt", prompt="letter")["prompt"]
    assert letter["links"] == [TONE, BEDS, "satchel://prompt/garden/none (not found)"]
    assert letter["linked_from"] == ["#1 Dig"]
    assert ok(client, "get_task", task="1")["task"]["links"] == [BEDS, "satchel://prompt/letter"]

    tone = ok(client, "get_prompt", prompt=TONE)
    assert tone == {
        "project": "garden",
        "prompt": {
            "name": "tone",
            "title": "Tone",
            "version": 1,
            "created": MINUTE,
            "updated": MINUTE,
            "links": ["satchel://resource/beds.md"],
            "linked_from": ["satchel://prompt/default/letter Letter"],
            "content": "Calm, as in satchel://resource/beds.md",
        },
    }
    read = ok(client, "read_resource", resource=BEDS)
    assert (read["project"], read["resource"]["linked_from"]) == (
        "garden",
        ["#1 Dig @default", "satchel://prompt/default/letter Letter", "satchel://prompt/tone Tone"],
    )
    for uri, content in ((TONE, "Calm, as in satchel://resource/beds.md"), (BEDS, "# Beds\nthree")):
        [shown] = client.request("resources/read", {"uri": uri})["result"]["contents"]
        assert (shown["uri"], shown["text"]) == (uri, content)
    assert client.request("prompts/get", {"name": TONE})["result"]["messages"][0]["content"]["text"].startswith("Calm")


@both_engines
def test_a_link_with_its_project_is_changed_from_everywhere(client: Client) -> None:
    fill(client)
    assert ok(client, "update_prompt", prompt=TONE, tags=["voice"])["project"] == "garden"
    assert ok(client, "update_resource", resource=BEDS, description="Where")["resource"]["version"] == 2
    edited = ok(client, "edit_text", item=TONE, edits=[{"old": "Calm", "new": "Warm"}])
    assert (edited["project"], edited["item"], edited["version"]) == ("garden", "tone", 3)
    assert [one["version"] for one in ok(client, "history", item=TONE)["versions"]] == [3, 2, 1]
    assert ok(client, "restore", item=TONE, version=1)["restored"]["version"] == 4

    assert text(client, "update_items", items=[TONE, "letter"], tags=["+all"]) == (
        "Updated:\n- tone [all] version 5 @garden\n- letter [all] version 2"
    )
    assert ok(client, "delete", items=[TONE, BEDS, "letter"]) == {
        "project": "default",
        "deleted": [
            {"kind": "prompt", "item": TONE},
            {"kind": "document", "item": BEDS},
            {"kind": "prompt", "item": "letter"},
        ],
        "referred": [{"item": BEDS, "by": ["#1"]}, {"item": "letter", "by": ["#1"]}],
    }
    back = ok(client, "restore", items=[TONE, "letter"])["items"]
    assert [one["item"] for one in back] == [TONE, "letter"]
    assert ok(client, "list_prompts", project="garden")["prompts"][0]["name"] == "tone"


@both_engines
def test_what_only_another_project_has_is_named_with_its_project(client: Client) -> None:
    fill(client)
    ok(client, "add_task", title="Rake leaves", project="garden")
    assert refusal(client, "get_prompt", prompt="Tone") == {
        "code": "not_found",
        "message": "Prompt 'Tone' does not exist in project 'default', but project 'garden' has one.",
        "hint": f'Pass project: "garden", or use {TONE}.',
        "near": [TONE],
    }
    assert refusal(client, "read_resource", resource="BEDS.md")["near"] == [BEDS]
    assert refusal(client, "edit_text", item="beds.md", append="x")["near"] == [BEDS]
    assert refusal(client, "get_task", task="rake-leaves", project="default") == {
        "code": "not_found",
        "message": "Task rake-leaves does not exist in project 'default', but project 'garden' has one.",
        "hint": 'Pass project: "garden", or use #2.',
        "near": ["#2"],
    }
    assert refusal(client, "get_prompt", prompt="satchel://prompt/nowhere/tone")["code"] == "not_found"
    assert refusal(client, "get_prompt", prompt="nothing")["hint"] == HINT
