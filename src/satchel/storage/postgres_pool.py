"""The connections of a process to a PostgreSQL server: a bounded pool that lends each to one caller at a time.

There is no background thread. A caller without an idle connection opens one, and retries until its own deadline, so
a recovered server is used at once.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg.pq import TransactionStatus

from satchel.errors import StoreFailed
from satchel.storage.postgres_connect import Connection, is_lost

_PAUSE = 0.2  # seconds between two attempts to connect
_LONGEST_IDLE = 600.0  # seconds after which an idle connection is closed


class Pool:
    """A pool that lends connections in the order of requests."""

    def __init__(self, connect: Callable[[], Connection], size: int, purpose: str) -> None:
        self._connect = connect
        self._size = size
        self._purpose = purpose  # a plural noun for messages
        self._lock = threading.Lock()
        self._free = size  # how many more connections may be lent
        self._waiting: deque[threading.Event] = deque()  # waiting callers, in order
        self._idle: list[tuple[float, Connection]] = []  # with the time of return; the last used one at the end
        self._is_closed = False

    @contextmanager
    def lend(self, deadline: float) -> Iterator[Connection]:
        """Lend a connection outside of a transaction; roll back an open transaction when it returns.

        Raises:
            StoreFailed: no connection was free before the deadline, a `time.monotonic()` value.
        """
        self._enter(deadline)
        try:
            connection = self._take(deadline)
            try:
                yield connection
            finally:
                self._put(connection)
        finally:
            self._leave()

    def close(self) -> None:
        """Close the idle connections now, and the others when they return."""
        self._is_closed = True
        self._drop_idle()

    def _enter(self, deadline: float) -> None:
        """Wait in line until one more connection may be lent."""
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = threading.Event()
            self._waiting.append(turn)
        has_turn = False
        try:
            has_turn = turn.wait(max(0.0, deadline - time.monotonic()))
        finally:
            if not has_turn:
                with self._lock:
                    is_late = turn.is_set()  # the turn came just now
                    if not is_late:
                        self._waiting.remove(turn)
                if is_late:
                    self._leave()
        if not has_turn:
            raise StoreFailed(f"all {self._size} connections for {self._purpose} were busy for too long. Try again")

    def _leave(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1

    def _take(self, deadline: float) -> Connection:
        """Return a working connection, idle or new."""
        while (connection := self._pop_idle()) is not None:
            if not is_lost(connection):
                return connection
            connection.close()
        while True:
            try:
                return self._connect()
            except psycopg.OperationalError as error:
                if self._is_closed or time.monotonic() + _PAUSE > deadline:
                    raise StoreFailed(f"cannot connect to the database: {str(error).strip()}") from error
                time.sleep(_PAUSE)

    def _put(self, connection: Connection) -> None:
        with suppress(psycopg.Error):
            connection.rollback()
        if connection.info.transaction_status != TransactionStatus.IDLE:
            # The others may be lost, too: a host that vanished closes no connection.
            connection.close()
            self._drop_idle()
            return
        now = time.monotonic()
        with self._lock:
            self._idle.append((now, connection))
            is_due = self._idle[0][0] < now - _LONGEST_IDLE
            oldest = self._idle.pop(0)[1] if is_due else None
        if oldest is not None:
            oldest.close()
        if self._is_closed:
            self._drop_idle()

    def _pop_idle(self) -> Connection | None:
        with self._lock:
            return self._idle.pop()[1] if self._idle else None

    def _drop_idle(self) -> None:
        while (connection := self._pop_idle()) is not None:
            connection.close()
