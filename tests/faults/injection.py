"""Faults of a database, raised at the nth call of its driver: what a full disk, a bad one or a lost server does."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import psycopg
import pytest

# What a call of the driver does instead: it gets the connection, and raises. On PostgreSQL it may also return a
# statement to send in place of the one, or what to do after that was sent.
Fault = Callable[[Any], Any]


class Injector:
    """Counts the calls of a driver while it is armed, and lets one of them fail, once."""

    def __init__(self) -> None:
        self._remaining = 0
        self._fault: Fault | None = None
        self._thread = threading.get_ident()
        self._only_commits = False
        self.has_fired = False

    @contextmanager
    def armed(self, number: int, fault: Fault, *, only_commits: bool = False) -> Iterator[None]:
        """Let the call of this number fail, counted from 1."""
        self._remaining, self._fault, self.has_fired = number, fault, False
        self._only_commits = only_commits
        try:
            yield
        finally:
            self._fault = None

    def count(self, connection: Any, *, is_commit: bool = False) -> Any:
        """Note one call, and fail if it is the one."""
        if self._fault is None or threading.get_ident() != self._thread or (self._only_commits and not is_commit):
            return None
        self._remaining -= 1
        if self._remaining:
            return None
        fault, self._fault = self._fault, None
        self.has_fired = True
        return fault(connection)


# -- SQLite ------------------------------------------------------------------------------------------------------


def _raise(error: type[Exception], text: str) -> Fault:
    def fail(_: Any) -> None:
        raise error(text)

    return fail


def _lose_transaction(connection: apsw.Connection) -> None:
    """As SQLite does after some errors: the transaction is over before the caller knows."""
    if connection.in_transaction:
        apsw.Connection.execute(connection, "rollback")
    raise apsw.IOError("disk I/O error")


SQLITE_FAULTS: dict[str, Fault] = {
    "I/O error": _raise(apsw.IOError, "disk I/O error"),
    "full": _raise(apsw.FullError, "database or disk is full"),
    "busy": _raise(apsw.BusyError, "database is locked"),
    "rolled back": _lose_transaction,
    "cancelled": _raise(apsw.InterruptError, "interrupted"),
    "out of memory": _raise(apsw.NoMemError, "out of memory"),
    "damaged": _raise(apsw.CorruptError, "database disk image is malformed"),
}
FILE_FAULTS: dict[str, Fault] = {
    "I/O error": _raise(apsw.IOError, "disk I/O error"),
    "full": _raise(apsw.FullError, "database or disk is full"),
}


def inject_sqlite(monkeypatch: pytest.MonkeyPatch) -> Injector:
    """Make statements of SQLite connections that are opened from now on count."""
    injector = Injector()

    class Connection(apsw.Connection):
        def execute(self, statements: str, *more: Any, **others: Any) -> Any:
            injector.count(self)
            return super().execute(statements, *more, **others)

    monkeypatch.setattr(apsw, "Connection", Connection)
    return injector


def inject_files(monkeypatch: pytest.MonkeyPatch, *, checkpoints: bool = False) -> Injector:
    """Make what SQLite does to files count: every write, sync and truncation; with a checkpoint after each commit."""
    injector = Injector()

    class File(apsw.VFSFile):
        def __init__(self, name: Any, flags: list[int]) -> None:
            super().__init__("", name, flags)

        def xWrite(self, data: bytes, offset: int) -> None:
            injector.count(None)
            super().xWrite(data, offset)

        def xSync(self, flags: int) -> None:
            injector.count(None)
            super().xSync(flags)

        def xTruncate(self, size: int) -> None:
            injector.count(None)
            super().xTruncate(size)

    class Files(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("satchel-faults", "")

        def xOpen(self, name: Any, flags: list[int]) -> File:
            return File(name, flags)

    files = Files()
    plain = apsw.Connection

    def connect(path: str, **more: Any) -> apsw.Connection:
        assert files is not None  # it lives as long as its connections
        connection = plain(path, **more, vfs="satchel-faults")
        if checkpoints:
            connection.execute("pragma wal_autocheckpoint = 1")
        return connection

    monkeypatch.setattr(apsw, "Connection", connect)
    return injector


# -- PostgreSQL --------------------------------------------------------------------------------------------------


def _fail_with(state: str) -> Fault:
    """Return an error that the server itself raises, so that the transaction is aborted there too."""
    return lambda _: f"do $$ begin raise exception 'injected' using errcode = '{state}'; end $$"


def _lose_connection(connection: psycopg.Connection[Any]) -> None:
    """Cut the socket; the driver's own call fails after that."""
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


POSTGRES_FAULTS: dict[str, Fault] = {
    "I/O error": _fail_with("58030"),
    "full": _fail_with("53100"),
    "locked too long": _fail_with("55P03"),
    "lost": _lose_connection,
    "cancelled": _fail_with("57014"),
    "deadlock": _fail_with("40P01"),
    "serialization": _fail_with("40001"),
    "shutdown": _fail_with("57P01"),
}


def inject_postgres(monkeypatch: pytest.MonkeyPatch) -> Injector:
    """Make every statement count that a cursor of psycopg executes."""
    injector = Injector()
    execute = psycopg.Cursor.execute

    def counted_execute(self: psycopg.Cursor[Any], query: Any, *given: Any, **options: Any) -> Any:
        found = injector.count(self.connection, is_commit=query == "commit")
        if isinstance(found, str):
            return execute(self, found)
        sent = execute(self, query, *given, **options)
        if callable(found):
            found()
        return sent

    monkeypatch.setattr(psycopg.Cursor, "execute", counted_execute)
    return injector


def lose_answer_of_commit(connection: psycopg.Connection[Any]) -> Callable[[], None]:
    """Lose the connection after a commit was carried out, as if its answer was never read: the caller cannot know."""

    def lose() -> None:
        _lose_connection(connection)
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    return lose
