"""Undo reverses the last changes of a user, and nothing else."""

import pytest

from satchel.errors import NotFound, SatchelError, VersionConflict, VersionMissing
from satchel.model import PromptPatch, Retention, Scope
from satchel.services import history, projects, prompts, restoring, tasks
from satchel.storage.database import Database, Tx
from tests.history.store import (
    ADA,
    BOB,
    add_projects,
    add_prompt,
    add_task,
    delete_prompt,
    edit_prompt,
    read,
    restore,
    write,
)


def undone(database: Database, scope: Scope, last: int = 1) -> list[list[tuple[str, str]]]:
    """Undo the last transactions; return action and item of each change, by transaction."""
    steps = write(database, scope, lambda tx: restoring.undo(tx, scope, last))
    return [[(one.revision.action, one.key) for one in step.changes] for step in steps]


def test_each_undo_reverses_one_more_change_until_nothing_is_left(database: Database) -> None:
    prompt = add_prompt(database, ADA, "Tee", "one")
    edit_prompt(database, ADA, prompt, "two")
    edit_prompt(database, ADA, prompt, "two")  # changes nothing, so there is nothing to undo
    delete_prompt(database, ADA, prompt)
    assert [undone(database, ADA) for _ in range(4)] == [
        [[("delete", "tee")]],
        [[("update", "tee")]],
        [[("add", "tee")]],
        [],
    ]
    assert read(database, ADA, lambda tx: prompts.list_headers(tx, ADA)) == ((), False)


def test_later_changes_of_another_user_are_not_reversed(database: Database) -> None:
    prompt = add_prompt(database, ADA, "Tee", "one")
    edit_prompt(database, ADA, prompt, "two")
    edit_prompt(database, BOB, prompt, "three")
    with pytest.raises(VersionConflict):
        undone(database, ADA)
    assert undone(database, BOB) == [[("update", "tee")]]
    assert undone(database, ADA) == [[("update", "tee")]]
    assert read(database, ADA, lambda tx: prompts.get_by_name(tx, ADA, "tee")).content == "one"


def test_transactions_of_one_command_are_undone_together_and_come_back_with_their_project(database: Database) -> None:
    here = Scope(user=ADA.user, project="p", began="2026-11-19T12:00:00.000000Z")
    write(database, here, lambda tx: projects.add(tx, "p"))
    add_prompt(database, here, "Tee")
    task = add_task(database, here, "Drink", project="p")
    write(database, BOB, lambda tx: projects.add(tx, "other"))
    kept = add_prompt(database, Scope(user=BOB.user, project="p"), "Milk")
    assert undone(database, ADA) == [[("add", f"#{task.number}"), ("add", "tee"), ("add", "p")]]
    for _ in range(2):  # and again after that restore was undone
        back = restore(database, ADA, "satchel://project/p")
        assert (back.item.kind, back.was_deleted) == ("project", True)
        found = read(database, here, lambda tx: prompts.list_headers(tx, here)[0])
        assert sorted(one.name for one in found) == [kept.name, "tee"]
        assert read(database, here, lambda tx: tasks.find(tx, here, task.number)).project == "p"
        assert [len(step) for step in undone(database, ADA)] == [3]


def test_nothing_is_undone_in_a_deleted_project_or_elsewhere(database: Database) -> None:
    add_projects(database, "p")
    here = add_prompt(database, BOB, "Tee", "here")
    add_prompt(database, Scope(user=ADA.user, project="p"), "Tee", "there")
    write(database, BOB, lambda tx: projects.delete(tx, "p"))
    with pytest.raises(NotFound) as refused:
        undone(database, ADA)
    assert (refused.value.kind, refused.value.key) == ("project", "p")
    assert read(database, ADA, lambda tx: prompts.get_by_name(tx, ADA, "tee")) == here


def test_without_a_trash_a_deletion_is_for_good(database: Database) -> None:
    database.retention = Retention(trash_days=0)
    add_prompt(database, ADA, "Earlier")
    delete_prompt(database, ADA, add_prompt(database, ADA, "Tee"))
    assert undone(database, ADA) == [[("add", "earlier")]]  # not the deletion
    assert read(database, ADA, lambda tx: prompts.list_headers(tx, ADA)) == ((), False)


def test_a_deletion_by_somebody_else_is_not_reversed(database: Database) -> None:
    prompt = add_prompt(database, BOB, "Tee")
    delete_prompt(database, ADA, prompt)
    restore(database, BOB, prompt.id)
    delete_prompt(database, BOB, prompt)
    with pytest.raises(VersionConflict):
        undone(database, ADA)
    assert read(database, ADA, lambda tx: prompts.list_headers(tx, ADA)) == ((), False)


def test_an_update_whose_past_was_pruned_is_not_taken_for_an_addition(database: Database) -> None:
    prompt = add_prompt(database, ADA, "Tee", "one")
    edit_prompt(database, ADA, prompt, "two")
    database.retention = Retention(history_days=0, history_versions=1)
    history.prune(database)
    with pytest.raises(VersionMissing) as missing:
        undone(database, ADA)
    assert (missing.value.version, missing.value.kept) == (1, (2,))
    assert read(database, ADA, lambda tx: prompts.get_by_name(tx, ADA, "tee")).content == "two"


def test_a_title_taken_meanwhile_is_reported_and_nothing_is_changed(database: Database) -> None:
    prompt = add_prompt(database, ADA, "Tee", "one")
    write(database, ADA, lambda tx: prompts.update(tx, ADA, prompt.id, PromptPatch(title="Other", content="two")))
    add_prompt(database, BOB, "Tee")
    with pytest.raises(SatchelError, match="'Tee' already exists"):
        undone(database, ADA)
    found = read(database, ADA, lambda tx: prompts.get(tx, ADA, prompt.id))
    assert (found.title, found.content, found.version) == ("Other", "two", 2)


def test_undo_passes_over_notes(database: Database) -> None:
    task = add_task(database, ADA, "Drink")

    def complete_with_note(tx: Tx) -> None:
        done, _ = tasks.complete(tx, ADA, task.number)
        tasks.add_note(tx, ADA, done, "It was hot")

    write(database, ADA, complete_with_note)
    write(database, ADA, lambda tx: tasks.add_note(tx, ADA, task.number, "And good"))
    assert [undone(database, ADA) for _ in range(3)] == [[[("complete", "#1")]], [[("add", "#1")]], []]
    restore(database, ADA, "#1")
    now = read(database, ADA, lambda tx: (tasks.find(tx, ADA, 1), tasks.list_notes(tx, ADA, 1, 9)))
    assert (now[0].status, [note.text for note in now[1][0]]) == ("pending", ["It was hot", "And good"])
    notes = read(database, ADA, lambda tx: history.list_changes(tx, ADA, limit=9)[0])
    [last] = [one.revision for one in notes if one.note == "And good"]
    write(database, ADA, lambda tx: restoring.take_back(tx, ADA, last))  # a note stays
    assert read(database, ADA, lambda tx: tasks.find(tx, ADA, 1)) == now[0]
