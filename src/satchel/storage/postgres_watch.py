"""Changes on a PostgreSQL server: a connection that listens and reads them, and is made again when it is lost."""

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress

import psycopg

from satchel.errors import StoreFailed
from satchel.log import log
from satchel.model import StoreChange
from satchel.storage.changes import EVERYTHING, Watcher, decode, encode
from satchel.storage.database import Listener
from satchel.storage.postgres_notify import CHANNEL, KEPT, WAKE_UP
from satchel.storage.postgres_statements import Connection

_WAIT = 0.5  # seconds between attempts to reconnect
_LOOK = 1.0  # seconds after which we look for changes even if nothing woke us, because a writer died after its commit
_GATHER = 0.1  # seconds in which notifications are collected into one call of the listener, as with a SQLite file

_LISTEN = f"listen {CHANNEL}".encode()
_SNAPSHOT = b"select pg_current_snapshot()::text"
# What is visible now and was not at the last look, in whatever order the transactions ended. A table that was restored
# from a dump has numbers of another server's transactions, which are left out.
_READ = """
    select now.snapshot, c.what
    from (select pg_current_snapshot()::text as snapshot) as now
    left join changes c on c.transaction >= pg_snapshot_xmin(:last::pg_snapshot)
        and not pg_visible_in_snapshot(c.transaction, :last::pg_snapshot)
        and c.transaction < pg_snapshot_xmax(pg_current_snapshot())
    order by c.number
"""


class PostgresWatcher(Watcher):
    """Waits for notifications, and reads the changes that they are about."""

    def __init__(self, connect: Callable[[], Connection], listen: Listener) -> None:
        self._connect = connect
        self._snapshot = ""  # of the last look
        self._looked_at = 0.0
        # Before the thread starts: nothing committed from now on is missed.
        self._connection: Connection | None = self._connect_and_listen()
        super().__init__(listen)

    def poll(self) -> list[StoreChange]:
        try:
            if self._connection is None:
                self._connection = self._connect_and_listen()
                log("watching the store again")
                return [EVERYTHING]  # more was changed than we can tell while there was no connection
            texts = [one.payload for one in self._connection.notifies(timeout=_LOOK, stop_after=1)]
            if texts:
                texts += [one.payload for one in self._connection.notifies(timeout=_GATHER)]
            rows = self._read(self._connection)
            while (one := self._connection.pgconn.notifies()) is not None:  # it came together with the rows
                texts.append(one.extra.decode())
            texts = [text for text in texts if text != WAKE_UP]  # these are of servers of schema 12 and older
            return [change for text in texts + rows for change in decode(text)]
        except psycopg.Error as error:
            self.close()
            self._stopped.wait(_WAIT)
            raise StoreFailed(str(error)) from error

    def stop(self) -> None:
        self._stopped.set()
        connection = self._connection
        with suppress(psycopg.Error, OSError):
            if connection is not None:  # shutting the socket down ends the wait for notifications
                with socket.socket(fileno=os.dup(connection.fileno())) as duplicate:
                    duplicate.shutdown(socket.SHUT_RDWR)
        super().stop()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read(self, connection: Connection) -> list[str]:
        """The rows that became visible since the last look."""
        looked_at, self._looked_at = self._looked_at, time.time()
        rows = connection.statements.run(_READ, {"last": self._snapshot})
        self._snapshot = rows[0][0]
        if abs(self._looked_at - looked_at) > KEPT / 2:  # we were stopped for so long that rows may be gone
            return [encode([EVERYTHING])]
        return [what for _, what in rows if what is not None]

    def _connect_and_listen(self) -> Connection:
        connection = self._connect()
        try:
            connection.execute(_LISTEN)
            [[self._snapshot]] = connection.execute(_SNAPSHOT).fetchall()
            self._looked_at = time.time()
        except BaseException:
            connection.close()
            raise
        return connection
