"""Pruning keeps what the retention promises: recent versions, the newest of each item, and recently deleted items."""

import pytest

from satchel.app import upkeep
from satchel.errors import NotFound, VersionMissing
from satchel.model import KINDS, Prompt, PromptDraft, Retention, Scope
from satchel.services import history, prompts, restoring
from satchel.storage import revisions, trash
from satchel.storage.database import Database
from tests.history.store import (
    ADA,
    Calendar,
    add_prompt,
    add_task,
    delete_prompt,
    delete_task,
    edit_prompt,
    read,
    restore,
    write,
)
from tests.support.process import eventually


def kept(database: Database, prompt: Prompt) -> list[int]:
    """Return the kept versions of a prompt, after reading each."""
    reference = prompt.id if prompt.id in _deleted(database) else prompt.name
    with database.read(ADA) as tx:
        found = [one.version for one in reversed(revisions.of_items(tx, "prompt", [prompt.number]))]
        for one in revisions.of_items(tx, "prompt", [prompt.number]):
            if one.action != "delete":
                text = str(history.read_version(tx, ADA, reference, one.version).content)
                assert text.startswith(f"Text {one.version}.")
    return found


def _deleted(database: Database) -> set[str]:
    return {one.id for one in read(database, ADA, lambda tx: history.list_trash(tx, ADA, is_everything=True))}


def add_versions(database: Database, calendar: Calendar, title: str, count: int, days: int) -> Prompt:
    """Add a prompt with some versions, some days apart; return it."""
    prompt = add_prompt(database, ADA, title, "Text 1. And so on.")
    for version in range(2, count + 1):
        calendar.day += days
        prompt = edit_prompt(database, ADA, prompt, f"Text {version}. And so on.")
    return prompt


def test_the_newest_version_alone_can_be_kept(database: Database, calendar: Calendar) -> None:
    database.retention = Retention(history_days=0, history_versions=1)
    prompt = add_versions(database, calendar, "Tee", 4, days=1)
    calendar.day += 1
    history.prune(database)
    assert kept(database, prompt) == [4]
    assert restore(database, ADA, "satchel://project/default").is_changed is False
    with pytest.raises(VersionMissing):
        restore(database, ADA, "tee")
    delete_prompt(database, ADA, prompt)
    calendar.day += 1
    history.prune(database)
    assert kept(database, prompt) == [4, 5]  # the deletion, and the state that a restore needs
    assert restore(database, ADA, "tee").item.content == "Text 4. And so on."


def test_versions_with_labels_are_kept(database: Database, calendar: Calendar) -> None:
    database.retention = Retention(history_days=0, history_versions=1)
    prompt = add_versions(database, calendar, "Tee", 6, days=0)
    other = add_versions(database, calendar, "Kaffee", 3, days=0)
    write(database, ADA, lambda tx: prompts.set_label(tx, ADA, prompt, "production", 3))
    calendar.day += 1
    history.prune(database)
    assert (kept(database, prompt), kept(database, other)) == ([3, 4, 5, 6], [3])
    write(database, ADA, lambda tx: prompts.set_label(tx, ADA, prompt, "production", 5))
    edit_prompt(database, ADA, other, "Text 4. And so on.")  # pruning begins where something is left to do
    calendar.day += 1
    history.prune(database)
    assert (kept(database, prompt), kept(database, other)) == ([5, 6], [4])
    delete_prompt(database, ADA, prompt)
    restore(database, ADA, "tee")
    calendar.day += 1
    history.prune(database)
    with database.read(ADA) as tx:
        again = prompts.get_by_name(tx, ADA, "tee")
        labelled = prompts.read_labelled(tx, ADA, again, "production")
    assert labelled.content == "Text 5. And so on."
    write(database, ADA, lambda tx: restoring.purge(tx, ADA, "tee"))
    with database.read(ADA) as tx:
        assert tx.all("select * from prompt_labels") == []


def test_deleted_items_go_after_their_days_with_all_their_versions(database: Database, calendar: Calendar) -> None:
    database.retention = Retention(trash_days=30)
    first, second = (add_versions(database, calendar, title, 3, days=0) for title in ("First", "Second"))
    task = add_task(database, ADA, "Task")
    delete_prompt(database, ADA, first)
    delete_task(database, ADA, task.number)
    calendar.day += 29
    delete_prompt(database, ADA, second)
    history.prune(database)
    assert _deleted(database) == {first.id, second.id, task.id}
    calendar.day += 2
    with pytest.raises(NotFound):  # even before anything is pruned
        restore(database, ADA, "first")
    history.prune(database)
    assert _deleted(database) == {second.id}
    assert kept(database, second) == [1, 2, 3, 4]
    with database.read(ADA) as tx:
        assert revisions.of_items(tx, "prompt", [first.number]) == revisions.of_items(tx, "task", [task.number]) == []
        assert tx.all("select count(*) from revision_states where revision not in (select number from revisions)") == [
            (0,)
        ]
    assert restore(database, ADA, "second").item.version == 5


def test_without_a_trash_nothing_comes_back_and_with_an_empty_one_neither(
    database: Database, calendar: Calendar
) -> None:
    database.retention = Retention(trash_days=0)
    one, two = add_prompt(database, ADA, "One"), add_prompt(database, ADA, "Two")
    delete_prompt(database, ADA, one)
    with pytest.raises(NotFound):
        restore(database, ADA, one.id)
    assert _deleted(database) == set()
    history.prune(database)
    database.retention = Retention()
    delete_prompt(database, ADA, two)
    assert _deleted(database) == {two.id}
    history.prune(database, empty_trash=True)
    assert _deleted(database) == set()
    with database.read(ADA) as tx:
        found = tx.all("select kind, item, action from revisions where kind <> 'project'")
        assert found == [("prompt", one.number, "delete")]  # only the deletion of an item removed at once is kept
        assert tx.all("select id from prompts") == []


def test_a_purged_item_leaves_nothing_behind(database: Database, calendar: Calendar) -> None:
    for title in ("Tee", "Tee"):
        prompt = add_versions(database, calendar, title, 3, days=0)
        delete_prompt(database, ADA, prompt)
    live = add_prompt(database, ADA, "Tee", "needle")
    other = add_prompt(database, ADA, "Other", "needle")
    write(database, ADA, lambda tx: restoring.purge(tx, ADA, "tee"))
    with database.read(ADA) as tx:
        assert tx.all("select item from revisions where kind = 'prompt'") == [(other.number,)]
        assert tx.all("select * from revision_states") == []
        assert tx.all("select number from prompts") == tx.all("select prompt from prompt_texts") == [(other.number,)]
    assert add_prompt(database, ADA, "Tee").version == 1 and live.version == 9


SCOPE = Scope(user="11111111-1111-4111-8111-111111111111")


def test_expired_rows_are_removed_automatically(database: Database) -> None:
    with database.write(SCOPE) as tx:
        prompts.delete(tx, SCOPE, prompts.add(tx, SCOPE, PromptDraft(title="Tea", content="Boil")).id)
    database.retention = Retention(trash_days=0)

    def is_gone() -> bool:
        with database.read(SCOPE) as tx:
            return not trash.list_newest(tx, KINDS, projects=None, owner=SCOPE.user, since="", limit=9)

    assert not is_gone()
    with database.read(SCOPE) as tx:
        assert history.list_trash(tx, SCOPE) == []  # nobody sees it any more
    stop = upkeep.start(database, first=0.0)
    try:
        assert eventually(is_gone)
    finally:
        stop()
