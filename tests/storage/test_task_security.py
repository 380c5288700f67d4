"""Tasks in raw SQL, as a role that owns nothing, limited to one project: no row of another is reached."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from satchel.model import Holder, Scope, StoreChange, Task, TaskDraft, TaskPatch
from satchel.services import projects, restoring, tasks, templates
from satchel.storage.database import Database, open_database
from tests.support.postgres import PostgresServer
from tests.support.roles import become, refuse, two_roles

ANN = "550e8400-e29b-41d4-a716-446655440000"
EVERYWHERE = Scope(user=ANN)
LIMITED = Scope(user=ANN, project="pub", projects=("pub",))

# For each table with rows of tasks, the column with the number of the task.
OF_TASKS = {
    "tasks": "number",
    "task_tags": "task",
    "task_texts": "task",
    "task_blocks": "task",
    "task_claims": "task",
    "task_notes": "task",
    "links": "task",
    "search_items": "task",
    "revisions": "item",
    "revision_states": "(select item from revisions where number = revision)",
    "blockers": "task",
}
WRITTEN = ("tasks", "task_tags", "task_texts", "task_blocks", "task_claims", "links", "search_items")


class Store:
    """Tasks of Ann in `pub`, in `priv`, in no project and in a deleted project, each also with a deleted task."""

    def __init__(self, owner: str, app: str) -> None:
        self.owner, self.app = owner, app
        self.database = open_database(app)
        with self.database.write(EVERYWHERE) as tx:
            for name in ("pub", "priv", "gone"):
                projects.add(tx, name)
        self.seen = self.add_all("pub")
        self.hidden = [number for where in ("priv", None, "gone") for number in self.add_all(where)]
        with self.database.write(EVERYWHERE) as tx:
            projects.delete(tx, "gone")
            templates.remember_values(tx, EVERYWHERE, "pub/p", {"a": "seen"})
            templates.remember_values(tx, EVERYWHERE, "priv/p", {"a": "hidden"})
            templates.remember_values(tx, EVERYWHERE, "library:p", {"a": "seen"})

    def add_all(self, project: str | None) -> list[int]:
        """Add a task with all fields, a task that blocks it, and a deleted task; return their numbers."""
        numbers = []
        with self.database.write(EVERYWHERE) as tx:
            for place in range(3):
                text = "see satchel://task/1"
                draft = TaskDraft(title=f"In {project}", description=text, project=project, tags=["tag"])
                task = tasks.add(tx, EVERYWHERE, draft)
                tasks.add_note(tx, EVERYWHERE, task.number, "A note")
                tasks.claim(tx, EVERYWHERE, task.number, Holder("h", "h", True), 5)
                blockers = numbers[:1] if place == 1 else ()
                tasks.update(tx, EVERYWHERE, task.number, TaskPatch(title=f"Still in {project}", blocked_by=blockers))
                numbers.append(task.number)
            tasks.delete(tx, EVERYWHERE, numbers[2])
        return numbers


@pytest.fixture(scope="module")
def store(postgres: PostgresServer) -> Iterator[Store]:
    store = Store(*two_roles(postgres))
    yield store
    store.database.close()


@pytest.fixture
def limited(store: Store) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection of the application role for a caller limited to `pub`; it rolls back all changes."""
    with psycopg.connect(store.app) as connection:
        become(connection, ANN, "pub")
        yield connection
        connection.rollback()


def read(connection: psycopg.Connection[Any], table: str) -> set[int]:
    """Return the tasks whose rows a connection sees in a table."""
    kind = " where kind = 'task'" if table == "revisions" else ""
    found = connection.execute(f"select {OF_TASKS[table]} from {table}{kind}".encode()).fetchall()
    return {number for (number,) in found if number is not None}


def test_a_limited_caller_reads_no_row_of_a_task_in_another_project(
    store: Store, limited: psycopg.Connection[Any]
) -> None:
    for table in OF_TASKS:
        become(limited, ANN, "pub")
        own = read(limited, table)
        assert own and own <= {*store.seen}
        become(limited, ANN, "*")
        everything = read(limited, table)
        assert own < everything and everything & {*store.hidden}
        for nothing in ("", "gone", "pub2"):
            become(limited, ANN, nothing)
            assert read(limited, table) == set()
        limited.rollback()
        assert read(limited, table) == set()


def test_a_limited_caller_changes_and_deletes_no_row_of_a_task_in_another_project(
    store: Store, limited: psycopg.Connection[Any]
) -> None:
    for table in WRITTEN:
        column = OF_TASKS[table]
        hidden = f"select * from {table} where {column} = any(%s)".encode()
        become(limited, ANN, "*")
        before = limited.execute(hidden, [store.hidden]).fetchall()
        become(limited, ANN, "pub")
        changed = limited.execute(f"update {table} set {column} = {column} returning {column}".encode()).fetchall()
        deleted = limited.execute(f"delete from {table} returning {column}".encode()).fetchall()
        touched = {number for (number,) in (*changed, *deleted) if number is not None}
        assert touched and touched <= {*store.seen}
        become(limited, ANN, "*")
        after = limited.execute(hidden, [store.hidden]).fetchall()
        assert sorted(map(str, after)) == sorted(map(str, before)) and before
        limited.rollback()


