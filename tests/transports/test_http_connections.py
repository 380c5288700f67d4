"""What one connection may be used for, in which order, and how it ends: a request is answered once, or not at all."""

import contextlib
import os
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import short_timeouts
from tests.support.web import (
    HANDSHAKE,
    JSON,
    Closed,
    WebServer,
    Wire,
    call,
    eventually,
    open_sockets,
    request,
    rpc,
)

DEADLINE = short_timeouts.REQUEST
ORIGIN = "https://app.example.com"
LISTENING = "0A"  # as the kernel calls it


class Server(WebServer):
    """A server with a short deadline, and with a library, so that there are streams."""

    def __init__(self, folder: Path, *more: str) -> None:
        library = folder / "libraries" / "one"
        (library / "prompts").mkdir(parents=True)
        (library / "prompts" / "hello.md").write_text("Hello")
        (library / "twig.toml").write_text('[library]\nname = "one"\n\n[prompts.hello]\ndescription = "Hi"\n')
        self.store = folder / "s.db"
        options = ("-c", "prompt-store", "-d", str(self.store), "-l", str(folder / "libraries"))
        super().__init__(*options, *more, command=[sys.executable, "-m", "tests.support.short_timeouts"])

    @contextlib.contextmanager
    def held_up(self) -> Iterator[None]:
        """Block all writes during the block."""
        with contextlib.closing(sqlite3.connect(self.store, isolation_level=None)) as database:
            database.execute("begin immediate")
            yield
            database.execute("rollback")

    def has(self, title: str) -> bool:
        with contextlib.closing(sqlite3.connect(self.store)) as database:
            return bool(database.execute("select 1 from prompts where title = ?", (title,)).fetchall())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("wire"), "--allow-origin", ORIGIN) as server:
        yield server


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check that connections of a test are gone soon after."""
    if "server" not in request.fixturenames:
        yield
        return
    server = request.getfixturevalue("server")
    assert server.ask("GET", "/health").status == 200
    yield
    with server.connect() as wire:
        assert wire.ask("GET", "/health").status == 200
        assert eventually(lambda: connections(server) <= 1), "connections stay open"


def connections(server: WebServer) -> int:
    """Count the connected clients, as the kernel reports them."""
    return len(sockets(server, "01", "08"))


def sockets(server: WebServer, *states: str) -> list[list[str]]:
    """Return the kernel's lines about the sockets of a server in some states."""
    port = f":{server.port:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    # Those that we have closed, and that the kernel still has something to do for, belong to nobody. Neither do those
    # that were not taken in yet.
    return [line for line in lines if line[1].endswith(port) and line[3] in states and line[9] != "0"]


def has_read(server: WebServer, count: int = 1) -> bool:
    """Return whether the server reaches a number of clients and has read everything from them."""

    def look() -> bool:
        found = sockets(server, "01", "08")
        return len(found) == count and all(line[4].endswith(":00000000") for line in found)

    return eventually(look)


def read(id: object = 1, *more: tuple[str, str]) -> bytes:
    headers, body = call("list_prompts", id=id)
    return request("POST", "/mcp", [*headers, *more], body)


def write(title: str = "some", *more: tuple[str, str], size: int = 1, id: object = 1) -> bytes:
    headers, body = call("add_prompt", {"title": title, "content": "x" * size}, id=id)
    return request("POST", "/mcp", [*headers, *more], body)


def new(what: str) -> str:
    return f"{what} {time.time_ns()}"


CLOSE = ("Connection", "close")
NOTICE = request(
    "POST",
    "/mcp",
    [JSON, ("MCP-Protocol-Version", HANDSHAKE)],
    b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
)
STREAM = request("GET", "/mcp/twig", [("Accept", "text/event-stream"), ("MCP-Protocol-Version", HANDSHAKE)])
RUBBISH = b"\x00\x01 rubbish\r\n\r\n"


# -- several requests on one connection -----------------------------------------------------------------------------


