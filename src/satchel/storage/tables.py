"""The tables of a store that both engines have, read from the schema itself, so that a new one cannot be forgotten."""

from functools import cache
from graphlib import TopologicalSorter

import apsw
from msgspec import Struct

from satchel.storage.migrations import MIGRATIONS, for_sqlite

# Not data: what SQLite keeps for processes that watch the store.
_OF_ONE_ENGINE = frozenset({"changes"})


class Table(Struct, frozen=True, kw_only=True):
    """A table with its columns in the order of the schema."""

    name: str
    columns: tuple[str, ...]
    bytes_columns: tuple[int, ...]  # the places of columns with bytes
    key: tuple[str, ...]  # the columns of its primary key
    is_numbered: bool  # its key is a number that is never used again, even where the row is deleted

    def fill(self, sql: str) -> str:
        """A statement with the names of this table in the place of {table}, {columns} and {key}; {marks}: a ? each."""
        columns, marks = ", ".join(self.columns), ", ".join("?" * len(self.columns))
        return sql.format(table=self.name, columns=columns, key=", ".join(self.key), marks=marks)


@cache
def list_tables() -> tuple[Table, ...]:
    """Every table with data, each after those that it refers to."""
    empty = apsw.Connection(":memory:")
    try:
        for migration in MIGRATIONS:
            steps = for_sqlite(migration)
            empty.execute(steps)
        names = [row[0] for row in empty.execute("select name from pragma_table_list where type = 'table'")]
        kept = [str(name) for name in names if not str(name).startswith("sqlite_") and name not in _OF_ONE_ENGINE]
        needed = {name: _references(empty, name) for name in sorted(kept)}
        return tuple(_read(empty, name) for name in TopologicalSorter(needed).static_order())
    finally:
        empty.close()


def _references(empty: apsw.Connection, name: str) -> set[str]:
    sql = 'select "table" from pragma_foreign_key_list(?)'
    return {str(row[0]) for row in empty.execute(sql, (name,))}


def _read(empty: apsw.Connection, name: str) -> Table:
    found = empty.execute("select name, type, pk from pragma_table_info(?) order by cid", (name,)).fetchall()
    columns = tuple(str(column) for column, _, _ in found)
    keyed = sorted((int(place), str(column)) for column, _, place in found if place)
    [[text]] = empty.execute("select sql from sqlite_schema where name = ?", (name,)).fetchall()
    return Table(
        name=name,
        columns=columns,
        bytes_columns=tuple(place for place, (_, kind, _) in enumerate(found) if kind == "BLOB"),
        key=tuple(column for _, column in keyed),
        is_numbered="autoincrement" in str(text),
    )
