"""Hostile heads: thousands of fields, single bytes, foreign hosts. Each is refused before anything costly is done."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.attacks.support import MAX_MEMORY_MB, Attacked, Neighbour, PeakMemory, in_threads, make_token
from tests.support.soak import amount
from tests.support.web import JSON, Closed, Wire, request

NAMES = [b"%x:\r\n" % number for number in range(10_000)]
HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
ENDLESS = b"GET /health HTTP/1.1\r\n" + b"X-Same: y\r\n" * 6000 + b"\r\n"


@pytest.fixture(scope="module")
def store(sqlite_template: object, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("heads") / "s.db")


@pytest.fixture(scope="module")
def server(store: str) -> Iterator[Attacked]:
    make_token(store)
    with Attacked("-c", "prompt-store", "-d", store, "--auth", "token") as server:
        yield server


def make_head(fields: list[bytes]) -> bytes:
    return HEAD + b"".join(fields) + b"\r\n"


def read_status(wire: Wire) -> int:
    """The status of the answer; 0 where the connection was closed before it arrived."""
    try:
        return wire.read().status
    except (Closed, ConnectionError):
        return 0


def test_heads_with_thousands_of_fields_are_refused_and_hold_up_nobody(server: Attacked, store: str) -> None:
    peak = PeakMemory(server.process.pid)

    def attack(head: bytes) -> None:
        for _ in range(amount(10, 200)):
            with server.connect() as wire:
                wire.send(head)
                assert read_status(wire) in (431, 0)

    with Neighbour(server, make_token(store)):
        in_threads(attack, [make_head(NAMES), make_head(NAMES[:9000]), make_head(NAMES[:1000] * 9), ENDLESS])
    assert peak.mb < MAX_MEMORY_MB


def test_a_head_in_single_bytes_holds_up_nobody(server: Attacked, store: str) -> None:
    def attack(head: bytes) -> None:
        for _ in range(amount(2, 50)):
            with server.connect() as wire:
                with suppress(OSError):  # it is refused as soon as it has too many fields
                    for place in range(len(head)):
                        wire.send(head[place : place + 1])
                assert read_status(wire) in (431, 0)

    with Neighbour(server, make_token(store)):
        in_threads(attack, [make_head(NAMES[:1000])] * 2)


def test_the_bound_is_100_fields(server: Attacked) -> None:
    fields = [(f"X-{number}", "y") for number in range(99)]  # and Host
    assert server.ask("GET", "/health", fields).status == 200
    assert server.ask("GET", "/health", [*fields, ("X-More", "y")]).status == 431


def test_the_host_is_checked_before_token_and_body(server: Attacked) -> None:
    """The body of this request never comes, and its token is none."""
    head = [("Host", "evil.example"), ("Authorization", "Bearer x"), JSON, ("Content-Length", "1000000")]
    with server.connect() as wire:
        wire.send(request("POST", "/mcp", head))
        assert wire.read().status == 421
    with server.connect() as wire:  # and the size of the head before the host
        wire.send(request("POST", "/mcp", [*head, *((f"X-{number}", "y") for number in range(200))]))
        assert wire.read().status == 431