def test_quick_ones_wait_for_the_slow_one_in_front(server: Server) -> None:
    refused = write("never", ("Origin", "http://evil.com"), size=100_000)
    with server.connect() as wire:
        with server.held_up():
            wire.send(write(id=0) + read(1) + NOTICE + refused + request("HEAD", "/mcp") + write(size=200_000, id=5))
            assert not says_something(wire)
        answers = [wire.read(is_head=number == 4) for number in range(6)]
        assert [answer.status for answer in answers] == [200, 200, 202, 403, 405, 200]
        assert [answers[number].json["id"] for number in (0, 1, 5)] == [0, 1, 5]
        assert answers[2].header("content-length") == "0"


def says_something(wire: Wire, patience: float = 0.3) -> bool:
    wire.socket.settimeout(patience)
    try:
        return bool(wire.socket.recv(1, socket.MSG_PEEK))
    except TimeoutError:
        return False
    finally:
        wire.socket.settimeout(20)


def test_nothing_behind_the_last_request_is_carried_out(server: Server) -> None:
    title = new("behind")
    for last in (read(1, CLOSE), write("last", CLOSE), read().replace(b"HTTP/1.1", b"HTTP/1.0", 1)):
        with server.connect() as wire:
            wire.send(write() + last + write(title))
            assert wire.read().header("connection") is None
            assert wire.read().all("connection") == ["close"]
            assert wire.is_closed()
    assert not server.has(title)


def test_a_large_request_has_its_whole_time_after_the_one_in_front(server: Server) -> None:
    """While we do not read on, its time stands still."""
    large = write(size=300_000)
    with server.connect() as wire:
        with server.held_up():
            wire.send(write() + large[:100_000])
            time.sleep(DEADLINE * 1.5)
        wire.send(large[100_000:])
        assert [wire.read().status for _ in range(2)] == [200, 200]


def test_what_is_behind_a_stream_waits_for_its_end(server: Server) -> None:
    title = new("behind a stream")
    with server.connect() as wire:
        wire.send(STREAM + write(title))
        assert wire.read_head()[0] == 200
        assert wire.read_chunk() == b": still here\n\n"
        assert not server.has(title)


# -- clients that ask first -----------------------------------------------------------------------------------------


def asking(*more: tuple[str, str]) -> tuple[bytes, bytes]:
    raw = write("asked", ("Expect", "100-continue"), *more)
    head, end, body = raw.partition(b"\r\n\r\n")
    return head + end, body


def test_who_asks_first_is_told_in_its_turn(server: Server) -> None:
    head, body = asking()
    with server.connect() as wire:
        with server.held_up():
            wire.send(write() + head)
            assert not says_something(wire)
        assert [wire.read().status for _ in range(2)] == [200, 100]
        wire.send(body)
        assert wire.read().status == 200
        wire.send(asking(("Origin", "http://evil.com"))[0])
        refused = wire.read()
        assert (refused.status, refused.header("connection")) == (403, "close")
        assert wire.is_closed()


# -- wishes ---------------------------------------------------------------------------------------------------------


def test_who_wishes_for_another_protocol_may_also_wish_to_close(server: Server) -> None:
    with server.connect() as wire:
        wire.send(read(1, ("Connection", "close, Upgrade"), ("Upgrade", "h2c")) + write("never"))
        assert wire.read().header("connection") == "close"
        assert wire.is_closed()


def test_a_connection_is_closed_for_one_reason_at_a_time(server: Server) -> None:
    answer = server.ask("POST", "/mcp", [JSON, CLOSE, ("Content-Length", str(1 << 30))])
    assert (answer.status, answer.header("connection")) == (413, "close")


def test_answers_without_a_body_say_so(server: Server) -> None:
    with server.connect() as wire:
        wire.send(request("OPTIONS", "/mcp", [("Origin", ORIGIN)]) + NOTICE + request("HEAD", "/health") + read(7))
        allowed, accepted, headless, answer = (wire.read(is_head=number == 2) for number in range(4))
        assert (allowed.status, allowed.header("content-length")) == (204, None)
        assert (accepted.status, accepted.header("content-length")) == (202, "0")
        assert headless.status == 200 and int(headless.header("content-length") or 0) > 0
        assert answer.json["id"] == 7


def test_pages_of_a_named_origin_may_read_streams(server: Server) -> None:
    with server.connect() as wire:
        wire.send(STREAM.replace(b"Accept:", b"Origin: %s\r\nAccept:" % ORIGIN.encode(), 1))
        status, headers = wire.read_head()
        assert status == 200
        assert {("access-control-allow-origin", ORIGIN), ("vary", "origin")} <= set(headers)


