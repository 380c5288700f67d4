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
from satchel.storage.migrations import MIGRATIONS
from satchel.storage.tables import Table, list_tables
from satchel.storage.write_lock import WriteLock

# A state of 4 MiB in which every character needs six in JSON; a longer line is not from a store of ours.
MAX_LINE = 64 * 1024 * 1024  # bytes

# Bytes of words that FTS5 collects before it writes them.
_LOAD_HASH = 4 * 1024 * 1024  # fewer and larger pieces than usual; beyond this the processor's cache is too small
_USUAL_HASH = 1024 * 1024  # FTS5's own default
_SET_HASH = "insert into {index} ({index}, rank) values ('hashsize', ?)"

_GZIP = b"\x1f\x8b"
# What a store has of which nothing was made yet: the default project, its revision, and the local user.
_OF_EMPTY_STORES = frozenset({"projects", "revisions", "authors", "settings", "search_spaces", "user_usage"})
# Triggers write these while other tables are loaded, so that their own rows, which are few, come last.
_KEPT_BY_TRIGGERS = frozenset({"user_usage"})
_DAMAGED = "Nothing was changed. Load another copy of it"


class Target:
    """A store that is about to be loaded, in one transaction."""

    def has_rows(self, table: Table) -> bool:
        """Whether a table has any row."""
        raise NotImplementedError

    def only_default_project(self) -> bool:
        """Whether there is no project but `default`."""
        raise NotImplementedError

    def clear(self, table: Table) -> None:
        """Delete the rows of a table."""
        raise NotImplementedError

    def begin(self) -> None:
        """Prepare for many rows."""

    def add_rows(self, table: Table, rows: Iterator[Row]) -> None:
        """Add rows to a table."""
        raise NotImplementedError

    def set_last_number(self, table: Table, number: int) -> None:
        """Let the next row of a table have the number after this one."""
        raise NotImplementedError

    def finish(self) -> None:
        """Check what was loaded, and announce it to other processes."""
        raise NotImplementedError


class Dump:
    """An open dump whose lines were checked against its last one."""

    def __init__(self, file: BinaryIO, progress: Progress = lambda _done, _all: None) -> None:
        """Raises StoreUnusable where the file is no dump, was cut off or changed, or is of another schema."""
        self._file = file
        self._progress = progress
        self._size = os.fstat(file.fileno()).st_size
        self.schema = self._check()

    def tables(self) -> Iterator[tuple[Table, TableHead, Iterator[Row]]]:
        """Each table with its rows, which must be read before the next table is."""
        known = {table.name: table for table in list_tables()}
        lines = self._lines()
        next(lines)  # the head
        line = next(lines)
        while line.startswith(b'{"table"'):
            head = msgspec.json.decode(line, type=TableHead)
            table = known.pop(head.table, None)
            if table is None or {*head.columns} != {*table.columns} or len(head.columns) != len(table.columns):
                raise StoreUnusable(f"this dump has a table that this Satchel does not know: {head.table[:80]!r}.")
            last = [b""]
            yield table, head, _read_rows(table, head.columns, lines, last)
            line = last[0]
        if known:
            raise StoreUnusable(f"this dump lacks the tables {', '.join(sorted(known))}. {_DAMAGED}.")

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
            raise StoreUnusable(f"this dump has no last line: it was cut off. {_DAMAGED}.") from None
        if (end.lines, end.sha256) != (count - 1, digest.hexdigest()):
            raise StoreUnusable(f"this dump was changed or damaged after it was made. {_DAMAGED}.")
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
            raise StoreUnusable(f"this dump was cut off or damaged: {error}. {_DAMAGED}.") from error
        except OSError as error:
            raise StoreFailed(f"cannot read the dump: {error.strerror}") from error
        self._progress(self._size, self._size)


def is_dump(start: bytes) -> bool:
    """Whether a file that begins so is a dump, perhaps compressed."""
    return start.startswith((b'{"satchel_dump"', _GZIP))


def load(where: str, dump: Dump) -> dict[str, int]:
    """Load a dump into a store that has nothing in it yet, or is made now; returns the number of rows of each table.

    Raises:
        StoreUnusable: the store is not empty, or the dump does not fit it. Nothing is changed then.
        StoreFailed: the store failed. Nothing is changed then.
    """
    open_database(where).close()  # which makes it, or brings it up to date
    counts: dict[str, int] = {}
    with _open(where) as target:
        for table in list_tables():
            if table.name not in _OF_EMPTY_STORES and target.has_rows(table):
                raise StoreUnusable(_not_empty(table.name))
        if not target.only_default_project():
            raise StoreUnusable(_not_empty("projects"))
        target.begin()
        for table in reversed(list_tables()):
            target.clear(table)
        last: list[tuple[Table, list[Row]]] = []
        for table, head, rows in dump.tables():
            counted = _Counted(rows)
            if table.name in _KEPT_BY_TRIGGERS:
                last.append((table, list(counted)))
            else:
                target.add_rows(table, counted)
            counts[table.name] = counted.count
            if table.is_numbered:
                target.set_last_number(table, head.last_number or 0)
        for table, kept in last:
            target.clear(table)
            target.add_rows(table, iter(kept))
        target.finish()
    return counts


