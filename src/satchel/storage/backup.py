"""A backup of a SQLite store while it is in use: one snapshot, checked and sealed, complete or not there at all.

The seal is the SHA-256 of everything in the copy, kept in the copy itself. A backup can be opened as a store; once
something is changed in it, the seal no longer fits.
"""

import os
from hashlib import sha256
from itertools import islice
from typing import Any

import apsw
import msgspec
from msgspec import Struct

from satchel.errors import StoreFailed, StoreUnusable
from satchel.storage.dump import Progress
from satchel.storage.migrations import MIGRATIONS
from satchel.storage.private_files import make_part
from satchel.storage.sqlite import APPLICATION_ID

_SEAL = "backup_seal"  # its name among the settings
_PAGES = 2000  # that are copied between two reports of progress
_BATCH = 1000  # rows that are hashed at once
_COUNT = "select count(*) from {table}"
_ROWS_OF = "select * from {table} not indexed"  # in the order of the table itself
_ROWS_BUT_SEAL = "select * from {table} not indexed where name <> 'backup_seal'"


class Backup(Struct, frozen=True, kw_only=True):
    """A copy that was made and checked."""

    bytes: int
    schema: int
    counts: dict[str, int]  # the rows of each table


class Damaged(Exception):
    """A file is no store, or not as it was; the message says what was found, in the middle of a sentence."""


def backup(store: str, file: str, progress: Progress = lambda _done, _all: None) -> Backup:
    """Copy a store of any schema to a new file with mode 0600, check the copy, and seal it.

    Raises:
        StoreUnusable: there is no such store, it is damaged, or the file is there already.
        StoreFailed: it could not be read or written.
    """
    if not os.path.isfile(store):
        raise StoreUnusable(f"there is no store {store} to copy. Check --database.")
    try:
        with make_part(file) as part:
            counts = _copy(store, part, progress)
            copy = apsw.Connection(part, flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                schema = check_soundness(copy)
                if count_rows(copy) != counts:
                    raise StoreFailed(f"the copy of {store} differs from it; nothing was kept of the copy")
                _seal(copy)
            finally:
                copy.close()
        return Backup(bytes=os.path.getsize(file), schema=schema, counts=counts)
    except Damaged as damage:
        raise StoreUnusable(f"cannot copy {store}: {damage}. Nothing was kept of the copy.") from damage
    except (apsw.Error, UnicodeDecodeError) as error:
        raise StoreFailed(f"cannot copy {store} to {file}: {error}") from error


def check_soundness(connection: apsw.Connection) -> int:
    """Check that an open file is a store with nothing broken in it; returns its schema.

    Raises:
        Damaged: it is not.
    """
    try:
        schema = int(connection.pragma("user_version"))
        if connection.pragma("application_id") != APPLICATION_ID:
            raise Damaged("it is a database of another program")
        if schema > len(MIGRATIONS):
            raise Damaged(f"it has schema {schema}, of a newer Satchel, and this one knows up to {len(MIGRATIONS)}")
        if schema < 1:
            raise Damaged("it has no schema of ours")
        found = connection.execute("pragma integrity_check(1)").fetchall()
        if found != [("ok",)]:
            raise Damaged("it is damaged")
        if connection.execute("pragma foreign_key_check").fetchall():
            raise Damaged("it has rows that refer to nothing")
    except apsw.Error as error:
        raise Damaged(f"it is damaged or no database ({error})") from error
    return schema


def count_rows(connection: apsw.Connection) -> dict[str, int]:
    """How many rows each table has."""
    counts = {}
    for name in _list_tables(connection):
        sql = _COUNT.format(table=_quote(name))
        rows: list[Any] = connection.execute(sql).fetchall()
        counts[name] = int(rows[0][0])
    return counts


def read_seal(connection: apsw.Connection) -> str | None:
    """The seal of a backup; None where a file has none."""
    rows: list[Any] = connection.execute("select value from settings where name = ?", (_SEAL,)).fetchall()
    return rows[0][0] if rows else None


def remove_seal(connection: apsw.Connection) -> None:
    """Make a store of a backup, which changes from now on."""
    connection.execute("delete from settings where name = ?", (_SEAL,))


def compute_seal(connection: apsw.Connection) -> str:
    """The SHA-256 of everything in a store: its tables, their rows, and the indexes that tables of their own hold."""
    digest = sha256()
    digest.update(msgspec.msgpack.encode([connection.pragma("user_version"), connection.pragma("application_id")]))
    for row in connection.execute("select type, name, tbl_name, sql from sqlite_schema order by type, name"):
        digest.update(msgspec.msgpack.encode(row))
    for name in _list_tables(connection):
        digest.update(name.encode())
        sql = (_ROWS_BUT_SEAL if name == "settings" else _ROWS_OF).format(table=_quote(name))
        cursor = connection.execute(sql)
        while rows := list(islice(cursor, _BATCH)):
            digest.update(msgspec.msgpack.encode(rows))
    return f"sha256:{digest.hexdigest()}"


def _seal(copy: apsw.Connection) -> None:
    """Write the seal into a copy, in a file without a log beside it."""
    copy.execute("pragma journal_mode = delete; pragma synchronous = full")
    sql = "insert into settings (name, value) values (?, ?) on conflict (name) do update set value = excluded.value"
    copy.execute(sql, (_SEAL, compute_seal(copy)))


def _copy(store: str, part: str, progress: Progress) -> dict[str, int]:
    """Copy the pages of a snapshot; how many rows its tables have."""
    source = apsw.Connection(store, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        source.set_busy_timeout(5000)
        # A read transaction, so that pages and counts are of one moment, whatever is written meanwhile. It blocks no
        # writer: they append to the log.
        source.execute("begin")
        counts = count_rows(source)
        target = apsw.Connection(part, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            with target.backup("main", source, "main") as copying:
                while not copying.done:
                    copying.step(_PAGES)
                    progress(copying.page_count - copying.remaining, copying.page_count)
        finally:
            target.close()
        return counts
    finally:
        source.close()


def _list_tables(connection: apsw.Connection) -> list[str]:
    """Every table that has rows of its own, those in which FTS5 keeps an index too."""
    sql = "select name from pragma_table_list where schema = 'main' and type in ('table', 'shadow') order by name"
    return [str(name) for (name,) in connection.execute(sql) if name != "sqlite_schema"]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