# -- rubbish, and the end of what a client says ---------------------------------------------------------------------


def test_a_head_behind_others_has_no_more_room_than_they(server: Server) -> None:
    large = request("POST", "/mcp", [*rpc("tools/list")[0], ("X-Much", "x" * 70_000)], rpc("tools/list")[1])
    fits = request("POST", "/mcp", [*rpc("tools/list")[0], ("X-Much", "x" * 60_000)], rpc("tools/list")[1])
    for pieces in ([read() + read() + large], [read() + large[:40_000], large[40_000:]], [large]):
        with server.connect() as wire:
            for piece in pieces:
                wire.send(piece)
                time.sleep(0.05)
            answers = []
            with contextlib.suppress(Closed, ConnectionResetError):
                while True:
                    answers.append(wire.read().status)
            assert answers.count(200) == pieces[0].count(b"list_prompts") // 2, answers
    with server.connect() as wire:
        wire.send(read() + fits + fits + read())
        assert [wire.read().status for _ in range(4)] == [200] * 4


# -- clients that leave, or never read ------------------------------------------------------------------------------


def test_clients_may_leave_at_any_moment(server: Server) -> None:
    title = new("left")
    raw = write() + read() + write(title)
    for place in range(1, len(raw), 23):
        for linger in (False, True):
            with server.connect() as wire:
                wire.send(raw[:place])
                if linger:  # nothing but a reset
                    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    assert not server.has(title)


def test_a_connection_that_is_to_be_closed_does_not_wait_for_ever_for_its_client_to_read(server: Server) -> None:
    """Also where what it has not read is little."""
    headers, body = call("add_prompt", {"title": new("some"), "content": "x" * 14_000})
    prompt = server.ask("POST", "/mcp", headers, body).tool["id"]
    headers, body = call("get_prompt", {"id": prompt})
    asked = request("POST", "/mcp", headers, body)
    quiet = []
    for raw, later in (
        (request("POST", "/mcp", [*headers, CLOSE], body), b""),
        (asked.replace(b"HTTP/1.1", b"HTTP/1.0", 1), b""),
        (asked + b"GET /health HT", b""),
        (asked, RUBBISH),
    ):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        client.sendall(raw)
        time.sleep(0.1)
        client.sendall(later)
        quiet.append(client)
    assert eventually(lambda: connections(server) == 0)
    for client in quiet:
        client.close()


def test_a_quiet_connection_is_closed_in_the_end(server: Server) -> None:
    with server.connect() as wire:
        started = time.monotonic()
        wire.send(read())
        assert wire.read().status == 200
        assert wire.is_closed()
        assert time.monotonic() - started > short_timeouts.KEEP_ALIVE * 0.8


# -- the end --------------------------------------------------------------------------------------------------------


def test_at_the_end_all_that_was_asked_is_answered(tmp_path: Path) -> None:
    head, body = asking()
    large = write("large", size=200_000)
    with Server(tmp_path) as server:
        cases = {
            "nothing": (b"", b"", []),
            "half a head": (read()[:30], b"", []),
            "half a body": (read()[:-5], read()[-5:], [200]),
            "half a large body": (large[:-5], large[-5:], [200]),
            "asked first": (head, body, [100, 200]),
            "three": (write() + read() + write("third"), b"", [200, 200, 200]),
        }
        stream = server.connect()
        stream.send(STREAM + write("behind a stream"))
        assert stream.read_head()[0] == 200
        wires = {what: server.connect() for what in cases}
        with server.held_up():
            for what, wire in wires.items():
                wire.send(cases[what][0])
            assert has_read(server, len(wires) + 1)
            server.process.send_signal(signal.SIGTERM)
            assert eventually(lambda: not sockets(server, LISTENING))
            for what, wire in wires.items():
                with contextlib.suppress(OSError):
                    wire.send(cases[what][1])
        for what, wire in wires.items():
            answers = [wire.read() for _ in cases[what][2]]
            assert [answer.status for answer in answers] == cases[what][2], what
            assert not answers or answers[-1].header("connection") == "close", what
            assert wire.is_closed(), what
            wire.close()
        while stream.read_chunk():
            pass
        assert stream.read().header("connection") == "close"
        stream.close()
        assert server.process.wait(20) == 0
        assert server.has("behind a stream") and server.has("third")


