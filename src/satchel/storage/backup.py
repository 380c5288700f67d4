"""Backs up a SQLite store to a checked and sealed copy, and restores one.

The seal is the SHA-256 of everything in the copy, stored in the copy itself. A backup can be opened as a store; if
anything in it changes, the seal no longer matches.
"""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from itertools import islice
from typing import BinaryIO

import apsw
import msgspec
from msgspec import Struct

from satchel import clock
from satchel.errors import StoreFailed, StoreUnusable
from satchel.files import create_file, sync
from satchel.storage import schema
from satchel.storage.database import Row, open_database
from satchel.storage.dump import Dump, Progress, load, make_part, open_empty
from satchel.storage.sqlite_file import APPLICATION_ID, WriteLock, check_kind, check_owner
from satchel.storage.status import list_damage

_SEAL = "backup_seal"  # its key in the settings
_BATCH = 1000  # rows to hash at once
_STEPS = 1_000_000  # steps of SQLite's virtual machine between two progress reports
_TRIES = 5  # attempts to empty the store's log while others read and write
_COUNT = "select count(*) from {table}"
_ROWS_OF = "select * from {table} not indexed"  # in the order of the table's own rows
_ROWS_BUT_SEAL = "select * from {table} not indexed where name <> 'backup_seal'"
_OBJECTS = "select type, name, case type when 'table' then '' else sql end from sqlite_schema where type <> 'index'"


class Backup(Struct, frozen=True, kw_only=True):
    """The facts about a checked copy."""

    bytes: int
    schema: int
    counts: dict[str, int]  # the rows of each table


class Replaced(Struct, frozen=True, kw_only=True):
    """The facts about a replaced store."""

    schema: int  # the schema of the backup or dump
    rows: int
    kept: str | None  # the new name of the old store; None if there was none


class _Damaged(Exception):
    """A file is not an intact store; the message is a clause with the reason."""


def backup(store: str, file: str, progress: Progress = lambda _done, _all: None) -> Backup:
    """Copy a store to a new file with mode 0600, check the copy, and seal it.

    Raises:
        StoreUnusable: the store does not exist or cannot be opened, or the file exists already.
        StoreFailed: reading or writing failed.
    """
    if not os.path.isfile(store):
        raise StoreUnusable(f"there is no store {store} to copy. Check --database.")
    try:
        with make_part(file) as part, _copy(store, part, progress) as copy:
            number, counts = _check(copy), _count_rows(copy)
            copy.execute("insert or replace into settings (name, value) values (?, ?)", (_SEAL, _compute_seal(copy)))
        return Backup(bytes=os.path.getsize(file), schema=number, counts=counts)
    except _Damaged as damage:
        raise StoreUnusable(f"cannot copy {store}: {damage}. The copy was removed.") from damage
    except (apsw.Error, UnicodeDecodeError) as error:
        raise StoreFailed(f"cannot copy {store} to {file}: {error}") from error


def restore(store: str, file: str, *, needs_seal: bool = True, progress: Progress = lambda _d, _a: None) -> Replaced:
    """Replace a store with a checked copy of a backup. Processes that have the old store open detect this.

    Raises:
        StoreUnusable: the file is not an intact backup, or the store cannot be replaced; nothing was changed.
        StoreFailed: the disk or a lock failed; nothing was changed.
    """
    path = os.path.realpath(store)
    with _stage(path) as staged:
        create_file(staged, b"")
        try:
            with _copy(file, staged, progress) as copy:
                number = _check(copy)
                _check_objects(copy, number)
                if needs_seal:
                    _check_seal(copy)
                copy.execute("delete from settings where name = ?", (_SEAL,))
                rows = sum(_count_rows(copy).values())
        except _Damaged as damage:
            raise StoreUnusable(f"cannot restore {file}: {damage}. Nothing was changed.") from damage
        except (apsw.Error, UnicodeDecodeError) as error:
            why = f"it is damaged or no database ({error})"
            raise StoreUnusable(f"cannot restore {file}: {why}. Nothing was changed.") from error
        open_database(staged).close()  # checks that it can be opened, and migrates it
        return Replaced(schema=number, rows=rows, kept=_put_in_place(staged, path))


def restore_dump(store: str, file: BinaryIO, progress: Progress = lambda _d, _a: None) -> Replaced:
    """Replace a store with a new one that has the content of a dump. Raises what `restore` raises."""
    path = os.path.realpath(store)
    dump = Dump(file, progress)
    with _stage(path) as staged:
        rows = sum(load(staged, dump).values())
        return Replaced(schema=dump.schema, rows=rows, kept=_put_in_place(staged, path))


# -- copies -----------------------------------------------------------------------------------------------------


@contextmanager
def _copy(store: str, empty: str, progress: Progress) -> Iterator[apsw.Connection]:
    """Check a store, copy a snapshot of its rows to an empty file, and yield a connection to the copy."""
    size = os.path.getsize(store) or 1

    def tick() -> bool:
        progress(min(size, os.path.getsize(empty)), size)
        return False  # go on

    with closing(apsw.Connection(store, flags=apsw.SQLITE_OPEN_READONLY)) as source:
        source.set_busy_timeout(5000)
        source.set_progress_handler(tick, _STEPS)
        _check(source)
        # This copies row by row, so only data is copied. Writers continue, because they append to the log.
        source.execute("vacuum into ?", (empty,))
    with closing(apsw.Connection(empty, flags=apsw.SQLITE_OPEN_READWRITE)) as copy:
        copy.execute("pragma synchronous = full")
        yield copy
    progress(size, size)


