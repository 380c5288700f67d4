"""Clients that are slow, endless, gone or confused: cut off in time, at little cost, while others are served.

What uvicorn does by itself (order of answers, `Connection: close`, `Expect`) is its own to test.
"""

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from satchel.transports.http.limits import Timeouts
from tests.support import short_timeouts
from tests.support.in_process_http import WebInProcess
from tests.support.locks import locked
from tests.support.threads import in_threads
from tests.support.web import (
    HANDSHAKE,
    JSON,
    PATIENCE,
    Closed,
    WebServer,
    Wire,
    call,
    eventually,
    memory_mb,
    open_sockets,
    request,
    rpc,
)

DEADLINE = short_timeouts.REQUEST
ORIGIN = "https://app.example.com"
SLACK = 8.0  # seconds that a busy machine may add


class Server(WebServer):
    """A server with a short deadline, and with a library, so that there are streams."""

    def __init__(self, folder: Path, *more: str) -> None:
        library = folder / "libraries" / "one"
        (library / "prompts").mkdir(parents=True)
        (library / "prompts" / "hello.md").write_text("Hello")
        (library / "twig.toml").write_text('[library]\nname = "one"\n\n[prompts.hello]\ndescription = "Hi"\n')
        self.store = str(folder / "s.db")
        options = ("-c", "prompt-store", "-d", self.store, "-l", str(folder / "libraries"))
        super().__init__(*options, *more, command=[sys.executable, "-m", "tests.support.short_timeouts"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("slow"), "--allow-origin", ORIGIN) as server:
        yield server


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check that connections of a test are gone soon after, and that the server answers."""
    if "server" not in request.fixturenames:
        yield
        return
    server: Server = request.getfixturevalue("server")
    assert server.ask("GET", "/health").status == 200
    base = open_sockets(server.process.pid)
    yield
    with server.connect() as wire:
        assert wire.ask("GET", "/health").status == 200
        assert eventually(lambda: open_sockets(server.process.pid) <= base + 1), "connections stay open"
    assert server.process.poll() is None


def test_the_deadline_is_30_seconds_unless_a_test_says_otherwise() -> None:
    assert Timeouts() == Timeouts(request=30.0, write=30.0, keep_alive=75, shutdown=10)


# -- clients that take their time -----------------------------------------------------------------------------------


def trickle(wire: Wire, pieces: Iterator[bytes]) -> None:
    """Send piece after piece until the server has had enough."""
    started = time.monotonic()
    wire.socket.settimeout(0.05)
    while time.monotonic() - started < 20:
        try:
            wire.send(next(pieces, b""))
            if wire.socket.recv(1, socket.MSG_PEEK):
                break
        except TimeoutError:
            continue
        except (ConnectionResetError, BrokenPipeError):
            break
    else:
        raise AssertionError("the server waits for ever")
    wire.socket.settimeout(PATIENCE)


def bytes_of(raw: bytes) -> Iterator[bytes]:
    return (raw[place : place + 1] for place in range(len(raw)))


def forever(piece: bytes) -> Iterator[bytes]:
    while True:
        yield piece


CALL = request("POST", "/mcp", *call("list_prompts"))
HEAD = CALL[: CALL.index(b"\r\n\r\n") + 4]
CHUNKED = request("POST", "/mcp", [JSON, ("Transfer-Encoding", "chunked")])

TRICKLES: dict[str, Callable[[], tuple[bytes, Iterator[bytes]]]] = {
    "nothing at all": lambda: (b"", iter(())),
    "a head, byte by byte": lambda: (b"", bytes_of(CALL)),
    "endless header lines": lambda: (b"GET /health HTTP/1.1\r\n", forever(b"X-Y: z\r\n")),
    "a body, byte by byte": lambda: (HEAD, bytes_of(CALL[len(HEAD) :])),
    "half a body": lambda: (CALL[:-5], iter(())),
    "endless chunks of one byte": lambda: (CHUNKED, forever(b"1\r\n \r\n")),
    "an endless extension of a chunk": lambda: (CHUNKED + b"1;", forever(b"x")),
    "endless trailers": lambda: (CHUNKED + b"2\r\n{}\r\n0\r\n", forever(b"X-Y: z\r\n")),
    "blank lines": lambda: (b"", forever(b"\r\n")),
    "a body after a refusal": lambda: (
        HEAD.replace(b"Host: localhost", b"Host: evil.com"),
        bytes_of(CALL[len(HEAD) :]),
    ),
}


@pytest.mark.parametrize("is_first", [True, False])
def test_a_slow_sender_is_cut_off_even_after_a_good_request(server: WebServer, is_first: bool) -> None:
    def cut_off(what: str) -> None:
        opening, pieces = TRICKLES[what]()
        started = time.monotonic()  # the server begins to count later than this, never earlier
        with server.connect() as wire:
            if not is_first:
                assert wire.ask("GET", "/health").status == 200
            wire.send(opening)
            if what == "a body after a refusal":
                assert wire.read().status == 421
            trickle(wire, pieces)
            assert DEADLINE * 0.9 < time.monotonic() - started < DEADLINE + SLACK, what
            answer = wire.read()
            assert (answer.status, answer.header("connection")) == (408, "close"), what
            assert wire.is_closed()

    # A connection that says nothing more after a request is kept: it has had its answer.
    in_threads(cut_off, [what for what in TRICKLES if is_first or what != "nothing at all"])


def test_a_kept_connection_may_be_quiet_longer_than_the_deadline(server: WebServer) -> None:
    with server.connect() as wire:
        wire.send(CALL)
        assert wire.read().status == 200
        assert not wire.is_closed(patience=DEADLINE * 1.5)
        wire.send(CALL)
        assert wire.read().status == 200


# -- clients that say too much --------------------------------------------------------------------------------------


def test_a_head_of_more_than_64_kib_is_refused_however_it_comes(server: WebServer) -> None:
    for filler in ([("X-Large", "x" * 66_000)], [(f"X-{number}", "y" * 60) for number in range(1000)]):
        raw = request("GET", "/health", filler)
        for size in (len(raw), 50_000, 1000):
            with server.connect() as wire, contextlib.suppress(ConnectionResetError, BrokenPipeError):
                for start in range(0, len(raw), size):
                    wire.send(raw[start : start + size])
                assert wire.read().status == 431, size
                assert wire.is_closed()
    with server.connect() as wire:
        assert wire.ask("GET", "/" + "p" * 66_000).status in (400, 431)
    with server.connect() as wire:  # just below
        assert wire.ask("GET", "/health", [("X-Large", "x" * 65_000)]).status == 200
        assert wire.ask("GET", "/health?" + "q" * 65_000).status == 200


def test_trailers_blank_lines_and_extensions_are_bounded_too(server: WebServer) -> None:
    before = memory_mb(server.process.pid)
    for opening, filler in (
        (CHUNKED + b"2\r\n{}\r\n0\r\n", b"X-Y: " + b"z" * 8000 + b"\r\n"),
        (CHUNKED + b"2\r\n{}\r\n0\r\nX-Endless: ", b"z" * 8000),
        (CHUNKED + b"2;", b"z" * 8000),
        (b"", b"\r\n" * 4000),
        (b"GET /health HTTP/1.1\r\nX-Endless: ", b"z" * 8000),
        (b"GET /", b"z" * 8000),
    ):
        with server.connect() as wire:
            sent = 0
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                wire.send(opening)
                while sent < 200 << 20:
                    wire.send(filler)
                    sent += len(filler)
            assert sent < 20 << 20, (opening[-20:], sent)
            with contextlib.suppress(Closed):
                assert wire.read().status in (400, 431)
    assert memory_mb(server.process.pid) < before + 30


def test_100_headers_are_taken_and_names_may_be_odd(server: WebServer) -> None:
    headers = [(f"X-{number}", str(number)) for number in range(98)]  # and Host
    assert server.ask("GET", "/health", [*headers, ("x_y!#$%&'*+.^`|~", "ok")]).status == 200
    assert server.ask("GET", "/health", [*headers, ("X-99", "1"), ("X-100", "1")]).status == 431


# -- clients that do odd, but proper things -------------------------------------------------------------------------


def test_a_request_to_upgrade_the_protocol_is_still_answered(server: WebServer) -> None:
    """Java's client asks for HTTP/2 in this way, with the body of its first POST behind it."""
    headers, body = call("list_prompts", revision=HANDSHAKE)
    java = [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAEAAEAAAAIAAAAB")]
    with server.connect() as wire:
        for _ in range(3):
            assert wire.ask("POST", "/mcp", [*headers, *java], body).status == 200
            assert wire.ask("GET", "/health", [("Connection", "Upgrade"), ("Upgrade", "websocket")]).status == 200
        refused = wire.ask("POST", "/mcp", [("Host", "evil.com"), *headers, *java], body)
        assert refused.status == 421
    raw = request("POST", "/mcp", [*headers, *java], body)
    name = raw.index(b"\r\nUpgrade:")
    for cut in range(name - 1, name + 12):  # a head in two packets, cut in the name of the field
        with server.connect() as wire:
            wire.send(raw[:cut])
            time.sleep(0.02)
            wire.send(raw[cut:])
            assert wire.read().status == 200, raw[:cut][-20:]


def test_rubbish_behind_a_request_never_passes_for_its_answer(server: WebServer) -> None:
    for rubbish in (b"\x00\x01rubbish\r\n\r\n", b"GET /x HTTP/9.9\r\n\r\n"):
        with server.connect() as wire:
            wire.send(CALL + rubbish)
            with contextlib.suppress(Closed):
                assert wire.read().status in (200, 400)
                assert wire.read().status == 400
            assert wire.is_closed()


# -- clients that leave, or never listen ----------------------------------------------------------------------------


def test_a_client_that_never_reads_is_cut_off_and_its_memory_freed(server: WebServer) -> None:
    headers, body = call("add_prompt", {"title": f"huge {time.time_ns()}", "content": "x" * 4_000_000})
    prompt = server.ask("POST", "/mcp", headers, body).tool["id"]
    asked = request("POST", "/mcp", *call("get_prompt", {"id": prompt}))
    base, memory = open_sockets(server.process.pid), memory_mb(server.process.pid)
    connections = []
    for _ in range(10):
        quiet = socket.socket()
        quiet.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        quiet.connect(("127.0.0.1", server.port))
        quiet.sendall(asked * 3)
        connections.append(quiet)
    assert eventually(lambda: open_sockets(server.process.pid) <= base, DEADLINE * 2 + SLACK * 2)
    for quiet in connections:
        quiet.close()
    assert memory_mb(server.process.pid) < memory + 400  # each of 40 threads may keep room for one such answer


STREAM = request("GET", "/mcp/twig", [("Accept", "text/event-stream"), ("MCP-Protocol-Version", HANDSHAKE)])


def test_a_stream_outlives_the_deadline_and_ends_with_its_client(server: WebServer) -> None:
    with server.connect() as wire:
        wire.send(STREAM)
        assert wire.read_head()[0] == 200
        assert eventually(lambda: server.metric("satchel_streams") == 1)
        assert not wire.is_closed(patience=DEADLINE * 2)
    assert eventually(lambda: server.metric("satchel_streams") == 0)


def test_a_stream_with_a_request_behind_it_ends_with_its_client_too(server: WebServer) -> None:
    behind = {"a whole one": CALL, "half a head": CALL[:20], "half a body": CALL[:-5], "two": CALL * 2}
    wires = [(what, server.connect()) for what in behind for _ in range(5)]
    for what, wire in wires:
        wire.send(STREAM)
        assert wire.read_head()[0] == 200
        wire.send(behind[what])
    assert eventually(lambda: server.metric("satchel_streams") >= 1)
    time.sleep(DEADLINE * 1.5)
    for what, wire in wires:
        # Nothing but events may be in the stream; half a request may have been the end of it.
        with contextlib.suppress(Closed, TimeoutError):
            wire.socket.settimeout(0.05)
            while chunk := wire.read_chunk():
                assert b"HTTP/1.1" not in chunk, what
        wire.close()
    # That the client has left is noticed at the next sign of life.
    assert eventually(lambda: server.metric("satchel_streams") == 0)


# -- many at once ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begun", [b"", CALL[:20], CALL[:-5]], ids=["idle", "half a head", "half a body"])
def test_beyond_the_limit_idle_connections_are_closed(tmp_path: Path, begun: bytes) -> None:
    with WebInProcess("-d", str(tmp_path / "s.db"), "--connections", "10", is_hurried=True) as server:
        waiting = [server.connect() for _ in range(10)]
        for wire in waiting:
            assert wire.ask("GET", "/health").status == 200
            wire.send(begun)
        newer = [server.connect() for _ in range(10)]
        for wire in newer:
            assert wire.ask("POST", "/mcp", *call("list_prompts")).status == 200
        for wire in waiting:
            assert wire.read().status == 503
            assert wire.is_closed()
        for wire in (*waiting, *newer):
            wire.close()


def test_beyond_the_limit_new_connections_are_refused_if_all_are_in_use(tmp_path: Path) -> None:
    with WebInProcess("-d", str(tmp_path / "s.db"), "--connections", "10", is_hurried=True) as server:
        streams = [server.connect() for _ in range(10)]
        for wire in streams:
            wire.send(STREAM)
            assert wire.read_head()[0] == 200
        for _ in range(30):
            with server.connect() as wire:
                answer = wire.read()
                assert (answer.status, answer.text) == (503, "All connections are in use. Try again later.")
                assert (answer.header("retry-after"), wire.is_closed()) == ("1", True)
        streams.pop().close()

        def is_served() -> bool:
            with contextlib.suppress(Closed, OSError), server.connect() as wire:
                return wire.ask("POST", "/mcp", *call("list_prompts")).status == 200
            return False

        assert eventually(is_served)
        for wire in streams:  # those who were there before are not touched
            assert wire.read_chunk() == b": still here\n\n"
            wire.close()


def read(id: object = 1) -> bytes:
    return request("POST", "/mcp", *call("list_prompts", id=id))


def write(title: str = "some", size: int = 1, id: object = 1) -> bytes:
    return request("POST", "/mcp", *call("add_prompt", {"title": title, "content": "x" * size}, id=id))


# -- several requests on one connection -----------------------------------------------------------------------------


def test_a_large_request_has_its_whole_time_after_the_one_in_front(server: Server) -> None:
    """While we do not read on, its time stands still."""
    large = write(size=300_000)
    with server.connect() as wire:
        with locked(server.store, "prompts"):
            wire.send(write() + large[:100_000])
            time.sleep(DEADLINE * 1.5)
        wire.send(large[100_000:])
        assert [wire.read().status for _ in range(2)] == [200, 200]


def test_pages_of_a_named_origin_may_read_streams(server: Server) -> None:
    with server.connect() as wire:
        wire.send(STREAM.replace(b"Accept:", b"Origin: %s\r\nAccept:" % ORIGIN.encode(), 1))
        status, headers = wire.read_head()
        assert status == 200
        assert {("access-control-allow-origin", ORIGIN), ("vary", "origin")} <= set(headers)


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


def test_a_connection_that_is_to_be_closed_does_not_wait_for_ever_for_its_client_to_read(server: Server) -> None:
    """Also where what it has not read is little."""
    headers, body = call("add_prompt", {"title": "little", "content": "x" * 14_000})
    prompt = server.ask("POST", "/mcp", headers, body).tool["id"]
    headers, body = call("get_prompt", {"id": prompt})
    asked = request("POST", "/mcp", headers, body)
    base, quiet = open_sockets(server.process.pid), []
    for raw, later in (
        (request("POST", "/mcp", [*headers, ("Connection", "close")], body), b""),
        (asked.replace(b"HTTP/1.1", b"HTTP/1.0", 1), b""),
        (asked + b"GET /health HT", b""),
        (asked, b"\x00\x01 rubbish\r\n\r\n"),
    ):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        client.sendall(raw)
        time.sleep(0.1)
        client.sendall(later)
        quiet.append(client)
    assert eventually(lambda: open_sockets(server.process.pid) <= base)
    for client in quiet:
        client.close()


# -- more clients than there is room for ----------------------------------------------------------------------------


def test_a_frozen_or_killed_worker_delays_no_new_client(tmp_path: Path) -> None:
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
    with WebServer("-d", str(tmp_path / "s.db"), command=[sys.executable, "-c", code, "serve"]) as server:
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


def test_a_pipelined_request_without_its_body_has_the_usual_time(server: Server) -> None:
    with server.connect() as wire:
        wire.send(read() + write()[:-5])
        assert wire.read().status == 200
        assert wire.read().status == 408
        assert wire.is_closed()


def test_a_request_behind_another_is_not_cut_off_by_the_first_byte_of_a_third(server: Server) -> None:
    with server.connect() as wire:
        with locked(server.store, "prompts"):
            wire.send(read(1) + write("second", id=7))
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
