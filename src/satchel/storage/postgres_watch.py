"""Changes on a PostgreSQL server: polls the table `changes` for what its last snapshot did not show."""

import time
from collections.abc import Callable
from typing import Protocol

from satchel.errors import StoreFailed
from satchel.log import log
from satchel.model import StoreChange
from satchel.storage.changes import EVERYTHING, Watcher, decode
from satchel.storage.database import Found, Listener, Tx

_LATE = 30.0  # seconds without a poll after which rows may have been removed unread

_SNAPSHOT = "select pg_current_snapshot()::text"
# What is visible now and was not at the last poll, in whatever order the transactions ended. A table that was restored
# from a dump has numbers of another server's transactions, which are left out.
_READ = """
    select now.snapshot, c.what
    from (select pg_current_snapshot()::text as snapshot) as now
    left join changes c on c.transaction >= pg_snapshot_xmin(:last::pg_snapshot)
        and not pg_visible_in_snapshot(c.transaction, :last::pg_snapshot)
        and c.transaction < pg_snapshot_xmax(pg_current_snapshot())
    order by c.number
"""


class LookUp(Protocol):
    """Run a short read on the server, and wait at most some seconds for a connection."""

    def __call__(self, find: Callable[[Tx], Found], wait: float) -> Found: ...


class PostgresWatcher(Watcher):
    """Polls twice a second."""

    interval = 0.5

    def __init__(self, look_up: LookUp, listen: Listener) -> None:
        self._look_up = look_up
        # Before the thread starts: no later commit is missed.
        self._snapshot = look_up(_read_snapshot, 0.0)
        self._polled_at = time.time()
        super().__init__(listen)

    def poll(self) -> list[StoreChange]:
        last, self._snapshot = self._snapshot, ""
        if not last:
            self._snapshot = self._look_up(_read_snapshot, 0.0)
            log("watching the store again")
            return [EVERYTHING]  # what was changed meanwhile is not known
        rows = self._look_up(lambda tx: tx.all(_READ, last=last), 0.0)
        self._snapshot = rows[0][0]
        polled_at, self._polled_at = self._polled_at, time.time()
        if abs(self._polled_at - polled_at) > _LATE:
            return [EVERYTHING]
        return [change for _, what in rows if what is not None for change in decode(what)]

    def close(self) -> None:
        """Do nothing: the connections belong to the pool."""


def _read_snapshot(tx: Tx) -> str:
    row = tx.one(_SNAPSHOT)
    if row is None:
        raise StoreFailed("the database told no snapshot")
    return str(row[0])
