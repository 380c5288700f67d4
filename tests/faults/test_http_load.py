"""Processes that are killed, signals and a busy database under load: nothing acknowledged is lost."""

import contextlib
import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from satchel.storage.database import open_database
from tests.support.locks import count_waiting, locked
from tests.support.postgres import PostgresServer
from tests.support.process import TIMEOUT, eventually, is_running
from tests.support.web import HANDSHAKE, JSON, Closed, WebServer, call, request

# -- killed processes -----------------------------------------------------------------------------------------------


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
    with WebServer("-d", store, "--workers", "1") as server, locked(store, "tasks") as release:
        waiting = [server.connect() for _ in range(12)]  # more than the pool has
        for wire in waiting:
            wire.send(request("POST", "/mcp/tool/list_tasks", [JSON], b"{}"))
        assert eventually(lambda: count_waiting(store) == 10)
        health = server.ask("GET", "/health")
        release()
        assert (health.status, health.json["database"]) == (200, "ok")
        assert [wire.read().status for wire in waiting] == [200] * 12
        for wire in waiting:
            wire.close()
