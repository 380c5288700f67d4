"""Restores: their result, the version that they make, and their refusals."""

import pytest

from satchel.errors import NotFound, WrongArgument
from satchel.model import Retention, TaskPatch, uri_of
from satchel.services import documents, history, projects, tasks
from satchel.storage.database import Database
from tests.history.store import (
    ADA,
    add_projects,
    add_prompt,
    add_resource,
    add_task,
    delete_prompt,
    delete_task,
    edit_prompt,
    find,
    read,
    restore,
    write,
)


def versions(database: Database, reference: str) -> list[tuple[int, str]]:
    _, found, _ = read(database, ADA, lambda tx: history.list_versions(tx, ADA, reference))
    return [(one.version, one.action) for one in found]


def content(database: Database, reference: str, version: int | None = None) -> str:
    return str(read(database, ADA, lambda tx: history.read_version(tx, ADA, reference, version)).content)


def test_an_edit_is_undone_by_a_restore_and_a_second_restore_changes_nothing(database: Database) -> None:
    prompt = add_prompt(database, ADA, "Tee", "All of it.")
    edit_prompt(database, ADA, prompt, "... (rest unchanged)")
    done = restore(database, ADA, "tee")
    again = restore(database, ADA, "tee")
    assert (done.is_changed, done.from_version, done.item.version, done.item.content) == (True, 1, 3, "All of it.")
    assert (again.is_changed, again.item.version) == (False, 3)
    assert versions(database, "tee") == [(3, "restore"), (2, "update"), (1, "add")]


@pytest.mark.parametrize("kind", ["prompt", "document", "project"])
def test_a_version_names_one_state_even_where_two_of_one_name_were_deleted(database: Database, kind: str) -> None:
    def add_and_delete() -> str:
        if kind == "prompt":
            prompt = add_prompt(database, ADA, "x")
            delete_prompt(database, ADA, prompt)
            return prompt.id
        if kind == "document":
            resource = add_resource(database, ADA, "x")
            write(database, ADA, lambda tx: documents.delete(tx, ADA, "x"))
            return resource.id
        project = write(database, ADA, lambda tx: projects.add(tx, "x"))
        write(database, ADA, lambda tx: projects.delete(tx, "x"))
        return project.id

    first, second = add_and_delete(), add_and_delete()
    assert restore(database, ADA, first).item.version == 3
    assert restore(database, ADA, second).item.name == "x-2"
    assert versions(database, uri_of(kind, "x")) == [(3, "restore"), (2, "delete"), (1, "add")]
    assert versions(database, uri_of(kind, "x-2")) == [(5, "restore"), (4, "delete"), (3, "add")]


def test_a_circle_of_blockers_is_not_restored(database: Database) -> None:
    last = add_task(database, ADA, "Last").number
    middle = add_task(database, ADA, "Middle", last).number
    first = add_task(database, ADA, "First", middle).number
    delete_task(database, ADA, middle)
    write(database, ADA, lambda tx: tasks.update(tx, ADA, last, TaskPatch(blocked_by=[first])))
    with pytest.raises(WrongArgument) as refused:
        restore(database, ADA, f"#{middle}")
    assert (refused.value.field, refused.value.rule) == ("blocked_by", "acyclic")
    assert versions(database, f"#{middle}")[0] == (2, "delete")


def test_a_deleted_blocker_blocks_again_when_it_is_restored_whichever_task_comes_back_first(database: Database) -> None:
    def blocked_by(task: int) -> tuple[int, ...]:
        return read(database, ADA, lambda tx: tasks.find(tx, ADA, task)).blocked_by

    blocker = add_task(database, ADA, "Blocker").number
    task = add_task(database, ADA, "Task", blocker).number
    other = add_task(database, ADA, "Other", blocker)
    delete_task(database, ADA, task)
    delete_task(database, ADA, blocker)
    restore(database, ADA, f"#{task}")
    assert (blocked_by(task), blocked_by(other.number)) == ((), ())
    restore(database, ADA, f"#{blocker}")
    assert (blocked_by(task), blocked_by(other.number)) == ((blocker,), (blocker,))
    assert read(database, ADA, lambda tx: tasks.find(tx, ADA, other.number)).version == other.version


def test_an_expired_blocker_does_not_keep_an_older_version_from_coming_back(database: Database) -> None:
    blocker = add_task(database, ADA, "Blocker").number
    task = add_task(database, ADA, "Task", blocker).number
    write(database, ADA, lambda tx: tasks.update(tx, ADA, task, TaskPatch(title="Other")))
    delete_task(database, ADA, blocker)
    database.retention = Retention(trash_days=0)
    done = restore(database, ADA, f"#{task}", 1)
    assert (done.item.title, done.notes) == ("Task", ())
    history.prune(database)
    done = restore(database, ADA, f"#{task}", 2)
    assert (done.item.title, done.notes) == ("Other", (f"Blockers that no longer exist were left out: #{blocker}.",))


def test_an_old_version_of_a_task_leaves_it_in_a_project_that_is_in_the_trash(database: Database) -> None:
    add_projects(database, "p")
    task = add_task(database, ADA, "Task", project="p").number
    write(database, ADA, lambda tx: tasks.update(tx, ADA, task, TaskPatch(title="Other")))
    write(database, ADA, lambda tx: projects.delete(tx, "p"))
    assert restore(database, ADA, f"#{task}", 1).is_changed
    assert not restore(database, ADA, f"#{task}", 1).is_changed
    restore(database, ADA, "satchel://project/p")
    found = read(database, ADA, lambda tx: tasks.find(tx, ADA, task))
    assert (found.title, found.project) == ("Task", "p")


def test_any_strange_reference_is_simply_not_found(database: Database) -> None:
    strange = [
        *("", "#", "~", "satchel://", "satchel://prompt/", "satchel://task/-1", "satchel://project/~x"),
        "satchel://x/y",
        *("satchel://prompt/%00", "satchel://project/%00", "satchel://task/%00", "satchel://resource/%00"),
        *("satchel://task/²", "satchel://task/٣", "#²", "9" * 18, "#" + "9" * 19, "satchel://task/" + "9" * 40),
        *("\0", "\ud800", "x\0y", "satchel://prompt/%ED%A0%80", "x" * 2000, "00000000-0000-4000-8000-000000000000"),
    ]
    for reference in strange:
        with pytest.raises(NotFound):
            find(database, ADA, reference)
