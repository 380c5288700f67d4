"""All rows of a store, to compare its content before and after an action."""

import re
from typing import Any

import psycopg

from satchel.storage.database import Database

_TABLES = """
    select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' and name not like '%\\_index\\_%'
    escape '\\' and name not in ('prompt_index', 'search_index', 'changes', 'search_vocabulary')
"""
_POSTGRES_TABLES = "select tablename from pg_tables where schemaname = 'public' and tablename <> 'satchel_schema'"
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


class Dumper:
    """Reads every table of a store, except announcements of changes to other processes."""

    def __init__(self, database: Database) -> None:
        self.connection: psycopg.Connection[Any] | None = None  # a second connection, which reads faster
        self._database = database
        self._is_postgres = database.is_shared
        with database.read() as tx:
            self.tables = sorted(name for (name,) in tx.all(_POSTGRES_TABLES if self._is_postgres else _TABLES))
            if not self._is_postgres:  # virtual tables have no rows of their own
                self.tables = [name for name in self.tables if _is_plain(tx, name)]

    def dump(self) -> dict[str, Any]:
        """Return the sorted rows of each table."""
        parts = [
            f"select '{name}', array(select t::text from {_ROWS.get(name, name)} t order by 1)" for name in self.tables
        ]
        if self.connection is not None:
            return dict(self.connection.execute(" union all ".join(parts).encode(), prepare=True).fetchall())
        with self._database.read() as tx:
            if self._is_postgres:
                return dict(tx.execute(" union all ".join(parts), {}))
            return {name: sorted(map(repr, tx.all("select * from " + name))) for name in self.tables}


# Compare the sum of the usage of an owner: the parts depend on the connections that counted them.
_ROWS = {
    "user_usage": "(select owner, sum(items), sum(bytes) from user_usage group by owner)",
    "changes": "(select from changes where false)",
}


def _is_plain(tx: Any, name: str) -> bool:
    [[sql]] = tx.all("select sql from sqlite_schema where name = :name and type = 'table'", name=name)
    return not str(sql).lower().startswith("create virtual")


def without_generated(dump: dict[str, Any]) -> dict[str, list[str]]:
    """Return the rows without ids and times, which differ from run to run."""
    return {name: sorted(_TIME.sub("T", _ID.sub("ID", str(row))) for row in rows) for name, rows in dump.items()}
