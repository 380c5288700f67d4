"""Migrating a PostgreSQL store that others work in: nobody has to wait, and an interrupted migration continues."""

import contextlib
import signal
import subprocess
import threading
from collections.abc import Iterator

import psycopg
import pytest
from msgspec.structs import replace

from satchel.errors import StoreUnusable
from satchel.storage import postgres_schema, schema
from satchel.storage.database import Tx, open_database
from satchel.storage.schema.migration import Fill
from tests.support import newer
from tests.support.postgres import PostgresServer, find_binaries
from tests.support.process import eventually
from tests.support.schemas import ask, schema_of

ADA = "550e8400-e29b-41d4-a716-446655440000"
NOW = "2026-01-01T00:00:00.000000Z"
_ADD = "insert into tasks (id, owner, title, description, created_at, updated_at) values (%s, %s, %s, %s, %s, %s)"
_MANY = """
    insert into tasks (id, owner, title, description, created_at, updated_at)
    select 'id ' || n, %s, 'Task number ' || n, 'some words about it and a NUMBER ' || n::bigint * 7919 %% 10007, %s, %s
    from generate_series(1, %s) as n
"""


@pytest.fixture
def store(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a store that this Satchel must migrate."""
    monkeypatch.setattr(schema, "MIGRATIONS", (newer.MIGRATION,))
    return address


def fill(store: str, count: int) -> None:
    with psycopg.connect(store) as connection:
        connection.execute(_MANY, [ADA, NOW, NOW, count])


@contextlib.contextmanager
def migrating(store: str) -> Iterator[list[BaseException]]:
    """Open the store in another thread; the block ends when it is migrated."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            open_database(store).close()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield failures
    finally:
        thread.join()


def test_a_store_in_use_gets_the_schema_of_a_new_one(postgres: PostgresServer, store: str) -> None:
    def dump(address: str) -> list[str]:
        command = [str(find_binaries() / "pg_dump"), "--schema-only", "-d", address]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        return [line for line in lines if "restrict" not in line]  # these lines have a random key

    new = postgres.fresh()
    open_database(new).close()
    open_database(store).close()
    assert dump(store) == dump(new)


def test_a_lock_that_others_hold_is_given_up_and_tried_again(store: str) -> None:
    fill(store, 10)
    with psycopg.connect(store) as reader, migrating(store) as failures:
        reader.execute("select count(*) from tasks")  # its transaction stays open
        waits = "select count(*) from pg_locks where not granted and mode = 'AccessExclusiveLock'"
        for number in range(2):
            assert eventually(lambda: ask(store, waits) == [(1,)])
            with psycopg.connect(store) as caller:  # queues behind the migration, and runs before the reader ends
                caller.execute(_ADD, [f"new {number}", ADA, "t", None, NOW, NOW])
        assert schema_of(store) == schema.NUMBER
        reader.rollback()
    assert failures == []
    assert schema_of(store) == schema.newest()
    assert ask(store, "select count(*) from task_marks") == [(12,)]


def test_a_lock_that_is_never_given_up_ends_the_migration_with_what_to_do(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_schema, "_LONGEST_WAIT", 0.1)
    with psycopg.connect(store) as reader:
        reader.execute("select count(*) from tasks")
        with pytest.raises(StoreUnusable, match=r"transactions are in the way.*pg_stat_activity.*continues where"):
            open_database(store)
    open_database(store).close()


def test_a_fill_is_done_in_batches_and_continues_where_it_was_killed(store: str) -> None:
    fill(store, 2_000)
    there = "select to_regclass('task_marks') is not null"
    place = "select coalesce(max(task), 0) from task_marks"
    is_alone = "select count(*) = 1 from pg_stat_activity where datname = current_database()"
    done = 0
    for _ in range(2):
        process = subprocess.Popen([*newer.MIGRATE, store], stderr=subprocess.DEVNULL)
        assert eventually(lambda: ask(store, there) == [(True,)])
        assert eventually(lambda: ask(store, place)[0][0] > done)  # noqa: B023
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert eventually(lambda: ask(store, is_alone) == [(True,)])
        before, done = done, ask(store, place)[0][0]
        assert schema_of(store) == schema.NUMBER
        assert ask(store, "select count(*) from task_marks") == [(done,)]
        assert before < done < 2_000 and done % newer.BATCH == 0
    open_database(store).close()
    assert ask(store, "select count(*), max(task) from task_marks") == [(2_000, 2_000)]
    assert ask(store, "select to_regclass('satchel_progress') is not null") == [(False,)]


def test_an_index_whose_building_was_interrupted_is_built_again(store: str) -> None:
    open_database(store).close()
    [statement] = newer.MIGRATION.indexes
    valid = "select indisvalid from pg_index where indexrelid = 'tasks_by_estimate'::regclass"
    with psycopg.connect(store, autocommit=True) as connection:
        connection.execute("update pg_index set indisvalid = false where indexrelid = 'tasks_by_estimate'::regclass")
        for _ in range(2):
            postgres_schema._build_index(connection, statement, 0)
            assert ask(store, valid) == [(True,)]


def test_a_row_that_is_committed_after_the_fill_passed_it_is_filled(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, 2)
    ask(store, "delete from tasks where number = 1")
    late_row = (
        "insert into tasks (number, id, owner, title, created_at, updated_at) values (1, 'l', 'o', 'late', '', '')"
    )
    with psycopg.connect(store) as late:

        def mark(tx: Tx, after: int) -> int | None:
            if not late.closed:  # during the first round of fills
                late.execute(late_row)
            reached = newer.mark(tx, after)
            if not late.closed:
                late.commit()
                late.close()
            return reached

        monkeypatch.setattr(schema, "MIGRATIONS", (replace(newer.MIGRATION, fills=(Fill("tasks", mark),)),))
        open_database(store).close()
    assert ask(store, "select title from task_marks order by task") == [("LATE",), ("TASK NUMBER 2",)]
