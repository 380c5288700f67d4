"""PostgreSQL restarts, or is away for a while: calls wait for it or fail in plain words, and then go on at once."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.attacks.floods import make_token
from tests.faults.writing import Writer
from tests.support.postgres import PostgresServer
from tests.support.process import eventually
from tests.support.web import JSON, Answer, WebServer, request

AWAY = 70.0  # seconds, which is beyond the deadline of a call

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[PostgresServer]:
    """Yield a PostgreSQL server that these tests may stop."""
    server = PostgresServer()
    yield server
    server.close()


def ask(server: WebServer, tool: str, token: str = "", **arguments: Any) -> Answer:
    headers = [JSON, ("Authorization", token)] if token else [JSON]
    return server.ask("POST", f"/mcp/tool/{tool}", headers, json.dumps(arguments).encode())


def fill_pools(server: WebServer, token: str = "") -> None:
    """Have a server use many connections at once."""
    with ThreadPoolExecutor(24) as clients:
        for number in range(48):
            tool, arguments = ("add_task", {"title": f"{number}"}) if number % 3 else ("list_tasks", {})
            clients.submit(ask, server, tool, token, **arguments)


def test_after_a_restart_in_a_quiet_moment_the_first_calls_succeed(own_postgres: PostgresServer) -> None:
    where = own_postgres.fresh()
    _, token = make_token(where).header  # which is looked up before each call
    with WebServer("-c", "tasks", "-d", where, "--auth", "token") as server:
        fill_pools(server, token)
        with psycopg.connect(where) as looking:
            sql = "select count(*) from pg_stat_activity where datname = current_database()"
            assert looking.execute(sql).fetchall()[0][0] > 3  # connections that the restart ends, and this one
        own_postgres.stop()
        own_postgres.start()
        with ThreadPoolExecutor(24) as clients:
            answers = [clients.submit(ask, server, "add_task", token, title=f"after {number}") for number in range(24)]
            answers += [clients.submit(ask, server, "list_tasks", token) for _ in range(24)]
            assert {answer.result().status for answer in answers} == {200}
        assert server.ask("GET", "/health").status == 200


def test_calls_that_come_while_it_restarts_wait_for_it(own_postgres: PostgresServer) -> None:
    with WebServer("-c", "tasks", "-d", own_postgres.fresh()) as server:
        fill_pools(server)
        own_postgres.stop()
        waiting = [server.connect() for _ in range(12)]
        for number, wire in enumerate(waiting):
            wire.send(request("POST", "/mcp/tool/add_task", [JSON], json.dumps({"title": f"w{number}"}).encode()))
        time.sleep(0.7)  # a few tries in vain
        own_postgres.start()
        assert [wire.read().status for wire in waiting] == [200] * 12
        for wire in waiting:
            wire.close()


def test_a_restart_under_load_fails_only_calls_whose_commit_it_interrupts(own_postgres: PostgresServer) -> None:
    where = own_postgres.fresh()
    rounds = 10
    with WebServer("-c", "tasks", "-d", where) as server:
        writers = [Writer(server, f"{number}") for number in range(4)]

        def has_grown() -> bool:
            before = count()
            return eventually(lambda: count() > before + 20)

        def count() -> int:
            return sum(len(writer.acknowledged) for writer in writers)

        for writer in writers:
            writer.start()
        for _ in range(rounds):
            assert has_grown()
            own_postgres.stop()
            own_postgres.start()
        assert has_grown()
        for writer in writers:
            writer.finish()
            assert writer.lost_connections == 0
        failed = [answer["code"] for writer in writers for answer in writer.failed]
        assert {*failed} <= {"DATABASE_ERROR"}
        assert len(failed) <= server.stderr.count("lost during the commit") <= rounds * len(writers)
    with psycopg.connect(where) as looking:
        kept = {title for (title,) in looking.execute("select title from tasks")}
    assert kept >= {title for writer in writers for title in writer.acknowledged}


def test_however_long_it_was_away_the_first_call_after_its_return_succeeds(own_postgres: PostgresServer) -> None:
    with WebServer("-c", "tasks", "-d", own_postgres.fresh()) as server:
        fill_pools(server)
        own_postgres.stop()
        is_back = threading.Event()

        def knock() -> None:  # clients that do not give up
            while not is_back.is_set():
                ask(server, "list_tasks")

        clients = [threading.Thread(target=knock) for _ in range(4)]
        for client in clients:
            client.start()
        time.sleep(AWAY)
        assert server.ask("GET", "/health").status == 503
        own_postgres.start()
        begun = time.monotonic()
        assert ask(server, "add_task", title="first").status == 200
        took = time.monotonic() - begun
        is_back.set()
        for client in clients:
            client.join()
        print(f"away {AWAY:.0f} s: first answer {took:.3f} s after its return")
        assert eventually(lambda: server.ask("GET", "/health").status == 200)


# -- workers that cannot start ----------------------------------------------------------------------------------


def test_workers_that_die_while_the_database_is_away_are_replaced_when_it_is_back(own_postgres: PostgresServer) -> None:
    with WebServer("-c", "tasks", "-d", own_postgres.fresh(), "--workers", "2") as server:

        def write(_: int) -> bool:
            return ask(server, "add_task", title="before").status == 200

        with ThreadPoolExecutor(8) as threads:  # so that both have something to do
            assert all(threads.map(write, range(8)))
        first = server.children()
        own_postgres.stop()
        os.kill(first[0], signal.SIGKILL)
        server.said("cannot open the store")  # its successor, which tries again every few seconds
        assert server.process.poll() is None and first[1] in server.children()
        os.kill(first[1], signal.SIGKILL)  # and now the last one
        assert eventually(lambda: server.stderr.count("cannot open the store") > 2)
        own_postgres.start()
        assert ask(server, "add_task", title="after").status == 200  # it waited in the queue of the socket
        assert eventually(lambda: len(server.children()) == 2)
