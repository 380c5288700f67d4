"""Remains of items that are removed for good: by a purge, by a permanent deletion, and without a trash."""

from collections.abc import Callable
from typing import Any

import pytest

from satchel.errors import NotFound
from satchel.model import (
    DocumentDraft,
    DocumentPatch,
    ItemKind,
    PromptDraft,
    PromptPatch,
    Retention,
    Scope,
    TaskDraft,
    TaskPatch,
    uri_of,
)
from satchel.services import documents, history, layers, lookup, projects, prompts, restoring, tasks
from satchel.storage import postgres_schema, trash
from satchel.storage.database import Database, Tx
from tests.history.store import Calendar

SCOPE = Scope(user="11111111-1111-4111-8111-111111111111")
INSIDE = Scope(user=SCOPE.user, project="shed")
_TABLES = {*postgres_schema.DATA, *postgres_schema.APPEND_ONLY} - {"changes"}  # it has only the latest announcements


def test_a_task_whose_blocker_is_purged_keeps_its_versions(database: Database) -> None:
    with database.write(SCOPE) as tx:
        first = tasks.add(tx, SCOPE, TaskDraft(title="First"))
        second = tasks.add(tx, SCOPE, TaskDraft(title="Second", blocked_by=[first.number]))
    with database.write(SCOPE) as tx:
        restoring.purge(tx, SCOPE, f"#{first.number}")
    with database.read(SCOPE) as tx:
        _, found, _ = history.list_versions(tx, SCOPE, f"#{second.number}")
        assert [(one.version, one.action) for one in found] == [(1, "add")]
        assert tasks.find(tx, SCOPE, second.number).blocked_by == ()
    with database.write(SCOPE) as tx:
        tasks.update(tx, SCOPE, second.number, TaskPatch(title="Other", blocked_by=[]))
        assert history.read_version(tx, SCOPE, f"#{second.number}", 1).state.blocked_by == (first.number,)


def in_tables(tx: Tx, *words: str) -> dict[str, list[str]]:
    """Return, for each word, the tables that contain it."""
    tables = {table: str(tx.all(f"select * from {table}")).casefold() for table in _TABLES}
    return {word: sorted(table for table, rows in tables.items() if word in rows) for word in words}


def add_prompt(tx: Tx) -> str:
    prompt = prompts.add(tx, SCOPE, PromptDraft(title="Walrus", content="zebra and tiger", tags=["walrus"]))
    prompts.update(tx, SCOPE, prompt.id, PromptPatch(content="tiger and gnu, [[satchel://task/1]]", description="emu"))
    return prompt.id


def add_task(tx: Tx) -> str:
    task = tasks.add(tx, SCOPE, TaskDraft(title="Walrus", description="zebra and tiger", tags=["walrus"]))
    tasks.update(tx, SCOPE, task.number, TaskPatch(title="gnu", description="tiger and emu"))
    tasks.add_note(tx, SCOPE, task.id, "walrus")
    return task.id


def add_document(tx: Tx) -> str:
    draft = DocumentDraft(name="walrus", uri="x:walrus", content="zebra and tiger", mime_type="text/plain")
    documents.add(tx, SCOPE, draft)
    documents.update(tx, SCOPE, "walrus", DocumentPatch(content="tiger and gnu", description="emu"))
    return "walrus"


def add_project(tx: Tx) -> str:
    projects.add(tx, "shed")
    for title in ("Walrus", "Emu"):
        prompts.add(tx, INSIDE, PromptDraft(title=title, content="zebra and tiger and gnu"))
    prompts.delete(tx, INSIDE, layers.find_prompt(tx, INSIDE, "Emu").id)
    return "shed"


# By name of the case: the kind of item, and the functions that add and delete it.
CASES: dict[str, tuple[ItemKind, Callable[[Tx], str], Callable[[Tx, str], Any]]] = {
    "prompt-store": ("prompt", add_prompt, lambda tx, key: prompts.delete(tx, SCOPE, key, permanently=True)),
    "todo": ("task", add_task, lambda tx, key: tasks.delete(tx, SCOPE, key, permanently=True)),
    "prompt": ("prompt", add_prompt, lambda tx, key: prompts.delete(tx, SCOPE, key)),
    "task": ("task", add_task, lambda tx, key: tasks.delete(tx, SCOPE, key)),
    "document": ("document", add_document, lambda tx, key: documents.delete(tx, SCOPE, key)),
    "project": ("project", add_project, projects.delete),
}


@pytest.mark.parametrize("case", CASES)
def test_a_permanent_deletion_leaves_only_author_kind_and_time(
    database: Database, calendar: Calendar, case: str
) -> None:
    kind, add, delete = CASES[case]
    database.retention = Retention(trash_days=30 if case in ("prompt-store", "todo") else 0)
    with database.write(SCOPE) as tx:
        prompts.add(tx, SCOPE, PromptDraft(title="Other", content="A tiger stays"))
    with database.write(SCOPE) as tx:
        key = add(tx)
    with database.write(SCOPE) as tx:
        delete(tx, key)
        now = tx.now
    database.retention = Retention()  # as another process may be configured
    with database.write(SCOPE) as tx:
        left = in_tables(tx, "walrus", "zebra", "gnu", "emu", "shed", "tiger")
        assert {word for word, tables in left.items() if tables} == {"tiger"}
        assert "search_words" in left["tiger"]
        assert trash.count(tx) == {} and tx.all("select * from links") == []
        reference = uri_of(kind, key)
        for look in (lookup.find, restoring.restore, history.list_versions):
            with pytest.raises(NotFound):
                look(tx, SCOPE, reference)
        [last, *_], _ = history.list_visible_changes(tx, SCOPE, limit=1)
        assert (last.revision.kind, last.revision.action, last.revision.at) == (kind, "delete", now)
        assert last.title == "" and last.key in ("?", f"#{last.revision.item}")
        assert last.revision.author.user == SCOPE.user
        item = "kind = :kind and item = :item"
        assert len(tx.all(f"select 1 from revisions where {item}", kind=kind, item=last.revision.item)) == 1
        # Undo continues with the change before.
        [step] = restoring.plan_undo(tx, SCOPE)
        assert [entry.title for entry in step.changes] == ["Other"]
    calendar.day += 91
    history.prune(database)
    with database.read(SCOPE) as tx:
        assert [one.revision.action for one in history.list_visible_changes(tx, SCOPE)[0]][:1] == ["add"]
