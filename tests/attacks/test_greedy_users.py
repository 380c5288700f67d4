"""A user with a token has a share of threads, renderers and the rate of calls; the local user has all of them."""

from pathlib import Path

import pytest

from tests.attacks.floods import (
    ANSWER_SECONDS,
    QUICK_TEMPLATE,
    QuietUser,
    Token,
    is_waiting,
    list_titles,
    make_library,
    make_token,
    send_all,
    tool_request,
)
from tests.support.in_process_http import WebInProcess
from tests.support.process import eventually
from tests.support.web import HANDSHAKE, WebClient, WebServer, request, rpc

QUEUE = 100  # calls of a user that wait for their turn


def render_request(token: Token | None, name: str) -> bytes:
    headers, body = rpc("prompts/get", {"name": f"a:{name}"}, revision=HANDSHAKE)
    return request("POST", "/mcp/twig", [*headers, *([token.header] if token else [])], body)


@pytest.fixture
def libraries(tmp_path: Path) -> str:
    """A folder with a library of a slow and a quick template."""
    make_library(tmp_path / "libraries" / "a")
    return str(tmp_path / "libraries")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_a_quiet_user_is_answered_while_another_takes_all_they_can_get(
    store: str, libraries: str, workers: int
) -> None:
    greedy, quiet, third = (make_token(store) for _ in range(3))
    options = ("-d", store, "--auth", "token", "--libraries", libraries, "--workers", str(workers))
    with WebServer(*options) as server, server.connect(ANSWER_SECONDS) as wire:
        with QuietUser(server.port, quiet):
            wires = send_all(server, render_request(greedy, "slow"), 64)
            wire.send(render_request(third, "quick"))
            assert wire.read().json["result"]["messages"][0]["content"]["text"] == QUICK_TEMPLATE
        assert any(map(is_waiting, wires)), "the renders of the greedy user have ended"
        for one in wires:
            one.close()


def test_beyond_their_share_and_their_queue_a_user_is_told_to_try_again(store: str, libraries: str) -> None:
    greedy = make_token(store)
    with WebInProcess("-d", store, "--auth", "token", "--libraries", libraries) as server:
        wires = send_all(server, render_request(greedy, "slow"), QUEUE + 50)
        assert eventually(lambda: sum(map(is_waiting, wires)) <= QUEUE + 5)
        refused = [wire.read() for wire in wires if not is_waiting(wire)]
        assert {(one.status, one.header("retry-after")) for one in refused if one.status != 200} == {(429, "1")}
        for wire in wires:
            wire.close()
        assert eventually(lambda: ask_for_tasks(server, greedy) == 200)


def ask_for_tasks(server: WebClient, token: Token) -> int:
    with server.connect() as wire:
        wire.send(tool_request(token, "list_tasks"))
        return wire.read().status


def test_a_user_makes_only_so_many_calls_a_minute(store: str) -> None:
    greedy, quiet = make_token(store), make_token(store)
    with WebInProcess("-d", store, "--auth", "token", "--calls-per-minute", "2") as server, server.connect() as wire:
        for _ in range(10):  # five minutes' worth
            wire.send(tool_request(greedy, "list_tasks"))
            assert wire.read().status == 200
        wire.send(tool_request(greedy, "list_tasks"))
        answer = wire.read()
        assert answer.status == 429 and 1 <= int(answer.header("retry-after") or 0) <= 31
        assert list_titles(server, quiet) == []


def test_the_local_user_has_no_rate_and_no_share(store: str, libraries: str) -> None:
    with WebInProcess("-d", store, "--calls-per-minute", "1", "--libraries", libraries) as server:
        wires = send_all(server, render_request(None, "slow"), 8)
        for _ in range(20):
            assert list_titles(server, None) == []
        assert server.ask("GET", "/health").status == 200
        for wire in wires:
            wire.close()