def _check(connection: apsw.Connection) -> int:
    """Check that an open file is an intact store; return its schema.

    Raises:
        _Damaged: the file is not intact.
    """
    try:
        number = int(connection.pragma("user_version"))
        if connection.pragma("application_id") != APPLICATION_ID:
            raise _Damaged("it is a database of another program")
        if why := schema.explain_number(number):
            raise _Damaged(f"it {why}")
        if not number:
            raise _Damaged("it has no schema of Satchel")
        if damage := list_damage(connection):
            raise _Damaged(f"it is damaged ({damage[0]})")
    except apsw.Error as error:
        raise _Damaged(f"it is damaged or no database ({error})") from error
    return number


def _check_objects(connection: apsw.Connection, number: int) -> None:
    """Check that a store has only the tables, views and triggers of its schema.

    Raises:
        _Damaged: the store has other objects. A trigger would run with our rights at every write.
    """
    with closing(open_empty(number)) as empty:
        ours = set(empty.execute(_OBJECTS))
    foreign = sorted(
        f"the {type} {name}"
        for type, name, sql in set(connection.execute(_OBJECTS)) - ours
        if not (type == "table" and str(name).startswith("sqlite_"))  # SQLite's own statistics and counters
    )
    if foreign:
        raise _Damaged(
            f"it has {', '.join(foreign)}, which Satchel did not make. Drop these in a copy of the file first"
        )


def _check_seal(copy: apsw.Connection) -> None:
    seals = copy.execute("select value from settings where name = ?", (_SEAL,)).fetchall()
    if not seals:
        raise _Damaged(
            "it has no seal, so damage inside of texts would not be noticed: `satchel backup` did not make it, or it "
            "is damaged. Add --without-seal to restore it anyway"
        )
    if seals != [(_compute_seal(copy),)]:
        raise _Damaged(
            "it is not what was backed up: it is damaged, or was changed as a store. Add --without-seal to restore it "
            "anyway"
        )


def _compute_seal(connection: apsw.Connection) -> str:
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


def _count_rows(connection: apsw.Connection) -> dict[str, int]:
    counts = {}
    for name in _list_tables(connection):
        sql = _COUNT.format(table=_quote(name))
        rows: list[Row] = connection.execute(sql).fetchall()
        counts[name] = int(rows[0][0])
    return counts


def _list_tables(connection: apsw.Connection) -> list[str]:
    """List the tables with their own rows, including those in which FTS5 keeps an index."""
    sql = "select name from pragma_table_list where schema = 'main' and type in ('table', 'shadow') order by name"
    return [str(name) for (name,) in connection.execute(sql) if name != "sqlite_schema"]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# -- replacing a store ------------------------------------------------------------------------------------------


@contextmanager
def _stage(path: str) -> Iterator[str]:
    """Yield the path for a new store beside another one; at the end of the block, remove what is left there."""
    check_kind(path)
    staged = f"{path}.{clock.new_id()}.part"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        check_owner(path)
        yield staged
    except OSError as error:
        raise StoreFailed(f"cannot write {staged}: {error.strerror}. Nothing was changed") from error
    except apsw.Error as error:
        raise StoreFailed(f"cannot replace {path}: {error}. Nothing was changed") from error
    finally:
        for end in ("", "-wal", "-shm", "-gate", "-journal"):
            _remove(staged + end)


def _put_in_place(staged: str, path: str) -> str | None:
    """Put a new store in place of another by renaming both; return the old one's new path. Both stay complete."""
    with closing(apsw.Connection(staged, flags=apsw.SQLITE_OPEN_READWRITE)) as new:
        new.execute("pragma journal_mode = delete")  # leaves one file without a log
    sync(staged)
    kept = f"{path}.before-{clock.now().replace('-', '').replace(':', '')}"
    with WriteLock(path).hold():  # so that no other Satchel process writes or creates a store here meanwhile
        if not os.path.exists(path) or not os.path.getsize(path):
            _swap(staged, path, kept, is_log_empty=False)
            return None
        old = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            is_log_empty = _empty_log(old, path)
            os.link(path, kept)
            _swap(staged, path, kept, is_log_empty=is_log_empty)
        finally:
            old.close(True)
        return kept


def _swap(staged: str, path: str, kept: str, *, is_log_empty: bool) -> None:
    # Processes that have the old store open keep its log and the log's index. The new store must not find these:
    # SQLite would apply the log to the new store.
    if is_log_empty:
        _remove(f"{path}-wal")
    elif os.path.exists(f"{path}-wal"):
        os.rename(f"{path}-wal", f"{kept}-wal")
    _remove(f"{path}-shm")
    os.replace(staged, path)
    sync(os.path.dirname(path))


def _empty_log(connection: apsw.Connection, path: str) -> bool:
    """Move the log of a store into its file, and lock out all writers; return False if the store is damaged.

    Raises:
        StoreUnusable: the file is another program's database, or another process keeps reading it.
        StoreFailed: another program writes to it.
    """
    try:
        connection.set_busy_timeout(5000)
        if connection.pragma("application_id") != APPLICATION_ID:
            raise StoreUnusable(f"{path} is a database of another program. It was left as it is.")
        for _ in range(_TRIES):
            connection.execute("pragma wal_checkpoint(truncate)").fetchall()
            connection.execute("begin immediate")
            if not os.path.exists(f"{path}-wal") or not os.path.getsize(f"{path}-wal"):
                return True
            connection.execute("rollback")
    except apsw.BusyError as error:
        raise StoreFailed(f"another program writes to {path} ({error}). Stop it, and try again") from error
    except apsw.Error:
        return False  # the damage may be the reason for the restore
    raise StoreUnusable(f"another process reads {path} permanently. Stop it, and try again. Nothing was changed.")


def _remove(file: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(file)
