"""Announces changes to other processes: a writer adds them to the table `changes`, which watching processes poll."""

import threading
import time
from collections.abc import Callable
from typing import Protocol

import apsw
import msgspec

from satchel.errors import StoreFailed
from satchel.log import log, log_surprise
from satchel.model import StoreChange
from satchel.storage.database import Found, Listener, Row, Tx

EVERYTHING = StoreChange("everything")

_LATE = 30.0  # seconds without a poll; older rows may have been removed unread
_DECODER = msgspec.json.Decoder(list[StoreChange])

_NOW = "select pg_current_snapshot()::text, pg_postmaster_start_time()::text"
# Rows that have become visible since the last poll, in any order of commits. Rows from a dump have transaction numbers
# of another server, and are left out.
_READ = f"""
    select now.*, c.what from ({_NOW}) as now
    left join changes c on c.transaction >= pg_snapshot_xmin(:last::pg_snapshot)
        and not pg_visible_in_snapshot(c.transaction, :last::pg_snapshot)
        and c.transaction < pg_snapshot_xmax(pg_current_snapshot())
    order by c.number
"""


def encode(changes: list[StoreChange]) -> str:
    """Encode changes as JSON."""
    return msgspec.json.encode(changes).decode()


def decode(text: str) -> list[StoreChange]:
    """Decode changes; return `everything` for kinds of changes that only a newer Satchel knows."""
    try:
        return _DECODER.decode(text)
    except msgspec.DecodeError:
        return [EVERYTHING]


class Watcher:
    """Polls an engine for changes in its own thread, and passes them to a listener, until it is stopped."""

    interval = 0.0  # seconds between polls

    def __init__(self, listen: Listener) -> None:
        self._listen = listen
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="satchel-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and close the connection."""
        self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(1)

    def poll(self) -> list[StoreChange]:
        """Return the changes since the last poll.

        Raises:
            StoreFailed: the store cannot be reached now.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the watcher's connection, if it has one of its own."""

    def _run(self) -> None:
        complaint = ""
        while not self._stopped.wait(self.interval):
            try:
                changes = self.poll()
                complaint = ""
            except StoreFailed as error:
                changes = []
                if str(error) != complaint and not self._stopped.is_set():  # once, not at every poll
                    complaint = str(error)
                    log(f"watching the store: {complaint.strip()}")
            if changes and not self._stopped.is_set():
                try:
                    self._listen(changes)
                except Exception:  # so that the listener gets later changes
                    log_surprise("watching the store")
        self.close()


class SqliteWatcher(Watcher):
    """Polls ten times a second, which costs a few microseconds. It holds no lock on the file between polls."""

    interval = 0.1

    def __init__(self, connection: apsw.Connection, check_file: Callable[[], None], listen: Listener) -> None:
        self._connection = connection
        self._check_file = check_file
        connection.execute("pragma query_only = on")
        self._seen = self._find_last()
        super().__init__(listen)

    def poll(self) -> list[StoreChange]:
        self._check_file()
        try:
            sql = "select number, what from changes where number > ? order by number"
            rows: list[Row] = self._connection.execute(sql, (self._seen,)).fetchall()
            # If there are no new rows, an older copy may have been restored over the file; numbers continue from there.
            last = rows[-1][0] if rows else self._find_last()
        except apsw.Error as error:
            raise StoreFailed(str(error)) from error
        is_restored = last < self._seen
        has_gap = bool(rows) and rows[0][0] > self._seen + 1  # rows were deleted before they were read
        self._seen = last
        if is_restored or has_gap:
            return [EVERYTHING]
        return [change for _, what in rows for change in decode(what)]

    def close(self) -> None:
        self._connection.close()

    def _find_last(self) -> int:
        """Return the highest number that was ever used, even if its row was deleted."""
        rows: list[Row] = self._connection.execute("select seq from sqlite_sequence where name = 'changes'").fetchall()
        return int(rows[0][0]) if rows else 0


_FIRST_WAIT = 2.0  # seconds that the first look-up of a watcher waits behind look-ups of tokens


class LookUp(Protocol):
    """Runs a short read on the server; the number is how many seconds to wait for a connection."""

    def __call__(self, find: Callable[[Tx], Found], wait: float) -> Found: ...


class PostgresWatcher(Watcher):
    """Polls twice a second."""

    interval = 0.5

    def __init__(self, look_up: LookUp, listen: Listener) -> None:
        self._look_up = look_up
        # Read before the thread starts, so that no later commit is missed.
        [[self._snapshot, self._server]] = look_up(lambda tx: tx.all(_NOW), _FIRST_WAIT)
        self._polled_at = time.time()
        super().__init__(listen)

    def poll(self) -> list[StoreChange]:
        server, polled_at = self._server, self._polled_at
        rows = self._look_up(lambda tx: tx.all(_READ, last=self._snapshot), 0.0)
        self._snapshot, self._server, _ = rows[0]
        self._polled_at = time.time()
        # A restarted server, or one that replaced another, may lack changes or number them differently.
        if self._server != server or abs(self._polled_at - polled_at) > _LATE:
            return [EVERYTHING]
        return [change for *_, what in rows if what is not None for change in decode(what)]
