"""Changes on a PostgreSQL server: polls the table `changes` for what the last snapshot did not show."""

import time
from collections.abc import Callable
from typing import Protocol

from satchel.model import StoreChange
from satchel.storage.changes import EVERYTHING, Watcher, decode
from satchel.storage.database import Found, Listener, Tx

_LATE = 30.0  # seconds without a poll, in which rows may have been removed unread

_NOW = "select pg_current_snapshot()::text, pg_postmaster_start_time()::text"
# What is visible now and was not at the last poll, in whatever order the transactions ended. A table that was restored
# from a dump has numbers of another server's transactions, which are left out.
_READ = f"""
    select now.*, c.what from ({_NOW}) as now
    left join changes c on c.transaction >= pg_snapshot_xmin(:last::pg_snapshot)
        and not pg_visible_in_snapshot(c.transaction, :last::pg_snapshot)
        and c.transaction < pg_snapshot_xmax(pg_current_snapshot())
    order by c.number
"""


class LookUp(Protocol):
    """Runs a short read on the server, and waits so many seconds for a connection."""

    def __call__(self, find: Callable[[Tx], Found], wait: float) -> Found: ...


class PostgresWatcher(Watcher):
    """Polls twice a second."""

    interval = 0.5

    def __init__(self, look_up: LookUp, listen: Listener) -> None:
        self._look_up = look_up
        # Before the thread starts: no later commit is missed.
        [[self._snapshot, self._server]] = look_up(lambda tx: tx.all(_NOW), 0.0)
        self._polled_at = time.time()
        super().__init__(listen)

    def poll(self) -> list[StoreChange]:
        last = (self._server, self._polled_at)
        rows = self._look_up(lambda tx: tx.all(_READ, last=self._snapshot), 0.0)
        self._snapshot, self._server, _ = rows[0]
        self._polled_at = time.time()
        # A server that was started again, or took over from another one, may lack changes or number them differently.
        if self._server != last[0] or abs(self._polled_at - last[1]) > _LATE:
            return [EVERYTHING]
        return [change for *_, what in rows if what is not None for change in decode(what)]

    def close(self) -> None:
        """Do nothing: the connections belong to the pool."""
