"""Deletions keep everything; a restore creates no project, nor does a write if a deleted project has the name."""

import pytest
from msgspec.structs import replace

from satchel.errors import NotFound, VersionConflict
from satchel.model import KINDS, Argument, ItemKind, PromptDraft, PromptPatch, PromptQuery, TaskDraft, TaskQuery, uri_of
from satchel.services import documents, lookup, projects, prompts, restoring, tasks
from satchel.storage import revisions, trash
from satchel.storage.database import Database
from tests.history.store import (
    ADA,
    BOB,
    CYD,
    add_prompt,
    add_resource,
    add_task,
    edit_prompt,
    find,
    read,
    restore,
    write,
)

REPOSITORY = replace(ADA, project="repo", makes="repo")  # the first write creates the project


def list_projects(database: Database) -> list[str]:
    return read(database, ADA, lambda tx: projects.list_names(tx, ADA))


@pytest.mark.parametrize("reference", ["tee", "repo", "satchel://project/repo", "#1"])
def test_a_restore_makes_no_project(database: Database, reference: str) -> None:
    before = list_projects(database)
    with pytest.raises(NotFound):
        restore(database, REPOSITORY, reference)
    assert list_projects(database) == before


@pytest.mark.parametrize("reference", ["repo", uri_of("project", "repo")])
def test_the_deleted_project_of_a_repository_is_restored_whole(database: Database, reference: str) -> None:
    prompt = add_prompt(database, REPOSITORY, "Tee")
    document = add_resource(database, REPOSITORY, "notes.md")
    task = add_task(database, ADA, "Brew", project="repo")
    write(database, ADA, lambda tx: projects.delete(tx, "repo"))
    with pytest.raises(NotFound) as refused:
        restore(database, REPOSITORY, "tee")
    assert (refused.value.kind, refused.value.key) == ("project", "repo")
    done = restore(database, REPOSITORY, reference)
    assert (done.item.kind, done.item.name, done.was_deleted) == ("project", "repo", True)
    with database.read(REPOSITORY) as tx:
        assert prompts.get_by_name(tx, REPOSITORY, "tee") == prompt
        assert documents.get_by_name(tx, REPOSITORY, "notes.md") == document
        assert tasks.find(tx, ADA, task.number) == task


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_deleted_keeps_its_row_until_it_is_purged_and_comes_back_as_it_was(
    database: Database, kind: ItemKind
) -> None:
    number = add_one(database, kind)
    reference = uri_of(kind, number if kind == "task" else "it")
    before = find(database, ADA, reference)
    write(database, ADA, lambda tx: restoring.delete(tx, ADA, before))
    deleted = find(database, ADA, reference)
    assert (deleted.is_deleted, deleted.number, deleted.id, deleted.version) == (True, number, before.id, 2)
    restore(database, ADA, reference)
    after = find(database, ADA, reference)
    assert after == replace(before, version=3, updated_at=after.updated_at)
    with database.read(ADA) as tx:  # lists by text and by tag contain it again
        if kind == "prompt":
            page, _ = prompts.list_page(tx, ADA, PromptQuery(text="{{ X", tags=["a"]), limit=9)
            assert [one.number for one in page] == [number]
        elif kind == "task":
            found, _ = tasks.list_page(tx, ADA, TaskQuery(filter="pending", text="TEXT", tags=["a"]), limit=9)
            assert [one.number for one in found] == [number]
    write(database, ADA, lambda tx: restoring.purge(tx, ADA, reference))
    with database.read(ADA) as tx:
        assert revisions.of_items(tx, kind, [number]) == [] and trash.by_number(tx, kind, [number]) == []
        with pytest.raises(NotFound):
            lookup.find(tx, ADA, reference)


def add_one(database: Database, kind: ItemKind) -> int:
    """Add an item with a value in every field; return its number."""
    if kind == "prompt":
        draft = PromptDraft(name="it", title="It", content="{{ x }}", tags=["a"], arguments=[Argument("x", "X", True)])
        return write(database, ADA, lambda tx: prompts.add(tx, ADA, draft)).number
    if kind == "document":
        return add_resource(database, ADA, "it", b"bytes").number
    if kind == "project":
        return write(database, ADA, lambda tx: projects.add(tx, "it")).number
    blocker = add_task(database, ADA, "First").number
    task = TaskDraft(
        title="It", description="Text", tags=["a"], due="2030-01-01", priority="high", blocked_by=[blocker]
    )
    return write(database, ADA, lambda tx: tasks.add(tx, ADA, task)).number


def test_a_write_into_a_deleted_project_is_refused_and_makes_no_namesake(database: Database) -> None:
    add_prompt(database, REPOSITORY, "Tee")
    write(database, ADA, lambda tx: projects.delete(tx, "repo"))
    before = list_projects(database)
    for scope in (REPOSITORY, replace(REPOSITORY, projects=("repo",)), replace(ADA, project="repo")):
        with pytest.raises(NotFound) as refused:
            add_prompt(database, scope, "New")
        assert (refused.value.kind, refused.value.key) == ("project", "repo")
    assert list_projects(database) == before


def test_the_first_write_restores_the_deleted_default_project(database: Database) -> None:
    add_prompt(database, ADA, "Tee")
    write(database, ADA, lambda tx: projects.delete(tx, "default"))
    assert "default" not in list_projects(database)
    add_prompt(database, ADA, "New")
    headers, _ = read(database, ADA, lambda tx: prompts.list_headers(tx, ADA))
    assert [one.name for one in headers] == ["tee", "new"]


def test_a_document_whose_name_was_taken_is_restored_beside_the_other(database: Database) -> None:
    add_resource(database, ADA, "notes.md", "old")
    write(database, ADA, lambda tx: documents.delete(tx, ADA, "notes.md"))
    add_resource(database, ADA, "notes.md", "new")
    done = restore(database, ADA, "notes.md")
    assert (done.item.name, done.notes) == (
        "notes-2.md",
        ("The name notes.md is taken; the item is now called notes-2.md.",),
    )
    found = read(
        database, ADA, lambda tx: [documents.get_by_name(tx, ADA, one).content for one in ("notes.md", "notes-2.md")]
    )
    assert found == ["new", "old"]


def test_an_undo_reverses_nothing_that_another_user_did_at_the_same_instant(database: Database) -> None:
    at = "2026-01-01T00:00:00.000000Z"
    for scope, title in ((ADA, "Of Ada"), (BOB, "Of Bob")):
        with database.write(scope) as tx:
            tx.now = at
            prompts.add(tx, scope, PromptDraft(title=title, content="text"))
    for scope in (ADA, BOB):
        assert len(write(database, scope, lambda tx: restoring.undo(tx, scope))) == 1  # noqa: B023
    assert read(database, ADA, lambda tx: prompts.list_headers(tx, ADA)) == ((), False)


def test_a_change_at_the_instant_of_one_that_another_user_undid_still_stands(database: Database) -> None:
    prompt = add_prompt(database, ADA, "Tee", "one")
    edit_prompt(database, ADA, prompt, "two")
    for scope, content in ((CYD, "three"), (BOB, "four")):
        with database.write(scope) as tx:
            tx.now = "2099-01-01T00:00:00.000000Z"
            prompts.update(tx, scope, prompt.id, PromptPatch(content=content))
    write(database, BOB, lambda tx: restoring.undo(tx, BOB))
    with pytest.raises(VersionConflict):
        write(database, ADA, lambda tx: restoring.undo(tx, ADA))
