"""Watches a SQLite file: polls its change counter, and reads the table `changes` when the counter has moved."""

from collections.abc import Callable

import apsw

from satchel.errors import StoreFailed
from satchel.model import StoreChange
from satchel.storage.changes import EVERYTHING, Watcher, decode
from satchel.storage.database import Listener, Row


class SqliteWatcher(Watcher):
    """Polls ten times a second, which costs some microseconds. Between polls it holds no lock on the file."""

    interval = 0.1

    def __init__(self, connection: apsw.Connection, check_file: Callable[[], None], listen: Listener) -> None:
        self._connection = connection
        connection.execute("pragma query_only = on")
        self._check_file = check_file
        self._seen = self._last()
        self._counter = -1  # so that the first poll reads the table
        super().__init__(listen)

    def poll(self) -> list[StoreChange]:
        self._check_file()
        try:
            return self._read_changes()
        except apsw.Error as error:
            raise StoreFailed(str(error)) from error

    def close(self) -> None:
        self._connection.close()

    def _read_changes(self) -> list[StoreChange]:
        counter = self._connection.pragma("data_version")
        if counter == self._counter:
            return []
        sql = "select number, what from changes where number > ? order by number"
        rows: list[Row] = self._connection.execute(sql, (self._seen,)).fetchall()
        self._counter = counter
        if not rows:
            return self._check_restored()
        has_gap = rows[0][0] > self._seen + 1  # rows were deleted before we read them
        self._seen = rows[-1][0]
        if has_gap:
            return [EVERYTHING]
        return [change for _, what in rows for change in decode(what)]

    def _check_restored(self) -> list[StoreChange]:
        last = self._last()
        if last >= self._seen:
            return []
        self._seen = last  # an older copy was restored over the file, and numbers continue from there
        return [EVERYTHING]

    def _last(self) -> int:
        # The highest number ever used; the row itself may be deleted.
        rows: list[Row] = self._connection.execute("select seq from sqlite_sequence where name = 'changes'").fetchall()
        return int(rows[0][0]) if rows else 0
