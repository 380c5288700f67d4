"""Statements on SQLite are planned once on a connection, and not anew for the values of each call."""

from contextlib import closing
from pathlib import Path

import apsw

from satchel.model import PromptDraft, Scope, TaskDraft, TaskPatch
from satchel.services import links, projects, prompts, tasks
from satchel.storage.database import Database, Tx, open_database
from satchel.storage.sqlite import SqliteDatabase

SCOPE = Scope(user="11111111-1111-4111-8111-111111111111")


def record_planning(database: Database) -> list[str | None]:
    """The tables and columns that SQLite looks at while it plans statements, which it asks its authorizer about."""
    assert isinstance(database, SqliteDatabase)
    found: list[str | None] = []

    def note(_action: int, table: str | None, _column: str | None, _schema: str | None, _trigger: str | None) -> int:
        found.append(table)
        return apsw.SQLITE_OK

    with database.read():
        pass  # now there is a connection that reads
    for connection in (database._writer, *database._idle_readers):
        connection.authorizer = note
    return found


def read_items(tx: Tx, number: int) -> None:
    task = tasks.find(tx, SCOPE, number)
    links.of(tx, SCOPE, "task", task)
    tasks.list_blocked(tx, SCOPE, number)
    links.of(tx, SCOPE, "prompt", prompts.get_by_name(tx, SCOPE, f"prompt-{number}"))


def write_items(tx: Tx, number: int) -> None:
    prompts.add(tx, SCOPE, PromptDraft(title=f"Prompt {number}", content=f"See satchel://task/{number}.", tags=["a"]))
    task = tasks.add(tx, SCOPE, TaskDraft(title=f"Task {number}", project=SCOPE.project, tags=["b"]))
    tasks.update(tx, SCOPE, task.number, TaskPatch(description=f"Use satchel://prompt/prompt-{number}."))
    tasks.complete(tx, SCOPE, task.number)


def test_reads_and_writes_with_other_values_are_not_planned_anew(tmp_path: Path) -> None:
    with closing(open_database(str(tmp_path / "satchel.db"))) as database:
        projects.require(database, SCOPE)
        planning = record_planning(database)
        for number in (1, 2, 3):
            before = len(planning)
            with database.write(SCOPE) as tx:
                write_items(tx, number)
            with database.read(SCOPE) as tx:
                read_items(tx, number)
            assert (len(planning) == before) is (number > 1)
