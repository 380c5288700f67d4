"""Clients that send without end, never read, say nothing, or do everything slowly. The others are served meanwhile."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from tests.attacks.support import (
    MAX_MEMORY_MB,
    Attacked,
    Bearer,
    Neighbour,
    PeakMemory,
    SmallWire,
    in_threads,
    make_token,
    many_wires,
)
from tests.support import short_timeouts
from tests.support.soak import amount
from tests.support.web import HANDSHAKE, Closed, WebServer, Wire, call, eventually, open_sockets, request

DEADLINE = short_timeouts.REQUEST
BATCHES = "2025-03-26"  # the revision that has them
MIB = 1 << 20


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("sockets") / "s.db")


@pytest.fixture(scope="module")
def mallory(store: str) -> Bearer:
    return make_token(store)


@pytest.fixture(scope="module")
def server(store: str, mallory: Bearer) -> Iterator[Attacked]:
    with Attacked("-c", "prompt-store", "-d", store, "--auth", "token") as server:
        yield server


@pytest.fixture(scope="module")
def prompt(server: Attacked, mallory: Bearer) -> str:
    """The id of a prompt of 4 MB."""
    headers, body = call("add_prompt", {"title": "long", "content": "x" * 4_000_000}, revision=HANDSHAKE)
    id: str = server.ask("POST", "/mcp", [mallory, *headers], body).tool["id"]
    return id


def read(token: Bearer, prompt: str) -> bytes:
    headers, body = call("get_prompt", {"id": prompt}, revision=HANDSHAKE)
    return request("POST", "/mcp", [token, *headers], body)


# -- bytes in flight ------------------------------------------------------------------------------------------------


def test_bodies_that_do_not_end_take_no_more_than_the_share_of_their_user(
    server: Attacked, store: str, mallory: Bearer
) -> None:
    headers, _ = call("add_prompt", revision=HANDSHAKE)
    head = request("POST", "/mcp", [mallory, *headers, ("Content-Length", str(32 * MIB))])
    peak = PeakMemory(server.process.pid)
    refused, cut = [], []

    def send(wire: Wire) -> None:
        try:
            wire.send(head)
            for _ in range(amount(10, 31)):
                wire.send(b" " * MIB)
        except ConnectionError:  # refused while it was sending, so that its system threw the answer away
            cut.append(wire)
            return
        wire.socket.settimeout(0.2)
        while len(refused) + len(cut) < 10:
            with contextlib.suppress(TimeoutError):
                refused.append(wire.read())
                break

    with Neighbour(server, make_token(store)) as neighbour, many_wires(server, 20) as wires:
        in_threads(send, wires)
        assert neighbour.was_served()
    assert len(refused) + len(cut) >= 10 and refused
    for answer in refused:
        assert (answer.status, answer.header("retry-after")) == (429, "1")
        assert answer.json["error"]["message"] == (
            "Your requests and their answers have more than 75497472 bytes in flight. Read first."
        )
    assert peak.mb < MAX_MEMORY_MB
    small = server.ask("POST", "/mcp", [mallory, *call("list_tags", revision=HANDSHAKE)[0]], call("list_tags")[1])
    assert small.status in (200, 400)  # a small request of the same user is never refused for this reason


def test_clients_that_do_not_read_take_no_more_than_the_share_of_their_user(
    server: Attacked, store: str, mallory: Bearer, prompt: str
) -> None:
    peak = PeakMemory(server.process.pid)
    asked = read(mallory, prompt)
    with Neighbour(server, make_token(store)) as neighbour, many_wires(server, 40, 4096) as wires:
        for wire in wires:
            wire.send(asked)
        for wire in wires:
            wire.read_head()
        assert neighbour.was_served()
    assert peak.mb < MAX_MEMORY_MB


def test_batches_that_write_and_are_not_read_take_no_more_than_the_share_of_their_user(
    server: Attacked, store: str, mallory: Bearer, prompt: str
) -> None:
    """An answer to a write is never refused, so no further call of its batch is run, where too much is unread."""
    calls = [call("get_prompt", {"id": prompt}, id=id, revision=BATCHES) for id in range(7)]
    calls.append(call("add_prompt", {"title": "", "content": ""}, id=7, revision=BATCHES))
    body = b"[" + b",".join(one[1] for one in calls) + b"]"
    asked = request("POST", "/mcp", [mallory, *calls[0][0]], body)
    peak = PeakMemory(server.process.pid)
    with Neighbour(server, make_token(store)) as neighbour, many_wires(server, amount(12, 24), 4096) as wires:
        for wire in wires:
            wire.send(asked)
        statuses = [wire.read_head()[0] for wire in wires]
        assert set(statuses) <= {200, 429} and statuses.count(200) >= 1
        assert neighbour.was_served()
    assert peak.mb < 200  # 24 of them took 630 MB once, and 8 took 400


# -- connections ----------------------------------------------------------------------------------------------------

CALL = request("POST", "/mcp", *call("list_prompts", revision=HANDSHAKE))
OPENINGS = {"silent": b"", "half a head": CALL[:30], "half a body": CALL[:-5]}


@pytest.mark.parametrize("opening", OPENINGS.values(), ids=OPENINGS)
def test_a_thousand_sockets_shut_nobody_out(server: Attacked, store: str, opening: bytes) -> None:
    peak = PeakMemory(server.process.pid)
    with Neighbour(server, make_token(store)) as neighbour, many_wires(server, amount(1200, 3000)) as wires:
        for wire in wires:
            with contextlib.suppress(OSError):
                wire.send(opening)
        assert neighbour.was_served(20)
        with server.connect() as new:
            assert new.ask("GET", "/health").status == 200
    assert peak.mb < MAX_MEMORY_MB


def test_requests_sent_ahead_are_bounded(server: Attacked, mallory: Bearer, prompt: str) -> None:
    """Behind an answer that is not read."""
    peak = PeakMemory(server.process.pid)
    with many_wires(server, amount(100, 900), 4096) as wires:
        for wire in wires:
            with contextlib.suppress(OSError):
                wire.send(read(mallory, prompt) + CALL * 600)
        with server.connect() as new:
            assert new.ask("GET", "/health").status == 200
    assert peak.mb < MAX_MEMORY_MB


# -- slow, but steady -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hurried(store: str, mallory: Bearer) -> Iterator[WebServer]:
    """A server on the same store whose timeouts are short."""
    command = [sys.executable, "-m", "tests.support.short_timeouts"]
    with WebServer("-c", "prompt-store", "-d", store, "--auth", "token", command=command) as server:
        yield server


def test_who_reads_slowly_but_steadily_is_not_cut_off_and_who_stops_is(
    hurried: WebServer, mallory: Bearer, prompt: str
) -> None:
    asked = read(mallory, prompt)
    base = open_sockets(hurried.process.pid)
    stopped = SmallWire(hurried, 16_384)
    stopped.send(asked)
    with contextlib.closing(SmallWire(hurried, 16_384)) as slow:
        slow.send(asked)
        status, headers = slow.read_head()
        assert status == 200
        started, received = time.monotonic(), 0
        while time.monotonic() - started < DEADLINE * 5:  # each time less than its kernel had taken
            received += len(slow.socket.recv(2000))
            time.sleep(DEADLINE / 20)
        while piece := slow.socket.recv(1 << 20):
            received += len(piece)
            if received + len(slow._buffer) >= int(dict(headers)["content-length"]):
                break
        assert received + len(slow._buffer) == int(dict(headers)["content-length"])
    assert eventually(lambda: open_sockets(hurried.process.pid) <= base)
    stopped.close()


def test_a_body_that_comes_slowly_but_steadily_is_read(hurried: WebServer, mallory: Bearer) -> None:
    headers, body = call("add_prompt", {"title": "slow", "content": "y" * 2_000_000}, revision=HANDSHAKE)
    raw = request("POST", "/mcp", [mallory, *headers], body)
    with hurried.connect() as wire:
        started = time.monotonic()
        size = len(raw) // 100
        for place in range(0, len(raw), size):
            wire.send(raw[place : place + size])
            if place < len(raw) * 0.9:
                time.sleep(DEADLINE * 3 / 100)
        assert time.monotonic() - started > DEADLINE * 2
        assert wire.read().status == 200


def test_a_body_that_comes_too_slowly_is_not(hurried: WebServer, mallory: Bearer) -> None:
    headers, body = call("add_prompt", {"title": "slower", "content": "y" * 2000}, revision=HANDSHAKE)
    raw = request("POST", "/mcp", [mallory, *headers], body)
    with hurried.connect() as wire:
        wire.send(raw[:-1000])
        is_over = threading.Event()

        def trickle() -> None:
            with contextlib.suppress(OSError):
                for byte in raw[-1000:-1]:
                    wire.send(bytes([byte]))
                    if is_over.wait(DEADLINE / 20):
                        return

        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            with contextlib.suppress(Closed):
                assert wire.read().status == 408
        finally:
            is_over.set()
            thread.join()
