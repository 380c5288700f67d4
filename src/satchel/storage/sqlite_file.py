"""The file of a SQLite store before SQLite opens it: is it there, private, whole, and can it be written."""

import os
from contextlib import suppress

import apsw

from satchel.errors import StoreMissing, StoreUnusable

_LOGS = ("-wal", "-journal")


def check_file(path: str) -> None:
    """Check that there is a file, of whatever kind.

    Raises:
        StoreUnusable: there is none.
    """
    if not os.path.exists(path):
        raise StoreMissing(
            f"there is no store {os.path.realpath(path)}. Name the right one with --database or SATCHEL_DATABASE. A "
            "new one is made by the first command that adds something, by `satchel serve` and by `satchel database "
            "migrate`.",
            os.path.realpath(path),
        )


def check_kind(path: str) -> None:
    """Check that nothing but a regular file has this name.

    Raises:
        StoreUnusable: it is a folder, a device, …
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise StoreUnusable(f"{path} is no file. Name one with --database or SATCHEL_DATABASE.")


def make_private(path: str) -> None:
    """Create the file with mode 0600, if it is not there; SQLite gives its log files the same mode.

    Raises:
        StoreUnusable: it is no regular file.
    """
    check_kind(path)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


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
    # SQLite fills pages that were cut off with zeros. The size in the header counts if its two counters agree; the end
    # of a file with a log may still be in the log.
    if start[24:28] == start[92:96] and not any(os.path.exists(path + log) for log in _LOGS):
        size = int.from_bytes(start[16:18], "big")
        expected = int.from_bytes(start[28:32], "big") * (65536 if size == 1 else size)
        if (found := os.path.getsize(path)) < expected:
            raise apsw.CorruptError(f"it has {found} bytes, and should have {expected}")


def explain_read_only(path: str) -> str:
    """Explain in a sentence why this process cannot write a store; empty if it can."""
    folder = os.path.dirname(path)
    if not os.access(path, os.W_OK):
        return f"the file {path} is read-only for this user"
    if not _is_writable(folder):
        return f"the folder {folder} is read-only for this user"
    return ""


def is_at_rest(path: str) -> bool:
    """Tell whether a store must be read as a file that no process changes.

    SQLite keeps its log and its locks beside the file. If we cannot make them, and no other process has, the file alone
    is the whole store.
    """
    return not _is_writable(os.path.dirname(path)) and not os.path.exists(f"{path}-wal")


def connect_at_rest(path: str) -> apsw.Connection:
    """Connect to a store at rest, without locks."""
    from urllib.parse import quote  # takes 5 ms, and few stores are at rest

    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quote(path)}?immutable=1", flags=flags)


def identify(path: str, *, at_rest: bool) -> tuple[int, ...] | None:
    """Return what differs when another file takes the name, or when a store at rest is written; None without a file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not at_rest:
        return found.st_dev, found.st_ino
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, int(os.path.exists(f"{path}-wal"))


def _is_writable(folder: str) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)
