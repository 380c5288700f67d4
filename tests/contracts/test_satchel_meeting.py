"""One store, six contracts: what one of them keeps, the others reach, on both engines."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel.services import projects
from satchel.storage.database import open_database
from tests.support.satchel import Like, make_library, ok, refusal, task_id
from tests.support.stdio import NEWEST, Client, plain

TIME = Like(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
ANN = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def at(store: str, tmp_path: Path, serve: Callable[..., Client]) -> Callable[[str], Client]:
    """The server of each contract, all on one store and in one project, for one user."""
    database = open_database(store)
    with database.write() as tx:
        projects.add(tx, "shared")
    database.close()
    make_library(tmp_path / "shelf", "desk", {"letter": ("Dear {{ to }}", ["to!"])})
    running: dict[str, Client] = {}

    def reached(contract: str) -> Client:
        if contract not in running:
            more = ["--project", "shared", "--user", ANN, "--libraries", str(tmp_path / "shelf")]
            running[contract] = serve(contract, store, NEWEST, *more)
        return running[contract]

    return reached


def body(client: Client, tool: str, **arguments: Any) -> Any:
    """What a tool of another contract says that succeeds."""
    result = client.call(tool, arguments)
    assert result["isError"] is False, result
    return result.get("structuredContent") or result["content"][0]["text"]


def test_a_prompt_is_met_everywhere(at: Callable[[str], Client]) -> None:
    own, store, mcpkg = at("satchel"), at("prompt-store"), at("mcpkg")
    added = ok(own, "add_prompt", title="Tea time", content="Boil", tags=["Kitchen"], description="How")["prompt"]
    assert added == {"name": "tea-time", "title": "Tea time", "version": 1, "tags": ["kitchen"]}
    [listed] = body(store, "list_prompts")["prompts"]
    id = listed["id"]
    got = body(store, "get_prompt", id=id)
    assert got == {
        "id": id,
        "title": "Tea time",
        "content": "Boil",
        "tags": ["kitchen"],
        "created_at": TIME,
        "updated_at": TIME,
    }
    listed = plain(mcpkg.request("prompts/list")["result"])["prompts"]
    assert listed == [{"name": "tea-time", "description": "How"}]
    message = plain(mcpkg.request("prompts/get", {"name": "tea-time"})["result"])["messages"][0]
    assert message["content"]["text"] == "Boil"

    body(mcpkg, "update_prompt", name="tea-time", content="Boil fresh water")
    seen = ok(own, "get_prompt", prompt="Tea time")["prompt"]
    assert (seen["content"], seen["version"]) == ("Boil fresh water", 2)
    assert refusal(own, "update_prompt", prompt="tea-time", title="x", expected_version=1)["version"] == 2
    body(store, "update_prompt", id=id, title="Teatime", content="Boil", tags=["late"])
    assert ok(own, "list_prompts", tags=["late"])["prompts"][0]["title"] == "Teatime"
    assert ok(own, "list_tags")["tags"] == [{"name": "late", "prompts": 1}]

    body(mcpkg, "create_prompt", name="from.mcpkg", content="{{ literal }}")
    assert ok(own, "render_prompt", prompt="from.mcpkg")["text"] == "{{ literal }}"
    other = body(store, "add_prompt", title="From the store", content="needle here")
    assert ok(own, "list_prompts", query="NEEDLE")["prompts"] == [{"name": "from-the-store", "title": "From the store"}]
    ok(own, "delete_prompt", prompt=other["id"])
    assert store.call("get_prompt", id=other["id"])["isError"] is True
    ok(own, "delete_prompt", prompt="Teatime")
    assert plain(mcpkg.request("prompts/list")["result"])["prompts"] == [{"name": "from.mcpkg"}]


def test_a_resource_is_met_in_both(at: Callable[[str], Client]) -> None:
    own, mcpkg = at("satchel"), at("mcpkg")
    blob = base64.b64encode(bytes(range(9))).decode()
    added = ok(own, "add_resource", name="logo", content=blob, mime_type="image/png", description="A picture")
    assert added["resource"] == {"name": "logo", "size": 9, "version": 1, "mime_type": "image/png"}
    uri = "satchel://resource/logo"
    entry = {"uri": uri, "name": "logo", "mimeType": "image/png", "description": "A picture"}
    [listed] = plain(mcpkg.request("resources/list")["result"])["resources"]
    assert {key: listed[key] for key in entry} == entry
    for client in (own, mcpkg):
        contents = plain(client.request("resources/read", {"uri": uri})["result"])["contents"]
        assert contents == [{"uri": uri, "mimeType": "image/png", "blob": blob}]
    body(mcpkg, "update_resource", name="logo", content="text now", mime_type="text/plain")
    seen = ok(own, "read_resource", resource=uri)["resource"]
    assert (seen["text"], seen["version"], seen["description"]) == ("text now", 2, "A picture")
    body(mcpkg, "create_resource", name="notes", uri="doc:notes", content="# Notes", mime_type="text/markdown")
    assert ok(own, "read_resource", resource="doc:notes")["resource"]["text"] == "# Notes"
    ok(own, "delete_resource", resource="logo")
    remaining = plain(mcpkg.request("resources/list")["result"])["resources"]
    assert [one["name"] for one in remaining] == ["notes"]


def test_a_task_is_met_everywhere(at: Callable[[str], Client], store: str) -> None:
    own, todo, tasks = at("satchel"), at("todo"), at("tasks")
    added = ok(own, "add_task", title="Buy tea", description="Green", priority="high", tags=["shop"])["task"]
    id = task_id(store, added["number"])
    [listed] = body(todo, "list_tasks", user_id=ANN)["tasks"]
    assert (listed["id"], listed["title"], listed["completed"]) == (id, "Buy tea", False)
    [row] = body(tasks, "list_tasks")["data"]
    assert (row["id"], row["title"], row["description"]) == (added["number"], "Buy tea", "Green")

    body(todo, "update_task", user_id=ANN, task_id=id, title="Buy green tea")
    body(tasks, "update_task", task_id=added["number"], description="Sencha")
    answer = ok(own, "get_task", task="Buy green tea")
    seen = answer["task"]
    assert seen["description"] == "Sencha"
    assert (seen["priority"], seen["tags"], answer["project"], seen["version"]) == ("high", ["shop"], "shared", 3)

    second = body(todo, "add_task", user_id=ANN, title="Boil water")["task"]["id"]
    assert ok(own, "update_task", task="Buy green tea", blocked_by=[second])["task"]["blocked_by"] == [2]
    body(todo, "complete_task", user_id=ANN, task_id=second)
    assert [one["title"] for one in ok(own, "list_tasks")["tasks"]] == ["Buy green tea"]
    ok(own, "complete_task", task=added["number"])
    assert {row["completed"] for row in body(todo, "list_tasks", user_id=ANN, include_completed=True)["tasks"]} == {
        True
    }
    body(tasks, "delete_task", task_id=added["number"])
    assert refusal(own, "complete_task", task=id)["code"] == "not_found"
    ok(own, "delete_task", task=second)
    assert body(tasks, "list_tasks")["data"] == []


def test_a_library_is_met_in_both(at: Callable[[str], Client]) -> None:
    own, twig = at("satchel"), at("twig")
    name, arguments = "desk:letter", {"to": "Ann"}
    [entry] = plain(twig.request("prompts/list")["result"])["prompts"]
    [ours] = [one for one in plain(own.request("prompts/list")["result"])["prompts"] if one["name"] == name]
    assert ours == {key: entry[key] for key in ("name", "description", "arguments")}
    answers = [
        plain(one.request("prompts/get", {"name": name, "arguments": arguments})["result"]) for one in (own, twig)
    ]
    texts = [json.dumps(answer["messages"][0]["content"]) for answer in answers]
    assert texts[0] == texts[1] and "Dear Ann" in texts[0]
    assert ok(own, "render_prompt", prompt=name, arguments=arguments)["text"] == "Dear Ann"
