"""Many clients at once, processes that are killed, signals, a database that goes away: no answer to the wrong client,
nothing acknowledged is lost."""

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import threading
from pathlib import Path

import psycopg
import pytest

from satchel.storage.database import open_database
from tests.support.postgres import PostgresServer
from tests.support.process import TIMEOUT, eventually, is_running
from tests.support.threads import in_threads
from tests.support.web import HANDSHAKE, JSON, Closed, WebServer, Wire, call, request

CLIENTS, CALLS = 64, 20_000
# -- 64 clients with the same ids -----------------------------------------------------------------------------------


class Client:
    """One of many: counts its ids from 0 as all others do, and says its own mark in every call."""

    def __init__(self, number: int) -> None:
        self.mark = f"client-{number}-{random.Random(number).randbytes(8).hex()}"
        self.user = f"00000000-0000-4000-8000-{number:012d}"
        self.added: set[str] = set()
        self.answers = 0

    async def run(self, port: int, calls: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for id in range(calls):
            title = f"{self.mark} {id}"
            is_write = id % 25 == 0
            tool = "add_task" if is_write else "list_tasks"
            arguments = {"user_id": self.user, **({"title": title} if is_write else {"include_completed": False})}
            revision = "2026-07-28" if id % 2 else HANDSHAKE
            writer.write(request("POST", "/mcp/todo", *call(tool, arguments, id=id, revision=revision)))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 "), head
            size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            raw = await reader.readexactly(size)
            answer = json.loads(raw)
            assert answer["id"] == id and type(answer["id"]) is int
            self.answers += 1
            body = answer["result"]["structuredContent"]
            assert body["success"] is True, body
            if is_write:
                assert body["task"]["title"] == title
                self.added.add(title)
            else:
                assert {task["title"] for task in body["tasks"]} == self.added
            assert raw.count(b"client-") == raw.count(self.mark.encode()), "somebody else's mark"
        writer.close()


@pytest.mark.soak
def test_64_clients_with_the_same_ids_get_their_own_answers_from_two_workers(postgres: PostgresServer) -> None:
    clients = [Client(number) for number in range(CLIENTS)]

    async def run_all(port: int, first: int, count: int) -> None:
        await asyncio.gather(*(client.run(port, count) for client in clients[first::2]))

    with WebServer("-c", "todo", "-d", postgres.fresh(), "--workers", "2") as server:
        in_threads(lambda half: asyncio.run(run_all(server.port, half, -(-CALLS // CLIENTS))), (0, 1))
        assert sum(client.answers for client in clients) >= CALLS
        assert server.count() == sum(client.answers for client in clients)


# -- killed processes -----------------------------------------------------------------------------------------------


def add(wire: Wire, title: str) -> bool:
    """Add a prompt; whether that was acknowledged."""
    try:
        wire.send(request("POST", "/mcp", *call("add_prompt", {"title": title, "content": "some text " * 20})))
        answer = wire.read()
    except (Closed, OSError):
        return False
    assert answer.status == 200 and answer.tool["title"] == title, answer
    return True


def titles(where: str) -> set[str]:
    database = open_database(where)
    with database.read() as tx:
        found = {title for (title,) in tx.all("select title from prompts")}
    database.close()
    return found


def test_the_streams_of_a_killed_worker_are_not_counted_any_more(tmp_path: Path) -> None:
    with WebServer("-c", "twig", "-d", str(tmp_path / "s.db"), "--workers", "2") as server:
        opened = [server.connect() for _ in range(6)]
        for wire in opened:
            wire.send(request("GET", "/mcp", [("Accept", "text/event-stream"), ("MCP-Protocol-Version", HANDSHAKE)]))
            assert wire.read_head()[0] == 200
        assert eventually(lambda: server.metric("satchel_streams") == 6)
        for child in server.children():
            os.kill(child, signal.SIGKILL)
        assert eventually(lambda: len(server.children()) == 2)
        assert eventually(lambda: server.metric("satchel_streams") == 0)
        for wire in opened:
            wire.close()


def test_workers_end_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    server = WebServer("-c", "tasks", "-d", str(tmp_path / "s.db"), "--workers", "2")
    assert eventually(lambda: len(server.children()) == 2)
    assert eventually(lambda: server.ask("GET", "/health").status == 200)
    workers = server.children()
    server.process.kill()
    server.process.wait(TIMEOUT)
    assert eventually(lambda: not any(is_running(worker) for worker in workers))


# -- signals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGTERM, "1"), (signal.SIGINT, "2")])
def test_a_signal_in_mid_load_lets_every_answer_finish(tmp_path: Path, number: signal.Signals, workers: str) -> None:
    store = str(tmp_path / "s.db")
    server = WebServer("-c", "prompt-store", "-d", store, "--workers", workers)
    acknowledged: set[str] = set()
    torn: list[bytes] = []
    lock = threading.Lock()

    def work(client: int) -> None:
        with contextlib.suppress(OSError), server.connect() as wire:
            for count in range(10_000):
                title = f"{client}/{count}"
                wire.send(request("POST", "/mcp", *call("add_prompt", {"title": title, "content": "x" * 2000})))
                try:
                    answer = wire.read()
                except Closed as closed:
                    if str(closed) != "b''":
                        torn.append(str(closed).encode())
                    return
                assert answer.status == 200, answer
                with lock:
                    acknowledged.add(title)

    idle = server.connect()
    assert idle.ask("GET", "/health").status == 200
    stream = server.connect()
    stream.send(request("GET", "/mcp/twig", [("Accept", "text/event-stream"), ("MCP-Protocol-Version", HANDSHAKE)]))
    assert stream.read_head()[0] == 200
    half = server.connect()
    half.send(b"POST /mcp HTTP/1.1\r\nHost: loc")
    clients = [threading.Thread(target=work, args=(client,)) for client in range(8)]
    for client in clients:
        client.start()
    assert eventually(lambda: len(acknowledged) > 50)
    server.process.send_signal(number)
    assert server.process.wait(TIMEOUT) == 0
    for client in clients:
        client.join(TIMEOUT)
        assert not client.is_alive()
    assert torn == []
    assert idle.is_closed() and half.is_closed()
    rest = b""
    with contextlib.suppress(Closed):
        while chunk := stream.read_chunk():
            rest += chunk
        rest += b"whole"
    assert rest.endswith(b"whole"), "the stream has no end"
    for wire in (idle, half, stream):
        wire.close()
    stored = titles(store)
    assert acknowledged <= stored
    assert len(stored - acknowledged) == 0, "carried out, and nobody was told"
    assert "surprise" not in server.stderr and "Traceback" not in server.stderr


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGTERM, "1"), (signal.SIGINT, "2")])
def test_a_server_that_greets_hears_signals(tmp_path: Path, number: signal.Signals, workers: str) -> None:
    server = WebServer("-d", str(tmp_path / "s.db"), "--workers", workers)
    server.process.send_signal(number)
    assert server.process.wait(TIMEOUT) == 0
    assert "Traceback" not in server.stderr
    server.kill()


def test_a_server_that_is_shutting_down_lets_nobody_wait(tmp_path: Path) -> None:
    """Who comes while answers are being finished is refused at once, and finds another server."""
    with WebServer("-d", str(tmp_path / "s.db"), "--workers", "2") as server, server.connect() as wire:
        headers, body = call("list_prompts")
        head, half = request("POST", "/mcp", headers, body)[:-20], request("POST", "/mcp", headers, body)[-20:]
        assert server.ask("GET", "/health").status == 200
        wire.send(head)
        server.process.send_signal(signal.SIGTERM)

        def is_refused() -> bool:
            try:
                socket.create_connection(("127.0.0.1", server.port), 5).close()
            except ConnectionRefusedError:
                return True
            return False

        assert eventually(is_refused)
        wire.send(half)
        with contextlib.suppress(Closed):  # where it was not taken in before the signal
            assert wire.read().status == 200
        assert server.process.wait(TIMEOUT) == 0


@pytest.mark.soak
def test_a_client_that_never_reads_does_not_delay_the_shutdown(tmp_path: Path) -> None:
    server = WebServer("-c", "prompt-store", "-d", str(tmp_path / "s.db"))
    headers, body = call("add_prompt", {"title": "large", "content": "x" * 4_000_000})
    prompt = server.ask("POST", "/mcp", headers, body).tool["id"]
    with server.connect() as wire:
        wire.send(request("POST", "/mcp", *call("get_prompt", {"id": prompt})) * 5)
        assert wire.read_head()[0] == 200
        assert server.stop() == 0  # ten seconds are for answers in progress


def test_while_all_connections_are_busy_the_database_is_there(postgres: PostgresServer) -> None:
    store = postgres.fresh()
    with WebServer("-d", store, "--workers", "1") as server, psycopg.connect(store) as operator:
        assert server.ask("POST", "/mcp/tool/add_task", [JSON], b'{"title": "Milk"}').status == 200
        operator.execute("lock table tasks in access exclusive mode")
        waiting = [server.connect() for _ in range(12)]  # more than the pool has
        for wire in waiting:
            wire.send(request("POST", "/mcp/tool/list_tasks", [JSON], b"{}"))
        sql = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        with psycopg.connect(store, autocommit=True) as looking:
            assert eventually(lambda: looking.execute(sql).fetchone() == (10,))
        health = server.ask("GET", "/health")
        operator.rollback()
        assert (health.status, health.json["database"]) == (200, "ok")
        assert [wire.read().status for wire in waiting] == [200] * 12
        for wire in waiting:
            wire.close()
