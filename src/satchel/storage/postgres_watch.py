"""Hearing of changes on a PostgreSQL server: a connection that listens, and is made again when it is lost."""

import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import psycopg

from satchel.log import log, log_surprise
from satchel.model import StoreChange

EVERYTHING = StoreChange("everything")

_PATIENCE = 0.5  # seconds before a lost connection is tried again, and before a closed store is noticed
_GATHER = 0.1  # seconds in which a burst becomes one piece of news, as between two looks at a SQLite file
_CHANGES = msgspec.json.Decoder(list[StoreChange])


class Watcher:
    """Listens in a thread of its own until it is stopped."""

    def __init__(
        self, connect: Callable[[], psycopg.Connection[Any]], heard: Callable[[list[StoreChange]], None]
    ) -> None:
        self._connect = connect
        self._heard = heard
        self._stopped = threading.Event()
        self._connection: psycopg.Connection[Any] | None = None
        self._listen()  # here, so that whatever is committed from now on is heard
        self._thread = threading.Thread(target=self._run, name="satchel-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Hear nothing more, and let go of the connection."""
        self._stopped.set()
        self._wake()
        if threading.current_thread() is not self._thread:
            self._thread.join(2 * _PATIENCE)

    def _wake(self) -> None:
        """End the thread's wait for notifications: shutting the socket down makes libpq see its end."""
        connection = self._connection
        with suppress(psycopg.Error, OSError):
            if connection is not None:
                with socket.socket(fileno=os.dup(connection.fileno())) as waited_for:
                    waited_for.shutdown(socket.SHUT_RDWR)

    def _listen(self) -> psycopg.Connection[Any]:
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
                    connection = self._listen()
                    log("watching the store again")
                    complaint = ""
                    self._tell([EVERYTHING])  # whatever happened while nobody listened
                told = [one.payload for one in connection.notifies(timeout=_PATIENCE, stop_after=1)]
                if told:
                    told += [one.payload for one in connection.notifies(timeout=_GATHER)]
                    self._tell([change for payload in told for change in _decoded(payload)])
            except psycopg.Error as error:
                self._disconnect()
                if self._stopped.is_set():
                    return
                if str(error) != complaint:  # a server that is away for an hour is worth one line
                    complaint = str(error)
                    log(f"watching the store: {complaint.strip()}")
                self._stopped.wait(_PATIENCE)
        self._disconnect()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _tell(self, changes: list[StoreChange]) -> None:
        if self._stopped.is_set():
            return
        try:
            self._heard(changes)
        except Exception:  # whoever hears it may fail; the next change is told all the same
            log_surprise("watching the store")


def _decoded(payload: str) -> list[StoreChange]:
    try:
        return _CHANGES.decode(payload)
    except msgspec.DecodeError:
        return [EVERYTHING]  # a newer Satchel knows changes that we do not
