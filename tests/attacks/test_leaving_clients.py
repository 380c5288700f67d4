"""Nothing goes on for a client who left: reads and renders end, writes do not begin, queued calls are not started.

A call is held up from outside, by a lock on the store, which the tests release.
"""

import json
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from satchel.errors import Abandoned
from satchel.library import render
from satchel.work import Work
from tests.attacks.floods import SLOW_TEMPLATE, batch_request, list_titles, make_token, send_all, tool_request
from tests.support.in_process_http import WebInProcess
from tests.support.locks import count_waiting, locked
from tests.support.postgres import ReusedDatabase
from tests.support.process import eventually
from tests.support.web import HANDSHAKE, WebClient, rpc


def wait_for_connections(server: WebClient, count: int) -> None:
    """Wait until a server has noticed which connections were opened and closed, so that so many are left."""
    assert server.ask("GET", "/health").status == 200
    assert eventually(lambda: count_connections(server.port) == count)
    time.sleep(1.0)  # nothing outside shows that a call is cancelled, which may take a moment more


def count_connections(port: int) -> int:
    """Return how many connections a server on this machine has not closed; their client may have left."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] in ("01", "08") for row in rows)


def test_a_call_that_is_queued_for_a_client_who_left_is_never_started(store: str) -> None:
    greedy = make_token(store)
    with WebInProcess("-d", store, "--auth", "token") as server:
        with locked(store, "tasks"):
            held = send_all(server, tool_request(greedy, "add_task", {"title": "held"}), 4)  # at least one is queued
            queued = send_all(server, tool_request(greedy, "add_task", {"title": "queued"}), 5)
            wait_for_connections(server, 9)
            for wire in queued:
                wire.close()
            wait_for_connections(server, 4)
        for wire in held:
            assert wire.read().status == 200
            wire.close()
        with server.connect() as wire:
            wire.send(tool_request(greedy, "add_task", {"title": "last"}))
            assert wire.read().status == 200
        assert list_titles(server, greedy) == ["held"] * 4 + ["last"]


def test_a_batch_stops_behind_the_call_that_runs_when_its_client_leaves(store: str) -> None:
    greedy = make_token(store)
    calls = [("add_task", {"title": title}) for title in ("first", "second", "third")]
    with WebInProcess("-d", store, "--auth", "token") as server:
        with locked(store, "tasks"):
            with server.connect() as wire:
                wire.send(batch_request(greedy, calls, "/mcp/tasks"))
                wait_for_connections(server, 1)
            wait_for_connections(server, 0)
        with server.connect() as wire:
            wire.send(tool_request(greedy, "add_task", {"title": "later"}))
            assert wire.read().status == 200
        assert list_titles(server, greedy) in (["later"], ["first", "later"])  # a write that has begun is finished


@pytest.fixture
def emptied(reused_database: ReusedDatabase) -> str:
    """A store on PostgreSQL, where a lock also holds up reads."""
    return reused_database.emptied()


def test_a_read_ends_when_its_client_leaves_even_with_more_requests_behind_it(emptied: str) -> None:
    greedy = make_token(emptied)
    with WebInProcess("-d", emptied, "--auth", "token") as server, locked(emptied, "tasks"):
        for behind in (b"", tool_request(greedy, "add_task", {"title": "behind it"}) * 20):
            with server.connect() as wire:
                wire.send(tool_request(greedy, "list_tasks") + behind)
                assert eventually(lambda: count_waiting(emptied) == 1)
            assert eventually(lambda: count_waiting(emptied) == 0)
        assert eventually(lambda: server.stderr.count("Abandoned") == 2), server.stderr  # and not that it took too long


def test_a_client_cancels_a_read_by_a_notification(emptied: str) -> None:
    greedy = make_token(emptied)
    headers, _ = rpc("notifications/cancelled", revision=HANDSHAKE)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}

    def send_cancel(session: str) -> int:
        given = [*headers, greedy.header, ("Mcp-Session-Id", session)]
        return server.ask("POST", "/mcp/tasks", given, json.dumps(cancel).encode()).status

    with ExitStack() as stack:
        server = stack.enter_context(WebInProcess("-d", emptied, "--auth", "token"))
        stack.enter_context(locked(emptied, "tasks"))
        wire = stack.enter_context(server.connect())
        wire.send(tool_request(greedy, "list_tasks", id=7, session="0190-one."))
        assert eventually(lambda: count_waiting(emptied) == 1)
        assert send_cancel("0190-other.") == 202
        assert count_waiting(emptied) == 1
        assert send_cancel("0190-one.") == 202
        assert eventually(lambda: count_waiting(emptied) == 0)
        answer = wire.read()
        assert (answer.status, answer.body) == (202, b"")


def test_a_render_ends_when_its_client_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "RENDER_TIMEOUT", 600.0)
    renderer, works = render.Renderer(most=2), [Work("a"), Work("a"), Work("a")]
    ended: list[Work] = []

    def run(work: Work) -> None:
        with suppress(Abandoned):
            renderer.render(SLOW_TEMPLATE, {}, work)
        ended.append(work)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    try:
        for thread in threads:
            thread.start()
        assert renderer.render("{{ x }}", {"x": "of another"}, Work("b")) == "of another"
        for work in works:
            work.cancel()
        for thread in threads:
            thread.join(60)
        assert len(ended) == 3
        assert renderer.render("{{ x }}", {"x": "again"}, Work("a")) == "again"
    finally:
        renderer.close()
