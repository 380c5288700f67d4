"""One step of the schema on a PostgreSQL store that others work in: no call of theirs fails or waits for long.

A step has three phases, and can be interrupted after each of them and within the second: how far it got is in the table
`satchel_progress`, which is there only meanwhile.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import psycopg

from satchel.errors import StoreError, StoreUnusable
from satchel.log import log
from satchel.storage.database import Tx, Violation
from satchel.storage.migrations.migration import Migration
from satchel.storage.postgres_connect import Connection

Result = TypeVar("Result")

# For a lock, since calls queue behind us while we wait for it. Every fourth time it is longer than a second, after
# which PostgreSQL ends an autovacuum that is in the way.
_LOCK_TIMEOUTS = ("250ms", "250ms", "250ms", "1200ms")
_BATCH_LOCK_TIMEOUT = "1s"
_PAUSE = 0.5  # seconds until a lock is tried again, or a batch
_LONGEST_WAIT = 600.0  # seconds in which a phase must get on
_ROUNDS = 3
_WRITERS_WAIT = 90.0  # seconds; ours are ended after 60 in which they do nothing
_WRITERS_PAUSE = 0.05  # seconds
_REPORT = 5.0  # seconds between reports

# What passes by itself: a lock that others hold, and rows that they changed while a batch was filled.
_PASSING = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.ForeignKeyViolation,
    psycopg.errors.UniqueViolation,
)
_BEGUN = -1  # in place of the number of a fill: the statements of the step are done
_HAS_PROGRESS = "select to_regclass('satchel_progress') is not null"
_START = """
    create table if not exists satchel_progress (
        step bigint not null, fill bigint not null, after bigint not null, primary key (step, fill)
    )
"""
_REACHED = """
    insert into satchel_progress values (%s, %s, %s) on conflict (step, fill) do update set after = excluded.after
"""
_INDEX = "select indisvalid from pg_index where indexrelid = to_regclass(%s)"
_NEXT_TRANSACTION = "select pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
_OLDEST_TRANSACTION = "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
_LOCK_TIMEOUT = "select set_config('lock_timeout', %s, true)"


def apply_step(
    connection: Connection, number: int, statements: str, migration: Migration, as_tx: Callable[[Connection], Tx]
) -> None:
    """Apply a step, or the rest of one that was interrupted. The connection commits by itself.

    Raises:
        StoreUnusable: others held a lock for too long.
    """
    log(f"migrating the store to schema {number}")
    if not _read_progress(connection, number):
        _alter(connection, number, statements)
    _fill(connection, number, migration, as_tx)
    for statement in migration.indexes:
        _try_for_a_while(f"build an index of schema {number}", partial(_build_index, connection, statement))
    with connection.transaction():
        connection.execute("insert into satchel_schema values (%s)", [number])
        connection.execute("drop table satchel_progress")


def _alter(connection: Connection, number: int, statements: str) -> None:
    raw = statements.encode()

    def alter(attempt: int) -> None:
        timeout = _LOCK_TIMEOUTS[attempt % len(_LOCK_TIMEOUTS)]
        with connection.transaction():
            connection.execute(_LOCK_TIMEOUT, [timeout])
            connection.execute(raw)
            connection.execute(_START)
            connection.execute(_REACHED, [number, _BEGUN, 0])

    _try_for_a_while(f"change the tables for schema {number}", alter)


def _fill(connection: Connection, number: int, migration: Migration, as_tx: Callable[[Connection], Tx]) -> None:
    """Do all fills, and twice again what came meanwhile: where rows come all the time, there is no last one."""
    reached = _read_progress(connection, number)
    reported = time.monotonic()

    def do_batch(place: int, last: int, _: int) -> bool:
        with connection.transaction():
            connection.execute(_LOCK_TIMEOUT, [_BATCH_LOCK_TIMEOUT])
            done = migration.fills[place].do_batch(as_tx(connection), reached.get(place, 0), last)
            connection.execute(_REACHED, [number, place, last if done is None else done])
        reached[place] = last if done is None else done
        return done is not None

    for _ in range(_ROUNDS):
        for place, fill in enumerate(migration.fills):
            last = _read_last(connection, fill.table)
            batch = partial(do_batch, place, last)
            while reached.get(place, 0) < last and _try_for_a_while(f"fill the tables of schema {number}", batch):
                if time.monotonic() > reported + _REPORT:
                    reported = time.monotonic()
                    log(f"migrating the store to schema {number}: {fill.table}, {reached[place]} of {last}")


def _read_last(connection: psycopg.Connection[Any], table: str) -> int:
    """The largest number of a table. All rows up to it are there, because who adds them has finished."""
    query = psycopg.sql.SQL("select coalesce(max(number), 0) from {}").format(psycopg.sql.Identifier(table))
    row = connection.execute(query).fetchone()
    _wait_for_writers(connection)
    return int(row[0]) if row else 0


def _wait_for_writers(connection: psycopg.Connection[Any]) -> None:
    """Wait for all transactions that write now: one of them may have taken a smaller number than we saw."""
    [[begun]] = connection.execute(_NEXT_TRANSACTION).fetchall()
    deadline = time.monotonic() + _WRITERS_WAIT
    while connection.execute(_OLDEST_TRANSACTION).fetchall()[0][0] < begun and time.monotonic() < deadline:
        time.sleep(_WRITERS_PAUSE)


def _build_index(connection: psycopg.Connection[Any], statement: str, _: int) -> None:
    words = statement.split()
    name = words[2]
    found = connection.execute(_INDEX, [name]).fetchone()
    if found == (False,):  # of an interrupted build
        drop = psycopg.sql.SQL("drop index concurrently {}").format(psycopg.sql.Identifier(name))
        connection.execute(drop)
    if found != (True,):
        concurrently = " ".join(["create index concurrently", *words[2:]]).encode()
        connection.execute(concurrently)


def _read_progress(connection: Connection, number: int) -> dict[int, int]:
    """By fill of a step: the last number that is done. Empty where the step has not begun."""
    if connection.execute(_HAS_PROGRESS).fetchone() != (True,):
        return {}
    rows = connection.execute("select fill, after from satchel_progress where step = %s", [number]).fetchall()
    return dict(rows)


def _try_for_a_while(what: str, attempt: Callable[[int], Result]) -> Result:
    """Run a transaction, again and again while others are in its way; it is told how often it failed."""
    deadline, count = time.monotonic() + _LONGEST_WAIT, 0
    while True:
        try:
            return attempt(count)
        except (psycopg.Error, StoreError, Violation) as error:
            cause = error if isinstance(error, psycopg.Error) else error.__cause__
            if not isinstance(cause, _PASSING):
                raise
            if time.monotonic() > deadline:
                raise StoreUnusable(
                    f"could not {what} in {_LONGEST_WAIT:.0f} s, because other transactions are in the way: {error}. "
                    "Look for long ones in pg_stat_activity, end them, and start again: it goes on where it stopped."
                ) from error
            count += 1
            time.sleep(_PAUSE)
