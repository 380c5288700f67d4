"""F6, F7, F18: a user who takes all they can get has only their share of threads, renderers and calls."""

import socket
from pathlib import Path

import pytest

from satchel.transports.http.shares import QUEUE, SHARE
from tests.attacks.neighbours import (
    GREEDY,
    QUIET,
    SlowServer,
    ask,
    bearer,
    make_token,
    measure,
    send_all,
    text_of,
    write_call,
)
from tests.support.process import PATIENCE, eventually
from tests.support.soak import amount
from tests.support.web import JSON, WebServer, Wire, request, rpc

ENDLESS = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}" * 20


def is_waiting(wire: Wire) -> bool:
    """Whether no answer has arrived yet."""
    wire.socket.setblocking(False)
    try:
        wire.socket.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    finally:
        wire.socket.settimeout(PATIENCE)
    return False


@pytest.mark.parametrize("workers", [1, 2])
def test_a_quiet_user_is_answered_while_another_holds_all_they_can_get(store: str, workers: int) -> None:
    _, greedy = make_token(store, GREEDY)
    _, quiet = make_token(store, QUIET)
    with SlowServer(store, "--auth", "token", "--workers", str(workers)) as server:
        titles = write_call(quiet, "titles")
        before, _ = measure(server, titles, amount(20, 300))
        wires = send_all(server, write_call(greedy, "spin"), 3 * workers * SHARE)
        ask(server, quiet, "note", {"title": "mine"})
        during, worst = measure(server, titles, amount(20, 300))
        assert ask(server, quiet, "titles") == "mine"
        assert all(map(is_waiting, wires)), "the reads of the greedy user have ended"
        # Here the machine may be busy with other tests; `make soak` has it for itself.
        assert during < amount(50.0, 2.0) * before + amount(0.5, 0.002) and worst < amount(30.0, 1.0)
        for wire in wires:
            wire.close()


def test_beyond_their_share_and_their_queue_a_user_is_told_to_try_again(store: str) -> None:
    _, greedy = make_token(store, GREEDY)
    with SlowServer(store, "--auth", "token") as server:
        # On PostgreSQL tokens are looked up at the same time, so which of them are refused is open.
        wires = send_all(server, write_call(greedy, "spin"), SHARE + QUEUE + 5)
        assert eventually(lambda: sum(map(is_waiting, wires)) == SHARE + QUEUE)
        assert {wire.read().status for wire in wires if not is_waiting(wire)} == {429}
        with server.connect() as wire:
            assert wire.ask("GET", "/health").status == 200
            wire.send(write_call(greedy, "titles"))
            answer = wire.read()
            assert (answer.status, answer.header("retry-after")) == (429, "1")
            assert answer.json == {
                "jsonrpc": "2.0",
                "id": 1,
                "error": {
                    "code": -32600,
                    "message": "More than 100 of your calls are waiting. Try again when some of them are answered.",
                },
            }
            wire.send(request("POST", "/mcp/tool/list_tasks", [JSON, *bearer(greedy)], b"{}"))
            answer = wire.read()
            assert (answer.status, answer.json["code"]) == (429, "VALIDATION_ERROR")
        assert sum(map(is_waiting, wires)) == SHARE + QUEUE + 5  # those refused have been read, and nothing else came
        for wire in wires:
            wire.close()
        assert eventually(lambda: ask_or_busy(server, greedy) == 200)


def ask_or_busy(server: WebServer, secret: str) -> int:
    with server.connect() as wire:
        wire.send(write_call(secret, "titles"))
        return wire.read().status


def test_a_render_of_one_user_does_not_wait_for_all_of_anothers(store: str, tmp_path: Path) -> None:
    library = tmp_path / "libraries" / "a"
    (library / "prompts").mkdir(parents=True)
    (library / "twig.toml").write_text('[library]\nname = "a"\n[prompts.slow]\n[prompts.quick]\n')
    (library / "prompts" / "slow.md").write_text(ENDLESS)
    (library / "prompts" / "quick.md").write_text("done")
    _, greedy = make_token(store, GREEDY)
    _, quiet = make_token(store, QUIET)

    def get(name: str, secret: str) -> bytes:
        headers, body = rpc("prompts/get", {"name": name}, revision="2025-11-25")
        return request("POST", "/mcp/twig", [*headers, *bearer(secret)], body)

    arguments = ("-d", store, "--auth", "token", "--libraries", str(tmp_path / "libraries"))
    with WebServer(*arguments) as server, server.connect() as wire:
        wire.send(get("a:quick", quiet))
        assert wire.read().json["result"]["messages"][0]["content"]["text"] == "done"
        wires = send_all(server, get("a:slow", greedy), 64)
        for _ in range(3):
            wire.send(get("a:quick", quiet))
            assert wire.read().json["result"]["messages"][0]["content"]["text"] == "done"
        assert sum(map(is_waiting, wires)) > 32
        for one in wires:
            one.close()


def test_a_user_makes_only_so_many_calls_a_minute(store: str) -> None:
    _, greedy = make_token(store, GREEDY)
    _, quiet = make_token(store, QUIET)
    with SlowServer(store, "--auth", "token", "--calls-per-minute", "2") as server, server.connect() as wire:
        for _ in range(10):  # five minutes' worth
            wire.send(write_call(greedy, "titles"))
            assert text_of(wire.read()) == ""
        wire.send(write_call(greedy, "titles"))
        answer = wire.read()
        assert answer.status == 429 and 1 <= int(answer.header("retry-after") or 0) <= 31
        assert "You may make 2 calls a minute. Try again in" in answer.json["error"]["message"]
        wire.send(request("POST", "/mcp/tool/list_tasks", [JSON, *bearer(greedy)], b"{}"))
        assert (answer := wire.read()).status == 429 and answer.json["details"] == {"field": "rate"}
        assert ask(server, quiet, "titles") == ""


def test_the_local_user_has_no_rate_and_no_share(store: str) -> None:
    with SlowServer(store, "--calls-per-minute", "1") as server:
        wires = send_all(server, write_call(None, "spin"), 2 * SHARE)
        for _ in range(20):
            assert ask(server, None, "titles") == ""
        for wire in wires:
            wire.close()
