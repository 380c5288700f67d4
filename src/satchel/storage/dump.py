"""Dumps a whole store as JSON Lines, and loads a dump into an empty store of either engine.

The first line describes the file. A line with an object starts a table and names its columns; a line with a list
is a row, with bytes in base64. The last line has the number of lines before it and their SHA-256, which reveals a dump
that was truncated or changed.
"""

import binascii
import gzip
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import cache
from graphlib import TopologicalSorter
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import apsw
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from satchel import clock
from satchel.errors import StoreFailed, StoreUnusable
from satchel.files import create_file, sync
from satchel.model import ALL_PROJECTS
from satchel.storage import schema
from satchel.storage.changes import EVERYTHING, encode
from satchel.storage.database import Row, is_postgres, open_database
from satchel.storage.schema.migration import for_sqlite
from satchel.storage.sqlite_file import WriteLock
from satchel.storage.status import read_status

if TYPE_CHECKING:
    from satchel.storage.postgres_connect import Connection

FORMAT = 1

_GZIP = b"\x1f\x8b"
_PIECE = 256 * 1024  # bytes to write at once
# A state of 4 MiB may need six characters in JSON for each of its own; a longer line is not from Satchel.
_MAX_LINE = 64 * 1024 * 1024  # bytes
_UNCHANGED = "Nothing was changed. Load another copy of it"

# These tables have rows even in a store without items: for the default project and the local user.
_OF_EMPTY_STORES = frozenset({"revisions", "authors", "settings", "search_spaces", "user_usage"})
_OTHER_PROJECTS = "select 1 from projects where name <> 'default' limit 1"

Progress = Callable[[int, int], object]  # receives the amount done and the total; 0 and 0 if unknown


# -- the tables -------------------------------------------------------------------------------------------------


class Table(Struct, frozen=True, kw_only=True):
    """A table with its columns in the order of the schema."""

    name: str
    columns: tuple[str, ...]
    bytes_columns: frozenset[str]
    required: tuple[str, ...]  # columns that are not null and have no default
    key: tuple[str, ...]  # the columns of its primary key
    is_numbered: bool  # its key is a number that is never used again, even after deletion

    def fill(self, sql: str) -> str:
        """Fill this table's names into a statement: {table}, {columns}, {key}, and {marks}, a ? for each column."""
        columns, marks = ", ".join(self.columns), ", ".join("?" * len(self.columns))
        return sql.format(table=self.name, columns=columns, key=", ".join(self.key), marks=marks)


@cache
def list_tables() -> tuple[Table, ...]:
    """List every table with data, after the tables to which it refers; the list is read from the schema."""
    with closing(open_empty()) as empty:
        names = [str(row[0]) for row in empty.execute("select name from pragma_table_list where type = 'table'")]
        # The table `changes` is only for processes that watch the store.
        kept = [name for name in names if not name.startswith("sqlite_") and name != "changes"]
        needed = {name: _list_references(empty, name) for name in sorted(kept)}
        return tuple(_read_table(empty, name) for name in TopologicalSorter(needed).static_order())


def open_empty(number: int | None = None) -> apsw.Connection:
    """Open an empty store in memory with a given schema, by default the newest."""
    empty = apsw.Connection(":memory:")
    for statements in schema.list_statements(0, number):
        sql = for_sqlite(statements)
        empty.execute(sql)
    return empty


def _list_references(empty: apsw.Connection, name: str) -> set[str]:
    sql = 'select "table" from pragma_foreign_key_list(?)'
    return {str(row[0]) for row in empty.execute(sql, (name,))}


def _read_table(empty: apsw.Connection, name: str) -> Table:
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


# -- the two engines --------------------------------------------------------------------------------------------

# Otherwise, triggers maintain the full-text indexes of SQLite. Each index is filled by one statement, because FTS5
# flushes its memory to the disk whenever a statement begins.
_FILL_INDEXES = """
    insert into prompt_index (prompt_index) values ('delete-all');
    insert into prompt_index (rowid, title, content)
        select prompt, title, case when is_indexed then content else '' end from prompt_texts;
    insert into search_index (search_index) values ('delete-all');
    insert into search_index (rowid, words)
        select number, replace(words, ' ', ' ' || space || '.') from search_items;
"""
# How to make and drop each index of PostgreSQL. Building them after inserting the rows takes a fraction of the
# time.
_INDEXES = """
    select pg_get_indexdef(indexrelid), format('drop index %%s', indexrelid::regclass) from pg_index
    where indrelid = any (%s::regclass[]) and not indisprimary and not indisunique
"""


