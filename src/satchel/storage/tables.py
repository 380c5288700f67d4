"""The tables with data, which both engines have, read from the schema itself so that a new one cannot be forgotten."""

from collections.abc import Sequence
from contextlib import closing
from functools import cache
from graphlib import TopologicalSorter

import apsw
from msgspec import Struct
from msgspec.structs import replace

from satchel.storage import schema
from satchel.storage.schema.migration import for_sqlite

_NOT_DATA = frozenset({"changes"})  # for processes that watch the store


class Table(Struct, frozen=True, kw_only=True):
    """A table with its columns in the order of the schema."""

    name: str
    columns: tuple[str, ...]
    bytes_columns: frozenset[str]
    required: tuple[str, ...]  # columns that are not null and have no default
    key: tuple[str, ...]  # the columns of its primary key
    is_numbered: bool  # its key is a number that is never used again, even after the row is deleted

    def fill(self, sql: str) -> str:
        """Put the names of this table into a statement for {table}, {columns} and {key}, and a ? each for {marks}."""
        columns, marks = ", ".join(self.columns), ", ".join("?" * len(self.columns))
        return sql.format(table=self.name, columns=columns, key=", ".join(self.key), marks=marks)

    def with_columns(self, columns: Sequence[str]) -> "Table":
        """Return the table with some of its columns, in an order of their own."""
        return replace(self, columns=tuple(columns))


def open_empty(number: int | None = None) -> apsw.Connection:
    """Open a store in memory without rows, of a given schema or the newest."""
    empty = apsw.Connection(":memory:")
    for statements in schema.list_statements(0, number):
        sql = for_sqlite(statements)
        empty.execute(sql)
    return empty


@cache
def list_tables() -> tuple[Table, ...]:
    """List every table with data, each after those that it refers to."""
    with closing(open_empty()) as empty:
        names = [str(row[0]) for row in empty.execute("select name from pragma_table_list where type = 'table'")]
        kept = [name for name in names if not name.startswith("sqlite_") and name not in _NOT_DATA]
        needed = {name: _references(empty, name) for name in sorted(kept)}
        return tuple(_read(empty, name) for name in TopologicalSorter(needed).static_order())


def _references(empty: apsw.Connection, name: str) -> set[str]:
    sql = 'select "table" from pragma_foreign_key_list(?)'
    return {str(row[0]) for row in empty.execute(sql, (name,))}


def _read(empty: apsw.Connection, name: str) -> Table:
    sql = 'select name, type, "notnull" and dflt_value is null, pk from pragma_table_info(?) order by cid'
    found = empty.execute(sql, (name,)).fetchall()
    [[text]] = empty.execute("select sql from sqlite_schema where name = ?", (name,)).fetchall()
    keyed = sorted((int(place), str(column)) for column, _, _, place in found if place)
    return Table(
        name=name,
        columns=tuple(str(column) for column, *_ in found),
        bytes_columns=frozenset(str(column) for column, kind, *_ in found if kind == "BLOB"),
        required=tuple(str(column) for column, _, is_required, place in found if is_required or place),
        key=tuple(column for _, column in keyed),
        is_numbered="autoincrement" in str(text),
    )
