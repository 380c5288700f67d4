"""An old and a new version on one PostgreSQL store: nobody gets a wrong answer, and nothing is lost."""

import os
import signal
import sys

import psycopg

from satchel.storage import schema
from satchel.storage.database import open_database
from tests.faults.writing import Writer
from tests.support.postgres import PostgresServer
from tests.support.process import eventually
from tests.support.soak import amount
from tests.support.web import WebServer

NEWER = (sys.executable, "-m", "tests.support.newer", "serve")
TASKS = amount(1_000, 20_000)
USER = "550e8400-e29b-41d4-a716-446655440000"


def has_grown(client: Writer, by: int = 6) -> bool:
    before = len(client.acknowledged)
    return eventually(lambda: len(client.acknowledged) >= before + by)


def test_an_old_and_a_new_server_share_a_store_while_the_new_one_migrates_it(postgres: PostgresServer) -> None:
    where = postgres.fresh()
    open_database(where).close()
    with psycopg.connect(where) as connection:
        connection.execute(
            "insert into tasks (id, owner, title, created_at, updated_at) select 'id ' || n, %s, 'old ' || n, '', ''"
            "from generate_series(1, %s) as n",
            [USER, TASKS],
        )
    with WebServer("-c", "tasks", "-d", where, "--workers", "2") as old:
        clients = [Writer(old, f"old {number}") for number in range(3)]
        for client in clients:
            client.start()
        assert all(has_grown(client) for client in clients)
        with WebServer("-c", "tasks", "-d", where, command=NEWER) as new:
            assert f"migrating the store to schema {schema.NUMBER + 1}" in new.stderr
            clients.append(Writer(new, "new"))
            clients[-1].start()
            assert all(has_grown(client) for client in clients)
            assert [client.failed for client in clients] == [[]] * 4
            assert [client.lost_connections for client in clients] == [0] * 4

            # A worker of the old version dies, and its successor finds a schema that it does not know.
            os.kill(old.children()[0], signal.SIGKILL)
            old.said(rf"has schema {schema.NUMBER + 1}.*a newer Satchel wrote it")
            assert all(has_grown(client) for client in clients)
            for client in clients:
                client.finish()
        assert old.process.poll() is None
    assert [client.failed for client in clients] == [[]] * 4
    with psycopg.connect(where) as connection:
        titles = {title for (title,) in connection.execute("select title from tasks")}
        done = {title for (title,) in connection.execute("select title from tasks where completed_at is not null")}
        marked = {title for (title,) in connection.execute("select title from task_marks")}
        before = [f"OLD {number}" for number in range(1, TASKS + 1)]
        assert connection.execute("select indexrelid from pg_index where not indisvalid").fetchall() == []
    assert titles >= {title for client in clients for title in client.acknowledged}
    assert done >= {title for client in clients for title in client.completed}
    assert marked >= set(before)
