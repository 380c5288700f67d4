"""Reads a dump into an empty store of either engine: everything in it, or nothing."""

import binascii
import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, BinaryIO, cast

import apsw
import msgspec

from satchel.errors import StoreFailed, StoreUnusable
from satchel.storage.changes import EVERYTHING, encode
from satchel.storage.database import Row, is_postgres, open_database
from satchel.storage.dump import FORMAT, End, Head, Progress, TableHead
from satchel.storage.tables import Table, list_tables
from satchel.storage.write_lock import WriteLock

# A state of 4 MiB in which every character needs six in JSON; a longer line is not from a store of ours.
MAX_LINE = 64 * 1024 * 1024  # bytes

_GZIP = b"\x1f\x8b"
# The tables in which a store without items has rows, for the default project and the local user.
_OTHER_PROJECTS = "select 1 from projects where name <> 'default' limit 1"
_OF_EMPTY_STORES = frozenset({"revisions", "authors", "settings", "search_spaces", "user_usage"})
_UNCHANGED = "Nothing was changed. Load another copy of it"

# The full-text indexes of SQLite, which triggers maintain otherwise. One statement each: FTS5 writes what it has in
# memory to the disk whenever a statement begins.
_FILL_INDEXES = """
    insert into prompt_index (prompt_index) values ('delete-all');
    insert into prompt_index (rowid, title, content)
        select prompt, title, case when is_indexed then content else '' end from prompt_texts;
    insert into search_index (search_index) values ('delete-all');
    insert into search_index (rowid, words)
        select number, replace(words, ' ', ' ' || space || '.') from search_items;
"""


class Target:
    """A store that is about to be loaded, in one transaction."""

    def execute(self, sql: str, *values: object) -> list[Row]:
        """Execute a statement, and return its rows."""
        raise NotImplementedError

    def begin(self) -> None:
        """Prepare for many rows."""

    def add_rows(self, table: Table, rows: Iterator[Row]) -> int:
        """Add rows to a table, and return how many they were."""
        raise NotImplementedError

    def set_last_number(self, table: Table, number: int) -> None:
        """Let the next row of a table have the number after this one."""
        raise NotImplementedError

    def finish(self) -> None:
        """Index and check what was loaded, and announce it to other processes."""
        raise NotImplementedError


