"""Other projects: links with a project, what is found there instead, and lists of all projects."""

from typing import Any

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
            "links": [BEDS],
            "linked_from": ["satchel://prompt/letter Letter"],
            "content": "Calm, as in satchel://resource/beds.md",
        },
    }
    read = ok(client, "read_resource", resource=BEDS)
    assert (read["project"], read["resource"]["linked_from"]) == (
        "garden",
        ["#1 Dig", "satchel://prompt/letter Letter", f"{TONE} Tone"],
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
    assert ok(client, "update_prompt", prompt="letter", replaced_by=TONE)["prompt"]["replaced_by"] == TONE
    ok(client, "update_prompt", prompt="letter", replaced_by="")
    edited = ok(client, "edit_text", item=TONE, edits=[{"old": "Calm", "new": "Warm"}])
    assert (edited["project"], edited["item"], edited["version"]) == ("garden", "tone", 3)
    assert [one["version"] for one in ok(client, "history", item=TONE)["versions"]] == [3, 2, 1]
    assert ok(client, "restore", item=TONE, version=1)["restored"]["version"] == 4

    assert text(client, "update_items", items=[TONE, "letter"], tags=["+all"]) == (
        "2 prompts updated:\n- tone [all] version 5 @garden\n- letter [all] version 4"
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
    assert client.request("resources/read", {"uri": "satchel://resource/beds.md"})["error"] == {
        "code": -32602,
        "message": "Resource 'satchel://resource/beds.md' not found in project 'default', but elsewhere: " + BEDS,
        "data": {"uri": "satchel://resource/beds.md", "near": [BEDS]},
    }
    assert client.request("prompts/get", {"name": "tone"})["error"] == {
        "code": -32602,
        "message": f"Prompt 'tone' does not exist in project 'default', but project 'garden' has one. Use {TONE}.",
        "data": {"name": "tone", "near": [TONE]},
    }
    assert refusal(client, "get_prompt", prompt="nothing")["hint"] == HINT


# -- all projects -----------------------------------------------------------------------------------------------


@both_engines
def test_a_search_of_all_projects_marks_its_hits(client: Client) -> None:
    ok(client, "add_prompt", title="Mow", content="Mow the walrus lawn.")
    ok(client, "add_prompt", project="garden", title="Mow", content="The walrus mows.")
    ok(client, "add_resource", project="personal", name="walrus.md", content="A walrus is large.")
    ok(client, "add_tasks", lines=["Feed the walrus @garden", "Wash the walrus"])

    found = ok(client, "search", query="walrus", project="all")
    assert found["project"] == "default"
    assert {(hit["reference"], hit.get("project")) for hit in found["hits"]} == {
        ("mow", "default"),
        ("satchel://prompt/garden/mow", "garden"),
        ("satchel://resource/personal/walrus.md", "personal"),
        ("#1", "garden"),
        ("#2", "default"),
    }
    for query in ("walrus", '"walrus"'):
        said = text(client, "search", query=query, project="all").split("\n")
        assert "- prompt satchel://prompt/garden/mow: Mow @garden" in said
        assert "- task #2: Wash the walrus @default" in said
        pages: list[str] = []
        cursor = None
        while cursor is not None or not pages:
            page = ok(client, "search", query=query, project="all", limit=2, **({"cursor": cursor} if cursor else {}))
            pages, cursor = [*pages, *(hit["reference"] for hit in page["hits"])], page.get("next_cursor")
        assert len(pages) == len(set(pages)) == 5
    assert text(client, "search", query="unicorn", project="all") == "No hits match."


@both_engines
def test_lists_of_all_projects_are_in_one_order_on_all_pages(client: Client) -> None:
    for number, project in enumerate(("garden", "default", "personal", "garden", "default"), 1):
        ok(client, "add_prompt", project=project, title=f"P{number}", content="x", tags=["t"])
        ok(client, "add_resource", project=project, name=f"d{number}.md", content="x")
    everything = [f"p{number}" for number in (5, 4, 3, 2, 1)]
    for more in ({}, {"tags": ["t"]}, {"query": "x"}, {"sort": "used"}):
        pages: list[tuple[str, str]] = []
        cursor = None
        while cursor is not None or not pages:
            given = {**more, **({"cursor": cursor} if cursor else {})}
            page = ok(client, "list_prompts", project="all", limit=2, **given)
            pages += [(row["name"], row.get("project", "")) for row in page["prompts"]]
            cursor = page.get("next_cursor")
        assert [name for name, project in pages if project] == everything
        assert dict(pages)["p3"] == "personal"
    assert text(client, "list_prompts", project="all", limit=2).split("\n")[:2] == [
        "- p5 [t] @default",
        "- p4 [t] @garden",
    ]
    assert text(client, "list_prompts", project="all", tags=["u"]).endswith(
        "No prompt has the tag 'u'.\nTags in use: t."
    )

    first = ok(client, "list_resources", project="all", limit=3)
    rest = ok(client, "list_resources", project="all", limit=3, cursor=first["next_cursor"])
    assert [(row["name"], row["project"]) for row in first["resources"] + rest["resources"]] == [
        ("d1.md", "garden"),
        ("d2.md", "default"),
        ("d3.md", "personal"),
        ("d4.md", "garden"),
        ("d5.md", "default"),
    ]
    assert refusal(client, "list_resources", cursor=first["next_cursor"])["argument"] == "cursor"

    ok(client, "add_tasks", lines=["Dig @garden", "Write"])
    assert text(client, "list_tasks", project="all") == "#1 Dig @garden\n#2 Write @default"
    assert [task["project"] for task in ok(client, "list_tasks", project="all")["tasks"]] == ["garden", "default"]


def test_all_is_no_project(client: Client) -> None:
    for tool, given in (
        ("get_prompt", {"prompt": "x"}),
        ("add_tasks", {"lines": ["x"]}),
        ("catch_up", {}),
        ("delete", {"items": ["x"]}),
    ):
        assert refusal(client, tool, given, project="all") == {
            "code": "invalid_argument",
            "message": "Only search, list_prompts, list_resources and list_tasks take project: all.",
            "hint": "Name one project, or leave project out to use the current one.",
            "argument": "project",
        }
    assert refusal(client, "add_project", name="All")["message"] == "name cannot be All: it stands for all projects."


def test_an_error_quotes_a_link_as_it_was_given(own: Client) -> None:
    ok(own, "add_project", name="alpha")
    ok(own, "add_prompt", title="Sequel", content="x", project="alpha")
    for given in ("satchel://prompt/alpha/sql", "satchel://prompt/sql"):
        for tool, arguments in (("update_items", {"items": [given], "tags": ["+a"]}), ("delete", {"items": [given]})):
            assert refusal(own, tool, arguments)["message"] == f"items[0]: Item '{given}' does not exist."
    for tool in ("history", "restore"):
        said = refusal(own, tool, item="satchel://prompt/alpha/sql")["message"]
        assert said == "Prompt 'satchel://prompt/alpha/sql' does not exist in project 'alpha'."
    near = refusal(own, "delete", items=["satchel://prompt/alpha/seqel"])["near"]
    assert near == ["satchel://prompt/alpha/sequel"]


# -- links that lead to nothing -------------------------------------------------------------------------------------


@both_engines
def test_new_links_to_nothing_are_named_once(client: Client) -> None:
    nope, spec = "satchel://prompt/nope", "satchel://resource/spec.md"
    one, both = [f"{nope} leads to nothing yet."], [f"{nope} and {spec} lead to nothing yet."]
    calls: list[tuple[str, dict[str, Any], list[str] | None]] = [
        ("add_prompts", {"prompts": [{"title": title, "content": f"{title} {nope} {spec}"} for title in "AB"]}, both),
        ("add_tasks", {"lines": [f"C\n  See {nope}", f"D\n  {nope} satchel://task/1 satchel://prompt/a"]}, one),
        ("add_resources", {"resources": [{"name": "spec.md", "content": f"x {spec} satchel://prompt/a"}]}, None),
        ("update_prompt", {"prompt": "a", "content": f"{nope} {spec}"}, None),
        ("update_prompt", {"prompt": "a", "content": f"{nope} {spec} satchel://prompt/garden/x"}, [
            "satchel://prompt/garden/x leads to nothing yet."
        ]),
        ("update_resource", {"resource": "spec.md", "content": f"{nope}"}, one),
        ("update_task", {"task": "1", "description": "", "note": f"As {nope}"}, one),
        ("edit_text", {"item": "spec.md", "append": "satchel://task/99"}, ["#99 leads to nothing yet."]),
        ("edit_text", {"item": "#2", "append": f"{TONE} {BEDS}"}, [f"{TONE} and {BEDS} lead to nothing yet."]),
    ]  # fmt: skip
    for tool, arguments, notes in calls:
        assert ok(client, tool, arguments).get("notes") == notes, tool


def test_an_item_of_another_project_is_printed_with_its_project(client: Client) -> None:
    fill(client)
    ok(client, "add_task", title="Rake", project="garden", description="See satchel://resource/beds.md")
    assert ok(client, "get_prompt", project="garden", prompt="tone")["prompt"]["links"] == [BEDS]
    assert ok(client, "get_prompt", project="default", prompt="letter")["prompt"]["linked_from"] == ["#1 Dig"]
    read = ok(client, "read_resource", project="garden", resource="beds.md")["resource"]
    assert read["linked_from"] == ["#1 Dig", "#2 Rake @garden", "satchel://prompt/letter Letter", f"{TONE} Tone"]
    assert ok(client, "get_task", task="2")["task"]["links"] == [BEDS]
    renamed = ok(client, "update_resource", project="garden", resource="beds.md", name="rows.md")["notes"]
    assert renamed[1] == f"Correct the items that still refer to beds.md: #1, #2, satchel://prompt/letter, {TONE}."
    given = {"name": "start-task", "arguments": {"task": "2"}}
    said = client.request("prompts/get", given)["result"]["messages"][0]["content"]["text"]
    assert "- rows.md: satchel://resource/garden/rows.md\n" in said


@both_engines
def test_a_link_may_say_document(client: Client) -> None:
    fill(client)
    ok(client, "add_resource", name="spec.md", content="As in satchel://document/garden/beds.md")
    ok(client, "add_prompt", title="Spec", content="See satchel://document/spec.md")
    spec = ok(client, "read_resource", resource="satchel://document/spec.md")["resource"]
    assert (spec["links"], spec["linked_from"]) == ([BEDS], ["satchel://prompt/spec Spec"])
    assert ok(client, "get_prompt", prompt="spec")["prompt"]["links"] == ["satchel://resource/spec.md"]
    for uri in ("satchel://document/spec.md", "satchel://document/default/spec.md"):
        [read] = client.request("resources/read", {"uri": uri})["result"]["contents"]
        assert (read["uri"], read["text"]) == (uri, "As in satchel://document/garden/beds.md")
    assert ok(client, "read_resource", resource="satchel://document/garden/beds.md")["project"] == "garden"
    assert ok(client, "edit_text", item="satchel://document/spec.md", append="x")["item"] == "spec.md"
