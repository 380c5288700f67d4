"""Changes on a PostgreSQL server: a thread with a connection that listens, and reconnects when it is lost."""

import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg

from satchel.log import log
from satchel.model import StoreChange
from satchel.storage.changes import EVERYTHING, decode, notify
from satchel.storage.database import Listener

_WAIT = 0.5  # seconds between attempts to reconnect, and until `stop` is noticed
_GATHER = 0.1  # seconds in which notifications are collected into one call of the listener, as with a SQLite file


class Watcher:
    """Listens in its own thread until it is stopped."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]], listen: Listener) -> None:
        self._connect = connect
        self._listen = listen
        self._stopped = threading.Event()
        self._connection: psycopg.Connection[Any] | None = None
        self._connect_and_listen()  # before the thread starts: nothing committed from now on is missed
        self._thread = threading.Thread(target=self._run, name="satchel-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and close the connection."""
        self._stopped.set()
        self._wake()
        if threading.current_thread() is not self._thread:
            self._thread.join(2 * _WAIT)

    def _wake(self) -> None:
        """End the thread's wait for notifications: shutting the socket down makes libpq see its end."""
        connection = self._connection
        with suppress(psycopg.Error, OSError):
            if connection is not None:
                with socket.socket(fileno=os.dup(connection.fileno())) as duplicate:
                    duplicate.shutdown(socket.SHUT_RDWR)

    def _connect_and_listen(self) -> psycopg.Connection[Any]:
        connection = self._connect()
        try:
            connection.execute("listen satchel_changes")
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _run(self) -> None:
        complaint = ""
        while not self._stopped.is_set():
            try:
                connection = self._connection
                if connection is None:
                    connection = self._connect_and_listen()
                    log("watching the store again")
                    complaint = ""
                    self._pass_on([EVERYTHING])  # notifications were lost while there was no connection
                texts = [one.payload for one in connection.notifies(timeout=_WAIT, stop_after=1)]
                if texts:
                    texts += [one.payload for one in connection.notifies(timeout=_GATHER)]
                    self._pass_on([change for text in texts for change in decode(text)])
            except psycopg.Error as error:
                self._disconnect()
                if self._stopped.is_set():
                    return
                if str(error) != complaint:  # once, not with every attempt
                    complaint = str(error)
                    log(f"watching the store: {complaint.strip()}")
                self._stopped.wait(_WAIT)
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _pass_on(self, changes: list[StoreChange]) -> None:
        if not self._stopped.is_set():
            notify(self._listen, changes)
