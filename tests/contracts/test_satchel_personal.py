"""The personal layer: every project reads the items of `personal`, and only `personal` itself can change them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from satchel.auth import tokens
from satchel.model import PERSONAL_PROJECT, Argument, DocumentDraft, PromptDraft, Scope
from satchel.services import documents, projects, prompts
from satchel.storage.database import Database, open_database
from tests.contracts.test_satchel_streams import PROMPTS, RESOURCES, name_of
from tests.support.in_process_http import HttpInProcess
from tests.support.satchel import answered, ok, refusal, text
from tests.support.stdio import NEWEST, Client

ANN = "11111111-1111-4111-8111-111111111111"
FROM = {"from": "personal"}
Start = Callable[..., Client]


def add_prompt(tx: Any, project: str, title: str, content: str = "x", **more: Any) -> None:
    prompts.add(tx, Scope(project=project), PromptDraft(title=title, content=content, **more))


def add_document(tx: Any, project: str, name: str, content: str = "x") -> None:
    draft = DocumentDraft(name=name, uri=f"satchel://resource/{name}", content=content)
    documents.add(tx, Scope(project=project), draft)


@pytest.fixture
def database(store: str) -> Iterator[Database]:
    """Yield a store with the projects web and personal, which both have `review` and `guide`."""
    database = open_database(store)
    with database.write() as tx:
        for name in ("default", "web", "personal"):
            projects.add(tx, name)
        add_prompt(tx, "personal", "Review", "My review of {{ x }}", arguments=[Argument("x", None, False)])
        add_prompt(tx, "personal", "Standup", "My standup about {{ topic }}", arguments=[Argument("topic", None, True)])
        add_prompt(tx, "personal", "Notes", "How I write", tags=["skill"], description="How notes are written")
        add_prompt(tx, "web", "Review", "Review of web", tags=["code"])
        add_document(tx, "personal", "guide", "my guide")
        add_document(tx, "personal", "voice", "my voice is calm")
        add_document(tx, "web", "guide", "guide of web")
    yield database
    database.close()


@pytest.fixture
def client(store: str, database: Database, serve: Start) -> Client:
    return serve("satchel", store, NEWEST, "--user", ANN, "--project", "web")


# -- reading ----------------------------------------------------------------------------------------------------


def test_lists_have_those_of_the_project_first_and_a_name_in_both_once(client: Client) -> None:
    assert ok(client, "list_prompts") == {
        "project": "web",
        "prompts": [
            {"name": "review", "title": "Review", "tags": ["code"]},
            {"name": "notes", "title": "Notes", "description": "How notes are written", "tags": ["skill"], **FROM},
            {"name": "standup", "title": "Standup", "arguments": ["topic"], **FROM},
        ],
    }
    assert text(client, "list_prompts").splitlines()[2] == "- standup (topic) from personal"
    documents = [{"name": "guide", "size": 12}, {"name": "voice", "size": 16, **FROM}]
    assert ok(client, "list_resources") == {"project": "web", "resources": documents}
    assert ok(client, "list_prompts", project="personal")["prompts"][0] == {
        "name": "notes",
        "title": "Notes",
        "description": "How notes are written",
        "tags": ["skill"],
    }
    assert ok(client, "list_tags")["tags"] == [{"name": "code", "prompts": 1}, {"name": "skill", "prompts": 1}]
    shown = ok(client, "show", what="prompts", query="standup")["prompts"]
    assert shown == [{"name": "standup", "title": "Standup", "arguments": ["topic"], **FROM}]
    assert [one["name"] for one in ok(client, "list_prompts", tags=["skill"])["prompts"]] == ["notes"]


def test_items_are_read_and_filled_in_from_there(client: Client) -> None:
    prompt = ok(client, "get_prompt", prompt="standup")
    assert prompt["project"] == "web"
    assert {key: prompt["prompt"][key] for key in ("name", "from", "content")} == {
        "name": "standup",
        **FROM,
        "content": "My standup about {{ topic }}",
    }
    filled = ok(client, "render_prompt", prompt="Standup", arguments={"topic": "us"})
    assert filled == {"project": "web", "name": "standup", **FROM, "text": "My standup about us"}
    assert ok(client, "get_prompt", prompt="review")["prompt"]["content"] == "Review of web"
    assert ok(client, "read_resource", resource="voice")["resource"]["from"] == "personal"
    assert ok(client, "read_resource", resource="guide")["resource"]["text"] == "guide of web"
    assert ok(client, "read_resource", resource="satchel://prompt/standup")["resource"]["text"].startswith("My standup")
    assert refusal(client, "get_prompt", prompt="standdup")["near"] == ["standup"]
    assert refusal(client, "read_resource", resource="voise")["near"] == ["voice"]


def test_the_methods_of_mcp_have_them_too(client: Client) -> None:
    listed = client.request("prompts/list")["result"]["prompts"]
    assert [(one["name"], one["description"]) for one in listed if one["name"] != "start-task"] == [
        ("review", "Review"),
        ("standup", "Standup (personal)"),
        ("notes", "How notes are written (personal)"),
    ]
    told = client.request("prompts/get", {"name": "standup", "arguments": {"topic": "us"}})["result"]
    assert told["messages"][0]["content"]["text"] == "My standup about us"
    entries = client.request("resources/list")["result"]["resources"]
    assert [(one["uri"], one.get("description")) for one in entries] == [
        ("satchel://resource/guide", None),
        ("satchel://resource/personal/guide", "personal"),
        ("satchel://resource/voice", "personal"),
    ]
    for uri, content in (("voice", "my voice is calm"), ("guide", "guide of web"), ("personal/guide", "my guide")):
        read = client.request("resources/read", {"uri": f"satchel://resource/{uri}"})["result"]
        assert read["contents"][0]["text"] == content
    ref = {"type": "ref/resource", "uri": "satchel://prompt/{name}"}
    asked = {"ref": ref, "argument": {"name": "name", "value": "st"}}
    assert client.request("completion/complete", asked)["result"]["completion"]["values"] == ["standup"]
    skills = [one["uri"] for one in client.request("skills/list")["result"]["skills"]]
    uri = "skill://project/personal/notes/SKILL.md"
    assert skills[1:] == [uri]
    assert client.request("skills/get", {"uri": uri})["result"]["skill"]["uri"] == uri
    assert "How I write" in client.request("resources/read", {"uri": uri})["result"]["contents"][0]["text"]


def test_a_link_to_a_personal_item_is_found(client: Client) -> None:
    content = "See satchel://prompt/standup, satchel://resource/voice and satchel://prompt/nothing"
    ok(client, "add_resource", name="plan", content=content)
    assert ok(client, "read_resource", resource="plan")["resource"]["links"] == [
        "satchel://prompt/standup",
        "satchel://resource/voice",
        "satchel://prompt/nothing (not found)",
    ]


def test_values_given_to_a_personal_prompt_are_remembered_in_all_projects(
    client: Client, store: str, serve: Start
) -> None:
    ok(client, "render_prompt", prompt="standup", arguments={"topic": "us"})
    other = serve("satchel", store, NEWEST, "--user", ANN)
    asked = {"ref": {"type": "ref/prompt", "name": "standup"}, "argument": {"name": "topic", "value": ""}}
    assert other.request("completion/complete", asked)["result"]["completion"]["values"] == ["us"]


# -- searching --------------------------------------------------------------------------------------------------


def hits(client: Client, query: str, **more: Any) -> list[tuple[str, str]]:
    found = ok(client, "search", query=query, **more)["hits"]
    return [(one["reference"], one.get("from", "web")) for one in found]


def test_search_finds_both_the_project_first_among_equals(client: Client, database: Database) -> None:
    with database.write() as tx:
        for name in ("a", "b"):
            add_prompt(tx, "web", f"Web {name}", "colour of leaves", name=f"web-{name}")
        for name in ("a", "b"):
            add_prompt(tx, "personal", f"Own {name}", "colour of leaves", name=f"own-{name}")
    expected = [("web-b", "web"), ("web-a", "web"), ("own-b", "personal"), ("own-a", "personal")]
    assert hits(client, "colour leaves") == expected
    assert hits(client, '"colour of leaves"') == expected
    assert hits(client, "my voice") == [("voice", "personal")] == hits(client, '"my voice"')
    assert hits(client, "review") == [("review", "web"), ("satchel://prompt/personal/review", "personal")]
    pages = [ok(client, "search", query="colour leaves", limit=1)]
    while "next_cursor" in pages[-1]:
        pages.append(ok(client, "search", query="colour leaves", limit=1, cursor=pages[-1]["next_cursor"]))
    assert [one["reference"] for page in pages for one in page["hits"]] == [name for name, _ in expected]


def test_search_gives_the_link_of_a_personal_item_whose_name_the_project_uses_too(client: Client) -> None:
    for where in ("web", "personal"):
        ok(client, "remember", text=f"Water {where} plants", project=where)
    memory, guide = "satchel://resource/personal/memory.md", "satchel://resource/personal/guide"
    for query in ("water plants", '"water"'):
        assert sorted(hits(client, query)) == [("memory.md", "web"), (memory, "personal")]
    assert hits(client, '"my guide"') == [(guide, "personal")]
    assert ok(client, "read_resource", resource=guide)["resource"]["text"] == "my guide"


def test_a_common_word_of_many_personal_items_hides_none_of_the_project(client: Client, database: Database) -> None:
    with database.write() as tx:
        add_prompt(tx, "web", "Ours", "green leaves", name="ours")
        for number in range(700):
            add_prompt(tx, "personal", f"Mine {number}", "green leaves", name=f"mine-{number}")
    assert hits(client, "leaves", limit=1) == hits(client, "green leaves", limit=1) == [("ours", "web")]


# -- pages ------------------------------------------------------------------------------------------------------


def test_the_lists_of_mcp_have_pages_across_both(
    client: Client, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from satchel.contracts.satchel import methods

    monkeypatch.setattr(methods, "PAGE", 1)
    for method, key, names in (
        ("prompts/list", "prompts", ["start-task", "review", "standup", "notes"]),
        ("resources/list", "resources", ["guide", "guide", "voice"]),
    ):
        result = client.request(method)["result"]
        found = [one["name"] for one in result[key]]
        while "nextCursor" in result:
            result = client.request(method, {"cursor": result["nextCursor"]})["result"]
            found += [one["name"] for one in result[key]]
        assert found == names, method


# -- writing ----------------------------------------------------------------------------------------------------


WRITES: list[tuple[str, dict[str, Any], str]] = [
    ("update_prompt", {"prompt": "standup", "title": "B"}, "Prompt 'standup' does not exist in project 'web'."),
    ("update_resource", {"resource": "voice", "content": "y"}, "Document 'voice' does not exist in project 'web'."),
    ("edit_text", {"item": "voice", "append": "y"}, "Item 'voice' does not exist."),
    ("delete", {"items": ["standup"]}, "items[0]: Item 'standup' does not exist."),
    ("update_items", {"items": ["standup"], "tags": ["+x"]}, "items[0]: Item 'standup' does not exist."),
]


@pytest.mark.parametrize(("tool", "arguments", "message"), WRITES)
def test_a_change_says_where_the_item_is_and_changes_nothing(
    client: Client, database: Database, tool: str, arguments: dict[str, Any], message: str
) -> None:
    error = refusal(client, tool, arguments)
    assert error["code"] == "not_found"
    assert error["message"] == message
    assert error["hint"] == (
        "It is in project 'personal', which every project reads: pass project: \"personal\" to work on it there, "
        'or first copy it here with update_items (project: "personal", to: "web", copy: true).'
    )
    answer = ok(client, tool, {**arguments, "project": "personal"})
    assert answer["project"] == "personal"


def test_the_personal_project_is_made_by_the_first_write(store: str, serve: Start) -> None:
    client = serve("satchel", store, NEWEST, "--user", ANN)
    empty = "Project 'personal' is empty. Every project reads what is saved in it."
    assert ok(client, "list_prompts", project="personal")["notes"] == [empty]
    made = "Project 'personal' was made: its prompts and documents are read in every project."
    assert ok(client, "add_prompt", title="Mine", content="x", project="personal")["notes"] == [made]
    assert ok(client, "list_prompts")["prompts"] == [{"name": "mine", "title": "Mine", **FROM}]
    explained = "What is saved in 'personal' is read in every project, by all users of this store."
    assert text(client, "catch_up").splitlines()[1:3] == ["Other projects: personal (1 prompt, 1 change)", explained]


# -- who sees it ------------------------------------------------------------------------------------------------


def test_it_can_be_turned_off(store: str, database: Database, serve: Start) -> None:
    client = serve("satchel", store, NEWEST, "--user", ANN, "--project", "web", "--no-personal")
    assert [one["name"] for one in ok(client, "list_prompts")["prompts"]] == ["review"]
    assert refusal(client, "get_prompt", prompt="standup")["code"] == "not_found"
    assert hits(client, "voice") == []
    assert ok(client, "list_tags")["tags"] == [{"name": "code", "prompts": 1}]


def test_a_limited_token_sees_it_only_where_it_opens_it(store: str, database: Database) -> None:
    with database.write() as tx:
        _, web = tokens.create(tx, user=ANN, projects=["web"])
        _, both = tokens.create(tx, user=ANN, projects=["web", PERSONAL_PROJECT])
        _, every = tokens.create(tx, user=ANN)
    with HttpInProcess("--database", store, "--auth", "token") as server:
        for token, sees in ((web, False), (both, True), (every, True)):
            server.token = token
            path = "/mcp?project=web"
            listed = server.ask("prompts/list", path=path).result["prompts"]
            assert ("standup" in [one["name"] for one in listed]) is sees
            for tool, arguments in (
                ("list_prompts", {}),
                ("list_resources", {}),
                ("search", {"query": "voice standup"}),
                ("list_tags", {}),
            ):
                answer = server.call(tool, arguments, path=path)["structuredContent"]
                assert ("personal" in str(answer) or "skill" in str(answer)) is sees, (tool, answer)
            for tool, arguments in (("get_prompt", {"prompt": "standup"}), ("read_resource", {"resource": "voice"})):
                assert server.call(tool, arguments, path=path)["isError"] is not sees, tool
            refused = server.call("update_prompt", {"prompt": "standup", "title": "B"}, path=path)
            assert refused["isError"] and ("personal" in str(refused)) is sees
            including = {"title": token, "content": '{% include "voice" %}'}
            assert server.call("add_prompt", including, path=path)["isError"] is not sees
            uri = {"uri": "satchel://resource/voice"}
            assert (b'"contents"' in server.ask("resources/read", uri, path=path).body) is sees


def test_listeners_in_a_project_are_told_when_a_personal_item_changes(
    store: str, database: Database, serve: Start
) -> None:
    client = serve("satchel", store, "2025-11-25", "--user", ANN, "--project", "web")
    answered(client, "prompts/list")
    assert answered(client, "resources/subscribe", {"uri": "satchel://resource/voice"})["result"] == {}
    with database.write() as tx:
        add_prompt(tx, "default", "Of no interest")
    with database.write() as tx:
        add_prompt(tx, "personal", "New")
    assert name_of(client.read()) == PROMPTS
    with database.write() as tx:
        documents.delete(tx, Scope(project="personal"), "voice")
    assert sorted(name_of(client.read()) for _ in range(2)) == sorted([RESOURCES, "satchel://resource/voice"])
