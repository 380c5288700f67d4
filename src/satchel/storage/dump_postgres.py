"""Dumps and loads a store on a PostgreSQL server. Imported only where a store is on one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from satchel.errors import StoreUnusable
from satchel.storage.changes import EVERYTHING, encode
from satchel.storage.database import Row
from satchel.storage.dump import SELECT, Source
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
    """One snapshot of the store at an address, for its owner."""
    with operators_connection(address) as (connection, _):
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        yield _PostgresSource(connection)


class _PostgresSource(Source):
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def count(self, table: Table) -> int:
        return self._number(table.fill("select count(*) from {table}"))

    def last_number(self, table: Table) -> int:
        return self._number(_LAST_NUMBER, table.name)

    def rows(self, table: Table) -> Iterator[Row]:
        # One row at a time, because one may have megabytes.
        with self._connection.cursor() as cursor:
            yield from cursor.stream(table.fill(SELECT).encode())

    def _number(self, sql: str, *values: str) -> int:
        statement = sql.encode()
        row = self._connection.execute(statement, values or None).fetchone()
        return int(row[0]) if row else 0


@contextmanager
def open_target(address: str) -> Iterator[Target]:
    """The store at an address, locked against other writers; what was loaded is committed when the block ends.

    Raises:
        StoreUnusable: this role does not own it.
    """
    with operators_connection(address) as (connection, _):
        if connection.execute("select row_security_active('tasks')").fetchone() == (True,):
            raise StoreUnusable(
                "an application role may not load a store: use its owner's address in --database or SATCHEL_DATABASE."
            )
        for table in list_tables():
            statement = table.fill("lock table {table} in share row exclusive mode").encode()
            connection.execute(statement)
        yield _PostgresTarget(connection)


class _PostgresTarget(Target):
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._indexes: list[bytes] = []

    def has_rows(self, table: Table) -> bool:
        statement = table.fill("select exists (select from {table})").encode()
        return self._connection.execute(statement).fetchone() == (True,)

    def only_default_project(self) -> bool:
        sql = "select coalesce(bool_and(name = 'default'), true) from projects"
        return self._connection.execute(sql).fetchone() == (True,)

    def clear(self, table: Table) -> None:
        statement = table.fill("delete from {table}").encode()
        self._connection.execute(statement)

    def begin(self) -> None:
        for table in list_tables():  # all that they would write is in the dump
            statement = table.fill("alter table {table} disable trigger user").encode()
            self._connection.execute(statement)
        names = [table.name for table in list_tables()]
        found = self._connection.execute(_INDEXES, [names]).fetchall()
        for _, drop in found:
            statement = drop.encode()
            self._connection.execute(statement)
        self._indexes = [definition.encode() for definition, _ in found]

    def add_rows(self, table: Table, rows: Iterator[Row]) -> None:
        statement = table.fill("copy {table} ({columns}) from stdin").encode()
        with self._connection.cursor() as cursor, cursor.copy(statement) as copying:
            for row in rows:
                copying.write_row(row)

    def set_last_number(self, table: Table, number: int) -> None:
        if number:
            self._connection.execute("select setval(pg_get_serial_sequence(%s, 'number'), %s)", [table.name, number])

    def finish(self) -> None:
        for definition in self._indexes:
            self._connection.execute(definition)
        for table in list_tables():
            for sql in ("alter table {table} enable trigger user", "analyze {table}"):
                statement = table.fill(sql).encode()
                self._connection.execute(statement)
        self._connection.execute("select pg_notify('satchel_changes', %s)", [encode([EVERYTHING])])
