"""The file of a SQLite store before SQLite opens it: that it is there, private, and a database."""

import os
from contextlib import suppress

import apsw

from satchel.errors import StoreUnusable


def check_file(path: str) -> None:
    """Check that there is a store, of whatever kind.

    Raises:
        StoreUnusable: there is not.
    """
    if not os.path.exists(path):
        raise StoreUnusable(
            f"there is no store {os.path.realpath(path)}. Name the right one with --database or SATCHEL_DATABASE. A "
            "new one is made by the first command that adds something, by `satchel serve` and by `satchel database "
            "migrate`."
        )


def make_private(path: str) -> None:
    """Create the file with mode 0600, never widened later; SQLite gives its log files the same mode."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise StoreUnusable(f"{path} is no file. Name one with --database or SATCHEL_DATABASE.")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def identify(path: str) -> tuple[int, int] | None:
    """What tells a file from another of the same name; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def check_header(path: str) -> None:
    """Check that a file is a whole database, or empty.

    Raises:
        apsw.NotADBError, apsw.CorruptError: it is not.
    """
    # SQLite takes a file of a few bytes for an empty database and overwrites it: data of another program.
    with open(path, "rb") as file:
        start = file.read(512)
    if start and (len(start) < 512 or not start.startswith(b"SQLite format 3\0")):
        raise apsw.NotADBError("file is not a database")
    # The header tells the size where its two counters agree; with a log, the end of the file may still be in there.
    if start[24:28] == start[92:96] and not any(os.path.exists(f"{path}{log}") for log in ("-wal", "-journal")):
        size = int.from_bytes(start[16:18], "big")
        expected = int.from_bytes(start[28:32], "big") * (65536 if size == 1 else size)
        if (found := os.path.getsize(path)) < expected:
            raise apsw.CorruptError(f"it has {found} bytes, and should have {expected}")
