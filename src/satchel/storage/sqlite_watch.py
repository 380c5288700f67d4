"""Hearing of changes in a SQLite file: a look at its change counter, and when that has moved, at what was changed."""

import threading
from collections.abc import Callable

import apsw
import msgspec

from satchel.errors import StoreFailed
from satchel.log import log, log_surprise
from satchel.model import StoreChange
from satchel.storage.database import Row

EVERYTHING = StoreChange("everything")

_LOOK_EVERY = 0.1  # seconds; a look costs some microseconds
_CHANGES = msgspec.json.Decoder(list[StoreChange])


class Watcher:
    """Looks, in a thread of its own, until it is stopped. Between looks it holds no lock on the file."""

    def __init__(
        self, connection: apsw.Connection, check_file: Callable[[], None], heard: Callable[[list[StoreChange]], None]
    ) -> None:
        self._connection = connection
        connection.execute("pragma query_only = on")
        self._check_file = check_file
        self._heard = heard
        self._seen = self._last()
        self._counter = -1  # so that the first look is a whole one
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="satchel-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Hear nothing more, and let go of the file."""
        self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(1)

    def _run(self) -> None:
        complaint = ""
        while not self._stopped.wait(_LOOK_EVERY):
            try:
                self._check_file()
                changes = self._look()
                complaint = ""
            except (apsw.Error, StoreFailed) as error:
                changes = []
                if str(error) != complaint:  # ten times a second would be too often
                    complaint = str(error)
                    log(f"watching the store: {complaint}")
            if changes:
                self._tell(changes)
        self._connection.close()

    def _tell(self, changes: list[StoreChange]) -> None:
        try:
            self._heard(changes)
        except Exception:  # whoever hears it may fail; the next change is told all the same
            log_surprise("watching the store")

    def _look(self) -> list[StoreChange]:
        counter = self._connection.pragma("data_version")
        if counter == self._counter:
            return []
        sql = "select number, what from changes where number > ? order by number"
        rows: list[Row] = self._connection.execute(sql, (self._seen,)).fetchall()
        self._counter = counter
        if not rows:
            return self._look_back()
        has_gap = rows[0][0] > self._seen + 1  # pruned while we slept
        self._seen = rows[-1][0]
        if has_gap:
            return [EVERYTHING]
        return [change for _, what in rows for change in _decoded(what)]

    def _look_back(self) -> list[StoreChange]:
        last = self._last()
        if last >= self._seen:
            return []
        self._seen = last  # an older copy was restored over the file, and numbers go on from there
        return [EVERYTHING]

    def _last(self) -> int:
        # Not the highest row but the highest ever: old rows are removed.
        rows: list[Row] = self._connection.execute("select seq from sqlite_sequence where name = 'changes'").fetchall()
        return int(rows[0][0]) if rows else 0


def _decoded(what: str) -> list[StoreChange]:
    try:
        return _CHANGES.decode(what)
    except msgspec.DecodeError:
        return [EVERYTHING]  # a newer Satchel knows changes that we do not
