"""Connections before their first byte: accepted, opened when they say something, closed when they say nothing."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel.transports.http.connections import Connections, Limits
from tests.support.web import PATIENCE, WebServer, eventually, open_sockets, request


class Member:
    """A connection that notes whether it had to give way."""

    def __init__(self, address: str, holder: str = "") -> None:
        self.address = address
        self.holder = holder
        self.is_open = True

    def give_way(self) -> None:
        self.is_open = False


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """A server whose timeouts are short."""
    store = str(tmp_path_factory.mktemp("arrivals") / "s.db")
    with WebServer("-d", store, command=[sys.executable, "-m", "tests.support.short_timeouts"]) as server:
        yield server


def test_a_connection_that_says_nothing_is_told_so_in_the_end(hurried: WebServer) -> None:
    with hurried.connect() as wire:
        answer = wire.read()
        assert (answer.status, answer.header("connection")) == (408, "close")
        assert wire.is_closed()


def test_a_client_that_leaves_without_a_word_leaves_nothing_behind(hurried: WebServer) -> None:
    base = open_sockets(hurried.process.pid)
    wires = [hurried.connect() for _ in range(50)]
    for wire in wires:
        wire.close()
    assert eventually(lambda: open_sockets(hurried.process.pid) <= base)


def test_a_client_that_has_sent_all_it_will_send_is_answered(hurried: WebServer) -> None:
    with socket.create_connection(("127.0.0.1", hurried.port), PATIENCE) as client:
        client.sendall(request("GET", "/health", [("Connection", "close")]))
        received = b""
        while piece := client.recv(4096):
            received += piece
    assert received.startswith(b"HTTP/1.1 200 OK\r\n") and received.endswith(b"}")


def test_silent_connections_are_closed_when_the_server_ends(tmp_path: Path) -> None:
    with WebServer("-d", str(tmp_path / "s.db")) as server:
        wires = [server.connect() for _ in range(20)]
        assert server.ask("GET", "/health").status == 200
        assert server.stop() == 0
        assert all(wire.is_closed() for wire in wires)
        for wire in wires:
            wire.close()


def test_the_holder_of_most_connections_gives_way() -> None:
    register = Connections(Limits(connections=10))
    user = Member("::1", "user ada")
    assert register.admit(user) == "admitted"  # the oldest
    flood = [Member("::1") for _ in range(20)]
    assert {register.admit(one) for one in flood} == {"admitted"}
    assert user.is_open and [one.is_open for one in flood] == [False] * 11 + [True] * 9
    for one in flood[11:]:
        one.holder = "user eve"  # her token has become known
        register.change(one, "arriving")
    assert register.admit(Member("::1")) == "admitted"
    assert user.is_open and not flood[11].is_open


def test_a_busy_connection_never_gives_way() -> None:
    register = Connections(Limits(connections=1))
    busy = Member("::1", "user ada")
    register.admit(busy)
    register.change(busy, "busy")
    newer = [Member("::1"), Member("::1")]
    assert [register.admit(one) for one in newer] == ["probes only", "admitted"]
    assert [one.is_open for one in (busy, *newer)] == [True, False, True]