class Dump:
    """An open dump whose lines were checked against its last one."""

    def __init__(self, file: BinaryIO, progress: Progress = lambda _done, _all: None) -> None:
        """Raises StoreUnusable if the file is no dump, or was cut off or changed."""
        self._file = file
        self._progress = progress
        self._size = os.fstat(file.fileno()).st_size
        self.schema = self._check()

    def tables(self) -> Iterator[tuple[Table, int, Iterator[Row]]]:
        """Yield each table with its last number and its rows, which must be read before the next table is.

        Raises:
            StoreUnusable: the dump has a table or column that the store does not have, or lacks a column that it needs.
        """
        known = {table.name: table for table in list_tables()}
        lines = self._lines()
        next(lines)  # the head
        line = next(lines)
        while line.startswith(b'{"table"'):
            head = msgspec.json.decode(line, type=TableHead)
            table = known.pop(head.table, None)
            if table is None:
                raise StoreUnusable(
                    self._does_not_fit(f"has the table {head.table[:80]!r}, which a store does not have")
                )
            self._check_columns(table, head.columns)
            last = [b""]
            table = table.with_columns(head.columns)
            yield table, head.last_number or 0, _read_rows(table, lines, last)
            line = last[0]

    def _check_columns(self, table: Table, columns: tuple[str, ...]) -> None:
        for column in columns:
            if column not in table.columns or columns.count(column) > 1:
                what = f"has the column {column[:80]!r} of {table.name}, which a store does not have"
                raise StoreUnusable(self._does_not_fit(what))
        for column in table.required:
            if column not in columns:
                raise StoreUnusable(self._does_not_fit(f"lacks the column {column!r} of {table.name}"))

    def _does_not_fit(self, what: str) -> str:
        return (
            f"this dump (schema {self.schema}) {what}. Nothing was changed. Load it with the Satchel that wrote it, or "
            "one in between."
        )

    def _check(self) -> int:
        """Read everything once, and return the schema."""
        digest, count, before, schema = sha256(), 0, b"", 0
        try:
            for line in self._lines():
                if count == 0:
                    schema = _check_head(line)
                else:
                    digest.update(before)
                before, count = line, count + 1
            end = msgspec.json.decode(before, type=End)
        except msgspec.DecodeError:
            raise StoreUnusable(f"this dump has no last line: it was cut off. {_UNCHANGED}.") from None
        if (end.lines, end.sha256) != (count - 1, digest.hexdigest()):
            raise StoreUnusable(f"this dump was changed or damaged after it was made. {_UNCHANGED}.")
        return schema

    def _lines(self) -> Iterator[bytes]:
        self._file.seek(0)
        is_packed = self._file.read(2) == _GZIP
        self._file.seek(0)
        opened = cast(BinaryIO, gzip.GzipFile(fileobj=self._file)) if is_packed else self._file
        try:
            count = 0
            while line := opened.readline(MAX_LINE):
                if len(line) == MAX_LINE:
                    raise StoreUnusable(f"this is no dump of ours: it has a line of more than {MAX_LINE} bytes.")
                yield line
                count += 1
                if count % 1000 == 0:
                    self._progress(self._file.tell(), self._size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise StoreUnusable(f"this dump was cut off or damaged: {error}. {_UNCHANGED}.") from error
        except OSError as error:
            raise StoreFailed(f"cannot read the dump: {error.strerror}") from error
        self._progress(self._size, self._size)


def is_dump(start: bytes) -> bool:
    """Tell from its first bytes whether a file is a dump, perhaps compressed."""
    return start.startswith((b'{"satchel_dump"', _GZIP))


def load(where: str, dump: Dump) -> dict[str, int]:
    """Load a dump into a store without items, or a new one; return the number of rows of each table.

    A column that the dump lacks gets its default, and a table that it lacks stays empty.

    Raises:
        StoreUnusable: the store is not empty, or the dump does not fit it. Nothing is changed then.
        StoreFailed: the store failed. Nothing is changed then.
    """
    open_database(where).close()  # which makes or migrates it
    counts: dict[str, int] = {}
    with _open(where) as target:
        for table in list_tables():
            _check_empty(target, table)
        target.begin()
        for table in reversed(list_tables()):
            sql = table.fill("delete from {table}")
            target.execute(sql)
        for table, last_number, rows in dump.tables():
            counts[table.name] = target.add_rows(table, rows)
            if table.is_numbered:
                target.set_last_number(table, last_number)
        target.finish()
    return counts


def _check_empty(target: Target, table: Table) -> None:
    if table.name in _OF_EMPTY_STORES:
        return
    sql = _OTHER_PROJECTS if table.name == "projects" else table.fill("select 1 from {table} limit 1")
    if target.execute(sql):
        raise StoreUnusable(
            f"this store is not empty: it has {table.name.replace('_', ' ')}. A dump is loaded into a new store only, "
            "so that nothing is mixed. Name one with --database or SATCHEL_DATABASE."
        )


def _check_head(line: bytes) -> int:
    """Return the schema of a dump in a format that this Satchel reads."""
    try:
        head = msgspec.json.decode(line, type=Head)
    except msgspec.DecodeError:
        raise StoreUnusable("this is no dump: `satchel dump` makes one.") from None
    if head.satchel_dump != FORMAT:
        raise StoreUnusable(f"this dump has format {head.satchel_dump}, of a newer Satchel: upgrade this one.")
    return head.schema


def _read_rows(table: Table, lines: Iterator[bytes], last: list[bytes]) -> Iterator[Row]:
    """Yield the rows of a table; put the line after them into `last`."""
    decode = msgspec.json.Decoder(list[int | str | None]).decode
    encoded = [place for place, column in enumerate(table.columns) if column in table.bytes_columns]
    for line in lines:
        if not line.startswith(b"["):
            last[0] = line
            return
        row: list[Any] = decode(line)
        if len(row) != len(table.columns):
            raise StoreUnusable(f"this dump has a row of {table.name} with {len(row)} values. {_UNCHANGED}.")
        for place in encoded:
            if row[place] is not None:
                row[place] = binascii.a2b_base64(row[place])
        yield tuple(row)


@contextmanager
def _open(where: str) -> Iterator[Target]:
    try:
        if is_postgres(where):
            from satchel.storage.dump_postgres import open_target

            with open_target(where) as target:
                yield target
        else:
            with _open_file(os.path.realpath(where)) as target:
                yield target
    except (msgspec.DecodeError, binascii.Error) as error:
        raise StoreUnusable(f"this dump has a line that cannot be read: {error}. {_UNCHANGED}.") from error


@contextmanager
def _open_file(path: str) -> Iterator[Target]:
    with WriteLock(path).hold():
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(5000)
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)  # the dump has all that they would write
            connection.execute(
                "pragma foreign_keys = off; pragma synchronous = full; pragma cache_size = -65536; begin immediate"
            )
            yield _SqliteTarget(connection)
            connection.execute("commit")
        except apsw.Error as error:
            raise StoreFailed(f"cannot load {path}: {error}. Nothing was changed") from error
        finally:
            connection.close()  # which undoes what was not committed


class _SqliteTarget(Target):
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, *values: object) -> list[Row]:
        return cast(list[Row], self._connection.execute(sql, cast(Any, values)).fetchall())

    def add_rows(self, table: Table, rows: Iterator[Row]) -> int:
        before = self._connection.total_changes()
        self._connection.executemany(table.fill("insert into {table} ({columns}) values ({marks})"), rows)
        return self._connection.total_changes() - before

    def set_last_number(self, table: Table, number: int) -> None:
        self.execute("delete from sqlite_sequence where name = ?", table.name)
        if number:
            self.execute("insert into sqlite_sequence (name, seq) values (?, ?)", table.name, number)

    def finish(self) -> None:
        lost = self.execute("pragma foreign_key_check")
        if lost:
            raise StoreUnusable(f"this dump has rows of {lost[0][0]} that refer to nothing. {_UNCHANGED}.")
        self._connection.execute(_FILL_INDEXES)
        self.execute("insert into changes (what) values (?)", encode([EVERYTHING]))
