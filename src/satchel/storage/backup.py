"""A backup of a SQLite store while it is in use: one snapshot, complete or not there at all."""

import os
from contextlib import suppress

import apsw

from satchel import clock
from satchel.errors import StoreFailed, StoreUnusable


def backup(store: str, file: str) -> int:
    """Copy a store of any schema to a new file with mode 0600; returns the size of the copy in bytes.

    Raises:
        StoreUnusable: there is no such store, or the file is there already.
        StoreFailed: it could not be read or written.
    """
    if not os.path.isfile(store):
        raise StoreUnusable(f"there is no store {store} to copy. Check --database.")
    if os.path.lexists(file):
        raise StoreUnusable(f"{file} is already there, and a backup never replaces a file. Name another.")
    part = f"{file}.{clock.new_id()}.part"
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        _copy(store, part)
        os.link(part, file)  # fails where another process was first, and never shows half a copy
        return os.path.getsize(file)
    except FileExistsError:
        raise StoreUnusable(f"{file} is already there, and a backup never replaces a file. Name another.") from None
    except OSError as error:
        raise StoreFailed(f"cannot write {file}: {error.strerror}") from error
    except apsw.Error as error:
        raise StoreFailed(f"cannot copy {store} to {file}: {error}") from error
    finally:
        with suppress(OSError):
            os.unlink(part)


def _copy(store: str, part: str) -> None:
    source = apsw.Connection(store, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        source.set_busy_timeout(5000)
        target = apsw.Connection(part, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            # In one step, because a copy in several starts again after each write. It blocks no writer: they append
            # to the log.
            with target.backup("main", source, "main") as copying:
                copying.step(-1)
        finally:
            target.close()
    finally:
        source.close()
