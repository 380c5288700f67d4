"""A user with a token has a share of threads, renderers and the rate of calls; the local user has all of them."""

from collections import Counter
from pathlib import Path

from satchel.protocol.subscriptions import MAX_URIS
from satchel.transports.http.streams import MAX_STREAMS_PER_USER
from tests.attacks.floods import (
    MAX_MEMORY_MB,
    PeakMemory,
    QuietUser,
    Token,
    list_titles,
    make_library,
    make_token,
    many_wires,
    send_all,
    tool_request,
)
from tests.support.in_process_http import WebInProcess
from tests.support.soak import amount
from tests.support.web import HANDSHAKE, WebServer, call, request, rpc


def test_the_calls_per_minute_of_a_user_are_limited(store: str) -> None:
    greedy, quiet = make_token(store), make_token(store)
    with WebInProcess("-d", store, "--auth", "token", "--calls-per-minute", "2") as server, server.connect() as wire:
        for _ in range(10):  # five minutes' worth
            wire.send(tool_request(greedy, "list_tasks"))
            assert wire.read().status == 200
        wire.send(tool_request(greedy, "list_tasks"))
        answer = wire.read()
        assert answer.status == 429 and 1 <= int(answer.header("retry-after") or 0) <= 31
        assert list_titles(server, quiet) == []


def test_the_local_user_has_no_rate_and_no_share(store: str, tmp_path: Path) -> None:
    make_library(tmp_path / "libraries" / "a")
    slow = request("POST", "/mcp/twig", *rpc("prompts/get", {"name": "a:slow"}, revision=HANDSHAKE))
    with WebInProcess("-d", store, "--calls-per-minute", "1", "--libraries", str(tmp_path / "libraries")) as server:
        wires = send_all(server, slow, 8)
        for _ in range(20):
            assert list_titles(server, None) == []
        assert server.ask("GET", "/health").status == 200
        for wire in wires:
            wire.close()


def listen(token: Token, uris: list[str]) -> bytes:
    headers, body = rpc("subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}})
    return request("POST", "/mcp", [token.header, *headers], body)


def test_the_streams_of_a_user_are_bounded_and_keep_little_memory(store: str) -> None:
    reader, ada = make_token(store, is_read_only=True), make_token(store)
    uris = [f"satchel://resource/some-name-of-usual-length-{number}" for number in range(MAX_URIS)]
    with WebServer("-d", store, "--auth", "token") as server:
        peak = PeakMemory(server.process.pid)
        with QuietUser(server.port, make_token(store)), many_wires(server.port, MAX_STREAMS_PER_USER) as wires:
            for wire in wires:
                wire.send(listen(reader, uris))
            for wire in wires:
                assert wire.read_head()[0] == 200
            with server.connect() as wire:
                wire.send(listen(reader, []))
                answer = wire.read()
                message = f"A user has at most {MAX_STREAMS_PER_USER} streams open. Close one of yours first."
                assert (answer.status, answer.json["error"]["message"]) == (429, message)
                assert answer.header("retry-after") == "1"
                wire.send(listen(ada, []))
                assert wire.read_head()[0] == 200
            for number in range(amount(20, 500)):  # each is translated for every stream
                headers, added = call("add_prompt", {"title": f"T{number}", "content": "x"})
                assert server.ask("POST", "/mcp", [ada.header, *headers], added).status == 200
        assert peak.mb <= MAX_MEMORY_MB


def test_streams_that_are_opened_at_once_are_bounded(store: str) -> None:
    reader = make_token(store, is_read_only=True)
    with WebServer("-d", store, "--auth", "token") as server:
        with many_wires(server.port, 2 * MAX_STREAMS_PER_USER) as wires:
            for wire in wires:
                wire.send(listen(reader, []))
            statuses = Counter(wire.read_head()[0] for wire in wires)
        assert statuses == {200: MAX_STREAMS_PER_USER, 429: MAX_STREAMS_PER_USER}