# -- more clients than there is room for ----------------------------------------------------------------------------


def test_a_frozen_or_killed_worker_holds_up_nobody_new(tmp_path: Path) -> None:
    with Server(tmp_path, "--workers", "2") as server:
        assert eventually(lambda: len(server.children()) == 2), server.children()
        assert {server.ask("GET", "/health").status for _ in range(10)} == {200}
        frozen = server.children()[0]
        os.kill(frozen, signal.SIGSTOP)
        assert {server.ask("GET", "/health").status for _ in range(10)} == {200}
        os.kill(frozen, signal.SIGKILL)
        assert {server.ask("GET", "/health").status for _ in range(10)} == {200}
        assert eventually(lambda: len(server.children()) == 2 and frozen not in server.children())
        assert eventually(lambda: all(open_sockets(worker) > 0 for worker in server.children()))


def test_workers_that_sighup_replaced_keep_all_bounds(tmp_path: Path) -> None:
    with Server(tmp_path, "--workers", "2") as server:
        assert eventually(lambda: len(server.children()) == 2)
        before = set(server.children())
        server.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: len(server.children()) == 2 and before.isdisjoint(server.children()))
        wires = [server.connect() for _ in range(6)]  # whichever worker takes them
        for wire in wires:
            wire.send(b"GET /health HTTP/1.1\r\n")
        for wire in wires:
            assert wire.read().status == 408
            wire.close()


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_a_server_out_of_files_says_so_once_and_goes_on(tmp_path: Path, loop: str) -> None:
    missing = "" if loop == "uvloop" else "sys.modules['uvloop'] = None; "
    limit = "resource.setrlimit(resource.RLIMIT_NOFILE, (90, 90))"
    code = f"import resource, sys; {missing}{limit}\nfrom satchel.__main__ import main\nsys.exit(main())"
    with WebServer("-d", str(tmp_path / "s.db"), command=[sys.executable, "-c", code]) as server:
        first = server.connect()
        assert first.ask("GET", "/health").status == 200
        many = [server.connect() for _ in range(150)]
        if loop == "asyncio":  # uvloop closes the connections for which there is no file
            server.said("cannot accept connections: .*Too many open files")
        assert first.ask("GET", "/health").status == 200
        for wire in (first, *many):
            wire.close()

        def is_served() -> bool:
            with contextlib.suppress(Closed, OSError), server.connect(patience=5) as wire:
                return wire.ask("GET", "/health").status == 200
            return False

        assert eventually(is_served)
        assert server.stderr.count("cannot accept connections") == (1 if loop == "asyncio" else 0)


# -- what a review found --------------------------------------------------------------------------------------------


def test_a_pipelined_request_without_its_body_has_the_usual_time(server: Server) -> None:
    with server.connect() as wire:
        wire.send(read() + write()[:-5])
        assert wire.read().status == 200
        assert wire.read().status == 408
        assert wire.is_closed()


def test_a_request_behind_another_is_not_cut_off_by_the_first_byte_of_a_third(server: Server) -> None:
    with server.connect() as wire:
        with server.held_up():
            wire.send(read(1) + write(new("second"), id=7))
            assert wire.read().json["id"] == 1
            wire.send(b"GET /health HTTP/1.1\r\n")
            time.sleep(DEADLINE * 1.5)
        assert (wire.read().status) == 200


def test_a_refused_request_with_a_large_body_gets_its_answer(server: Server) -> None:
    body = b"x" * 20_000_000
    headers = [JSON, ("Content-Length", str(len(body)))]
    with server.connect() as wire:
        wire.send(request("POST", "/nothing", headers) + body)
        assert wire.read().status == 404
        assert wire.ask("GET", "/health").status == 200


def test_a_body_that_comes_after_its_refusal_is_no_late_request(server: Server) -> None:
    head = request("POST", "/nothing", [JSON, ("Content-Length", "5")])
    with server.connect() as wire:
        wire.send(head)
        assert wire.read().status == 404
        wire.send(b"12345")
        time.sleep(DEADLINE * 1.5)
        assert wire.ask("GET", "/health").status == 200
