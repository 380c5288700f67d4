"""Changes in a SQLite file: a thread polls its change counter, and reads the table `changes` when it has moved."""

import threading
from collections.abc import Callable

import apsw

from satchel.errors import StoreFailed
from satchel.log import log
from satchel.model import StoreChange
from satchel.storage.changes import EVERYTHING, decode, notify
from satchel.storage.database import Listener, Row

_INTERVAL = 0.1  # seconds; a poll costs some microseconds


class Watcher:
    """Polls in its own thread until it is stopped. Between polls it holds no lock on the file."""

    def __init__(self, connection: apsw.Connection, check_file: Callable[[], None], listen: Listener) -> None:
        self._connection = connection
        connection.execute("pragma query_only = on")
        self._check_file = check_file
        self._listen = listen
        self._seen = self._last()
        self._counter = -1  # so that the first poll reads the table
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="satchel-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and close the file."""
        self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(1)

    def _run(self) -> None:
        complaint = ""
        while not self._stopped.wait(_INTERVAL):
            try:
                self._check_file()
                changes = self._poll()
                complaint = ""
            except (apsw.Error, StoreFailed) as error:
                changes = []
                if str(error) != complaint:  # once, not with every poll
                    complaint = str(error)
                    log(f"watching the store: {complaint}")
            if changes:
                notify(self._listen, changes)
        self._connection.close()

    def _poll(self) -> list[StoreChange]:
        counter = self._connection.pragma("data_version")
        if counter == self._counter:
            return []
        sql = "select number, what from changes where number > ? order by number"
        rows: list[Row] = self._connection.execute(sql, (self._seen,)).fetchall()
        self._counter = counter
        if not rows:
            return self._check_restored()
        has_gap = rows[0][0] > self._seen + 1  # old rows were deleted before we read them
        self._seen = rows[-1][0]
        if has_gap:
            return [EVERYTHING]
        return [change for _, what in rows for change in decode(what)]

    def _check_restored(self) -> list[StoreChange]:
        last = self._last()
        if last >= self._seen:
            return []
        self._seen = last  # an older copy was restored over the file, so that numbers start again from there
        return [EVERYTHING]

    def _last(self) -> int:
        # The highest number ever used, which outlives the rows: old ones are deleted.
        rows: list[Row] = self._connection.execute("select seq from sqlite_sequence where name = 'changes'").fetchall()
        return int(rows[0][0]) if rows else 0