ON_HIDDEN = [
    "insert into tasks (id, owner, title, created_at, updated_at) values ('x', :ann, 'T', '', '')",
    "insert into tasks (id, owner, title, created_at, updated_at, project) values ('x', :ann, 'T', '', '', :priv)",
    "update tasks set project = :priv",
    "update tasks set project = null",
    "insert into task_tags values (:hidden, :ann, 'x')",
    "update task_tags set task = :hidden, tag = 'y'",
    "insert into task_texts values (:hidden, :ann, 'x', '')",
    "insert into task_texts values (:hidden, :ann, 'x', '') on conflict (task) do update set title = 'x'",
    "insert into task_blocks values (:hidden, :seen, :ann)",
    "insert into task_blocks values (:seen, :hidden, :ann)",
    "insert into task_claims values (:hidden, :ann, 'h', 'k', '', 1) on conflict (task) do update set fence = 9",
    "insert into task_notes (task, owner, author, at, text) values (:hidden, :ann, 1, '', 'x')",
    "insert into links (task, owner, part, to_kind, to_key) values (:hidden, :ann, 'text', 'task', '1')",
    "insert into revisions (kind, item, version, action, at, owner) values ('task', 1, 99, 'add', '', :ann)",
    "insert into revisions (kind, item, version, action, at, owner, project) "
    "values ('task', 1, 99, 'add', '', :ann, :priv)",
    "insert into argument_values values (:ann, 'priv/p', 'a', 'x', '')",
]


def test_a_limited_caller_adds_no_row_to_a_task_in_another_project(
    store: Store, limited: psycopg.Connection[Any]
) -> None:
    with psycopg.connect(store.owner) as owner:
        [[priv]] = owner.execute("select number from projects where name = 'priv'").fetchall()
    values = {":ann": f"'{ANN}'", ":priv": priv, ":hidden": store.hidden[0], ":seen": store.seen[0]}
    for sql in ON_HIDDEN:
        for name, value in values.items():
            sql = sql.replace(name, str(value))
        refuse(limited, sql, ANN, "pub")


def test_a_limited_caller_reads_the_values_of_its_projects_and_of_libraries(limited: psycopg.Connection[Any]) -> None:
    assert limited.execute("select distinct value from argument_values").fetchall() == [("seen",)]


# -- effects of a change on tasks that its caller may not see ---------------------------------------------------


def add(database: Database, title: str, project: str | None, *blockers: int) -> Task:
    with database.write(EVERYWHERE) as tx:
        return tasks.add(tx, EVERYWHERE, TaskDraft(title=title, project=project, blocked_by=blockers))


def find(database: Database, scope: Scope, number: int) -> Task:
    with database.read(scope) as tx:
        return tasks.find(tx, scope, number)


def test_blockers_across_projects_hold_for_a_limited_caller_who_does_not_see_them(store: Store) -> None:
    database = store.database
    hidden = add(database, "Hidden", "priv")
    waiting = add(database, "Waiting", "pub", hidden.number)
    told = find(database, LIMITED, waiting.number)
    assert (told.blocked_by, told.open_blockers, told.waits_elsewhere) == ((), (), True)
    other = add(database, "Other", "pub")
    for blockers in ([other.number], []):
        with database.write(LIMITED) as tx:
            tasks.update(tx, LIMITED, waiting.number, TaskPatch(blocked_by=blockers))
        assert find(database, EVERYWHERE, waiting.number).blocked_by == (hidden.number, *blockers)


def test_a_limited_caller_frees_and_blocks_again_the_tasks_of_other_projects(store: Store) -> None:
    database = store.database
    blocker = add(database, "Blocker", "pub")
    waiting = add(database, "Waiting elsewhere", "priv", blocker.number)
    with database.write(LIMITED) as tx:
        tasks.delete(tx, LIMITED, blocker.number)
        assert StoreChange("task", "priv", ANN, str(waiting.number)) in tx.changes
        assert tx.all("select title from tasks where number = :number", number=waiting.number) == []  # limited again
    freed = find(database, EVERYWHERE, waiting.number)
    assert (freed.blocked_by, freed.version) == ((), waiting.version)
    with database.write(LIMITED) as tx:
        restoring.restore(tx, LIMITED, f"#{blocker.number}")
    again = find(database, EVERYWHERE, waiting.number)
    assert (again.blocked_by, again.version) == ((blocker.number,), waiting.version)
