"""shipping/nginx.conf in front of a server with tokens: two users, a stream, slow clients, and large bodies."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.floods import Token, make_token, read_titles
from tests.support.nginx import HOST, Nginx, find_nginx
from tests.support.process import eventually
from tests.support.threads import in_threads
from tests.support.web import HANDSHAKE, JSON, Answer, WebServer, Wire, call, request, rpc

if find_nginx() is None:
    pytest.skip(
        "THERE IS NO NGINX: shipping/nginx.conf is not tested. tools/nginx installs it.",
        allow_module_level=True,
    )

pytestmark = pytest.mark.process

MAX_BODY = 32 << 20


class Proxied:
    """A server behind nginx, and its two users."""

    def __init__(self, nginx: Nginx, ann: Token, bob: Token) -> None:
        self.nginx, self.ann, self.bob = nginx, ann, bob

    def write(self, user: Token, tool: str, arguments: dict[str, Any] | None = None, size: int = 0) -> bytes:
        """Return the bytes of a call of `tasks`, with blanks behind its body up to a size."""
        headers, body = call(tool, arguments, revision=HANDSHAKE)
        return request("POST", "/mcp/tasks", [("Host", HOST), user.header, *headers], body.ljust(size))

    def ask(self, user: Token, tool: str, arguments: dict[str, Any] | None = None, size: int = 0) -> Answer:
        """Call a tool over a new connection."""
        with self.nginx.connect() as wire:
            wire.send(self.write(user, tool, arguments, size))
            return wire.read()


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    folder: Path = tmp_path_factory.mktemp("nginx")
    store = str(folder / "s.db")
    ann, bob = make_token(store), make_token(store)
    options = ("-d", store, "--auth", "token", "--allow-host", HOST)
    with WebServer(*options) as server, Nginx(folder, server.port) as nginx:
        yield Proxied(nginx, ann, bob)
    assert "[emerg]" not in nginx.log and "[alert]" not in nginx.log, nginx.log


def test_two_users_work_over_https_at_the_same_time(proxied: Proxied) -> None:
    def work(user: Token) -> None:
        with proxied.nginx.connect() as wire:
            for number in range(20):
                wire.send(proxied.write(user, "add_task", {"title": f"{user.user} {number:02}"}))
                assert wire.read().status == 200
            wire.send(proxied.write(user, "list_tasks"))
            assert read_titles(wire.read()) == [f"{user.user} {number:02}" for number in range(20)]

    in_threads(work, [proxied.ann, proxied.bob])
    with proxied.nginx.connect() as wire:
        assert wire.ask("GET", "/health", [("Host", HOST)]).status == 200
        wire.send(request("POST", "/mcp/tasks", [("Host", HOST), *call("list_tasks")[0]], call("list_tasks")[1]))
        assert wire.read().status == 401


def test_changes_arrive_on_a_stream_while_it_is_open(proxied: Proxied) -> None:
    headers, body = rpc("subscriptions/listen", {"notifications": {"promptsListChanged": True}})
    added, prompt = call("add_prompt", {"title": "New", "content": "x"}, revision=HANDSHAKE)
    with proxied.nginx.connect() as stream, proxied.nginx.connect() as wire:
        stream.send(request("POST", "/mcp", [("Host", HOST), proxied.ann.header, *headers], body))
        assert stream.read_head()[0] == 200
        assert read_event(stream) == "notifications/subscriptions/acknowledged"
        wire.send(request("POST", "/mcp", [("Host", HOST), proxied.bob.header, *added], prompt))
        assert wire.read().status == 200
        assert read_event(stream) == "notifications/prompts/list_changed"


def read_event(wire: Wire) -> str:
    """Return the method of the next notification of a stream."""
    while True:
        for line in wire.read_chunk().splitlines():
            if line.startswith(b"data: "):
                method: str = json.loads(line[6:])["method"]
                return method


def test_slow_and_silent_clients_keep_nobody_else_out(proxied: Proxied) -> None:
    silent = [Wire(proxied.nginx.port) for _ in range(300)]  # without as much as a handshake
    slow = [proxied.nginx.connect() for _ in range(20)]
    for number in range(20):
        for wire in slow:
            wire.send(proxied.write(proxied.ann, "list_tasks")[number : number + 1])
        assert proxied.ask(proxied.bob, "list_tasks").status == 200
    for wire in (*silent, *slow):
        wire.close()


def test_bodies_of_32_mib_pass_and_larger_ones_are_refused(proxied: Proxied) -> None:
    titles = read_titles(proxied.ask(proxied.ann, "list_tasks"))
    assert proxied.ask(proxied.ann, "add_task", {"title": "large"}, MAX_BODY).status == 200
    head = proxied.write(proxied.ann, "add_task", {"title": "too large"}, MAX_BODY + 1).partition(b"\r\n\r\n")[0]
    with proxied.nginx.connect() as wire:  # refused by its head
        wire.send(head + b"\r\n\r\n")
        assert wire.read().status == 413
    assert read_titles(proxied.ask(proxied.ann, "list_tasks")) == sorted([*titles, "large"])


def test_an_address_has_only_so_many_requests_at_the_same_time(proxied: Proxied) -> None:
    head = request("POST", "/mcp/tasks", [("Host", HOST), proxied.ann.header, JSON, ("Content-Length", "100")])
    wires = []

    def is_refused() -> bool:
        wires.append(proxied.nginx.connect())
        wires[-1].send(head)
        return len(wires) > 200 and proxied.ask(proxied.bob, "list_tasks").status == 429

    assert eventually(is_refused)
    for wire in wires:
        wire.close()
    assert eventually(lambda: proxied.ask(proxied.bob, "list_tasks").status == 200)
