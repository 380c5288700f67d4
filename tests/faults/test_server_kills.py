"""Servers that are killed while clients write: over stdio, over HTTP, with several workers.

Nothing acknowledged is lost, nothing is there by halves, and index and history are in step with the rows. Kills in the
middle of a migration are in `tests/storage/test_migrating.py`.
"""

import http.client
import json
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from satchel.storage.database import Tx, open_database
from tests.faults.recording import Gone, Recorder, read_items
from tests.search import test_in_step
from tests.support.process import eventually
from tests.support.runners import ADA
from tests.support.soak import amount
from tests.support.stdio import Server
from tests.support.web import WebServer, call

KILLS = {"stdio": amount(1, 120), "http": amount(1, 100), "workers": amount(1, 80)}  # 300 in all
LEAST = amount(0, 34_000)  # writes of each way, 100,000 in all
CLIENTS = 3
DELAYS = (0.02, amount(0.4, 3.0))  # seconds from the first acknowledged writes to the kill

TABLES = {"prompt": "prompts", "document": "documents", "task": "tasks"}

Call = Callable[[str, dict[str, Any]], Any]


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("way", KILLS)
def test_nothing_acknowledged_is_lost_over_kills(tmp_path: Path, way: str) -> None:
    store, dice = str(tmp_path / "s.db"), random.Random(way)
    recorders = [Recorder(f"c{number}", seed=number) for number in range(CLIENTS)]
    rounds = 0
    while rounds < KILLS[way] or sum(one.acknowledged for one in recorders) < LEAST:
        run_and_kill(way, store, recorders, dice)
        rounds += 1
        check_rows(store, recorders)
    assert all(one.acknowledged > rounds for one in recorders)
    database = open_database(store)
    test_in_step.check(database)
    database.close()
    raw = apsw.Connection(store)
    assert raw.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert raw.execute("pragma foreign_key_check").fetchall() == []
    raw.execute("insert into prompt_index (prompt_index, rank) values ('integrity-check', 0)")
    raw.close()


def check_rows(store: str, recorders: list[Recorder]) -> None:
    database = open_database(store)
    with database.read() as tx:
        found = read_items(tx)
        check_tables(tx)
    database.close()
    for one in recorders:
        one.check(found)


def run_and_kill(way: str, store: str, recorders: list[Recorder], dice: random.Random) -> None:
    """Let the clients work on a new server, and kill it once each has written something."""
    begun = [one.acknowledged for one in recorders]
    with serving(way, store) as (connect, kill):
        threads = [threading.Thread(target=one.work, args=(connect(),)) for one in recorders]
        for thread in threads:
            thread.start()
        assert eventually(
            lambda: all(one.acknowledged > before + 1 for one, before in zip(recorders, begun, strict=True))
        )
        threading.Event().wait(dice.uniform(*DELAYS))
        kill()
        for thread in threads:
            thread.join()


def check_tables(tx: Tx) -> None:
    """Items, revisions, states and trash say the same."""
    for kind, table in TABLES.items():
        live = dict(tx.all(f"select number, version from {table} where deleted_at is null"))
        trash = dict(tx.all(f"select number, version from {table} where deleted_at is not null"))
        newest = {
            item: (version, action)
            for item, version, action in tx.all(
                "select item, version, action from revisions where kind = :kind order by version", kind=kind
            )
        }
        assert live.keys() & trash.keys() == set()
        assert {item: version for item, (version, action) in newest.items() if action != "delete"} == live
        assert {item: version for item, (version, action) in newest.items() if action == "delete"} == trash
    texts = {"prompt": "prompts p left join prompt_texts", "task": "tasks p left join task_texts"}
    for kind, joined in texts.items():
        sql = f"select number from {joined} on {kind} = number where (deleted_at is null) <> ({kind} is not null)"
        assert tx.all(sql) == []


@contextmanager
def serving(way: str, store: str) -> Iterator[tuple[Callable[[], Call], Callable[[], None]]]:
    """Yield a server: how a client connects to it, and how it is killed."""
    arguments = ("--contract", "satchel", "--database", store, "--user", ADA)
    if way == "stdio":
        servers: list[Server] = []

        def start() -> Call:
            servers.append(Server(*arguments))
            return call_by_line(servers[-1])

        def kill_all() -> None:
            for one in servers:
                one.process.kill()

        yield start, kill_all
        for one in servers:
            one.close()
        return
    server = WebServer(*arguments, *(("--workers", "2") if way == "workers" else ()))

    def kill_group() -> None:
        for pid in [server.process.pid, *server.children()]:
            os.kill(pid, signal.SIGKILL)
        server.kill()

    try:
        yield lambda: call_by_http(server.port), kill_group
    finally:
        server.kill()


def call_by_line(server: Server) -> Call:
    def ask(tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return server.call(tool, arguments)["structuredContent"]
        except (EOFError, BrokenPipeError) as error:
            raise Gone from error

    return ask


def call_by_http(port: int) -> Call:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(tool: str, arguments: dict[str, Any]) -> Any:
        headers, body = call(tool, arguments)
        try:
            connection.request("POST", "/mcp", body, dict(headers))
            answer = json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
            connection.close()
            raise Gone from error
        return answer["result"]["structuredContent"]

    return ask
