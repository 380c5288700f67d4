"""The conversation, without any I/O: both generations, malformed input, batches, cancellation, subscriptions."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.protocol import REVISIONS, ClientChange, Connection, Offer, ProtocolError, fit_result
from satchel.protocol.subscriptions import MAX_URI_BYTES, MAX_URIS
from tests.support import official
from tests.support.stdio import META, NEWEST, modern_meta

SERVER = {"name": "s", "version": "1"}
QUIET = Offer(
    server=SERVER, capabilities={"tools": {"listChanged": False}}, methods=frozenset({"tools/list", "tools/call"})
)
LOUD = Offer(
    server=SERVER,
    capabilities={
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "completions": {},
    },
    methods=frozenset(
        {
            *("tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read"),
            *("resources/templates/list", "completion/complete"),
        }
    ),
    instructions="Be kind.",
)


def say(connection: Connection, message: object, result: dict[str, Any] | ProtocolError | None = None) -> list[Any]:
    """Send one message, answer every call in it with one result, and give what comes back."""
    raw = message if isinstance(message, bytes) else json.dumps(message).encode()
    exchange = connection.receive(raw)
    for call in exchange.calls:
        exchange.settle(call, {} if result is None else result)
    return [json.loads(line) for line in exchange.output()]


def request(method: str, params: Any = None, id: Any = 1) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else message | {"params": params}


def modern(method: str, id: Any = 1, **params: Any) -> dict[str, Any]:
    return request(method, {**params, "_meta": modern_meta()}, id)


def agreed(offer: Offer = QUIET, revision: str = "2025-11-25") -> Connection:
    connection = Connection(offer)
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    [answer] = say(connection, request("initialize", params))
    official.check(answer, "initialize", answer["result"]["protocolVersion"])
    return connection


def code(answers: list[Any]) -> int:
    [answer] = answers
    number: int = answer["error"]["code"]
    return number


# -- agreeing on a revision -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "agreed_on"),
    [(date, date) for date in REVISIONS if date != NEWEST]
    + [(NEWEST, "2025-11-25"), ("1999-01-01", "2025-11-25"), ("", "2025-11-25"), ("2027-01-01", "2025-11-25")],
)
def test_initialize_echoes_a_handshake_revision_and_offers_the_newest_for_others(asked: str, agreed_on: str) -> None:
    connection = Connection(LOUD)
    [answer] = say(connection, request("initialize", {"protocolVersion": asked, "capabilities": {}}))
    assert answer == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "protocolVersion": agreed_on,
            "capabilities": LOUD.capabilities,
            "instructions": "Be kind.",
            "serverInfo": SERVER,
        },
    }


@pytest.mark.parametrize(
    "params", [None, {}, {"protocolVersion": 5}, {"protocolVersion": "2025-11-25", "clientInfo": 1}]
)
def test_a_wrong_initialize_is_refused(params: Any) -> None:
    assert code(say(Connection(QUIET), request("initialize", params))) == -32602


def test_before_initialize_only_ping_is_answered() -> None:
    connection = Connection(QUIET)
    assert say(connection, request("ping")) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    for method in ("tools/list", "tools/call", "server/discover", "nope", "resources/subscribe"):
        assert code(say(connection, request(method, {"name": "x"}))) == -32602
    assert code(say(connection, request("tools/list", {"_meta": {"progressToken": 1}}))) == -32602


def test_both_generations_interleave_on_one_connection() -> None:
    connection = agreed(revision="2024-11-05")
    old, new = request("tools/list"), modern("tools/list")
    for _ in range(2):
        assert say(connection, old, {"tools": []}) == [{"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}]
        [answer] = say(connection, new, {"tools": []})
        assert answer["result"]["resultType"] == "complete"
    assert say(connection, request("ping")) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    assert code(say(connection, modern("ping"))) == -32601


def test_per_request_metadata_is_all_or_nothing() -> None:
    connection = Connection(QUIET)
    version, capabilities, client = (f"{META}{key}" for key in ("protocolVersion", "clientCapabilities", "clientInfo"))
    incomplete: tuple[Any, ...] = (
        {capabilities: {}},
        {client: {"name": "c", "version": "1"}},
        {version: NEWEST},
        {version: NEWEST, capabilities: None},
        {version: NEWEST, capabilities: []},
        {version: 5, capabilities: {}},
        {version: NEWEST, capabilities: {}, client: "c"},
        [],
        "x",
    )
    for meta in incomplete:
        assert code(say(connection, request("tools/list", {"_meta": meta}))) == -32602, meta
    [answer] = say(connection, request("tools/list", {"_meta": {version: NEWEST, capabilities: {}}}), {"tools": []})
    assert "result" in answer


@pytest.mark.parametrize("version", ["2025-11-25", "2024-11-05", "1900-01-01", "", "2026-07-29"])
def test_an_unknown_version_is_answered_with_the_supported_ones(version: str) -> None:
    [answer] = say(Connection(QUIET), request("tools/list", {"_meta": modern_meta(version)}))
    assert answer == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {
            "code": -32022,
            "message": "Unsupported protocol version",
            "data": {"supported": [NEWEST], "requested": version},
        },
    }
    official.check(answer, "tools/list", NEWEST)


def test_discover_needs_no_handshake() -> None:
    [answer] = say(Connection(LOUD), modern("server/discover"))
    assert answer["result"] == {
        "resultType": "complete",
        "supportedVersions": [NEWEST],
        "capabilities": LOUD.capabilities,
        "instructions": "Be kind.",
        "_meta": {f"{META}serverInfo": SERVER},
        "ttlMs": 0,
        "cacheScope": "private",
    }
    official.check(answer, "server/discover", NEWEST)


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "nope"])
def test_the_newest_revision_has_no_such_method(method: str) -> None:
    assert code(say(Connection(LOUD), modern(method, uri="x", protocolVersion=NEWEST))) == -32601


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen", "logging/setLevel", "nope"])
def test_the_handshake_revisions_have_no_such_method(method: str) -> None:
    assert code(say(agreed(LOUD), request(method, {"notifications": {}}))) == -32601


def test_methods_that_were_not_offered_do_not_exist() -> None:
    for method in ("prompts/list", "resources/read", "completion/complete", "resources/subscribe"):
        assert code(say(agreed(), request(method, {}))) == -32601


# -- results ----------------------------------------------------------------------------------------------------

RESULTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "tools/list": ({}, {"tools": []}),
    "tools/call": ({"name": "t"}, {"content": [], "structuredContent": {}, "isError": False}),
    "prompts/list": ({}, {"prompts": []}),
    "prompts/get": ({"name": "p"}, {"messages": []}),
    "resources/list": ({}, {"resources": []}),
    "resources/templates/list": ({}, {"resourceTemplates": []}),
    "resources/read": ({"uri": "x:y"}, {"contents": []}),
    "completion/complete": (
        {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}},
        {"completion": {"values": []}},
    ),
}


@pytest.mark.parametrize("method", RESULTS)
@pytest.mark.parametrize("revision", REVISIONS)
def test_every_result_has_the_members_of_its_revision(method: str, revision: str) -> None:
    params, result = RESULTS[method]
    if revision == NEWEST:
        [answer] = say(Connection(LOUD), modern(method, **params), result)
        extra: dict[str, Any] = {"resultType": "complete", "_meta": {f"{META}serverInfo": SERVER}}
        if method not in ("tools/call", "prompts/get", "completion/complete"):
            extra |= {"ttlMs": 0, "cacheScope": "private"}
        assert answer["result"] == result | extra
    else:
        result = fit_result(REVISIONS[revision], result)  # as the application does before it encodes its answer
        [answer] = say(agreed(LOUD, revision), request(method, params), result)
        assert answer["result"] == result
    official.check(answer, method, revision)


def test_an_error_of_the_application_reaches_the_client_whole() -> None:
    error = ProtocolError(-32601, "Method not found", {"details": "Prompt not found: a:b"})
    [answer] = say(Connection(LOUD), modern("prompts/get", name="a:b"), error)
    assert answer["error"] == {
        "code": -32601,
        "message": "Method not found",
        "data": {"details": "Prompt not found: a:b"},
    }


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {}),
        ("tools/call", {"name": 5}),
        ("tools/call", {"name": "t", "arguments": []}),
        ("tools/call", {"name": "t", "arguments": "x"}),
        ("prompts/get", {"name": "p", "arguments": {"a": 5}}),
        ("prompts/get", {"arguments": {}}),
        ("prompts/list", {"cursor": 5}),
        ("resources/read", {}),
        ("resources/read", {"uri": None}),
        ("resources/read", {"uri": "x:\0"}),
        ("prompts/get", {"name": "\ud800"}),
        ("prompts/get", {"name": "p", "arguments": {"a": "\udfff"}}),
        ("tools/call", {"name": "a\0"}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": {"type": "x"}, "argument": {"name": "a", "value": ""}}),
        ("completion/complete", {"ref": {"type": "ref/prompt"}, "argument": {"name": "a", "value": ""}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a"}}),
    ],
)
def test_wrong_parameters_are_invalid_params(method: str, params: dict[str, Any]) -> None:
    assert code(say(agreed(LOUD), request(method, params))) == -32602
    assert code(say(Connection(LOUD), modern(method, **params))) == -32602


def test_absent_and_null_arguments_are_empty() -> None:
    for params in ({"name": "t"}, {"name": "t", "arguments": None}):
        [call] = agreed().receive(json.dumps(request("tools/call", params)).encode()).calls
        assert call.params["arguments"] == {}


# -- malformed input --------------------------------------------------------------------------------------------

NOT_REQUESTS: list[tuple[Any, Any]] = [
    ({"id": 1, "method": "ping"}, 1),
    ({"jsonrpc": "1.0", "id": "a", "method": "ping"}, "a"),
    ({"jsonrpc": 2.0, "id": 1, "method": "ping"}, 1),
    ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
    ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
    ({"jsonrpc": "2.0", "id": 1.0, "method": "ping"}, None),
    ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
    ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, None),
    ({"jsonrpc": "2.0", "id": 1, "method": 5}, 1),
    ({"jsonrpc": "2.0", "id": 1}, 1),
    ({"jsonrpc": "2.0", "id": 1, "method": None}, 1),
    ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, 1),
    ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": "x"}, 1),
    ({"jsonrpc": "2.0", "method": "ping", "params": []}, None),
    ({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}, 1),
    ({}, None),
    (5, None),
    ("x", None),
    (None, None),
    ([], None),
]


@pytest.mark.parametrize(("message", "id"), NOT_REQUESTS)
def test_a_malformed_request_is_rejected_with_its_id_if_readable(message: Any, id: Any) -> None:
    for connection in (Connection(QUIET), agreed(), agreed(revision="2025-06-18")):
        [answer] = say(connection, message)
        assert answer["error"]["code"] == -32600 and answer["error"]["message"] == "Invalid request"
        has_null = connection.revision is not None and connection.revision.date == "2025-06-18"
        if id is None and not has_null:
            assert "id" not in answer
        else:
            assert answer["id"] == id


@pytest.mark.parametrize("digits", [401, 5000])
def test_an_id_of_very_many_digits_is_refused_and_no_other_is_echoed(digits: int) -> None:
    raw = b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % (b"9" * digits)
    [answer] = map(json.loads, agreed().receive(raw).output())
    assert answer == {
        "jsonrpc": "2.0",
        "error": {
            "code": -32600,
            "message": "Invalid request",
            "data": {"details": "id must be a string or an integer of at most 400 digits"},
        },
    }


@pytest.mark.parametrize(("revision", "id"), [("2024-11-05", "null"), ("2025-03-26", "null"), ("2025-11-25", "none")])
def test_bad_json_is_a_parse_error_with_null_or_no_id(revision: str, id: str) -> None:
    [answer] = say(agreed(revision=revision), b"{nope")
    expected = {"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}}
    assert answer == (expected | {"id": None} if id == "null" else expected)


def test_nesting_too_deep_is_a_parse_error_that_keeps_the_id() -> None:
    deep = b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":' + b"[" * 70 + b"]" * 70 + b"}}"
    [answer] = say(Connection(QUIET), deep)
    assert (answer["id"], answer["error"]["code"]) == (9, -32700)


def test_responses_and_unknown_notifications_are_ignored() -> None:
    for message in (
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "x"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/nope", "params": {"x": 1}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
    ):
        assert say(agreed(), message) == []


MEMBERS = st.sampled_from(
    [None, True, 1, 1.5, "x", "2.0", "ping", "tools/call", "subscriptions/listen", [], {}, {"_meta": modern_meta()}]
)


@given(st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]), MEMBERS))
def test_every_mixture_with_an_id_gets_exactly_one_answer(message: dict[str, Any]) -> None:
    message = message | {"id": 5}
    answers = say(Connection(LOUD), message)
    is_response = "method" not in message and ("result" in message) != ("error" in message)
    if message.get("jsonrpc") == "2.0" and is_response:
        assert answers == []
    else:
        assert len(answers) == 1


# -- batches ----------------------------------------------------------------------------------------------------


def test_batches_belong_to_2025_03_26_alone() -> None:
    batch = [request("ping", id=1), request("ping", id=2)]
    for connection in (Connection(QUIET), *(agreed(revision=date) for date in REVISIONS if date != NEWEST)):
        [answer] = say(connection, batch)
        if connection.revision is not None and connection.revision.date == "2025-03-26":
            assert answer == [{"jsonrpc": "2.0", "id": number, "result": {}} for number in (1, 2)]
        else:
            assert answer["error"]["code"] == -32600


def test_a_batch_is_answered_part_by_part_in_one_array() -> None:
    connection = agreed(revision="2025-03-26")
    [answer] = say(
        connection,
        [
            request("tools/list", id=1),
            {"jsonrpc": "2.0", "method": "notifications/x"},
            5,
            request("nope", id="b"),
            request("initialize", {"protocolVersion": "2025-03-26"}, id=4),
            modern("tools/list", id=5),
        ],
        {"tools": []},
    )
    assert [(part.get("id"), part.get("error", {}).get("code")) for part in answer] == [
        (1, None),
        (None, -32600),
        ("b", -32601),
        (4, -32600),
        (5, -32600),
    ]
    assert say(connection, [{"jsonrpc": "2.0", "method": "notifications/x"}]) == []
    assert code(say(connection, [])) == -32600


# -- cancellation and progress ----------------------------------------------------------------------------------


def test_a_request_cancelled_before_its_turn_is_never_answered() -> None:
    connection = Connection(QUIET)
    first = connection.receive(json.dumps(modern("tools/list", id=1)).encode())
    second = connection.receive(json.dumps(modern("tools/list", id=2)).encode())
    assert say(connection, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}) == []
    assert [call.id for call in first.calls] == [1]
    assert second.calls == [] and second.output() == []


def test_progress_goes_to_requests_with_a_progress_token() -> None:
    connection = Connection(QUIET)
    meta = modern_meta() | {"progressToken": "p"}
    [call] = connection.receive(json.dumps(request("tools/call", {"name": "t", "_meta": meta})).encode()).calls
    [line] = connection.report_progress(call, 1, 2, "half")
    message = json.loads(line)
    assert message == {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": "p", "progress": 1, "total": 2, "message": "half"},
    }
    official.check(message, None, NEWEST)
    [quiet] = connection.receive(json.dumps(modern("tools/call", name="t")).encode()).calls
    assert connection.report_progress(quiet, 1) == []


# -- subscriptions ----------------------------------------------------------------------------------------------


def announced(connection: Connection, change: ClientChange) -> list[Any]:
    return [json.loads(line) for line in connection.announce(change)]


def test_a_subscription_is_acknowledged_and_then_served_with_its_tag() -> None:
    connection = Connection(LOUD)
    wish = {"promptsListChanged": True, "toolsListChanged": False, "resourceSubscriptions": ["a:b"]}
    [acknowledged] = say(connection, modern("subscriptions/listen", id="s", notifications=wish))
    tag = {"_meta": {f"{META}subscriptionId": "s"}}
    assert acknowledged == {
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"notifications": {"promptsListChanged": True, "resourceSubscriptions": ["a:b"]}} | tag,
    }
    official.check(acknowledged, None, NEWEST)
    [changed] = announced(connection, ClientChange("prompts"))
    assert changed == {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed", "params": tag}
    official.check(changed, None, NEWEST)
    [updated] = announced(connection, ClientChange("resource", "a:b"))
    assert updated["params"] == {"uri": "a:b"} | tag
    assert announced(connection, ClientChange("tools")) == []
    assert announced(connection, ClientChange("resource", "a:c")) == []


def test_only_what_the_server_announces_is_honoured() -> None:
    wish = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["a:b"]}
    connection = Connection(QUIET)
    [acknowledged] = say(connection, modern("subscriptions/listen", notifications=wish))
    assert acknowledged["params"]["notifications"] == {}
    assert announced(connection, ClientChange("tools")) == []


@pytest.mark.parametrize("wish", [None, [], {"toolsListChanged": "yes"}, {"resourceSubscriptions": [1]}])
def test_a_malformed_subscription_is_rejected(wish: Any) -> None:
    assert code(say(Connection(LOUD), modern("subscriptions/listen", notifications=wish))) == -32602


def test_a_subscription_ends_when_its_client_cancels_it() -> None:
    connection = Connection(LOUD)
    for id in (1, 2):
        say(connection, modern("subscriptions/listen", id=id, notifications={"toolsListChanged": True}))
    assert len(announced(connection, ClientChange("tools"))) == 2
    say(connection, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    [left] = announced(connection, ClientChange("tools"))
    assert left["params"]["_meta"] == {f"{META}subscriptionId": 2}


def test_a_subscription_cancelled_before_its_acknowledgement_is_never_opened() -> None:
    connection = Connection(LOUD)
    wish = modern("subscriptions/listen", notifications={"toolsListChanged": True})
    exchange = connection.receive(json.dumps(wish).encode())
    say(connection, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert exchange.output() == [] and announced(connection, ClientChange("tools")) == []


def test_an_id_in_use_by_a_subscription_is_refused() -> None:
    connection = Connection(LOUD)
    wish = modern("subscriptions/listen", notifications={})
    say(connection, wish)
    assert code(say(connection, wish)) == -32600


def test_closing_a_connection_answers_its_subscriptions() -> None:
    connection = Connection(LOUD)
    say(connection, modern("subscriptions/listen", id="s", notifications={}))
    [line] = connection.close()
    answer = json.loads(line)
    assert answer["id"] == "s"
    assert answer["result"] == {
        "resultType": "complete",
        "_meta": {f"{META}subscriptionId": "s", f"{META}serverInfo": SERVER},
    }
    official.check(answer, "subscriptions/listen", NEWEST)
    assert connection.close() == []


def test_the_resources_of_all_subscriptions_are_bounded() -> None:
    uris = [f"satchel://resource/some-name-of-usual-length-{number}" for number in range(MAX_URIS)]
    details = f"at most {MAX_URIS} resources are subscribed to, with URIs of {MAX_URI_BYTES} bytes in all"
    for too_many in ([*uris, "a:b"], ["x:" + "y" * MAX_URI_BYTES]):
        [refused] = say(
            Connection(LOUD), modern("subscriptions/listen", notifications={"resourceSubscriptions": too_many})
        )
        assert refused["error"]["code"] == -32602 and details in str(refused["error"])
    connection = agreed(LOUD)
    for uri in uris:
        assert say(connection, request("resources/subscribe", {"uri": uri}))[0]["result"] == {}
    [refused] = say(connection, request("resources/subscribe", {"uri": "a:b"}))
    assert refused["error"]["code"] == -32602 and details in str(refused["error"])
    assert say(connection, request("resources/unsubscribe", {"uri": uris[0]}))[0]["result"] == {}
    assert say(connection, request("resources/subscribe", {"uri": "a:b"}))[0]["result"] == {}


def test_everything_becomes_one_message_per_list_and_one_per_resource_without_a_list() -> None:
    everything = ClientChange("everything")
    lists = {"promptsListChanged": True, "resourcesListChanged": True}
    for wish, methods in (
        ({**lists, "resourceSubscriptions": ["a:b"]}, ["prompts/list_changed", "resources/list_changed"]),
        ({"resourceSubscriptions": ["a:b", "a:c"]}, ["resources/updated"] * 2),
    ):
        connection = Connection(LOUD)
        say(connection, modern("subscriptions/listen", notifications=wish))
        assert [one["method"].removeprefix("notifications/") for one in announced(connection, everything)] == methods
    methods = ["tools/list_changed", "prompts/list_changed", "resources/list_changed"]
    old = announced(agreed(LOUD), everything)
    assert [one["method"].removeprefix("notifications/") for one in old] == methods


def test_handshake_clients_are_notified_without_a_subscription_id() -> None:
    connection = agreed(LOUD)
    assert announced(connection, ClientChange("prompts")) == [
        {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}
    ]
    assert announced(connection, ClientChange("resource", "a:b")) == []
    say(connection, request("resources/subscribe", {"uri": "a:b"}))
    assert announced(connection, ClientChange("resource", "a:b")) == [
        {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "a:b"}}
    ]
    say(connection, request("resources/unsubscribe", {"uri": "a:b"}))
    assert announced(connection, ClientChange("resource", "a:b")) == []
    assert announced(Connection(LOUD), ClientChange("prompts")) == []
    assert announced(agreed(QUIET), ClientChange("tools")) == []
