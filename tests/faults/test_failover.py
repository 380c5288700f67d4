"""A primary with a synchronous standby: it is killed under load, and nothing that was acknowledged is lost."""

import ctypes
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest

from satchel.errors import StoreError
from satchel.storage.database import open_database
from tests.faults.writing import Writer
from tests.support.postgres import PostgresServer
from tests.support.process import PATIENCE, eventually
from tests.support.web import HANDSHAKE, JSON, WebServer, Wire, request

ROUNDS = 10
WRITES = 1_000  # acknowledged in each round, at least
WRITERS = 4  # of each server

pytestmark = pytest.mark.soak


class Pair:
    """Two PostgreSQL servers, of which one is the primary and the other its synchronous standby."""

    def __init__(self) -> None:
        self.primary = PostgresServer()
        self.name = self.primary.create()
        self.standby = PostgresServer(standby_of=self.primary)
        folders = f"{self.primary.folder},{self.standby.folder}"
        self.address = f"postgresql://satchel@/{self.name}?host={folders}"

    def fail_over(self) -> float:
        """Kill the primary and promote the standby; when it was promoted."""
        self.primary.kill()
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary
        return time.monotonic()

    def close(self) -> None:
        self.primary.close()
        self.standby.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    pair = Pair()
    yield pair
    pair.close()


class Stream(threading.Thread):
    """A client that listens for changes."""

    def __init__(self, server: WebServer) -> None:
        super().__init__(daemon=True)
        self._wire: Wire = server.connect()
        accept = [("Accept", "text/event-stream"), ("MCP-Protocol-Version", HANDSHAKE)]
        self._wire.send(request("GET", "/mcp/satchel", accept))
        assert self._wire.read_head()[0] == 200
        self.heard = 0
        self.is_closed = False

    def run(self) -> None:
        with suppress(Exception):
            while chunk := self._wire.read_chunk():
                self.heard += chunk.count(b"list_changed")
        self.is_closed = True
        self._wire.close()


def test_a_primary_is_killed_under_load_and_its_standby_promoted(pair: Pair) -> None:
    with WebServer("-c", "tasks", "-d", pair.address) as one, WebServer("-c", "tasks", "-d", pair.address) as other:
        streams = [Stream(one), Stream(other)]
        writers = [Writer(server, f"{number}") for number, server in enumerate([one, other] * WRITERS)]
        for thread in (*streams, *writers):
            thread.start()
        returns = []
        for round in range(ROUNDS):
            if round:
                pair.standby.follow(pair.primary)
            goal = (round + 1) * WRITES
            assert eventually(lambda: sum(len(w.acknowledged) for w in writers) >= goal)  # noqa: B023
            failures = [len(writer.failed) for writer in writers]
            heard = [stream.heard for stream in streams]
            promoted = pair.fail_over()
            # Every writer writes again, and none of them failed more than once.
            assert eventually(lambda: all(max(w.acknowledged.values()) > promoted for w in writers))  # noqa: B023
            firsts = [min(at for at in w.acknowledged.values() if at > promoted) for w in writers]
            returns.append(min(firsts) - promoted)
            assert all(len(w.failed) <= before + 1 for w, before in zip(writers, failures, strict=True))
            # The streams stayed open, and are told that anything may have changed.
            assert eventually(lambda: all(s.heard > h for s, h in zip(streams, heard, strict=True)))  # noqa: B023
            assert not any(stream.is_closed for stream in streams)
        for writer in writers:
            writer.finish()
        assert not any(writer.lost_connections for writer in writers)
        uncertain = (one.stderr + other.stderr).count("lost during the commit")
    for stream in streams:
        stream.join(PATIENCE)
    acknowledged = {title for writer in writers for title in writer.acknowledged}
    failed = [answer for writer in writers for answer in writer.failed]
    with psycopg.connect(pair.primary.url(pair.name)) as connection:
        kept = {title for (title,) in connection.execute("select title from tasks")}
    lost = acknowledged - kept
    print(
        f"{ROUNDS} rounds: {len(acknowledged)} acknowledged, {len(lost)} lost, {len(failed)} failed, {uncertain} "
        f"uncertain; first write after {max(returns):.2f} s at most"
    )
    assert not lost
    assert {answer["code"] for answer in failed} <= {"DATABASE_ERROR"} and len(failed) <= uncertain
    assert len(acknowledged) >= ROUNDS * WRITES
    assert max(returns) < 20  # seconds; on a busy machine much is slow


