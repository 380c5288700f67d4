"""Changes on a PostgreSQL server: a connection that listens, and is made again when it is lost."""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg

from satchel.errors import StoreFailed
from satchel.log import log
from satchel.model import StoreChange
from satchel.storage.changes import EVERYTHING, Watcher, decode
from satchel.storage.database import Listener

_WAIT = 0.5  # seconds between attempts to reconnect, and until `stop` is noticed
_GATHER = 0.1  # seconds in which notifications are collected into one call of the listener, as with a SQLite file


class PostgresWatcher(Watcher):
    """Waits for notifications."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]], listen: Listener) -> None:
        self._connect = connect
        # Before the thread starts: nothing committed from now on is missed.
        self._connection: psycopg.Connection[Any] | None = self._connect_and_listen()
        super().__init__(listen)

    def poll(self) -> list[StoreChange]:
        try:
            if self._connection is None:
                self._connection = self._connect_and_listen()
                log("watching the store again")
                return [EVERYTHING]  # notifications were lost while there was no connection
            texts = [one.payload for one in self._connection.notifies(timeout=_WAIT, stop_after=1)]
            if texts:
                texts += [one.payload for one in self._connection.notifies(timeout=_GATHER)]
            return [change for text in texts for change in decode(text)]
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

    def _connect_and_listen(self) -> psycopg.Connection[Any]:
        connection = self._connect()
        try:
            connection.execute("listen satchel_changes")
        except BaseException:
            connection.close()
            raise
        return connection