class _Counted:
    """An iterator that counts."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.count = 0

    def __iter__(self) -> "_Counted":
        return self

    def __next__(self) -> Row:
        row = next(self._rows)
        self.count += 1
        return row


def _not_empty(table: str) -> str:
    return (
        f"this store is not empty: it has {table.replace('_', ' ')}. A dump is loaded into a new store only, so that "
        "nothing is mixed. Name one with --database or SATCHEL_DATABASE."
    )


def _check_head(line: bytes) -> int:
    """The schema of a dump that this Satchel can load."""
    try:
        head = msgspec.json.decode(line, type=Head)
    except msgspec.DecodeError:
        raise StoreUnusable("this is no dump: `satchel dump` makes one.") from None
    if head.satchel_dump != FORMAT or head.schema > len(MIGRATIONS):
        raise StoreUnusable(f"this dump is of a newer Satchel (schema {head.schema}): upgrade this one.")
    if head.schema < len(MIGRATIONS):
        raise StoreUnusable(
            f"this dump has schema {head.schema}, and this Satchel loads schema {len(MIGRATIONS)}. Load it with the "
            "Satchel that made it, then upgrade."
        )
    return head.schema


def _read_rows(table: Table, columns: tuple[str, ...], lines: Iterator[bytes], last: list[bytes]) -> Iterator[Row]:
    """The rows of a table in the order of its columns; the line after them goes into `last`."""
    decode = msgspec.json.Decoder(list[int | str | None]).decode
    order = [columns.index(column) for column in table.columns]
    for line in lines:
        if not line.startswith(b"["):
            last[0] = line
            return
        row = decode(line)
        if len(row) != len(order):
            raise StoreUnusable(f"this dump has a row of {table.name} with {len(row)} values. {_DAMAGED}.")
        values: list[Any] = [row[place] for place in order]
        for place in table.bytes_columns:
            if values[place] is not None:
                values[place] = binascii.a2b_base64(values[place])
        yield tuple(values)


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
        raise StoreUnusable(f"this dump has a line that cannot be read: {error}. {_DAMAGED}.") from error


@contextmanager
def _open_file(path: str) -> Iterator[Target]:
    with WriteLock(f"{path}-gate").hold():
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(5000)
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
        self._indexes: list[str] = []

    def has_rows(self, table: Table) -> bool:
        sql = table.fill("select exists (select 1 from {table})")
        return self._connection.execute(sql).fetchall() == [(1,)]

    def only_default_project(self) -> bool:
        return self._connection.execute("select count(*) from projects where name <> 'default'").fetchall() == [(0,)]

    def clear(self, table: Table) -> None:
        sql = table.fill("delete from {table}")
        self._connection.execute(sql)

    def begin(self) -> None:
        found = self._connection.execute("select name from pragma_table_list where type = 'virtual'").fetchall()
        self._indexes = [str(name) for (name,) in found]
        self._set_hash_size(_LOAD_HASH)

    def add_rows(self, table: Table, rows: Iterator[Row]) -> None:
        if not self._is_indexed(table):
            self._connection.executemany(table.fill("insert into {table} ({columns}) values ({marks})"), rows)
            return
        # In one statement: FTS5 writes what it has in memory at the beginning of each.
        make = table.fill("create temp table loaded as select {columns} from main.{table} limit 0")
        move = table.fill("insert into main.{table} ({columns}) select {columns} from temp.loaded")
        self._connection.execute(make)
        self._connection.executemany(table.fill("insert into temp.loaded ({columns}) values ({marks})"), rows)
        self._connection.execute(move)
        self._connection.execute("drop table temp.loaded")

    def set_last_number(self, table: Table, number: int) -> None:
        self._connection.execute("delete from sqlite_sequence where name = ?", (table.name,))
        if number:
            self._connection.execute("insert into sqlite_sequence (name, seq) values (?, ?)", (table.name, number))

    def finish(self) -> None:
        self._set_hash_size(_USUAL_HASH)
        lost = self._connection.execute("pragma foreign_key_check").fetchall()
        if lost:
            raise StoreUnusable(f"this dump has rows of {lost[0][0]} that refer to nothing. {_DAMAGED}.")
        self._connection.execute("insert into changes (what) values (?)", (encode([EVERYTHING]),))

    def _is_indexed(self, table: Table) -> bool:
        sql = """
            select exists (
                select 1 from sqlite_schema where type = 'trigger' and tbl_name = ? and sql like '% after insert on %'
            )
        """
        return self._connection.execute(sql, (table.name,)).fetchall() == [(1,)]

    def _set_hash_size(self, size: int) -> None:
        for index in self._indexes:
            sql = _SET_HASH.format(index=index)
            self._connection.execute(sql, (size,))
