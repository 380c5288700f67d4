"""A store on SQLite and one on PostgreSQL, which get the same calls at the same times and must return equal answers."""

import itertools
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from satchel import clock
from satchel.errors import Refused
from satchel.library import catalog
from satchel.model import Author, Scope
from satchel.services import projects
from satchel.storage.database import Database, Tx, open_database
from tests.support.dumps import Dumper
from tests.support.postgres import PostgresServer
from tests.support.roles import two_roles
from tests.support.runners import ADA, Runners, has_failed

_BEGIN = datetime(2026, 11, 17, 9, tzinfo=UTC)


class FrozenClock:
    """A clock that advances by a second per step, and ids made from it; both are equal for every engine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.step = 0
        self._count = itertools.count(1)
        monkeypatch.setattr(clock, "now", self._now)
        monkeypatch.setattr(clock, "new_id", self._new_id)

    def restart(self) -> None:
        """Restart the current step for the next engine."""
        self._count = itertools.count(1)

    def _now(self) -> str:
        return clock.write(_BEGIN + timedelta(seconds=self.step, microseconds=next(self._count)))

    def _new_id(self) -> str:
        return str(UUID(int=(self.step << 64) + (4 << 76) + (1 << 63) + next(self._count)))


class Engines:
    """Both stores, emptied for each run; PostgreSQL is used through a role that owns nothing."""

    def __init__(self, template: Path, folder: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = FrozenClock(monkeypatch)
        self._libraries = catalog.Libraries(())
        self._template, self._file = template, folder / "model.db"
        owner, app = two_roles(postgres)
        self._owner = open_database(owner)  # only the owner may purge
        self._on_postgres = Runners(open_database(app), self._libraries)
        name = str(psycopg.conninfo.conninfo_to_dict(owner)["dbname"])
        self._admin = psycopg.connect(postgres.url(name), autocommit=True)
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

    @property
    def runners(self) -> Runners:
        """The runners on SQLite."""
        assert self._on_sqlite is not None
        return self._on_sqlite

    def empty(self) -> None:
        """Empty both stores, and add the project `default`."""
        if self._on_sqlite is not None:
            self._on_sqlite.database.close()
        shutil.copy(self._template, self._file)
        self._on_sqlite = Runners(open_database(str(self._file)), self._libraries)
        self._admin.execute(self._empty.encode())
        self.clock.step = 0
        for one in (self._on_sqlite, self._on_postgres):
            self.clock.restart()
            with one.database.write(Scope(user=ADA, author=Author(user=ADA))) as tx:
                projects.add(tx, "default")

    def call(self, contract: str, name: str, given: dict[str, Any], scope: Scope) -> dict[str, Any]:
        """Call both engines, check that their answers are equal, and return the answer."""
        self.clock.step += 1
        answers = []
        for one in (self.runners, self._on_postgres):
            self.clock.restart()
            answers.append(one.call(contract, name, given, scope))
        assert answers[0] == answers[1], (contract, name, given, answers)
        if has_failed(answers[0]):
            self._align_numbers()
        return answers[0]

    def act(self, scope: Scope, act: Callable[[Tx], object], *, as_owner: bool = False) -> bool:
        """Run a function of the services on both engines; return True if both did it, False if both refused."""
        self.clock.step += 1
        done = []
        for database in (self.databases[0], self._owner if as_owner else self.databases[1]):
            self.clock.restart()
            try:
                with database.write(scope) as tx:
                    act(tx)
                done.append(True)
            except Refused:
                done.append(False)
        assert done in ([True, True], [False, False])
        if not done[0]:
            self._align_numbers()
        return done[0]

    def _align_numbers(self) -> None:
        """Set the sequences of PostgreSQL to those of SQLite, because a rollback resets only the latter."""
        with self.runners.database.read() as tx:
            last = dict(tx.all("select name, seq from sqlite_sequence"))
        for table in ("projects", "prompts", "documents", "tasks"):
            sql = f"select setval('{table}_number_seq', %s, %s)"
            self._admin.execute(sql.encode(), [last.get(table) or 1, table in last])

    @property
    def databases(self) -> tuple[Database, Database]:
        return self.runners.database, self._on_postgres.database

    def completed_at(self, task: int) -> str:
        """Return the time when a task was closed."""
        with self.runners.database.read() as tx:
            [[at]] = tx.all("select completed_at from tasks where number = :task", task=task)
        return str(at)

    def claimed(self) -> set[int]:
        """Return the numbers of the claimed tasks."""
        with self.runners.database.read() as tx:
            return {number for (number,) in tx.all("select task from task_claims where until > :now", now=tx.now)}

    def newest(self, kind: str) -> tuple[int, str]:
        """Return the number and the id of the last added item of a kind."""
        sql = f"select number, id from {kind}s order by number desc limit 1"
        with self.runners.database.read() as tx:
            [[number, id]] = tx.all(sql)
        return number, id

    def name_of(self, kind: str, id: str) -> str:
        """Return the name of a prompt or a resource."""
        sql = f"select name from {kind}s where id = :id"
        with self.runners.database.read() as tx:
            [[name]] = tx.all(sql, id=id)
        return str(name)

    def close(self) -> None:
        self.runners.database.close()
        self._on_postgres.database.close()
        self._owner.close()
        self._admin.close()
        self._libraries.renderer.close()
