"""A backup of a SQLite store while it is in use: one snapshot, checked and sealed, complete or not there at all.

The seal is the SHA-256 of everything in the copy, kept in the copy itself. A backup can be opened as a store; once
something is changed in it, the seal no longer fits.
"""

import os
from contextlib import closing
from hashlib import sha256
from itertools import islice
from typing import Any

import apsw
import msgspec
from msgspec import Struct

from satchel.errors import StoreFailed, StoreUnusable
from satchel.storage import schema
from satchel.storage.dump import Progress
from satchel.storage.private_files import make_part
from satchel.storage.sqlite import APPLICATION_ID
from satchel.storage.tables import open_empty

_SEAL = "backup_seal"  # its name among the settings
_PAGES = 2000  # copied between two reports of progress
_BATCH = 1000  # rows hashed at once
_COUNT = "select count(*) from {table}"
_ROWS_OF = "select * from {table} not indexed"  # in the order of the table itself
_ROWS_BUT_SEAL = "select * from {table} not indexed where name <> 'backup_seal'"
_OBJECTS = "select type, name, case type when 'table' then '' else sql end from sqlite_schema where type <> 'index'"


class Backup(Struct, frozen=True, kw_only=True):
    """A copy that was made and checked."""

    bytes: int
    schema: int
    counts: dict[str, int]  # the rows of each table


class Damaged(Exception):
    """A file is no store, or not as it was; the message says why, in the middle of a sentence."""


def backup(store: str, file: str, progress: Progress = lambda _done, _all: None) -> Backup:
    """Copy a store to a new file with mode 0600, check the copy, and seal it.

    Raises:
        StoreUnusable: there is no such store, it cannot be opened, or the file is there already.
        StoreFailed: it could not be read or written.
    """
    if not os.path.isfile(store):
        raise StoreUnusable(f"there is no store {store} to copy. Check --database.")
    try:
        with make_part(file) as part:
            counts = _copy(store, part, progress)
            with closing(apsw.Connection(part, flags=apsw.SQLITE_OPEN_READWRITE)) as copy:
                number = check_soundness(copy)
                if count_rows(copy) != counts:
                    raise StoreFailed(f"the copy of {store} differs from it; nothing was kept of the copy")
                _seal(copy)
        return Backup(bytes=os.path.getsize(file), schema=number, counts=counts)
    except Damaged as damage:
        raise StoreUnusable(f"cannot copy {store}: {damage}. Nothing was kept of the copy.") from damage
    except (apsw.Error, UnicodeDecodeError) as error:
        raise StoreFailed(f"cannot copy {store} to {file}: {error}") from error


def check_soundness(connection: apsw.Connection) -> int:
    """Check that an open file is a store with nothing broken in it; return its schema.

    Raises:
        Damaged: it is not.
    """
    try:
        number = int(connection.pragma("user_version"))
        if connection.pragma("application_id") != APPLICATION_ID:
            raise Damaged("it is a database of another program")
        if why := schema.explain_number(number):
            raise Damaged(f"it {why}")
        if not number:
            raise Damaged("it has no schema of ours")
        if connection.execute("pragma integrity_check(1)").fetchall() != [("ok",)]:
            raise Damaged("it is damaged")
        if connection.execute("pragma foreign_key_check").fetchall():
            raise Damaged("it has rows that refer to nothing")
    except apsw.Error as error:
        raise Damaged(f"it is damaged or no database ({error})") from error
    return number


def check_objects(connection: apsw.Connection, number: int) -> None:
    """Check that a store has no tables, views and triggers but those of its schema.

    Raises:
        Damaged: it has others. A trigger would run with our rights whenever we write.
    """
    with closing(open_empty(number)) as empty:
        ours = set(empty.execute(_OBJECTS))
    foreign = sorted(
        f"the {type} {name}"
        for type, name, sql in set(connection.execute(_OBJECTS)) - ours
        if not (type == "table" and str(name).startswith("sqlite_"))  # statistics and counters of SQLite itself
    )
    if foreign:
        raise Damaged(
            f"it has {', '.join(foreign)}, which Satchel did not make. Drop these in a copy of the file first"
        )


def count_rows(connection: apsw.Connection) -> dict[str, int]:
    """Count the rows of each table."""
    counts = {}
    for name in _list_tables(connection):
        sql = _COUNT.format(table=_quote(name))
        rows: list[Any] = connection.execute(sql).fetchall()
        counts[name] = int(rows[0][0])
    return counts


def read_seal(connection: apsw.Connection) -> str | None:
    """Return the seal of a backup; None if a file has none."""
    rows: list[Any] = connection.execute("select value from settings where name = ?", (_SEAL,)).fetchall()
    return rows[0][0] if rows else None


def remove_seal(connection: apsw.Connection) -> None:
    """Remove the seal of a backup that becomes a store, which will change."""
    connection.execute("delete from settings where name = ?", (_SEAL,))


def compute_seal(connection: apsw.Connection) -> str:
    """Compute the SHA-256 of a store: its schema, its rows, and the tables in which FTS5 keeps indexes."""
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
    """Write the seal into a copy, which stays one file without a log."""
    copy.execute("pragma journal_mode = delete; pragma synchronous = full")
    sql = "insert into settings (name, value) values (?, ?) on conflict (name) do update set value = excluded.value"
    copy.execute(sql, (_SEAL, compute_seal(copy)))


def _copy(store: str, part: str, progress: Progress) -> dict[str, int]:
    """Copy the pages of a snapshot; return how many rows its tables have."""
    with closing(apsw.Connection(store, flags=apsw.SQLITE_OPEN_READONLY)) as source:
        source.set_busy_timeout(5000)
        # A read transaction, so that pages and counts are of one moment, whatever is written meanwhile. It blocks no
        # writer: they append to the log.
        source.execute("begin")
        counts = count_rows(source)
        with (
            closing(apsw.Connection(part, flags=apsw.SQLITE_OPEN_READWRITE)) as target,
            target.backup("main", source, "main") as copying,
        ):
            while not copying.done:
                copying.step(_PAGES)
                progress(copying.page_count - copying.remaining, copying.page_count)
        return counts


def _list_tables(connection: apsw.Connection) -> list[str]:
    """List the tables with rows of their own, including those in which FTS5 keeps an index."""
    sql = "select name from pragma_table_list where schema = 'main' and type in ('table', 'shadow') order by name"
    return [str(name) for (name,) in connection.execute(sql) if name != "sqlite_schema"]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