# Each engine's class has one transaction, which reads a snapshot or loads rows. Triggers are off: a dump has the
# rows that they would write.


class _SqliteStore:
    # The highest number that any row of a table has had.
    last_number = "select coalesce(max(seq), 0) from sqlite_sequence where name = ?"

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def read(self, sql: str, *values: object) -> Iterator[Row]:
        return cast(Iterator[Row], self._connection.execute(sql, cast(Any, values)))

    def execute(self, sql: str, *values: object) -> list[Row]:
        return list(self.read(sql, *values))

    def prepare(self) -> None:
        """Do nothing: the full-text indexes are filled at the end, and the other indexes stay."""

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


class _PostgresStore:
    # The last number of a sequence; pg_sequences has null before the first one.
    last_number = """
        select coalesce(max(s.last_value), 0) from pg_sequences s where
            format('%%I.%%I', s.schemaname, s.sequencename)::regclass = pg_get_serial_sequence(%s, 'number')::regclass
    """

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._indexes: list[str] = []

    def read(self, sql: str, *values: object) -> Iterator[Row]:
        with self._connection.cursor() as cursor:
            statement = sql.encode()
            yield from cursor.stream(statement, values or None)  # row by row, because one may have megabytes

    def execute(self, sql: str, *values: object) -> list[Row]:
        statement = sql.encode()
        cursor = self._connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []

    def execute_for_all(self, sql: str) -> None:
        """Execute a statement for each table."""
        for table in list_tables():
            statement = table.fill(sql)
            self.execute(statement)

    def prepare(self) -> None:
        found = self.execute(_INDEXES, [table.name for table in list_tables()])
        for definition, drop in found:
            self.execute(drop)
            self._indexes.append(definition)

    def add_rows(self, table: Table, rows: Iterator[Row]) -> int:
        with self._connection.cursor() as cursor:
            with cursor.copy(table.fill("copy {table} ({columns}) from stdin").encode()) as copying:
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


_Store = _SqliteStore | _PostgresStore


def _open(where: str, *, writes: bool) -> AbstractContextManager[_Store]:
    """Open a store in one transaction, and commit it when the block ends."""
    return _open_server(where, writes) if is_postgres(where) else _open_file(os.path.realpath(where), writes)


@contextmanager
def _open_server(address: str, writes: bool) -> Iterator[_Store]:
    from satchel.storage.postgres import operators_connection

    with operators_connection(address) as (connection, _):
        store = _PostgresStore(connection)
        if not writes:
            store.execute("set transaction isolation level repeatable read, read only")
        if store.execute("select row_security_active('tasks')") == [(True,)]:
            raise StoreUnusable(
                "an application role sees the tasks of one user at a time: give the owner's address in --database or "
                "SATCHEL_DATABASE."
            )
        if writes:
            store.execute_for_all("alter table {table} disable trigger user")  # also locks out other writers
        yield store


@contextmanager
def _open_file(path: str, writes: bool) -> Iterator[_Store]:
    flags = apsw.SQLITE_OPEN_READWRITE if writes else apsw.SQLITE_OPEN_READONLY
    begin = "begin immediate" if writes else "begin"
    with WriteLock(path).hold() if writes else nullcontext():
        connection = apsw.Connection(path, flags=flags)
        try:
            connection.set_busy_timeout(5000)
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            connection.execute("pragma foreign_keys = off; pragma synchronous = full; pragma cache_size = -65536")
            connection.execute(begin)
            yield _SqliteStore(connection)
            connection.execute("commit")
        except apsw.Error as error:
            raise StoreFailed(f"cannot {'load' if writes else 'read'} {path}: {error}. Nothing was changed") from error
        finally:
            connection.close()  # rolls back uncommitted changes


# -- dump -------------------------------------------------------------------------------------------------------


class Head(Struct, kw_only=True):
    """The first line of a dump."""

    satchel_dump: int  # the version of the format
    schema: int
    made_at: str


class TableHead(Struct, kw_only=True, omit_defaults=True):
    """The line before the rows of a table."""

    table: str
    columns: tuple[str, ...]
    last_number: int | None = None  # the highest number of any row so far, even if deleted


class End(Struct, kw_only=True):
    """The last line of a dump."""

    lines: int
    sha256: str  # the hash of all earlier lines


