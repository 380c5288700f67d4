"""Long calls over stdio: pings are answered meanwhile, reads are cancelled, calls keep order, memory is bounded."""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from satchel.storage.database import open_database
from tests.attacks.slow_server import NAME, SPINNING
from tests.support.locks import locked
from tests.support.process import eventually
from tests.support.stdio import NEWEST, Server

HANDSHAKE = "2025-11-25"


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
def slow(store: str) -> Iterator[Server]:
    """A server whose calls take as long as a test wants."""
    with serve_slowly(store) as server:
        yield server


@contextlib.contextmanager
def serve_slowly(store: str) -> Iterator[Server]:
    open_database(store).close()
    command = [sys.executable, "-m", "tests.attacks.slow_server", "serve"]
    with Server("--contract", NAME, "--database", store, command=command) as server:
        server.initialize(HANDSHAKE)
        yield server


def cancel(server: Server, id: int) -> None:
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})


def titles(server: Server) -> str:
    text: str = server.call("titles")["content"][0]["text"]
    return text


def test_a_read_is_cancelled_while_it_runs_and_the_next_call_is_answered(slow: Server) -> None:
    for count in (1, 2, 3):
        endless = slow.ask("tools/call", {"name": "spin", "arguments": {}})
        assert eventually(lambda count=count: slow.stderr.count(SPINNING) == count)  # type: ignore[misc]
        cancel(slow, endless)
        assert titles(slow) == ""
    assert eventually(lambda: slow.stderr.count("spin Abandoned") == 3)


def test_a_cancelled_write_is_finished_if_it_has_begun_and_not_run_if_it_is_queued(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    with serve_slowly(store) as slow:
        arguments = {"title": "begun", "milliseconds": 1000}
        begun = slow.ask("tools/call", {"name": "note", "arguments": arguments})
        assert eventually(lambda: is_writing(store))
        behind = slow.ask("tools/call", {"name": "note", "arguments": {"title": "behind"}})
        cancel(slow, begun)
        cancel(slow, behind)
        assert titles(slow) == "begun"


def is_writing(store: str) -> bool:
    """Return whether some transaction holds SQLite's write lock."""
    file = apsw.Connection(store)
    try:
        file.execute("begin immediate")
    except apsw.BusyError:
        return True
    finally:
        file.close()
    return False
