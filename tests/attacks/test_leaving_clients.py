"""F4: nothing goes on for a client who left: reads and renders end, writes do not begin, queued work is not started."""

import json
import threading
from contextlib import suppress

import pytest

from satchel.errors import Abandoned
from satchel.library import render
from satchel.transports.http.shares import SHARE
from satchel.work import Work
from tests.attacks.neighbours import (
    GREEDY,
    SlowServer,
    ask,
    make_token,
    send_all,
    text_of,
    write_batch,
    write_call,
)
from tests.attacks.slow_server import SPINNING
from tests.support.process import eventually
from tests.support.web import HANDSHAKE, request, rpc

ENDLESS = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"


def abandoned(server: SlowServer) -> int:
    """How many calls were ended because their client had left."""
    return server.stderr.count("Abandoned")


def spinning(server: SlowServer) -> int:
    """How many reads have begun that never end: what is cancelled before that is not counted as abandoned."""
    return server.stderr.count(SPINNING)


def test_a_read_ends_when_its_client_leaves(store: str) -> None:
    with SlowServer(store) as server:
        wires = send_all(server, write_call(None, "spin"), 3)
        assert eventually(lambda: spinning(server) == 3)
        assert ask(server, None, "titles") == ""
        for wire in wires:
            wire.close()
        assert eventually(lambda: abandoned(server) == 3)
        assert ask(server, None, "titles") == ""


def test_a_read_ends_when_a_client_leaves_that_had_sent_more_requests(store: str) -> None:
    with SlowServer(store) as server:
        with server.connect() as wire:
            wire.send(write_call(None, "spin") + write_call(None, "note", {"title": "behind it"}) * 20)
            assert eventually(lambda: spinning(server) == 1)
        assert eventually(lambda: abandoned(server) == 1)
        assert ask(server, None, "titles") == ""
        assert "Traceback" not in server.stderr and "without" not in server.stderr


def test_work_that_is_queued_for_a_client_who_left_is_never_started(store: str) -> None:
    _, greedy = make_token(store, GREEDY)
    with SlowServer(store, "--auth", "token") as server:
        held = send_all(server, write_call(greedy, "note", {"title": "held", "milliseconds": 2000}), SHARE)
        held[0].socket.settimeout(0.7)
        with pytest.raises(TimeoutError):
            held[0].socket.recv(1)  # by now it has begun
        queued = send_all(server, write_call(greedy, "note", {"title": "queued"}), 5)
        assert ask(server, greedy, "titles") == ""  # writes do not hold up reads
        for wire in queued:
            wire.close()
        last = send_all(server, write_call(greedy, "note", {"title": "last"}), 1)
        assert text_of(last[0].read()) == "last"
        assert ask(server, greedy, "titles") == ",".join([*["held"] * SHARE, "last"])
        for wire in (*held, *last):
            wire.close()


def test_a_write_that_has_begun_is_finished_and_a_batch_stops_behind_it(store: str) -> None:
    with SlowServer(store) as server:
        with server.connect() as wire:
            batch = [
                ("note", {"title": "begun", "milliseconds": 1000}),
                ("note", {"title": "next"}),
                ("note", {"title": "last"}),
            ]
            wire.send(write_batch(None, batch))
            with suppress(TimeoutError):
                wire.socket.settimeout(0.3)
                wire.socket.recv(1)
        assert eventually(lambda: ask(server, None, "titles") == "begun")
        ask(server, None, "note", {"title": "of another"})
        assert ask(server, None, "titles") == "begun,of another"


def test_a_client_cancels_a_call_by_a_notification(store: str) -> None:
    session = ("Mcp-Session-Id", "0190-one.")
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    headers, spin = rpc("tools/call", {"name": "spin", "arguments": {}}, id=7, revision=HANDSHAKE)

    def send_cancel(session_id: str) -> int:
        given = [*headers, ("Mcp-Session-Id", session_id)]
        return server.ask("POST", "/mcp/slow", given, json.dumps(cancel).encode()).status

    with SlowServer(store) as server, server.connect() as wire:
        wire.send(request("POST", "/mcp/slow", [*headers, session], spin))
        assert eventually(lambda: spinning(server) == 1)
        assert send_cancel("0190-other.") == 202
        assert abandoned(server) == 0
        assert send_cancel("0190-one.") == 202
        assert eventually(lambda: abandoned(server) == 1)
        assert (answer := wire.read()).status == 202 and answer.body == b""
        assert wire.ask("POST", "/mcp/slow", headers, spin.replace(b'"spin"', b'"titles"')).status == 200


def test_a_render_ends_when_its_client_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "RENDER_TIMEOUT", 600.0)
    renderer, works = render.Renderer(most=2), [Work("a"), Work("a"), Work("a")]
    ended: list[Work] = []

    def run(work: Work) -> None:
        with suppress(Abandoned):
            renderer.render(ENDLESS * 20, {}, work)
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
