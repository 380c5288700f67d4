"""Locks on a store, held by a test, so that calls wait until it releases them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import apsw
import psycopg


@contextmanager
def locked(store: str, table: str) -> Iterator[Callable[[], object]]:
    """Block writes to a store, and on PostgreSQL all use of a table, until the block ends or the result is called."""
    if store.startswith("postgresql"):
        connection = psycopg.connect(store)
        connection.execute(f"lock table {table}".encode())
        release: Callable[[], object] = connection.rollback
        close: Callable[[], object] = connection.close
    else:
        file = apsw.Connection(store)
        file.execute("begin immediate")
        release, close = partial(file.execute, "rollback"), file.close
    try:
        yield release
    finally:
        close()


def count_waiting(store: str) -> int:
    """Return how many statements wait for a lock of another session, on PostgreSQL."""
    with psycopg.connect(store) as connection:
        sql = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        [[count]] = connection.execute(sql).fetchall()
    return int(count)
