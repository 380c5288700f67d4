"""Our own URIs and ids cannot be taken by names, titles and URIs of others; our own meaning is looked up first."""

from collections.abc import Callable
from typing import Any

import pytest

from satchel.errors import NotFound, WrongArgument
from satchel.model import DocumentDraft, PromptDraft, Scope, TaskDraft
from satchel.services import copying, documents, layers, lookup, projects, prompts, restoring, tasks
from satchel.storage.database import Database
from tests.support.satchel import answered, ok, refusal
from tests.support.stdio import NEWEST, Server

ANN = Scope(user="11111111-1111-4111-8111-111111111111")
UUID = "0b7c9d1e-2f3a-4b5c-8d6e-7f8091a2b3c4"
OWN = [
    *("satchel://task/1", "SATCHEL://task/1", "Satchel://Task/1", "satchel:task/1", "satchel:", "satchel:///task/1"),
    *("satchel://prompt/x", "satchel://project/default", "satchel://resource/other", "satchel://resource/DOC"),
    *("satchel://resource/doc/", "satchel://resource/doc?x", "satchel://anything/else", "satchel://task/%31"),
]


def read(client: Server, uri: str) -> str:
    return str(answered(client, "resources/read", {"uri": uri})["result"]["contents"][0]["text"])


def test_no_contract_accepts_one_of_our_uris(store: str, serve: Callable[..., Server]) -> None:
    mcpkg, client = serve("mcpkg", store, NEWEST), serve("satchel", store, NEWEST)
    for uri in OWN:
        given = {"name": "doc", "uri": uri, "content": "x"}
        said = mcpkg.call("create_resource", given)
        assert said == {"content": [{"type": "text", "text": f"Error: Invalid URI '{uri}'"}], "isError": True}
        for error in (refusal(client, "add_resource", given), refusal(client, "add_resources", resources=[given])):
            assert error["code"] == "invalid_argument"
            assert "only Satchel makes URIs that begin with satchel:" in error["message"]
    assert ok(client, "list_resources")["resources"] == []


def test_a_resource_may_have_the_uri_of_its_own_name(store: str, serve: Callable[..., Server]) -> None:
    uri = "satchel://resource/doc"
    said = serve("mcpkg", store, NEWEST).call("create_resource", {"name": "doc", "uri": uri, "content": "x"})
    assert said["isError"] is False
    assert read(serve("satchel", store, NEWEST), uri) == "x"


@pytest.mark.parametrize("name", [UUID, UUID.upper()])
def test_no_kind_of_item_accepts_a_name_like_an_id(database: Database, name: str) -> None:
    projects.require(database, ANN)
    with database.write() as tx:
        for act in (
            lambda: prompts.add(tx, ANN, PromptDraft(name=name, content="x")),
            lambda: prompts.add(tx, ANN, PromptDraft(name=name, title="T", content="x")),
            lambda: documents.add(tx, ANN, DocumentDraft(name=name, uri="a:b", content="x")),
            lambda: projects.add(tx, name),
            lambda: projects.rename(tx, "default", name),
        ):
            with pytest.raises(WrongArgument) as wrong:
                act()
            assert (wrong.value.field, wrong.value.rule) == ("name", "reserved")
        titled = prompts.add(tx, ANN, PromptDraft(title=name, content="x"))  # as prompt-store takes it
        assert titled.name.startswith("prompt-")


def test_each_contract_refuses_such_names_in_its_own_words(store: str, serve: Callable[..., Server]) -> None:
    mcpkg = serve("mcpkg", store, NEWEST)
    said = mcpkg.call("create_prompt", {"name": UUID, "content": "x"})
    assert said["content"][0]["text"] == f"Error: Prompt name '{UUID}' must not be a UUID"
    said = mcpkg.call("create_resource", {"name": UUID, "uri": "a:b", "content": "x"})
    assert said["content"][0]["text"] == f"Error: Resource name '{UUID}' must not be a UUID"
    client = serve("satchel", store, NEWEST)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("add_prompt", {"name": UUID, "title": "T", "content": "x"}),
        ("add_prompt", {"title": f" {UUID} ", "content": "x"}),
        ("add_resource", {"name": UUID, "content": "x"}),
        ("add_project", {"name": UUID}),
        ("add_task", {"title": UUID.upper()}),
        ("add_tasks", {"lines": [UUID]}),
    ]
    for tool, arguments in calls:
        error = refusal(client, tool, arguments)
        assert error["code"] == "invalid_argument" and "it has the form of an id" in error["message"], (tool, error)


def test_ids_are_looked_up_before_names_and_titles_that_were_stored_earlier(database: Database) -> None:
    projects.require(database, ANN)
    with database.write(ANN) as tx:
        mine = prompts.add(tx, ANN, PromptDraft(title="Mine", content="mine"))
        thief = prompts.add(tx, ANN, PromptDraft(title="Thief", content="thief"))
        tx.run("update prompts set name = :id where id = :thief", id=mine.id, thief=thief.id)
        titled = prompts.add(tx, ANN, PromptDraft(title=mine.id.upper(), content="titled"))
        task = tasks.add(tx, ANN, TaskDraft(title="Task"))
        other = tasks.add(tx, ANN, TaskDraft(title=task.id))
        for spelling in (mine.id, mine.id.upper(), f" {mine.id} "):
            assert layers.find_prompt(tx, ANN, spelling).id == mine.id
            found = lookup.find(tx, ANN, spelling)
            assert not found.is_deleted and found.id == mine.id
        assert tasks.find(tx, ANN, task.id).number == task.number
        tasks.delete(tx, ANN, task.number)
        with pytest.raises(NotFound):
            tasks.find(tx, ANN, task.id)  # and not the task of this title
        gone = lookup.find(tx, ANN, task.id)
        assert (gone.key, gone.is_deleted) == (f"#{task.number}", True)
        assert tasks.find(tx, ANN, other.number).title == task.id
        assert layers.find_prompt(tx, ANN, titled.name).content == "titled"


def test_copies_and_restored_items_get_no_uri_of_another_name(database: Database) -> None:
    projects.require(database, ANN)
    own = "satchel://resource/doc"
    with database.write(ANN) as tx:
        projects.add(tx, "there")
        first = documents.add(tx, ANN, DocumentDraft(name="doc", uri=own, content="first"))
        there = projects.enter(ANN, "there")
        documents.add(tx, there, DocumentDraft(name="doc", uri="doc:1", content="other"))
        copy = copying.copy(tx, ANN, first, "there")[0]
        assert (copy.name, getattr(copy, "uri", "")) == ("doc-2", "satchel://resource/doc-2")
        documents.delete(tx, ANN, "doc")
        documents.add(tx, ANN, DocumentDraft(name="doc", uri="doc:2", content="second"))
        restoring.bring_back(tx, ANN, lookup.find(tx, ANN, first.id))
        back = documents.get_by_name(tx, ANN, "doc-2")
        assert back.uri == "satchel://resource/doc-2"
        assert layers.find_document(tx, ANN, own).content == "second"
