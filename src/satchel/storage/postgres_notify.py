"""Wakes the processes that watch a PostgreSQL store, after a commit, and removes the changes that all have read.

A notification within the transaction that it is about would hold a lock of the whole cluster until its commit is on the
disk, and on the standby. So the changes are rows of that transaction, and the notification only says: read them.
"""

import threading
import time
from contextlib import suppress

from satchel.errors import StoreError
from satchel.model import StoreChange
from satchel.storage.changes import encode
from satchel.storage.postgres_errors import translate_errors
from satchel.storage.postgres_pool import Pool
from satchel.storage.postgres_statements import Connection, Statement

CHANNEL = "satchel_changes"
WAKE_UP = ""  # what a notification says; older servers, which expect the changes in it, take it for "everything"
KEPT = 60.0  # seconds that a change is kept at least; a process that has not looked for half as long may miss some

_PAUSE = 0.05  # seconds between two notifications, in which commits are gathered
_WAIT = 2.0  # seconds for a connection, and at the end for the last notification
# Nothing is lost with it: who watches looks once a second anyway.
_LAZILY: Statement = ("select set_config('synchronous_commit', 'off', true)", {}, True)
_NOTIFY: Statement = ("select pg_notify(:channel, :text)", {"channel": CHANNEL, "text": WAKE_UP}, True)
_OLDEST = "select pg_snapshot_xmin(pg_current_snapshot())::text"
_PRUNE = "select satchel_forget_changes(:oldest)"


def record_changes(changed: list[StoreChange]) -> list[Statement]:
    """The statements that record what a transaction changed."""
    if not changed:
        return []
    return [("insert into changes (what) values (:what)", {"what": encode(changed)}, True)]


class Notifier:
    """A thread that notifies after commits; it starts with the first of them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._is_due = threading.Event()
        self._is_closed = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._oldest = ""  # the oldest transaction that ran at the time below: all before had ended by then
        self._seen_at = 0.0

    def wake(self) -> None:
        """Notify soon."""
        self._is_due.set()
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="satchel-notify", daemon=True)
                    self._thread.start()

    def close(self) -> None:
        """Notify a last time if that is due, and end the thread."""
        self._is_closed.set()
        if self._thread is not None:
            self._is_due.set()
            self._thread.join(_WAIT)

    def _run(self) -> None:
        while not self._is_closed.is_set():
            self._is_due.wait()
            self._is_due.clear()
            # What fails here is found by those who watch at their next look.
            with suppress(StoreError):
                self._notify()
            self._is_closed.wait(_PAUSE)

    def _notify(self) -> None:
        with self._pool.lend(time.monotonic() + _WAIT) as connection, translate_errors(connection):
            connection.statements.run_all([_LAZILY, _NOTIFY])
            self._prune(connection)

    def _prune(self, connection: Connection) -> None:
        """Remove the changes of transactions that had ended when we looked the last time, if that is long ago."""
        now = time.monotonic()
        if self._oldest and now < self._seen_at + KEPT:
            return
        if self._oldest:
            connection.statements.run_all([_LAZILY, (_PRUNE, {"oldest": self._oldest}, True)])
        [[self._oldest]] = connection.statements.run(_OLDEST, {})
        self._seen_at = now
