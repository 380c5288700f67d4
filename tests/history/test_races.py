"""Two changes at once: each has one consistent result, and every version keeps its own state.

The first transaction is held open until the second one waits for it, so that the two always overlap.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from satchel.errors import Refused
from satchel.model import Author, ChangeQuery, DocumentDraft, PromptDraft, PromptPatch, Scope, TaskDraft, TaskPatch
from satchel.services import documents, history, projects, prompts, restoring, tasks
from satchel.storage import revisions
from satchel.storage.database import Database, Tx, open_database
from tests.history.store import ADA, BOB, add_prompt, add_resource, add_task, delete_prompt, edit_prompt, read, write
from tests.support.locks import count_waiting
from tests.support.process import eventually

Value = TypeVar("Value")
Act = Callable[[Tx], Any]


@pytest.fixture
def overlap(store: str, database: Database) -> Callable[..., list[Any]]:
    """Return a function that runs two changes at once, the second waiting for the first, and returns both outcomes."""

    def run(first: Act, second: Act, *, scope: Scope = ADA) -> list[Any]:
        other = open_database(store)
        outcomes: list[Any] = [None, None]

        def wait_for_first() -> None:
            try:
                outcomes[1] = write(other, scope, second)
            except Refused as refusal:
                outcomes[1] = type(refusal).__name__

        thread = threading.Thread(target=wait_for_first)
        with database.write(scope) as tx:
            outcomes[0] = first(tx)
            thread.start()
            if store.startswith("postgresql"):
                assert eventually(lambda: count_waiting(store) == 1)
        thread.join()
        other.close()
        return outcomes

    return run


def list_versions(database: Database, reference: str) -> list[tuple[int, str]]:
    _, found, _ = read(database, ADA, lambda tx: history.list_versions(tx, ADA, reference))
    return [(one.version, one.action) for one in reversed(found)]


def read_states(database: Database, reference: str, *fields: str) -> list[tuple[Any, ...]]:
    """Return some fields of every version of an item, oldest first."""

    def ask(tx: Tx) -> list[tuple[Any, ...]]:
        _, found, _ = history.list_versions(tx, ADA, reference)
        kept = [one.version for one in reversed(found) if one.action != "delete"]
        old = [history.read_version(tx, ADA, reference, version) for version in kept]
        return [tuple(getattr(one if field == "content" else one.state, field) for field in fields) for one in old]

    return read(database, ADA, ask)


def test_each_of_two_concurrent_edits_keeps_its_own_text_and_tags(
    database: Database, overlap: Callable[..., list[Any]]
) -> None:
    draft = PromptDraft(title="Tee", content="one", tags=["a"])
    prompt = write(database, ADA, lambda tx: prompts.add(tx, ADA, draft))
    overlap(
        lambda tx: prompts.update(tx, ADA, prompt.id, PromptPatch(content="two", tags=["b", "longer"])),
        lambda tx: prompts.update(tx, ADA, prompt.id, PromptPatch(content="three")),
    )
    assert list_versions(database, "tee") == [(1, "add"), (2, "update"), (3, "update")]
    expected = [("one", ("a",)), ("two", ("b", "longer")), ("three", ("b", "longer"))]
    assert read_states(database, "tee", "content", "tags") == expected


def test_each_of_two_concurrent_edits_of_a_task_keeps_its_own_blockers(
    database: Database, overlap: Callable[..., list[Any]]
) -> None:
    first, second = add_task(database, ADA, "First").number, add_task(database, ADA, "Second").number
    task = add_task(database, ADA, "Task", first).number
    overlap(
        lambda tx: tasks.update(tx, ADA, task, TaskPatch(blocked_by=[second], tags=["b"])),
        lambda tx: tasks.complete(tx, ADA, task),
    )
    assert read_states(database, f"#{task}", "blocked_by", "tags") == [
        ((first,), ()),
        ((second,), ("b",)),
        ((second,), ("b",)),
    ]


def test_a_deleted_item_is_brought_back_once_by_two_restores(
    database: Database, overlap: Callable[..., list[Any]]
) -> None:
    prompt, document = add_prompt(database, ADA, "Tee"), add_resource(database, ADA, "doc")
    task, project = add_task(database, ADA, "Task"), write(database, ADA, lambda tx: projects.add(tx, "p"))
    write(database, ADA, lambda tx: prompts.delete(tx, ADA, prompt.id))
    write(database, ADA, lambda tx: documents.delete(tx, ADA, document.name))
    write(database, ADA, lambda tx: tasks.delete(tx, ADA, task.number))
    write(database, ADA, lambda tx: projects.delete(tx, project.name))
    for reference in ("tee", "satchel://resource/doc", f"#{task.number}", "satchel://project/p"):

        def restore(tx: Tx, reference: str = reference) -> tuple[bool, int]:
            done = restoring.restore(tx, ADA, reference)
            return done.is_changed, done.item.version

        assert overlap(restore, restore) == [(True, 3), (False, 3)]
        assert list_versions(database, reference) == [(1, "add"), (2, "delete"), (3, "restore")]


def test_a_restore_that_meets_a_deletion_brings_the_item_back(
    database: Database, overlap: Callable[..., list[Any]]
) -> None:
    prompt = add_prompt(database, ADA, "Tee", "one")
    edit_prompt(database, ADA, prompt, "two")
    overlap(lambda tx: prompts.delete(tx, ADA, prompt.id), lambda tx: restoring.restore(tx, ADA, "tee", 1))
    assert list_versions(database, "tee") == [(1, "add"), (2, "update"), (3, "delete"), (4, "restore"), (5, "restore")]
    assert read_states(database, "tee", "content") == [("one",), ("two",), ("two",), ("one",)]


def test_an_item_comes_back_under_the_next_name_where_its_own_is_taken_meanwhile(
    database: Database, overlap: Callable[..., list[Any]]
) -> None:
    prompt, document = add_prompt(database, ADA, "Tee", "old"), add_resource(database, ADA, "doc", "old")
    project = write(database, ADA, lambda tx: projects.add(tx, "p"))
    write(database, ADA, lambda tx: prompts.delete(tx, ADA, prompt.id))
    write(database, ADA, lambda tx: documents.delete(tx, ADA, document.name))
    write(database, ADA, lambda tx: projects.delete(tx, project.name))
    takers: dict[str, Act] = {
        prompt.id: lambda tx: prompts.add(tx, ADA, PromptDraft(title="Tee", content="new")),
        document.id: lambda tx: documents.add(tx, ADA, DocumentDraft(name="doc", uri="x:doc", content="new")),
        project.id: lambda tx: projects.add(tx, "p"),
    }
    found = []
    for id, take in takers.items():
        _, done = overlap(take, lambda tx, id=id: restoring.restore(tx, ADA, id))
        found.append((done.item.name, done.item.title, done.item.version))
    assert found == [("tee-2", "Tee (2)", 3), ("doc-2", "doc-2", 3), ("p-2", "p-2", 3)]


def test_an_item_that_is_purged_meanwhile_does_not_come_back(
    database: Database, overlap: Callable[..., list[Any]]
) -> None:
    prompt = add_prompt(database, ADA, "Tee")
    delete_prompt(database, ADA, prompt)
    outcomes = overlap(lambda tx: restoring.purge(tx, ADA, prompt.id), lambda tx: restoring.restore(tx, ADA, prompt.id))
    assert outcomes[1] == "NotFound"
    assert read(database, ADA, lambda tx: revisions.of_items(tx, "prompt", [prompt.number])) == []


def test_two_undos_take_back_two_changes(database: Database, overlap: Callable[..., list[Any]]) -> None:
    prompt = add_prompt(database, ADA, "Tee", "one")
    for content in ("two", "three"):
        edit_prompt(database, ADA, prompt, content)
    overlap(lambda tx: restoring.undo(tx, ADA), lambda tx: restoring.undo(tx, ADA))
    states = read_states(database, "tee", "content")
    assert states == [("one",), ("two",), ("three",), ("two",), ("one",)]


def test_the_first_changes_of_an_author_at_once_have_one_author(
    database: Database, overlap: Callable[..., list[Any]]
) -> None:
    author = Author(user=str(BOB.user), client="new", contract="satchel")
    scope = Scope(user=BOB.user, author=author)
    overlap(
        lambda tx: tasks.add(tx, scope, TaskDraft(title="One")),
        lambda tx: tasks.add(tx, scope, TaskDraft(title="Two")),
        scope=scope,
    )
    found, _ = read(database, scope, lambda tx: history.list_changes(tx, scope, ChangeQuery(by="new"), limit=9))
    assert [(one.title, one.revision.author) for one in found] == [("Two", author), ("One", author)]


def test_two_titles_that_are_restored_at_once_stay_unique(
    database: Database, overlap: Callable[..., list[Any]]
) -> None:
    one, two = add_prompt(database, ADA, "One"), add_prompt(database, ADA, "Two")
    titles = ((one, "First"), (two, "Second"), (one, "Shared"), (one, "Mine"), (two, "Shared"), (two, "Yours"))
    with database.write(ADA) as tx:
        for prompt, title in titles:
            prompts.update(tx, ADA, prompt.id, PromptPatch(title=title))
    outcomes = overlap(
        lambda tx: restoring.restore(tx, ADA, one.name, 3).item.title,
        lambda tx: restoring.restore(tx, ADA, two.name, 3).item.title,
    )
    assert outcomes == ["Shared", "Taken"]