def dump(where: str, write: Callable[[bytes], object], progress: Progress = lambda _done, _all: None) -> dict[str, int]:
    """Write a snapshot of a store, which may be in use; return the number of rows of each table.

    Raises:
        StoreUnusable: the store does not exist, its schema is not the newest, or this role does not see all of it.
        StoreFailed: reading failed.
    """
    status = read_status(where)
    schema.check_number(status.schema, "the store")
    if status.schema < status.newest:
        raise StoreUnusable(
            f"the store has schema {status.schema}, and only the newest ({status.newest}) is dumped. Migrate it first "
            "with: satchel database migrate"
        )
    encode_line = msgspec.json.Encoder().encode
    digest, piece, done = sha256(), bytearray(), 0
    with _open(where, writes=False) as store:
        counts = {}
        for table in list_tables():
            [[counts[table.name]]] = store.read(table.fill("select count(*) from {table}"))
        total = 1 + len(counts) + sum(counts.values())
        for line in _list_lines(store):
            piece += encode_line(line) + b"\n"
            done += 1
            if len(piece) >= _PIECE:
                digest.update(piece)
                write(bytes(piece))
                piece.clear()
                progress(done, total)
    digest.update(piece)
    write(bytes(piece) + encode_line(End(lines=done, sha256=digest.hexdigest())) + b"\n")
    progress(total, total)
    return counts


def _list_lines(store: _Store) -> Iterator[Struct | Row]:
    """Yield the values of all lines of a dump but the last."""
    yield Head(satchel_dump=FORMAT, schema=schema.newest(), made_at=clock.now())
    for table in list_tables():
        last = None
        if table.is_numbered:
            [[last]] = store.read(store.last_number, table.name)
        yield TableHead(table=table.name, columns=table.columns, last_number=last)
        yield from store.read(table.fill("select {columns} from {table} order by {key}"))


def dump_to_file(where: str, file: str, progress: Progress = lambda _d, _a: None) -> tuple[int, dict[str, int]]:
    """Write a store to a new compressed file with mode 0600; return its size in bytes and the result of `dump`.

    Raises:
        StoreUnusable: for the reasons given at `dump`, or the file already exists.
    """
    with open_new(file) as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=1, mtime=0) as packed:
        counts = dump(where, packed.write, progress)
    return os.path.getsize(file), counts


@contextmanager
def open_new(file: str) -> Iterator[BinaryIO]:
    """Open a new file with mode 0600, to write to it in the block. Raises what `make_part` raises."""
    with make_part(file) as part, open(part, "wb") as opened:
        yield opened


