"""A SQLite store that this process cannot write: why that is, and how it can be read all the same."""

import os

import apsw


def find_obstacle(path: str) -> str:
    """Why a store cannot be written, in a sentence; empty where it can."""
    folder = os.path.dirname(path)
    if not os.access(path, os.W_OK):
        return f"the file {path} is read-only for this user"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"the folder {folder} is read-only for this user"
    return ""


def is_at_rest(path: str) -> bool:
    """Whether a store must be read as a file that no process changes.

    SQLite keeps its log and its locks beside the file. Where we cannot make them, and no other process has, the file
    alone is the whole store.
    """
    return not os.access(os.path.dirname(path), os.W_OK | os.X_OK) and not os.path.exists(f"{path}-wal")


def connect(path: str) -> apsw.Connection:
    """A connection to a store at rest, which takes no locks."""
    from urllib.parse import quote  # few stores are read so

    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quote(path)}?immutable=1", flags=flags)


def describe(path: str) -> tuple[int, ...] | None:
    """What changes when another process writes a store at rest after all; None where it is gone."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, int(os.path.exists(f"{path}-wal"))
