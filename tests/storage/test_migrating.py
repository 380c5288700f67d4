"""Migrating: what an older Satchel wrote is all there afterwards; an interruption leaves one schema or the other."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import apsw
import psycopg
import pytest

from satchel.errors import StoreUnusable
from satchel.model import Author, ItemKind, PromptPatch, PromptQuery, ResourcePatch, Scope, TaskDraft, TaskPatch
from satchel.services import history, links, projects, prompts, resources, restoring, tasks
from satchel.storage import postgres_schema, revisions, sqlite
from satchel.storage.database import Tx, open_database
from satchel.storage.migrations import MIGRATIONS, for_postgres, for_sqlite
from satchel.storage.sqlite import APPLICATION_ID
from tests.support.postgres import PostgresServer
from tests.support.roles import let_in, role_of, two_roles

ADA = "550e8400-e29b-41d4-a716-446655440000"
NOW = "2026-01-01T00:00:00.000000Z"

# Every table of schema 1 and a row in it, as that schema's Satchel wrote them.
TIMES = {"created_at": NOW, "updated_at": NOW}
ROWS: dict[str, dict[str, Any]] = {
    "settings": {"name": "local_user", "value": ADA},
    "projects": {"number": 7, "id": "p", "name": "default", **TIMES, "version": 1},
    "prompts": {
        "number": 9,
        "id": "q",
        "project": 7,
        "name": "tee",
        "title": "Tee",
        "description": "d",
        "content": "Some Needle",
        **TIMES,
        "version": 3,
    },
    "prompt_tags": {"prompt": 9, "project": 7, "tag": "t"},
    "prompt_texts": {"prompt": 9, "title": "tee", "content": "some needle", "is_indexed": 1},
    "resources": {
        "number": 4,
        "id": "r",
        "project": 7,
        "name": "doc",
        "uri": "x:doc",
        "mime_type": "text/plain",
        "content": "text",
        **TIMES,
        "version": 2,
    },
    "tasks": {
        "number": 5,
        "id": "t",
        "owner": ADA,
        "title": "Milk",
        "description": "oat",
        "completed_at": NOW,
        **TIMES,
        "version": 2,
    },
}


def make_first(store: str) -> None:
    """A store as the first schema's Satchel left it."""
    inserts = [
        f"insert into {table} ({', '.join(row)}) values ({', '.join(map(repr, row.values()))});"
        for table, row in ROWS.items()
    ]
    if store.startswith("postgresql"):
        with psycopg.connect(store) as connection:
            connection.execute("create table satchel_schema (version integer not null)")
            connection.execute(for_postgres(MIGRATIONS[0]).encode())
            connection.execute("insert into satchel_schema values (1)")
            connection.execute("".join(inserts).encode())
    else:
        raw = apsw.Connection(store)
        raw.execute("pragma journal_mode = wal")
        raw.execute(for_sqlite(MIGRATIONS[0]) + "".join(inserts))
        raw.execute(f"pragma application_id = {APPLICATION_ID}; pragma user_version = 1")
        raw.close()


def kept(store: str) -> dict[str, list[tuple[Any, ...]]]:
    """What is in the tables of the first schema, read without Satchel."""
    queries = {table: f"select {', '.join(row)} from {table}" for table, row in ROWS.items()}
    if store.startswith("postgresql"):
        with psycopg.connect(store) as connection:
            return {table: connection.execute(sql.encode()).fetchall() for table, sql in queries.items()}
    raw = apsw.Connection(store)
    found = {table: raw.execute(sql).fetchall() for table, sql in queries.items()}
    raw.close()
    return found


def schema(store: str) -> int:
    if store.startswith("postgresql"):
        with psycopg.connect(store) as connection:
            return int(connection.execute("select max(version) from satchel_schema").fetchall()[0][0])
    raw = apsw.Connection(store)
    version = raw.pragma("user_version")
    raw.close()
    return int(version)


WRITTEN = {table: [tuple(row.values())] for table, row in ROWS.items()}