def test_while_the_standby_is_away_writes_wait_and_reads_do_not(pair: Pair) -> None:
    with WebServer("-c", "tasks", "-d", pair.address) as server, ThreadPoolExecutor(16) as clients:

        def ask(tool: str, **arguments: str) -> int:
            return server.ask("POST", f"/mcp/tool/{tool}", [JSON], json.dumps(arguments).encode()).status

        assert ask("add_task", title="first") == 200
        pair.standby.stop()
        writes = [clients.submit(ask, "add_task", title=f"{number}") for number in range(12)]
        waiting = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'"
        # None of them waits for another one, but for those that count in the same row what their user wrote.
        assert eventually(lambda: pair.primary.execute(waiting)[0][0] > 1)
        assert [ask("list_tasks") for _ in range(20)] == [200] * 20
        assert server.ask("GET", "/health").status == 200
        assert pair.primary.execute(waiting)[0][0] > 1
        pair.standby.start()
        statuses = [write.result(PATIENCE) for write in writes]
        assert 200 in statuses and set(statuses) <= {200, 500}  # a connection is waited for no longer than 10 s
        assert ask("add_task", title="last") == 200


# -- a host that vanishes ---------------------------------------------------------------------------------------


class Road:
    """A way to a PostgreSQL server by TCP, along which from some moment on every packet is dropped."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._incoming: list[socket.socket] = []
        self._outgoing: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def vanish(self) -> None:
        """From now on nothing that comes is even acknowledged, as if there were no such host any more."""
        for one in (self._listening, *self._incoming):
            _drop_all(one)

    def close(self) -> None:
        for one in (self._listening, *self._incoming, *self._outgoing):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                incoming, _ = self._listening.accept()
                outgoing = socket.socket(socket.AF_UNIX)
                outgoing.connect(self._target)
                self._incoming.append(incoming)
                self._outgoing.append(outgoing)
                for source, target in ((incoming, outgoing), (outgoing, incoming)):
                    threading.Thread(target=self._forward, args=(source, target), daemon=True).start()

    @staticmethod
    def _forward(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def _drop_all(one: socket.socket) -> None:
    """Have the kernel drop what comes in for a socket before TCP sees it: a filter that accepts no bytes."""
    program = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # return 0
    filter = struct.pack("HP", 1, ctypes.addressof(program))
    one.setsockopt(socket.SOL_SOCKET, 26, filter)  # SO_ATTACH_FILTER


def test_a_host_that_vanishes_is_noticed_and_another_one_is_found(postgres: PostgresServer) -> None:
    name = postgres.create()
    open_database(postgres.url(name)).close()
    target = str(postgres.folder / ".s.PGSQL.5432")
    first, second = Road(target), Road(target)
    hosts = f"127.0.0.1:{first.port},127.0.0.1:{second.port}"
    database = open_database(f"postgresql://satchel@{hosts}/{name}?sslmode=disable")
    outcomes: list[str] = []

    def work(sql: str) -> None:
        try:
            with database.write() as tx:
                tx.run(sql)
            outcomes.append("done")
        except StoreError as error:
            outcomes.append(type(error).__name__)

    with ThreadPoolExecutor(2) as both:
        list(both.map(work, ["select pg_sleep(0.1)"] * 2))
    assert outcomes == ["done", "done"]
    sleeping = threading.Thread(target=work, args=("select pg_sleep(3600)",))  # what it asked is acknowledged
    sleeping.start()
    asleep = "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()"
    with psycopg.connect(postgres.url(name), autocommit=True) as operator:
        assert eventually(lambda: operator.execute(asleep).fetchone() == (1,))
    begun = time.monotonic()
    first.vanish()
    work("insert into settings values ('a', 'b')")  # on a connection that is idle
    noticed = time.monotonic() - begun
    sleeping.join(PATIENCE)
    slept = time.monotonic() - begun
    work("insert into settings values ('c', 'd')")  # which goes to the other host
    print(f"noticed after {noticed:.1f} s, while a query ran after {slept:.1f} s")
    assert outcomes[2:] == ["StoreConflict", "StoreConflict", "done"]
    assert max(noticed, slept) < PATIENCE
    with database.read() as tx:
        assert tx.all("select name from settings") == [("c",)]
    database.close()
    first.close()
    second.close()
