"""`satchel prompt|resource|task copy` and `move`: from one project to another, all or none."""

from collections.abc import Iterator

import pytest

from satchel.model import DocumentDraft, PromptDraft, Scope, TaskDraft
from satchel.services import documents, history, projects, prompts, tasks
from satchel.storage.database import Database, open_database
from tests.cli.conftest import Command
from tests.support.command import done, failed, value

ANN = "11111111-1111-4111-8111-111111111111"
ONE, TWO = Scope(project="one", user=ANN), Scope(project="two", user=ANN)
CLASH = (
    "satchel: a {} with the {} '{}' already exists in project 'two'. Nothing was {}. Add --rename "
    "to use the next free name, or first rename or delete the other one.\n"
)


@pytest.fixture
def database(store: str) -> Iterator[Database]:
    """A store with two projects: the first has a prompt, a document and a task, the second a prompt and a document."""
    database = open_database(store)
    with database.write() as tx:
        for name in ("one", "two"):
            projects.add(tx, name)
        prompts.add(tx, ONE, PromptDraft(title="A", content="x", tags=["t"], description="d"))
        prompts.add(tx, ONE, PromptDraft(title="B", content="y"))
        documents.add(tx, ONE, DocumentDraft(name="doc", uri="satchel://resource/doc", content="x"))
        prompts.add(tx, TWO, PromptDraft(title="B", content="z"))
        documents.add(tx, TWO, DocumentDraft(name="other", uri="doc:other", content="x"))
        tasks.add(tx, ONE, TaskDraft(title="T", description="d", project="one", tags=["t"], due="2030-01-02"))
    yield database
    database.close()


def names(database: Database, scope: Scope) -> tuple[list[str], list[str]]:
    with database.read() as tx:
        found, _ = prompts.list_headers(tx, scope)
        return [one.name for one in found], [one.name for one in documents.list_all(tx, scope)]


def test_a_copy_has_everything_and_the_original_stays(satchel: Command, database: Database) -> None:
    copied = value(satchel("prompt", "copy", "A", "--to", "two", "-p", "one", "--json"))
    row = {"kind": "prompt", "name": "a", "title": "A", "version": 1, "tags": ["t"], "project": "two"}
    assert copied == {"project": "one", "items": [row]}
    assert (
        done(satchel("document", "copy", "doc", "--to", "two", "-p", "one"))
        == "Copied 1 document to project 'two':\n  doc\n"
    )
    assert names(database, ONE) == (["a", "b"], ["doc"])
    assert names(database, TWO) == (["b", "a"], ["other", "doc"])
    with database.read() as tx:
        assert prompts.get_by_name(tx, TWO, "a").description == "d"


def test_a_moved_item_is_said_to_be_in_the_other_project(satchel: Command, database: Database) -> None:
    done(satchel("prompt", "move", "A", "--to", "two", "-p", "one"))
    assert failed(satchel("prompt", "show", "a", "-p", "one"), 3) == (
        "satchel: prompt 'a' was moved to project 'two'. Name that project: add -p two\n"
    )


@pytest.mark.parametrize(("verb", "past"), [("copy", "copied"), ("move", "moved")])
def test_a_clash_is_explained_and_changes_nothing(satchel: Command, database: Database, verb: str, past: str) -> None:
    before = names(database, ONE), names(database, TWO)
    clash = failed(satchel("prompt", verb, "a", "b", "--to", "two", "-p", "one"), 5)
    assert clash == CLASH.format("prompt", "name", "b", past)
    assert (names(database, ONE), names(database, TWO)) == before
    answer = value(satchel("prompt", verb, "a", "b", "--to", "two", "-p", "one", "--rename", "--json"))
    assert [one["name"] for one in answer["items"]] == ["a", "b-2"]
    assert answer["notes"] == [
        "The name b is taken there, so b-2 is used.",
        "The title B is taken there, so B (2) is used.",
    ]


def test_a_task_moves_with_its_number_and_its_history(satchel: Command, database: Database) -> None:
    answer = value(satchel("task", "move", "#1", "--to", "two", "-u", ANN, "--json"))
    assert [(one["number"], one["title"], one["version"]) for one in answer["items"]] == [(1, "T", 2)]
    with database.read() as tx:
        assert tasks.find(tx, ONE, 1).project == "two"
        _, versions, _ = history.list_versions(tx, ONE, "#1")
        assert [one.version for one in versions] == [2, 1]
    again = done(satchel("task", "move", "1", "--to", "two", "-u", ANN))
    assert again == "Moved 1 task to project 'two':\n  #1 T\n#1 was in that project already.\n"
