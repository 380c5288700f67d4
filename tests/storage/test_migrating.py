"""Migrations keep everything in a store; an interruption leaves either the old or the new schema."""

import signal
import subprocess
import sys
import threading
import time

import psycopg
import pytest

from satchel.errors import StoreUnusable
from satchel.storage import schema
from satchel.storage.database import open_database
from tests.support import newer
from tests.support.furnished import differences, everything, furnish
from tests.support.postgres import PostgresServer
from tests.support.roles import let_in, role_of, two_roles
from tests.support.schemas import ask, schema_of, set_schema

NEXT = schema.NUMBER + 1


@pytest.fixture
def store(empty_store: str) -> str:
    """Return the address of a store with items of every kind."""
    furnish(empty_store)
    return empty_store


@pytest.fixture
def newer_satchel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend to be a Satchel with one more migration."""
    monkeypatch.setattr(schema, "MIGRATIONS", (newer.MIGRATION,))


def check_migrated(store: str, before: list[bytes]) -> None:
    """Check that a store has the next schema and all its former content."""
    assert schema_of(store) == NEXT
    assert differences(before, everything(store)) == []
    titles = ask(store, "select upper(title) from tasks order by number")
    assert titles and ask(store, "select title from task_marks order by task") == titles
    assert set(ask(store, "select estimate from tasks")) == {(7,)}


@pytest.mark.usefixtures("newer_satchel")
def test_a_store_is_migrated_with_all_that_is_in_it(empty_store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(schema, "MIGRATIONS", ())
        furnish(empty_store)
        before = everything(empty_store)
    database = open_database(empty_store)
    assert database.schema == NEXT
    database.close()
    check_migrated(empty_store, before)


@pytest.mark.usefixtures("newer_satchel")
def test_a_new_store_has_the_migrations_too(empty_store: str) -> None:
    open_database(empty_store).close()
    assert schema_of(empty_store) == NEXT
    assert ask(empty_store, "select count(*) from task_marks") == [(0,)]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (schema.NUMBER - 1, r"migrates only stores of schema {} and newer.*`satchel dump FILE`.*`satchel load FILE`"),
        (99, r"knows schemas up to {}: a newer Satchel wrote it\. Upgrade this one, or dump .* load"),
    ],
)
def test_a_store_of_a_schema_that_this_satchel_does_not_know_is_refused_with_what_to_do(
    store: str, number: int, words: str
) -> None:
    before = everything(store)
    set_schema(store, number)
    with pytest.raises(StoreUnusable, match=rf"^the store .* has schema {number}, .*{words.format(schema.NUMBER)}"):
        open_database(store)
    assert schema_of(store) == number
    set_schema(store, schema.NUMBER)
    assert differences(before, everything(store)) == []


def test_many_processes_that_open_an_old_store_at_once_migrate_it_once(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(store)
    processes = [subprocess.Popen([*newer.MIGRATE, store], stderr=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    monkeypatch.setattr(schema, "MIGRATIONS", (newer.MIGRATION,))
    check_migrated(store, before)
    if store.startswith("postgresql"):
        assert ask(store, "select version from satchel_schema order by 1") == [(schema.NUMBER,), (NEXT,)]


# A program that opens a store with a migration that pauses before its commit.
HALF = """
import sys, time
import apsw
from msgspec.structs import replace
from satchel.storage import schema
from tests.support.newer import MIGRATION
def half_way():
    print("half", flush=True)
    time.sleep(60)
apsw.connection_hooks.append(lambda connection: connection.create_scalar_function("half_way", half_way, 0))
schema.MIGRATIONS = (
    replace(MIGRATION, indexes=(), fills=(), sqlite="select half_way();", postgres="select pg_sleep(60);"),
)
from satchel.storage.database import open_database
open_database(sys.argv[1])
"""


def test_a_process_killed_in_the_middle_of_a_migration_leaves_the_old_schema_whole(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(store)
    process = subprocess.Popen([sys.executable, "-c", HALF, store], stdout=subprocess.PIPE)
    assert process.stdout is not None
    if store.startswith("postgresql"):
        wait_for_sleep(store)
    else:
        assert process.stdout.readline() == b"half\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert schema_of(store) == schema.NUMBER and differences(before, everything(store)) == []
    monkeypatch.setattr(schema, "MIGRATIONS", (newer.MIGRATION,))
    open_database(store).close()
    check_migrated(store, before)
    if not store.startswith("postgresql"):
        assert ask(store, "pragma integrity_check") == [("ok",)]


def wait_for_sleep(store: str) -> None:
    """Wait until the migration sleeps; then end its session: a sleeping server does not notice that its client died."""
    sql = "select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()"
    with psycopg.connect(store, autocommit=True) as operator:
        while not (found := operator.execute(sql).fetchall()):
            time.sleep(0.02)
        operator.execute("select pg_terminate_backend(%s)", found[0])


def test_a_migrated_postgres_store_is_analyzed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    furnish(address)
    monkeypatch.setattr(schema, "MIGRATIONS", (newer.MIGRATION,))
    open_database(address).close()
    assert ask(address, "select reltuples::bigint from pg_class where oid = 'prompts'::regclass") == [(15,)]


# -- an owner and an application --------------------------------------------------------------------------------


def test_an_application_role_learns_who_must_migrate(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, app = postgres.fresh_for_two()
    with pytest.raises(StoreUnusable, match=r"no store that this role can see.*database migrate` as the owner"):
        open_database(app)
    open_database(owner).close()
    with pytest.raises(
        StoreUnusable, match=r"may not use the store.*`satchel database migrate --role NAME` as the owner"
    ):
        open_database(app)
    let_in(owner, role_of(app))
    open_database(app).close()
    monkeypatch.setattr(schema, "MIGRATIONS", (newer.MIGRATION,))
    needs = rf"has schema {schema.NUMBER}.*needs schema {NEXT}.*`satchel database migrate` as the owner"
    with pytest.raises(StoreUnusable, match=needs):
        open_database(app)
    assert schema_of(owner) == schema.NUMBER
    open_database(owner).close()
    assert schema_of(owner) == NEXT


def test_a_role_with_grants_of_an_older_schema_learns_who_can_renew_them(postgres: PostgresServer) -> None:
    owner, app = two_roles(postgres)
    for name in ("satchel_is_task", "satchel_prompts_containing", "satchel_prune"):
        with psycopg.connect(owner) as connection:
            connection.execute(f"revoke execute on function {name} from {role_of(app)}".encode())
        with pytest.raises(StoreUnusable, match=rf"may not use {name} of.*migrate --role {role_of(app)}` as the owner"):
            open_database(app)
        let_in(owner, role_of(app))
        open_database(app).close()


def test_what_a_superuser_migrates_still_belongs_to_the_owner(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, _ = postgres.fresh_for_two()
    open_database(owner).close()
    monkeypatch.setattr(schema, "MIGRATIONS", (newer.MIGRATION,))
    open_database(owner.replace(role_of(owner), "satchel")).close()
    assert schema_of(owner) == NEXT
    sql = "select distinct tableowner from pg_tables where schemaname = 'public'"
    assert ask(owner, sql) == [(role_of(owner),)]


def test_opening_a_current_store_waits_for_nobody_who_migrates(address: str) -> None:
    with psycopg.connect(address) as busy:
        busy.execute("select pg_advisory_lock(1396790339)")
        opened = threading.Thread(target=lambda: open_database(address).close(), daemon=True)
        opened.start()
        opened.join(60)
        assert not opened.is_alive()
