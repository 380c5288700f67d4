"""Look-ups in an event loop: reads of one statement, many of them at once on one connection, without a thread.

A look-up is synchronous code, and is run twice: first until it asks for rows, then again with these rows. Where it asks
for more, where the connection is away or an answer takes long, it is `Unanswered`: then it is run in a thread.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import cast

import psycopg
from msgspec import Struct
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGresult

from satchel.errors import Unanswered
from satchel.model import Scope
from satchel.storage import database
from satchel.storage.database import Found, Row, Tx
from satchel.storage.postgres_statements import Connection, Sent, Statement
from satchel.storage.postgres_tx import PostgresTx

_MOST = 200  # look-ups on the connection at once
_LONGEST = 0.05  # seconds for an answer; what is waited for, such as a lock, is better waited for in a thread
_PAUSE = 1.0  # seconds between attempts to connect


class _Asked(Struct):
    """The statements of one look-up. Its answer is the result of the last of them; None: it is unanswered."""

    statements: Sequence[Statement]
    answer: "asyncio.Future[PGresult | None]"


class _Batch(Struct):
    """Look-ups that were sent together, which is a transaction: what one of them shows, the next one replaces."""

    at: float
    look_ups: list[_Asked]
    sent: Sent
    received: list[PGresult | None]


class LookUps:
    """The connection, which is used by one event loop only. It is made when it is first asked for."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._socket = -1  # its number, which a lost connection does not tell
        self._loop: asyncio.AbstractEventLoop | None = None
        self._unsent: list[_Asked] = []
        self._batches: deque[_Batch] = deque()  # in the order in which they are answered
        self._connects_next = 0.0  # when we may try again to connect
        self._is_closed = False

    async def ask(self, statements: Sequence[Statement]) -> list[Row]:
        """The rows of the last statement; all are executed in one transaction, which reads only.

        Raises:
            Unanswered: not now, or not in a moment.
        """
        loop, now = asyncio.get_running_loop(), time.monotonic()
        if self._connection is None or loop is not self._loop:
            self._connect_soon(loop, now)
            raise Unanswered
        if len(self._unsent) >= _MOST or (self._batches and self._batches[0].at < now - _LONGEST):
            raise Unanswered
        asked = _Asked(statements, loop.create_future())
        if not self._unsent:  # so that all who ask in this turn of the loop share one system call
            loop.call_soon(self._send)
        self._unsent.append(asked)
        timer = loop.call_later(_LONGEST, _give, asked, None)
        try:
            result = await asked.answer
        finally:
            timer.cancel()
        if result is None or self._connection is None:
            raise Unanswered
        return self._connection.statements.read_rows(result)

    def close(self) -> None:
        """Close the connection; called from any thread."""
        self._is_closed = True
        loop = self._loop
        if loop is None or not loop.is_running() or loop is _running_loop():
            self._drop()
        else:
            with suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(self._drop)

    def _connect_soon(self, loop: asyncio.AbstractEventLoop, now: float) -> None:
        if self._connection is not None or now < self._connects_next or self._is_closed:
            return
        self._connects_next = now + _PAUSE
        self._loop = loop
        # A daemon, so that the process can end while the server does not answer.
        threading.Thread(target=self._connect_to, args=(loop,), name="satchel-look-ups", daemon=True).start()

    def _connect_to(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(psycopg.Error):  # the next look-up tries again
            connection = self._connect()
            try:
                loop.call_soon_threadsafe(self._connected, connection)
            except RuntimeError:  # the loop has ended
                connection.close()

    def _connected(self, connection: Connection) -> None:
        if self._is_closed or self._connection is not None or self._loop is None:
            connection.close()
            return
        self._connection, self._socket = connection, connection.pgconn.socket
        try:
            self._loop.add_reader(self._socket, self._read)
        except NotImplementedError:  # an event loop of Windows
            self._drop()
            self._is_closed = True

    def _send(self) -> None:
        look_ups, self._unsent = self._unsent, []
        if self._connection is None:
            _answer(look_ups, [])
            return
        statements = [statement for asked in look_ups for statement in asked.statements]
        batch = _Batch(time.monotonic(), look_ups, [], [])
        self._batches.append(batch)
        try:
            batch.sent = self._connection.statements.send(statements)
            self._flush()
        except psycopg.Error:
            self._drop()

    def _flush(self) -> None:
        """Send what is not sent yet, now or as soon as the server takes more of it."""
        assert self._connection is not None and self._loop is not None
        if self._connection.pgconn.flush():
            self._loop.add_writer(self._socket, self._flush_more)

    def _flush_more(self) -> None:
        assert self._connection is not None and self._loop is not None
        self._loop.remove_writer(self._socket)
        try:
            self._flush()
        except psycopg.Error:
            self._drop()

    def _read(self) -> None:
        assert self._connection is not None
        pgconn, statements = self._connection.pgconn, self._connection.statements
        try:
            pgconn.consume_input()
            while self._batches and not pgconn.is_busy():
                result = pgconn.get_result()
                if result is None:  # between two statements
                    if pgconn.status == ConnStatus.BAD:
                        self._drop()
                        return
                elif result.status == ExecStatus.PIPELINE_SYNC:
                    batch = self._batches.popleft()
                    _answer(batch.look_ups, statements.sort_results(batch.sent, batch.received))
                else:
                    is_aborted = result.status == ExecStatus.PIPELINE_ABORTED
                    self._batches[0].received.append(None if is_aborted else result)
        except psycopg.Error:
            self._drop()

    def _drop(self) -> None:
        """Close the connection; what it was asked is unanswered."""
        connection, self._connection = self._connection, None
        if connection is not None:
            if self._loop is not None and not self._loop.is_closed():
                self._loop.remove_reader(self._socket)
                self._loop.remove_writer(self._socket)
            connection.close()
        while self._batches:
            _answer(self._batches.popleft().look_ups, [])


class LookAhead(database.LookAhead):
    """A store for one look-up."""

    def __init__(self, look_ups: LookUps, show: Callable[[Scope | None], Statement | None]) -> None:
        self._look_ups = look_ups
        self._show = show  # the statement that has row-level security show what a scope may see
        self._statements: list[Statement] = []
        self._rows: list[Row] | None = None

    @contextmanager
    def read(self, scope: Scope | None = None, deadline: float | None = None) -> Iterator[Tx]:
        del deadline
        shown = self._show(scope)
        tx = _LookAheadTx(self, [] if shown is None else [shown])
        tx.scope = scope or tx.scope
        yield tx

    def look_up(self, find: Callable[[Tx], Found]) -> Found:
        return find(_LookAheadTx(self, []))

    async def fetch(self) -> None:
        if not self._statements or self._rows is not None:
            raise Unanswered
        self._rows = await self._look_ups.ask(self._statements)

    def find_rows(self, statements: list[Statement]) -> list[Row]:
        """The rows of the last of some statements.

        Raises:
            Unanswered: they were not fetched.
        """
        if self._rows is not None and statements == self._statements:
            return self._rows
        self._statements = statements
        raise Unanswered


class _LookAheadTx(PostgresTx):
    """The transaction of a look-up: every statement but one in the usual form is unanswered."""

    def __init__(self, store: LookAhead, opening: list[Statement]) -> None:
        super().__init__(cast("Connection", _Absent()))
        self._store = store
        self._opening = opening

    def interrupt(self) -> None:
        self.is_interrupted = True  # there is nothing to cancel

    def execute(self, sql: str, values: dict[str, object]) -> list[Row]:
        return self._store.find_rows([*self._opening, (sql, values, True)])


class _Absent:
    """In place of a connection."""

    def __getattr__(self, name: str) -> object:
        raise Unanswered


def _answer(look_ups: list[_Asked], results: list[PGresult | None]) -> None:
    """Give each look-up its results, of which there are none where the connection was lost."""
    place = 0
    for asked in look_ups:
        place += len(asked.statements)
        last = results[place - 1] if place <= len(results) else None
        _give(asked, last if last is not None and last.status == ExecStatus.TUPLES_OK else None)


def _give(asked: _Asked, result: PGresult | None) -> None:
    if not asked.answer.done():
        asked.answer.set_result(result)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
