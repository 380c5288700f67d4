"""Long calls over stdio: pings are answered meanwhile, reads are cancelled, calls keep order, memory is bounded."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from satchel.storage.database import open_database
from tests.support.locks import count_waiting, locked
from tests.support.postgres import ReusedDatabase
from tests.support.process import eventually
from tests.support.stdio import NEWEST, Server

HANDSHAKE = "2025-11-25"
Locked = tuple[Server, str, Callable[[], object]]


@pytest.fixture
def server(store: str, serve_process: Callable[..., Server]) -> Server:
    open_database(store).close()
    server = serve_process("prompt-store", store)
    server.initialize(HANDSHAKE)
    return server


def add(server: Server, title: str) -> int:
    return server.ask("tools/call", {"name": "add_prompt", "arguments": {"title": title, "content": "x"}}, HANDSHAKE)


def test_messages_that_need_no_store_are_answered_while_a_call_waits(server: Server, store: str) -> None:
    with locked(store, "prompts") as release:
        waiting = add(server, "waits")
        assert server.request("ping", revision=HANDSHAKE)["result"] == {}
        server.initialize(HANDSHAKE)
        assert server.request("server/discover", revision=NEWEST)["result"]["supportedVersions"] == [NEWEST]
        server.send_line(b"nonsense")
        assert server.read()["error"]["code"] == -32700
        assert server.request("nothing/such", revision=HANDSHAKE)["error"]["code"] == -32601
        release()
        answer = server.read()
    assert (answer["id"], answer["result"]["isError"]) == (waiting, False)


def test_queued_calls_keep_their_order_and_a_cancelled_one_is_not_run(server: Server, store: str) -> None:
    with locked(store, "prompts") as release:
        first, *others = (add(server, f"T{number}") for number in range(5))
        assert server.request("ping", revision=HANDSHAKE)["result"] == {}
        cancelled = others.pop(1)
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": cancelled}})
        assert server.request("ping", revision=HANDSHAKE)["result"] == {}
        release()
        assert [server.read()["id"] for _ in range(4)] == [first, *others]
    titles = [one["title"] for one in server.call("list_prompts")["structuredContent"]["prompts"]]
    assert sorted(titles) == ["T0", "T1", "T3", "T4"]


def test_large_messages_behind_a_long_call_are_not_all_read_ahead(
    tmp_path: Path, serve_process: Callable[..., Server]
) -> None:
    server = serve_process("prompt-store", store := str(tmp_path / "s.db"), HANDSHAKE)
    asked: list[int] = []

    def send() -> None:
        for number in range(60):
            arguments = {"title": f"T{number}", "content": "x" * 2_000_000}
            asked.append(server.ask("tools/call", {"name": "add_prompt", "arguments": arguments}, HANDSHAKE))

    with locked(store, "prompts") as release:
        sender = threading.Thread(target=send)
        sender.start()
        sender.join(1.0)
        assert sender.is_alive()
        release()
        answered = [server.read()["id"] for _ in range(60)]
    sender.join()
    assert answered == asked
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    peak = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
    assert peak < 110_000, f"{peak} kB"


# -- cancelled calls ----------------------------------------------------------------------------------------------


@pytest.fixture
def locked_tasks(reused_database: ReusedDatabase, serve_process: Callable[..., Server]) -> Iterator[Locked]:
    """A server of `tasks` on PostgreSQL, where a lock also holds up reads; the store; and what releases the lock."""
    store = reused_database.emptied()
    server = serve_process("tasks", store)
    server.initialize(HANDSHAKE)
    with locked(store, "tasks") as release:
        yield server, store, release


def cancel(server: Server, id: int) -> None:
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})


def titles(server: Server) -> list[str]:
    return [task["title"] for task in server.call("list_tasks")["structuredContent"]["data"]]


def test_a_read_is_cancelled_while_it_runs_and_the_next_call_is_answered(locked_tasks: Locked) -> None:
    server, store, release = locked_tasks
    for _ in range(3):
        held = server.ask("tools/call", {"name": "list_tasks", "arguments": {}}, HANDSHAKE)
        assert eventually(lambda: count_waiting(store) == 1)
        cancel(server, held)
        assert eventually(lambda: count_waiting(store) == 0)
    release()
    assert titles(server) == []
    assert server.stderr.count("list_tasks Abandoned") == 3


def test_a_cancelled_write_is_finished_if_it_has_begun_and_not_run_if_it_is_queued(locked_tasks: Locked) -> None:
    server, store, release = locked_tasks
    ids = []
    for title in ("begun", "behind"):
        ids.append(server.ask("tools/call", {"name": "add_task", "arguments": {"title": title}}, HANDSHAKE))
        assert eventually(lambda: count_waiting(store) == 1)
    for id in ids:
        cancel(server, id)
    assert server.request("ping", revision=HANDSHAKE)["result"] == {}
    assert count_waiting(store) == 1
    release()
    assert titles(server) == ["begun"]
