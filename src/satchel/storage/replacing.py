"""Replaces a SQLite store by a backup or a dump. The old store is kept under another name."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import BinaryIO

import apsw
from msgspec import Struct

from satchel import clock
from satchel.errors import StoreFailed, StoreUnusable
from satchel.storage import backup
from satchel.storage.backup import Damaged
from satchel.storage.database import open_database
from satchel.storage.dump import Progress
from satchel.storage.loading import Dump, load
from satchel.storage.private_files import check_owner, sync
from satchel.storage.sqlite import APPLICATION_ID
from satchel.storage.sqlite_file import check_kind
from satchel.storage.write_lock import WriteLock

_STEPS = 1_000_000  # of SQLite's virtual machine, between two reports of progress
_TRIES = 5  # to empty the log of the store while others read and write


class Replaced(Struct, frozen=True, kw_only=True):
    """A store that replaced another."""

    schema: int  # of the backup or dump
    rows: int
    kept: str | None  # the new name of the old store; None if there was none


def restore(store: str, file: str, *, needs_seal: bool = True, progress: Progress = lambda _d, _a: None) -> Replaced:
    """Replace a store by a checked copy of a backup. Processes that have the old one open notice it.

    Raises:
        StoreUnusable: the file is no sound backup, or the store cannot be replaced. Nothing is changed then.
        StoreFailed: the disk or a lock failed. Nothing is changed then.
    """
    path = os.path.realpath(store)
    with _stage(path) as staged:
        try:
            schema, rows = _copy_checked(file, staged, needs_seal=needs_seal, progress=progress)
        except Damaged as damage:
            raise StoreUnusable(f"cannot restore {file}: {damage}. Nothing was changed.") from damage
        open_database(staged).close()  # which proves that it opens, and migrates it
        return Replaced(schema=schema, rows=rows, kept=_put_in_place(staged, path))


def restore_dump(store: str, file: BinaryIO, progress: Progress = lambda _d, _a: None) -> Replaced:
    """Replace a store by one that a dump is loaded into. Raises as `restore`."""
    path = os.path.realpath(store)
    dump = Dump(file, progress)
    with _stage(path) as staged:
        rows = sum(load(staged, dump).values())
        return Replaced(schema=dump.schema, rows=rows, kept=_put_in_place(staged, path))


@contextmanager
def _stage(path: str) -> Iterator[str]:
    """Yield the path of a new store beside another; remove what is left of it when the block ends."""
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
            with suppress(OSError):
                os.unlink(staged + end)


def _copy_checked(file: str, staged: str, *, needs_seal: bool, progress: Progress) -> tuple[int, int]:
    """Write the rows of a backup to a new file, and check it; return its schema and number of rows."""

    def tick() -> bool:
        progress(0, 0)  # SQLite does not say how far it is
        return False  # go on

    os.close(os.open(staged, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with closing(apsw.Connection(file, flags=apsw.SQLITE_OPEN_READONLY)) as source:
            source.set_busy_timeout(5000)
            source.set_progress_handler(tick, _STEPS)
            backup.check_soundness(source)
            source.execute("vacuum into ?", (staged,))  # row by row: nothing comes along that is no data
        with closing(apsw.Connection(staged, flags=apsw.SQLITE_OPEN_READWRITE)) as copy:
            copy.set_progress_handler(tick, _STEPS)
            number = backup.check_soundness(copy)
            backup.check_objects(copy, number)
            if needs_seal:
                _check_seal(copy)
            backup.remove_seal(copy)
            return number, sum(backup.count_rows(copy).values())
    except (apsw.Error, UnicodeDecodeError) as error:
        raise Damaged(f"it is damaged or no database ({error})") from error


def _check_seal(copy: apsw.Connection) -> None:
    seal = backup.read_seal(copy)
    if seal is None:
        raise Damaged(
            "it has no seal, so damage inside of texts would not be noticed: `satchel backup` did not make it, or it "
            "is damaged. Add --without-seal to restore it all the same"
        )
    if seal != backup.compute_seal(copy):
        raise Damaged(
            "it is not what was backed up: it is damaged, or was changed as a store. Add --without-seal to restore it "
            "all the same"
        )


def _put_in_place(staged: str, path: str) -> str | None:
    """Give a new store the name of another, and return the new name of that one. Both are complete at every moment."""
    with closing(apsw.Connection(staged, flags=apsw.SQLITE_OPEN_READWRITE)) as new:
        new.execute("pragma journal_mode = delete")  # one file without a log
    sync(staged)
    with WriteLock(path).hold():  # so that no process of ours writes or makes a store here meanwhile
        kept = _free_name(path)
        if not os.path.exists(path) or not os.path.getsize(path):
            _swap(staged, path, kept, is_log_empty=False)
            return None
        with _emptied_log(path) as is_log_empty:
            os.link(path, kept)
            _swap(staged, path, kept, is_log_empty=is_log_empty)
        return kept


def _swap(staged: str, path: str, kept: str, *, is_log_empty: bool) -> None:
    # Processes that have the old store open keep its log and the index of the log. The new store must not find them:
    # SQLite would apply the log to it.
    if is_log_empty:
        _remove(f"{path}-wal")
    elif os.path.exists(f"{path}-wal"):
        os.rename(f"{path}-wal", f"{kept}-wal")
    _remove(f"{path}-shm")
    os.replace(staged, path)
    sync(os.path.dirname(path))


@contextmanager
def _emptied_log(path: str) -> Iterator[bool]:
    """Move the log of a store into its file, and lock out all writers; yield False if the store is damaged.

    Raises:
        StoreUnusable: it is the database of another program, or another process reads it all the time.
    """
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error:
        yield False
        return
    try:
        connection.set_busy_timeout(5000)
        yield _empty_log(connection, path)
    finally:
        with suppress(apsw.Error):
            connection.close()


def _empty_log(connection: apsw.Connection, path: str) -> bool:
    try:
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
        return False  # it is damaged, which may be why a backup is restored
    raise StoreUnusable(f"another process reads {path} all the time. Stop it, and try again. Nothing was changed.")


def _free_name(path: str) -> str:
    moment = clock.now()[:19].replace("-", "").replace(":", "")
    names = (f"{path}.before-{moment}Z", *(f"{path}.before-{moment}Z-{count}" for count in range(2, 1000)))
    return next(name for name in names if not os.path.lexists(name))


def _remove(file: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(file)
