"""A filled store that is taken back to where it was after what was tried on it."""

import shutil
from pathlib import Path
from typing import Any

import psycopg

from satchel.library import catalog
from satchel.storage.database import open_database
from tests.support.dumps import Dumper
from tests.support.every_call import fill, find_ids
from tests.support.runners import Runners


class Filled:
    """An open store with what every call needs. The renderer is kept from one opening to the next."""

    runners: Runners
    dumper: Dumper
    ids: dict[str, str]

    def __init__(self) -> None:
        self._libraries = catalog.Libraries(())

    def rewind(self) -> None:
        """Take the store back to where it was when it was filled."""
        raise NotImplementedError

    def settle(self) -> None:
        """Take back what an undone transaction leaves on purpose, so that the next try gets the same numbers."""

    def close(self) -> None:
        self.runners.database.close()
        self._libraries.renderer.close()

    def _open(self, address: str) -> None:
        self.runners = Runners(open_database(address), self._libraries)
        self.dumper = Dumper(self.runners.database)


class FilledSqlite(Filled):
    """A file that is copied back."""

    def __init__(self, template: Path, folder: Path) -> None:
        super().__init__()
        self._kept, self.path = folder / "kept.db", folder / "used.db"
        shutil.copy(template, self._kept)
        self._open(str(self._kept))
        fill(self.runners)
        self.ids = find_ids(self.runners)
        self.runners.database.close()
        self._open_copy()

    def rewind(self) -> None:
        self.runners.database.close()
        self._open_copy()

    def _open_copy(self) -> None:
        for ending in ("-wal", "-shm"):
            Path(f"{self.path}{ending}").unlink(missing_ok=True)
        shutil.copy(self._kept, self.path)
        self._open(str(self.path))


class FilledPostgres(Filled):
    """A database whose rows are kept in a second schema."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._open(address)
        fill(self.runners)
        self.ids = find_ids(self.runners)
        self._admin = admin = psycopg.connect(address, autocommit=True)
        admin.execute("drop schema if exists kept cascade; create schema kept; set synchronous_commit = off")
        for name in self.dumper.tables:
            admin.execute(f"create table kept.{name} as select * from public.{name}".encode())
        self.dumper.connection = admin
        self._put_back = _write_put_back(admin, self.dumper.tables)
        self._restart = _write_restart(admin)

    def rewind(self) -> None:
        self._run(f"{self._put_back};{self._restart}")

    def settle(self) -> None:
        self._run(self._restart)

    def close(self) -> None:
        super().close()
        self._run("drop schema if exists kept cascade")
        self._admin.close()

    def _run(self, sql: str) -> None:
        self._admin.execute(sql.encode())


def _write_put_back(admin: psycopg.Connection[Any], tables: list[str]) -> str:
    sql = """
        select string_agg(attname, ', ') from pg_attribute
        where attrelid = %s::regclass and attnum > 0 and not attisdropped and attgenerated = ''
    """
    parts = ["set session_replication_role = replica", *(f"delete from public.{name}" for name in tables)]
    for name in tables:
        [[columns]] = admin.execute(sql, [f"public.{name}"]).fetchall()
        values = f"select {columns} from kept.{name}"
        parts.append(f"insert into public.{name} ({columns}) overriding system value {values}")
    return ";".join(parts)


def _write_restart(admin: psycopg.Connection[Any]) -> str:
    sql = "select sequencename, last_value from pg_sequences where schemaname = 'public'"
    return ";".join(
        f"select setval('public.{name}', {last or 1}, {str(last is not None).lower()})"
        for name, last in admin.execute(sql).fetchall()
    )
