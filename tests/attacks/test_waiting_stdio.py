"""A call over stdio that waits for a locked store: what needs none is answered meanwhile, and calls keep order."""

import contextlib
import json
from collections.abc import Callable, Iterator
from functools import partial

import apsw
import psycopg
import pytest

from satchel.storage.database import open_database
from tests.support.stdio import NEWEST, Server, modern_meta

HANDSHAKE = "2025-11-25"


@contextlib.contextmanager
def locked(store: str) -> Iterator[Callable[[], object]]:
    """Meanwhile nobody can write to a store; ends earlier by a call of what it gives."""
    if store.startswith("postgresql"):
        connection = psycopg.connect(store)
        connection.execute("lock table prompts in exclusive mode")
        release: Callable[[], object] = connection.rollback
        close: Callable[[], object] = connection.close
    else:
        file = apsw.Connection(store)
        file.execute("begin immediate")
        release, close = partial(file.execute, "rollback"), file.close
    try:
        yield release
    finally:
        close()


@pytest.fixture
def server(store: str, serve_process: Callable[..., Server]) -> Server:
    open_database(store).close()
    server = serve_process("prompt-store", store)
    server.initialize(HANDSHAKE)
    return server


def add(server: Server, title: str) -> int:
    return server.ask("tools/call", {"name": "add_prompt", "arguments": {"title": title, "content": "x"}}, HANDSHAKE)


def test_what_needs_no_store_is_answered_while_a_call_waits(server: Server, store: str) -> None:
    with locked(store) as release:
        waiting = add(server, "waits")
        assert server.request("ping", revision=HANDSHAKE)["result"] == {}
        server.initialize(HANDSHAKE)
        assert server.request("server/discover", revision=NEWEST)["result"]["supportedVersions"] == [NEWEST]
        assert len(server.request("tools/list", revision=HANDSHAKE)["result"]["tools"]) > 1
        server.send_line(b"nonsense")
        assert server.read()["error"]["code"] == -32700
        assert server.request("nothing/such", revision=HANDSHAKE)["error"]["code"] == -32601
        release()
        answer = server.read()
    assert (answer["id"], answer["result"]["isError"]) == (waiting, False)


def test_a_ping_in_the_same_piece_of_input_is_answered_too(server: Server, store: str) -> None:
    with locked(store) as release:
        call = {"name": "add_prompt", "arguments": {"title": "T", "content": "x"}, "_meta": modern_meta()}
        server.methods |= {"slow": ("tools/call", NEWEST), "p": ("ping", HANDSHAKE)}
        lines = (
            {"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": call},
            {"jsonrpc": "2.0", "id": "p", "method": "ping"},
        )
        server.send_line("\n".join(map(json.dumps, lines)).encode())
        assert server.read()["id"] == "p"
        release()
        assert server.read()["id"] == "slow"


def test_calls_behind_one_that_waits_keep_their_order_and_one_that_is_cancelled_is_not_run(
    server: Server, store: str
) -> None:
    with locked(store) as release:
        first, *others = (add(server, f"T{number}") for number in range(5))
        assert server.request("ping", revision=HANDSHAKE)["result"] == {}
        cancelled = others.pop(1)
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": cancelled}})
        assert server.request("ping", revision=HANDSHAKE)["result"] == {}
        release()
        assert [server.read()["id"] for _ in range(4)] == [first, *others]
    titles = [one["title"] for one in server.call("list_prompts")["structuredContent"]["prompts"]]
    assert sorted(titles) == ["T0", "T1", "T3", "T4"]


def test_more_calls_than_are_read_ahead_are_all_answered_in_order(server: Server, store: str) -> None:
    with locked(store) as release:
        asked = [add(server, f"T{number}") for number in range(150)]
        release()
        assert [server.read()["id"] for _ in asked] == asked
