"""One store on SQLite and one on PostgreSQL, which are given the same calls at the same times and must answer alike."""

import itertools
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from satchel import clock
from satchel.library import catalog
from satchel.model import Scope
from satchel.services import projects
from satchel.storage.database import open_database
from tests.support.dumps import Dumper
from tests.support.runners import Runners, has_failed

_BEGIN = datetime(2026, 11, 17, 9, tzinfo=UTC)


class FrozenClock:
    """A time that goes on by a second with each step, and ids that follow from it: the same for every engine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.step = 0
        self._count = itertools.count(1)
        monkeypatch.setattr(clock, "now", self._now)
        monkeypatch.setattr(clock, "new_id", self._new_id)

    def restart(self) -> None:
        """Begin the step again, for the next engine."""
        self._count = itertools.count(1)

    def _now(self) -> str:
        return clock.write(_BEGIN + timedelta(seconds=self.step, microseconds=next(self._count)))

    def _new_id(self) -> str:
        return str(UUID(int=(self.step << 64) + (4 << 76) + (1 << 63) + next(self._count)))


class Engines:
    """Both stores. They are emptied for each run, and the connections to PostgreSQL are kept."""

    def __init__(self, template: Path, folder: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = FrozenClock(monkeypatch)
        self._libraries = catalog.Libraries(())
        self._template, self._file = template, folder / "model.db"
        self._on_postgres = Runners(open_database(address), self._libraries)
        self._admin = psycopg.connect(address, autocommit=True)
        tables = Dumper(self._on_postgres.database).tables
        sequences = [
            name for (name,) in self._admin.execute("select sequencename from pg_sequences where schemaname = 'public'")
        ]
        self._empty = ";".join(
            ["set session_replication_role = replica", "set synchronous_commit = off"]
            + [f"delete from {name}" for name in tables]
            + [f"alter sequence {name} restart" for name in sequences]
        )
        self._on_sqlite: Runners | None = None
        self._last_task = 0  # the number of the last one that was added

    @property
    def runners(self) -> Runners:
        """Those on SQLite."""
        assert self._on_sqlite is not None
        return self._on_sqlite

    def empty(self) -> None:
        """Begin again with two stores that have a project `default`."""
        if self._on_sqlite is not None:
            self._on_sqlite.database.close()
        shutil.copy(self._template, self._file)
        self._on_sqlite = Runners(open_database(str(self._file)), self._libraries)
        self._admin.execute(self._empty.encode())
        self.clock.step, self._last_task = 0, 0
        for one in (self._on_sqlite, self._on_postgres):
            self.clock.restart()
            projects.require(one.database, Scope())

    def call(self, contract: str, name: str, given: dict[str, Any], scope: Scope) -> dict[str, Any]:
        """Return the answer of both engines, which is the same."""
        self.clock.step += 1
        answers = []
        for one in (self.runners, self._on_postgres):
            self.clock.restart()
            answers.append(one.call(contract, name, given, scope))
        assert answers[0] == answers[1], (contract, name, given, answers)
        if has_failed(answers[0]):
            # A sequence of PostgreSQL goes on over what was undone; ours on SQLite does not.
            sql = "select setval('tasks_number_seq', %s, %s)"
            self._admin.execute(sql, [self._last_task or 1, self._last_task > 0])
        return answers[0]

    def newest(self, kind: str) -> tuple[int, str]:
        """Return the number and the id of the item that was added last."""
        sql = f"select number, id from {kind}s order by number desc limit 1"
        with self.runners.database.read() as tx:
            [[number, id]] = tx.all(sql)
        if kind == "task":
            self._last_task = number
        return number, id

    def name_of(self, kind: str, id: str) -> str:
        """Return the name that a prompt or a resource was given."""
        sql = f"select name from {kind}s where id = :id"
        with self.runners.database.read() as tx:
            [[name]] = tx.all(sql, id=id)
        return str(name)

    def close(self) -> None:
        self.runners.database.close()
        self._on_postgres.database.close()
        self._admin.close()
        self._libraries.renderer.close()
