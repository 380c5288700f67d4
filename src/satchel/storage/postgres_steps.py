"""Runs one migration on a PostgreSQL store that others work in, so that none of their calls fails or waits for long.

It has three phases: statements, fills and indexes. Whoever opens the store after an interruption continues: the table
`satchel_progress` exists as soon as the statements are done, fills leave out what is filled, and indexes what is built.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import psycopg

from satchel.errors import StoreError, StoreUnusable
from satchel.log import log
from satchel.storage.database import Tx, Violation
from satchel.storage.postgres_connect import Connection
from satchel.storage.schema.migration import Fill, Migration, for_postgres

Result = TypeVar("Result")

# Short, since calls queue behind us while we wait for a lock. Every fourth try takes more than a second, after which
# PostgreSQL ends an autovacuum that is in the way.
_LOCK_TIMEOUTS = ("250ms", "250ms", "250ms", "1200ms")
_BATCH_LOCK_TIMEOUT = "1s"
_PAUSE = 0.5  # seconds between tries
_LONGEST_WAIT = 600.0  # seconds of tries
_ROUNDS = 2  # of fills: the second is for rows that were committed while the first passed them
_REPORT = 5.0  # seconds between reports

# Errors that pass: a lock that others hold, and rows that they changed while a batch was filled.
_PASSING = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.ForeignKeyViolation,
    psycopg.errors.UniqueViolation,
)
_HAS_BEGUN = "select to_regclass('satchel_progress') is not null"
_IS_VALID = "select indisvalid from pg_index where indexrelid = to_regclass(%s)"
_LOCK_TIMEOUT = "select set_config('lock_timeout', %s, true)"


def run_migration(connection: Connection, number: int, migration: Migration, as_tx: Callable[[Connection], Tx]) -> None:
    """Run a migration, or the rest of one that was interrupted, on a connection that commits by itself.

    Raises:
        StoreUnusable: others held a lock for too long.
    """
    log(f"migrating the store to schema {number}")
    if connection.execute(_HAS_BEGUN).fetchone() != (True,):
        _retry(f"change the tables for schema {number}", partial(_alter, connection, migration))
    for fill in migration.fills * _ROUNDS:
        after: int | None = 0
        last = _read_last(connection, fill.table)  # where rows come all the time, there is no end
        reported = time.monotonic()
        while after is not None and after < last:
            after = _retry(f"fill the tables of schema {number}", partial(_fill, connection, as_tx, fill, after))
            if time.monotonic() > reported + _REPORT:
                reported = time.monotonic()
                log(f"migrating the store to schema {number}: {fill.table}, {after} of {last}")
    for statement in migration.indexes:
        _retry(f"build an index of schema {number}", partial(_build_index, connection, statement))
    with connection.transaction():
        connection.execute("insert into satchel_schema values (%s)", [number])
        connection.execute("drop table satchel_progress")


def _alter(connection: Connection, migration: Migration, failures: int) -> None:
    statements = for_postgres(migration).encode()
    with connection.transaction():
        connection.execute(_LOCK_TIMEOUT, [_LOCK_TIMEOUTS[failures % len(_LOCK_TIMEOUTS)]])
        connection.execute(statements)
        connection.execute("create table satchel_progress ()")


def _read_last(connection: psycopg.Connection[Any], table: str) -> int:
    query = psycopg.sql.SQL("select coalesce(max(number), 0) from {}").format(psycopg.sql.Identifier(table))
    [[last]] = connection.execute(query).fetchall()
    return int(last)


def _fill(
    connection: Connection, as_tx: Callable[[Connection], Tx], fill: Fill, after: int, _failures: int
) -> int | None:
    with connection.transaction():
        connection.execute(_LOCK_TIMEOUT, [_BATCH_LOCK_TIMEOUT])
        return fill.do_batch(as_tx(connection), after)


def _build_index(connection: psycopg.Connection[Any], statement: str, _failures: int) -> None:
    words = statement.split()
    name = words[2]
    found = connection.execute(_IS_VALID, [name]).fetchone()
    if found == (False,):  # an interrupted build left it
        drop = psycopg.sql.SQL("drop index concurrently {}").format(psycopg.sql.Identifier(name))
        connection.execute(drop)
    if found != (True,):
        concurrently = " ".join(["create index concurrently", *words[2:]]).encode()
        connection.execute(concurrently)


def _retry(what: str, attempt: Callable[[int], Result]) -> Result:
    """Make an attempt, which is given the number of failures before it, until others are no longer in its way."""
    deadline, failures = time.monotonic() + _LONGEST_WAIT, 0
    while True:
        try:
            return attempt(failures)
        except (psycopg.Error, StoreError, Violation) as error:
            cause = error if isinstance(error, psycopg.Error) else error.__cause__
            if not isinstance(cause, _PASSING):
                raise
            if time.monotonic() > deadline:
                raise StoreUnusable(
                    f"could not {what} in {_LONGEST_WAIT:.0f} s, because other transactions are in the way: {error}. "
                    "Look for long ones in pg_stat_activity, end them, and start again: it continues where it stopped."
                ) from error
            failures += 1
            time.sleep(_PAUSE)