@contextmanager
def make_part(file: str) -> Iterator[str]:
    """Yield the path of an empty file with mode 0600; rename it to a new file at the end of the block.

    Raises:
        StoreUnusable: the file exists already, or another process created it meanwhile.
        StoreFailed: the file cannot be written.
    """
    part = f"{file}.{clock.new_id()}.part"
    try:
        if os.path.lexists(file):
            raise FileExistsError(file)
        create_file(part, b"")
        yield part
        sync(part)
        os.link(part, file)  # fails if another process was first, and never exposes a partial file
        sync(os.path.dirname(file) or ".")
    except FileExistsError:
        raise StoreUnusable(f"{file} already exists, and is never replaced. Name another file.") from None
    except OSError as error:
        raise StoreFailed(f"cannot write {file}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            os.unlink(part)


# -- load -------------------------------------------------------------------------------------------------------


class Dump:
    """An open dump whose content matches its last line."""

    def __init__(self, file: BinaryIO, progress: Progress = lambda _done, _all: None) -> None:
        """Check that the dump is complete and unchanged; otherwise raise StoreUnusable."""
        self._file = file
        self._progress = progress
        self._size = os.fstat(file.fileno()).st_size
        self._next = b""  # the line after the rows read so far
        self.schema = self._check()

    def tables(self) -> Iterator[tuple[Table, int, Iterator[Row]]]:
        """Yield each table with its last number and its rows; read the rows before the next table.

        Raises:
            StoreUnusable: the dump has a table or column that the store lacks, or lacks a column that it needs.
        """
        known = {table.name: table for table in list_tables()}
        lines = self._lines()
        next(lines)  # skip the head
        self._next = next(lines)
        while self._next.startswith(b'{"table"'):
            head = msgspec.json.decode(self._next, type=TableHead)
            table = known.pop(head.table, None)
            if wrong := _explain_misfit(table, head):
                raise StoreUnusable(
                    f"this dump (schema {self.schema}) {wrong}. Nothing was changed. Load it with the Satchel that "
                    "wrote it, or one in between."
                )
            assert table is not None, "a table that a store does not have does not fit"
            table = replace(table, columns=head.columns)
            yield table, head.last_number or 0, self._read_rows(table, lines)

    def _read_rows(self, table: Table, lines: Iterator[bytes]) -> Iterator[Row]:
        decode = msgspec.json.Decoder(list[int | str | None]).decode
        encoded = [place for place, column in enumerate(table.columns) if column in table.bytes_columns]
        for line in lines:
            if not line.startswith(b"["):
                self._next = line
                return
            row: list[Any] = decode(line)
            if len(row) != len(table.columns):
                raise StoreUnusable(f"this dump has a row of {table.name} with {len(row)} values. {_UNCHANGED}.")
            if table.name == "projects" and str(row[table.columns.index("name")]).lower() == ALL_PROJECTS:
                raise StoreUnusable(
                    "this dump has a project named all, which stands for all projects. Nothing was changed. Rename it "
                    "in the store that the dump was made from, and make the dump again."
                )
            for place in encoded:
                if row[place] is not None:
                    row[place] = binascii.a2b_base64(row[place])
            yield tuple(row)

    def _check(self) -> int:
        """Read the whole dump once, and return the schema."""
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
            while line := opened.readline(_MAX_LINE):
                if len(line) == _MAX_LINE:
                    raise StoreUnusable(f"this is not a dump of Satchel: it has a line of more than {_MAX_LINE} bytes.")
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
    """Return whether a file that starts with these bytes is a dump, plain or compressed."""
    return start.startswith((b'{"satchel_dump"', _GZIP))


def load(where: str, dump: Dump) -> dict[str, int]:
    """Load a dump into a store without items, or a new one; return the number of rows of each table.

    A column that the dump lacks gets its default, and a table that it lacks stays empty.

    Raises:
        StoreUnusable: the store is not empty, or the dump does not fit it; nothing was changed.
        StoreFailed: the store failed; nothing was changed.
    """
    open_database(where).close()  # creates or migrates it
    counts: dict[str, int] = {}
    try:
        with _open(where, writes=True) as store:
            for table in list_tables():
                _check_empty(store, table)
            store.prepare()
            for table in reversed(list_tables()):
                sql = table.fill("delete from {table}")
                store.execute(sql)
            for table, last_number, rows in dump.tables():
                counts[table.name] = store.add_rows(table, rows)
                if table.is_numbered:
                    store.set_last_number(table, last_number)
            store.finish()
    except (msgspec.DecodeError, binascii.Error) as error:
        raise StoreUnusable(f"this dump has a line that cannot be read: {error}. {_UNCHANGED}.") from error
    return counts


def _check_empty(store: _Store, table: Table) -> None:
    if table.name in _OF_EMPTY_STORES:
        return
    sql = _OTHER_PROJECTS if table.name == "projects" else table.fill("select 1 from {table} limit 1")
    if store.execute(sql):
        raise StoreUnusable(
            f"this store is not empty: it has {table.name.replace('_', ' ')}. A dump is loaded into a new store only, "
            "so that nothing is mixed. Name one with --database or SATCHEL_DATABASE."
        )


def _check_head(line: bytes) -> int:
    """Return the schema of a dump; refuse formats that this Satchel cannot read."""
    try:
        head = msgspec.json.decode(line, type=Head)
    except msgspec.DecodeError:
        raise StoreUnusable("this is not a dump: `satchel dump` makes one.") from None
    if head.satchel_dump != FORMAT:
        raise StoreUnusable(f"this dump has format {head.satchel_dump}, of a newer Satchel: upgrade this one.")
    return head.schema


def _explain_misfit(table: Table | None, head: TableHead) -> str:
    """Explain in a clause why the columns of a dump do not fit a table; empty if they do."""
    if table is None:
        return f"has the table {head.table[:80]!r}, which a store does not have"
    for column in head.columns:
        if column not in table.columns or head.columns.count(column) > 1:
            return f"has the column {column[:80]!r} of {table.name}, which a store does not have"
    for column in table.required:
        if column not in head.columns:
            return f"lacks the column {column!r} of {table.name}"
    return ""