def test_a_store_of_the_first_schema_is_brought_up_with_all_that_is_in_it(store: str) -> None:
    make_first(store)
    database = open_database(store)
    assert kept(store) == WRITTEN and database.schema == len(MIGRATIONS)
    scope = Scope(user=ADA)
    with database.write(scope) as tx:
        assert prompts.list_counted(tx, scope, PromptQuery(text="NEEDLE"), limit=5, offset=0).total == 1
        assert prompts.find(tx, scope, "tee").tags == ("t",)
        assert resources.get_by_name(tx, scope, "doc").content == "text"
        assert [task.title for task in tasks.list_all(tx, scope)] == ["Milk"]
        # Numbers go on where they were; on PostgreSQL the rows above did not come from the counter.
        if not store.startswith("postgresql"):
            assert tasks.add(tx, scope, TaskDraft(title="Bread")).number == 6
    database.close()


def make_older(store: str, older: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of an older schema, with what the first schema's Satchel left in it."""
    make_first(store)
    with monkeypatch.context() as patched:
        for engine in (postgres_schema, sqlite):
            patched.setattr(engine, "MIGRATIONS", MIGRATIONS[:older])
        open_database(store).close()
    assert schema(store) == older


@pytest.mark.parametrize("older", range(1, len(MIGRATIONS)))
def test_a_store_of_every_older_schema_is_brought_up(store: str, older: int, monkeypatch: pytest.MonkeyPatch) -> None:
    make_older(store, older, monkeypatch)
    database = open_database(store)
    with database.read() as tx:
        assert prompts.list_counted(tx, Scope(), PromptQuery(text="needle"), limit=5, offset=0).total == 1
        for table in ("authors", "revisions", "revision_states", "trash"):  # no past is invented
            assert tx.all(f"select * from {table}") == []
    assert database.schema == len(MIGRATIONS) and kept(store) == WRITTEN
    database.close()


def test_links_in_the_texts_of_an_older_store_are_found(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    linking = {
        "prompts": {"content": "Some Needle, satchel://resource/doc"},
        "resources": {"content": "satchel://task/5"},
        "tasks": {"description": "satchel://prompt/tee"},
    }
    for table, changed in linking.items():
        monkeypatch.setitem(ROWS, table, ROWS[table] | changed)
    make_older(store, 6, monkeypatch)
    database = open_database(store)
    with database.read(scope := Scope(user=ADA)) as tx:
        task, prompt, document = (
            tasks.find(tx, scope, 5),
            prompts.find(tx, scope, "tee"),
            resources.find(tx, scope, "doc"),
        )
        for kind, item in (("task", task), ("prompt", prompt), ("resource", document)):
            to, back = links.of(tx, scope, cast(ItemKind, kind), item)
            assert (len(to), len(back)) == (1, 1), kind
    database.close()


def change_everything(tx: Tx, scope: Scope) -> None:
    prompts.update(tx, scope, "q", PromptPatch(content="Other", tags=[]))
    resources.update(tx, scope, "doc", ResourcePatch(content="other"))
    tasks.update(tx, scope, 5, TaskPatch(title="Bread", status="pending"))
    projects.rename(tx, "default", "renamed")


def delete_everything(tx: Tx, scope: Scope) -> None:
    prompts.delete(tx, scope, "q")
    resources.delete(tx, scope, "doc")
    tasks.delete(tx, scope, 5)
    projects.delete(tx, "default")


@pytest.mark.parametrize("older", range(1, len(MIGRATIONS)))
@pytest.mark.parametrize(("change", "action"), [(change_everything, "update"), (delete_everything, "delete")])
def test_the_first_change_after_a_migration_keeps_what_was_there(
    store: str, older: int, change: Callable[[Tx, Scope], None], action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_older(store, older, monkeypatch)
    database = open_database(store)
    scope = Scope(user=ADA)
    references = {"prompt": "tee", "resource": "doc", "task": "#5", "project": "satchel://project/default"}
    numbers: dict[ItemKind, int] = {"prompt": 9, "resource": 4, "task": 5, "project": 7}
    with database.read(scope) as tx:
        before = {kind: history.read_version(tx, scope, reference) for kind, reference in references.items()}
    assert {kind: (old.version, old.revision) for kind, old in before.items()} == {
        "prompt": (3, None),
        "resource": (2, None),
        "task": (2, None),
        "project": (1, None),
    }
    with database.write(scope) as tx:
        change(tx, scope)
    with database.read(scope) as tx:
        for kind, number in numbers.items():
            new, known = revisions.of_items(tx, kind, [number])
            last = before[kind].version
            assert (known.version, known.action, known.at, known.author) == (last, "known", NOW, Author())
            assert (new.version, new.action, new.author.user) == (last + 1, action, ADA)
    if action == "update":
        scope = Scope(user=ADA, project="renamed")
        references["project"] = "satchel://project/renamed"
    with database.write(scope) as tx:
        for kind in ("project", "prompt", "resource", "task"):  # what was in a project comes back after it
            restoring.restore(tx, scope, references[kind])
            scope = Scope(user=ADA)
        references["project"] = "satchel://project/default"
        after = {kind: history.read_version(tx, scope, reference) for kind, reference in references.items()}
    assert {kind: old.state for kind, old in after.items()} == {kind: old.state for kind, old in before.items()}
    database.close()


def test_the_new_columns_have_their_defaults(store: str) -> None:
    make_first(store)
    database = open_database(store)
    with database.read(Scope(user=ADA)) as tx:
        assert tx.all("select project, priority, due from tasks") == [(None, 2, None)]
        assert tx.all("select task, owner, title, description from task_texts") == [(5, ADA, "milk", "oat")]
        for table in ("tokens", "task_tags", "task_blocks", "argument_values"):
            assert tx.all(f"select * from {table}") == []
    database.close()


def test_many_processes_that_open_an_old_store_at_once_migrate_it_once(store: str) -> None:
    make_first(store)
    code = "import sys; from satchel.storage.database import open_database as o; d = o(sys.argv[1]); d.close()"
    processes = [subprocess.Popen([sys.executable, "-c", code, store], stderr=subprocess.PIPE) for _ in range(6)]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert kept(store) == WRITTEN
    if store.startswith("postgresql"):
        with psycopg.connect(store) as connection:
            assert connection.execute("select version from satchel_schema").fetchall() == [
                (number,) for number in range(1, len(MIGRATIONS) + 1)
            ]


# Opens a store with a migration that, after all its steps and before it is committed, says so and waits.
HALF = """
import sys, time
from satchel.storage import {engine} as engine
good = engine.for_{name}
{function}
from satchel.storage.database import open_database
open_database(sys.argv[1])
"""
SLOW_SQLITE = """
import apsw
def wait():
    print("half", flush=True)
    time.sleep(60)
def prepared(connection):
    connection.create_scalar_function("half_way", wait, 0)
apsw.connection_hooks.append(prepared)
engine.for_sqlite = lambda migration: good(migration) + "; select half_way()"
"""
SLOW_POSTGRES = """
def slow(migration):
    print("half", flush=True)
    return good(migration) + "; select pg_sleep(60)"
engine.for_postgres = slow
"""


def kill_half_way(store: str) -> None:
    if store.startswith("postgresql"):
        code = HALF.format(engine="postgres_schema", name="postgres", function=SLOW_POSTGRES)
    else:
        code = HALF.format(engine="sqlite", name="sqlite", function=SLOW_SQLITE)
    process = subprocess.Popen([sys.executable, "-c", code, store], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"half\n"
    if store.startswith("postgresql"):
        wait_for_sleep(store)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def wait_for_sleep(store: str) -> None:
    """Until the server is past the steps; then end its side too, for it does not notice a client's death in a sleep."""
    sql = "select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()"
    with psycopg.connect(store, autocommit=True) as operator:
        while not (found := operator.execute(sql).fetchall()):
            time.sleep(0.02)
        operator.execute("select pg_terminate_backend(%s)", found[0])


def test_a_process_killed_in_the_middle_of_a_migration_leaves_the_old_schema_whole(store: str) -> None:
    make_first(store)
    kill_half_way(store)
    assert schema(store) == 1 and kept(store) == WRITTEN
    open_database(store).close()
    assert schema(store) == len(MIGRATIONS) and kept(store) == WRITTEN
    if not store.startswith("postgresql"):
        raw = apsw.Connection(store)
        assert raw.execute("pragma integrity_check").fetchall() == [("ok",)]
        raw.close()


def test_kills_at_any_moment_leave_one_schema_or_the_other(tmp_path: Path) -> None:
    code = "import sys; from satchel.storage.database import open_database as o; print(flush=True); o(sys.argv[1])"
    found = set()
    for round in range(12):
        store = str(tmp_path / f"{round}.db")
        make_first(store)
        process = subprocess.Popen([sys.executable, "-c", code, store], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        killer = threading.Timer(round * 0.004, process.kill)
        killer.start()
        process.wait()
        killer.join()
        process.stdout.close()
        assert kept(store) == WRITTEN
        found.add(schema(store))
        open_database(store).close()
        assert schema(store) == len(MIGRATIONS) and kept(store) == WRITTEN
    assert found <= {*range(1, len(MIGRATIONS) + 1)}


# -- an owner and an application --------------------------------------------------------------------------------


def test_an_application_role_is_told_who_must_migrate(postgres: PostgresServer) -> None:
    owner, app = postgres.fresh_for_two()
    with pytest.raises(StoreUnusable, match=r"no store that this role can see.*database migrate` as the owner"):
        open_database(app)
    make_first(owner)
    with psycopg.connect(owner) as connection:
        connection.execute(f"grant select on all tables in schema public to {role_of(app)}".encode())
    needs = rf"has schema 1.*needs schema {len(MIGRATIONS)}.*`satchel database migrate` as the owner"
    with pytest.raises(StoreUnusable, match=needs):
        open_database(app)
    assert schema(owner) == 1
    open_database(owner).close()
    with pytest.raises(StoreUnusable, match=rf"may not use .*tokens.*migrate --role {role_of(app)}` as the owner"):
        open_database(app)
    let_in(owner, role_of(app))
    open_database(app).close()
    with psycopg.connect(owner) as connection:
        connection.execute("insert into satchel_schema values (99)")
    with pytest.raises(StoreUnusable, match=r"schema 99.*upgrade"):
        open_database(app)


def test_a_role_that_was_let_in_to_an_older_schema_is_told_who_lets_it_in(postgres: PostgresServer) -> None:
    owner, app = two_roles(postgres)
    for name in ("satchel_is_task", "satchel_prompts_containing", "satchel_prune"):
        with psycopg.connect(owner) as connection:
            connection.execute(f"revoke execute on function {name} from {role_of(app)}".encode())
        with pytest.raises(StoreUnusable, match=rf"may not use {name} of.*migrate --role {role_of(app)}` as the owner"):
            open_database(app)
        let_in(owner, role_of(app))
        open_database(app).close()


def test_what_a_superuser_migrates_still_belongs_to_the_owner(postgres: PostgresServer) -> None:
    owner, _ = postgres.fresh_for_two()
    make_first(owner)
    open_database(owner.replace(role_of(owner), "satchel")).close()
    with psycopg.connect(owner) as connection:
        owners = connection.execute("select distinct tableowner from pg_tables where schemaname = 'public'").fetchall()
        assert owners == [(role_of(owner),)]
        sql = "select distinct pg_get_userbyid(proowner) from pg_proc where proname like 'satchel_%'"
        assert connection.execute(sql).fetchall() == [(role_of(owner),)]


def test_opening_a_current_store_waits_for_nobody_who_migrates(postgres: PostgresServer) -> None:
    store = postgres.fresh()
    open_database(store).close()
    with psycopg.connect(store) as busy:
        busy.execute("select pg_advisory_lock(1396790339)")
        opened = threading.Thread(target=lambda: open_database(store).close(), daemon=True)
        opened.start()
        opened.join(60)
        assert not opened.is_alive()
