"""Bounds on streams: URIs of a subscription, streams of a user. Each stream keeps little memory."""

import json
from collections.abc import Callable, Iterator

import pytest

from satchel.protocol import REVISIONS, ClientChange, Connection, Offer
from satchel.protocol.subscriptions import MAX_URI_BYTES, MAX_URIS
from satchel.transports.http.streams import MAX_STREAMS_PER_USER
from tests.attacks.floods import MAX_MEMORY_MB, PeakMemory, QuietUser, Token, make_token, many_wires
from tests.support.soak import amount
from tests.support.stdio import NEWEST, Server, modern_meta
from tests.support.web import WebServer, Wire, call, request, rpc

TOO_MANY = f"at most {MAX_URIS} resources are subscribed to, with URIs of {MAX_URI_BYTES} bytes in all"
URIS = [f"satchel://resource/some-name-of-usual-length-{number}" for number in range(MAX_URIS)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("streams") / "s.db")


@pytest.fixture(scope="module")
def reader(store: str) -> Token:
    return make_token(store, is_read_only=True)


@pytest.fixture(scope="module")
def server(store: str, reader: Token) -> Iterator[WebServer]:
    with WebServer("-d", store, "--auth", "token") as server:
        yield server


def listen(token: Token, uris: list[str], **more: bool) -> bytes:
    headers, body = rpc("subscriptions/listen", {"notifications": {"resourceSubscriptions": uris, **more}})
    return request("POST", "/mcp", [token.header, *headers], body)


def read_events(wire: Wire, count: int) -> list[str]:
    """Return the methods of the next notifications of a stream."""
    methods: list[str] = []
    while len(methods) < count:
        for line in wire.read_chunk().splitlines():
            if line.startswith(b"data: "):
                methods.append(json.loads(line[6:])["method"].removeprefix("notifications/"))
    return methods


@pytest.mark.parametrize("uris", [[*URIS, "satchel://one-more"], ["x:" + "y" * MAX_URI_BYTES]], ids=["many", "long"])
def test_a_subscription_names_a_bounded_number_of_uris(server: WebServer, reader: Token, uris: list[str]) -> None:
    with server.connect() as wire:
        wire.send(listen(reader, uris))
        answer = wire.read()
        assert (answer.status, answer.json["error"]["code"]) == (400, -32602)
        assert TOO_MANY in json.dumps(answer.json["error"])
        wire.send(listen(reader, URIS))
        assert wire.read_head()[0] == 200
        assert read_events(wire, 1) == ["subscriptions/acknowledged"]


def test_a_client_of_the_handshake_generation_subscribes_to_as_many(store: str, serve: Callable[..., Server]) -> None:
    client = serve("satchel", store, "2025-11-25")
    for uri in URIS:
        assert client.request("resources/subscribe", {"uri": uri})["result"] == {}
    refused = client.request("resources/subscribe", {"uri": "satchel://one-more"})["error"]
    assert refused["code"] == -32602 and TOO_MANY in json.dumps(refused)
    assert client.request("resources/subscribe", {"uri": URIS[0]})["result"] == {}
    assert client.request("resources/unsubscribe", {"uri": URIS[0]})["result"] == {}
    assert client.request("resources/subscribe", {"uri": "satchel://one-more"})["result"] == {}


def test_the_streams_of_a_user_are_bounded_and_keep_little_memory(server: WebServer, store: str, reader: Token) -> None:
    peak = PeakMemory(server.process.pid)
    ada = make_token(store)
    with QuietUser(server.port, make_token(store)), many_wires(server.port, MAX_STREAMS_PER_USER) as wires:
        for wire in wires:
            wire.send(listen(reader, URIS))
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
            headers, body = call("add_prompt", {"title": f"T{number}", "content": "x"})
            assert server.ask("POST", "/mcp", [ada.header, *headers], body).status == 200
    assert peak.mb <= MAX_MEMORY_MB


OFFER = Offer(
    server={"name": "s", "version": "1"},
    capabilities={
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
    },
    methods=frozenset(),
)


def subscribed(uris: list[str], **lists: bool) -> Connection:
    connection = Connection(OFFER)
    params = {"notifications": {"resourceSubscriptions": uris, **lists}, "_meta": modern_meta(NEWEST)}
    message = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    assert connection.receive(json.dumps(message).encode()).output()
    return connection


def announced(connection: Connection) -> list[str]:
    messages = connection.announce(ClientChange("everything"))
    return [json.loads(message)["method"].removeprefix("notifications/") for message in messages]


def test_everything_is_one_message_for_each_list() -> None:
    both = subscribed(URIS, promptsListChanged=True, resourcesListChanged=True)
    assert announced(both) == ["prompts/list_changed", "resources/list_changed"]
    old = Connection(OFFER, REVISIONS["2025-11-25"])
    assert announced(old) == ["tools/list_changed", "prompts/list_changed", "resources/list_changed"]


def test_a_client_that_did_not_ask_for_lists_hears_of_each_resource_that_it_named() -> None:
    assert announced(subscribed(URIS[:3])) == ["resources/updated"] * 3
