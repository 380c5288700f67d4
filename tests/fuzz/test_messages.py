"""Malformed messages and mutations of good ones, over stdio and HTTP: the process goes on, and every id is answered."""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.corpus import UNREADABLE, corpus, good_messages, mutate, readable_id
from tests.support.every_call import fill_store
from tests.support.process import TIMEOUT, memory_mb
from tests.support.runners import ADA
from tests.support.soak import amount
from tests.support.stdio import Server, modern_meta
from tests.support.web import WebServer

MUTATIONS = amount(1_500, 100_000)  # over stdio, and as many over HTTP: 200,000
GROUP = 50  # lines that are sent together
GROWTH = 64.0  # MB of memory that a server may gain

Deliver = Callable[[list[bytes]], list[Any]]  # sends some messages and a ping; gives the answers to them


@pytest.fixture
def store(sqlite_template: Path, tmp_path: Path) -> str:
    path = str(shutil.copy(sqlite_template, tmp_path / "filled.db"))
    fill_store(path)
    return path


@pytest.fixture(params=["stdio", "http"])
def served(request: pytest.FixtureRequest, store: str) -> Iterator[tuple[Deliver, int]]:
    """A server: how messages are delivered to it, and its process."""
    arguments = ("--contract", "satchel", "--database", store, "--user", ADA)
    if request.param == "stdio":
        server = Server(*arguments)
        yield by_line(server), server.process.pid
        assert server.close() == 0
        assert "surprise in" not in server.stderr, server.stderr
    else:
        with WebServer(*arguments) as web, closing(HTTPConnection("127.0.0.1", web.port, timeout=TIMEOUT)) as line:
            yield by_http(line), web.process.pid


def by_line(server: Server) -> Deliver:
    count = 0

    def deliver(lines: list[bytes]) -> list[Any]:
        nonlocal count
        count += 1
        ping, last = f"ping-{count}", f"last-{count}"
        # A ping is answered beside a call that takes long; what needs the store is answered in order.
        in_order: dict[str, Any] = {"method": "resources/templates/list", "params": {"_meta": modern_meta()}}
        messages: list[dict[str, Any]] = [{"id": ping, "method": "ping"}, {"id": last, **in_order}]
        ends = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
        server.send_line(b"\n".join([*lines, *ends]))
        answers: list[Any] = []
        while True:
            arrived = server._arrived.get(timeout=TIMEOUT)
            assert isinstance(arrived, bytes), f"the server has ended: {server.stderr[-2000:]}"
            answer = json.loads(arrived)
            if isinstance(answer, dict) and answer.get("id") == last:
                assert any(isinstance(one, dict) and one.get("id") == ping for one in answers)
                return answers
            answers.append(answer)

    return deliver


def by_http(connection: HTTPConnection) -> Deliver:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }

    def send(body: bytes) -> tuple[int, bytes]:
        connection.request("POST", "/mcp", body, headers)
        response = connection.getresponse()
        return response.status, response.read()

    def deliver(lines: list[bytes]) -> list[Any]:
        answers = []
        for line in lines:
            status, body = send(line)
            assert status in (200, 202, 400, 404, 413), (status, line[:500], body[:500])
            if body:
                answers.append(json.loads(body.rpartition(b"data: ")[2]))
        ping = json.dumps({"jsonrpc": "2.0", "id": "ping", "method": "ping"}).encode()
        status, body = send(ping)
        assert (status, json.loads(body)["id"]) == (200, "ping")
        return answers

    return deliver


def check(sent: list[bytes], answers: list[Any]) -> None:
    """Every id that can be read is answered, and nothing is an internal error."""
    flat = [one for answer in answers for one in (answer if isinstance(answer, list) else [answer])]
    answered = {json.dumps(one.get("id")) for one in flat}
    for raw in sent:
        id = readable_id(raw)
        assert id is UNREADABLE or json.dumps(id) in answered, (raw[:2000], answers[:5])
    for one in flat:
        assert one.get("error", {}).get("code") != -32603, (sent, one)
        assert '"internal"' not in json.dumps(one), (sent, one)


def test_malformed_messages_are_answered_and_the_server_goes_on(served: tuple[Deliver, int]) -> None:
    deliver, pid = served
    deliver([])
    before = memory_mb(pid)
    for name, raw in corpus().items():
        check([raw], deliver([raw]))
        assert Path(f"/proc/{pid}").exists(), name
    assert memory_mb(pid) - before < GROWTH


@pytest.mark.timeout(7200)
def test_mutations_are_answered_and_the_server_goes_on(served: tuple[Deliver, int]) -> None:
    deliver, pid = served
    deliver([])
    dice, good = random.Random(23), good_messages()
    others = [json.dumps(one, ensure_ascii=False).encode() for one in good] + list(corpus().values())[:100]
    before = memory_mb(pid)
    for start in range(0, MUTATIONS, GROUP):
        sent = []
        for number in range(start, start + GROUP):
            message = {**dice.choice(good), "id": number}
            sent.append(mutate(json.dumps(message, ensure_ascii=False).encode(), others, dice))
        sent = [raw for raw in sent if raw.strip()]
        check(sent, deliver(sent))
    assert memory_mb(pid) - before < GROWTH
