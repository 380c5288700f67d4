"""Dumps and loads a store on a PostgreSQL server. Imported only for such a store."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from satchel.errors import StoreUnusable
from satchel.storage.changes import EVERYTHING, encode
from satchel.storage.database import Row
from satchel.storage.dump import Source
from satchel.storage.loading import Target
from satchel.storage.postgres import operators_connection
from satchel.storage.tables import Table, list_tables

# How to make and drop each index. They are built after the rows are there, which takes a fraction of the time.
_INDEXES = """
    select pg_get_indexdef(indexrelid), format('drop index %%s', indexrelid::regclass) from pg_index
    where indrelid = any (%s::regclass[]) and not indisprimary and not indisunique
"""
# The highest number that a sequence gave out; pg_sequences has null before the first.
_LAST_NUMBER = """
    select coalesce(max(s.last_value), 0) from pg_sequences s
    where format('%%I.%%I', s.schemaname, s.sequencename)::regclass = pg_get_serial_sequence(%s, 'number')::regclass
"""


@contextmanager
def open_source(address: str) -> Iterator[Source]:
    """Open one snapshot of the store at an address, as its owner."""
    with operators_connection(address) as (connection, _):
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True

        def query(sql: str, *values: str) -> Iterator[Row]:
            statement = sql.encode()
            with connection.cursor() as cursor:
                yield from cursor.stream(statement, values or None)  # row by row, because one may have megabytes

        yield Source(query, _LAST_NUMBER)


@contextmanager
def open_target(address: str) -> Iterator[Target]:
    """Open the store at an address, locked against other writers; commit what was loaded when the block ends.

    Raises:
        StoreUnusable: this role does not own it.
    """
    with operators_connection(address) as (connection, _):
        target = _PostgresTarget(connection)
        if target.execute("select row_security_active('tasks')") == [(True,)]:
            raise StoreUnusable(
                "an application role may not load a store: use its owner's address in --database or SATCHEL_DATABASE."
            )
        target.execute_for_all("lock table {table} in share row exclusive mode")
        yield target


class _PostgresTarget(Target):
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._indexes: list[str] = []

    def execute(self, sql: str, *values: object) -> list[Row]:
        statement = sql.encode()
        cursor = self._connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []

    def execute_for_all(self, sql: str) -> None:
        """Execute a statement for each table."""
        for table in list_tables():
            statement = table.fill(sql)
            self.execute(statement)

    def begin(self) -> None:
        self.execute_for_all("alter table {table} disable trigger user")  # the dump has all that they would write
        found = self.execute(_INDEXES, [table.name for table in list_tables()])
        for definition, drop in found:
            self.execute(drop)
            self._indexes.append(definition)

    def add_rows(self, table: Table, rows: Iterator[Row]) -> int:
        statement = table.fill("copy {table} ({columns}) from stdin").encode()
        with self._connection.cursor() as cursor:
            with cursor.copy(statement) as copying:
                for row in rows:
                    copying.write_row(row)
            return cursor.rowcount

    def set_last_number(self, table: Table, number: int) -> None:
        if number:
            self.execute("select setval(pg_get_serial_sequence(%s, 'number'), %s)", table.name, number)

    def finish(self) -> None:
        for definition in self._indexes:
            self.execute(definition)
        self.execute_for_all("alter table {table} enable trigger user")
        self.execute_for_all("analyze {table}")
        self.execute("insert into changes (what) values (%s)", encode([EVERYTHING]))
