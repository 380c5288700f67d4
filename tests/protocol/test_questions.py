"""Questions to the user in the middle of a call, without any I/O: asked once, answered, withdrawn, given up."""

import json
from time import monotonic
from typing import Any

import pytest

from satchel.protocol import NEWEST, REVISIONS, Call, Connection, make_question
from satchel.protocol.questions import ANSWER_TIMEOUT, MAX_OPEN
from satchel.protocol.revisions import fit_result
from tests.protocol.test_connection import QUIET, request
from tests.support import official
from tests.support.stdio import CLIENT, META, modern_meta

PARAMS = {"name": "delete", "arguments": {"items": ["a", "b"]}}
KEY = make_question(PARAMS, "Delete 2 things?").key
FORM = {"message": "Delete 2 things?", "requestedSchema": {"type": "object", "properties": {}}}
ASKED = {"method": "elicitation/create", "params": FORM}


def run(call: Call) -> dict[str, Any]:
    """Return a tool that wants a confirmation, and answers with what the user said."""
    question = make_question(call.params, "Delete 2 things?")
    action = call.answers.get(question.key) if call.can_ask else "not asked"
    return question.result if action is None else {"content": [{"type": "text", "text": action}], "isError": False}


def say(connection: Connection, message: object) -> list[Any]:
    exchange = connection.receive(json.dumps(message).encode())
    for call in exchange.calls:
        exchange.settle(call, run(call))
    return [json.loads(line) for line in exchange.output()]


def agreed(capabilities: dict[str, Any], revision: str = "2025-11-25") -> Connection:
    connection = Connection(QUIET)
    say(
        connection,
        request("initialize", {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": CLIENT}),
    )
    return connection


def modern(capabilities: dict[str, Any], id: object = 1, **more: Any) -> dict[str, Any]:
    meta = {**modern_meta(), f"{META}clientCapabilities": capabilities}
    return request("tools/call", {**PARAMS, **more, "_meta": meta}, id)


def answer(id: object, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def text(messages: list[Any], id: object = 1) -> str:
    [message] = messages
    assert message["id"] == id
    official.check(message, "tools/call", "2025-11-25" if "_meta" not in message["result"] else "2026-07-28")
    said: str = message["result"]["content"][0]["text"]
    return said


# -- the handshake generation ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_the_client_is_asked_and_its_answer_finishes_the_call(revision: str, action: str) -> None:
    connection = agreed({"elicitation": {}}, revision)
    [asked] = say(connection, request("tools/call", PARAMS))
    assert asked == {"jsonrpc": "2.0", "id": "question-1", **ASKED}
    official.check(asked, None, revision)
    assert text(say(connection, answer("question-1", action=action, content={}))) == action
    assert say(connection, answer("question-1", action="accept")) == []  # it was answered


def test_other_requests_are_answered_while_a_question_is_open() -> None:
    connection = agreed({"elicitation": {"form": {}}})
    say(connection, request("tools/call", PARAMS))
    assert say(connection, request("ping", {}, 2)) == [{"jsonrpc": "2.0", "id": 2, "result": {}}]
    [second] = say(connection, request("tools/call", PARAMS, 3))
    assert second["id"] == "question-2"
    assert text(say(connection, answer("question-2", action="decline")), 3) == "decline"
    assert text(say(connection, answer("question-1", action="accept"))) == "accept"


@pytest.mark.parametrize(
    ("capabilities", "revision"),
    [
        ({}, "2025-11-25"),
        ({"elicitation": {"url": {}}}, "2025-11-25"),
        ({"elicitation": True}, "2025-11-25"),
        ({"elicitation": None}, "2025-06-18"),
        ({"elicitation": {}}, "2025-03-26"),
        ({"elicitation": {}}, "2024-11-05"),
    ],
)
def test_a_client_that_cannot_ask_is_not_asked(capabilities: dict[str, Any], revision: str) -> None:
    assert text(say(agreed(capabilities, revision), request("tools/call", PARAMS))) == "not asked"


@pytest.mark.parametrize(
    "unclear",
    [
        {"jsonrpc": "2.0", "id": "question-1", "error": {"code": -32601, "message": "Method not found"}},
        answer("question-1"),
        answer("question-1", action="perhaps"),
        answer("question-1", action=["accept"]),
        {"jsonrpc": "2.0", "id": "question-1", "result": "accept"},
        {"jsonrpc": "2.0", "id": "question-1"},
    ],
)
def test_an_empty_answer_is_no_consent(unclear: dict[str, Any]) -> None:
    connection = agreed({"elicitation": {}})
    say(connection, request("tools/call", PARAMS))
    assert text(say(connection, unclear)) == "cancel"


def test_an_answer_to_nothing_that_was_asked_is_ignored() -> None:
    connection = agreed({"elicitation": {}})
    say(connection, request("tools/call", PARAMS))
    for stranger in (answer("question-9", action="accept"), answer(1, action="accept"), answer(None, action="accept")):
        assert say(connection, stranger) == []
    assert say(connection, {"jsonrpc": "2.0", "id": ["question-1"], "result": {"action": "accept"}}) == []
    assert text(say(connection, answer("question-1", action="accept"))) == "accept"


def test_cancelling_the_call_withdraws_its_question() -> None:
    connection = agreed({"elicitation": {}})
    say(connection, request("tools/call", PARAMS))
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    [withdrawn] = say(connection, cancelled)
    assert withdrawn == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": "question-1"},
    }
    official.check(withdrawn, None, "2025-11-25")
    assert connection.questions.deadline is None
    assert say(connection, answer("question-1", action="accept")) == []


def test_a_question_that_waits_too_long_is_withdrawn_and_its_call_not_done() -> None:
    connection = agreed({"elicitation": {}})
    before = monotonic()
    say(connection, request("tools/call", PARAMS))
    deadline = connection.questions.deadline
    assert deadline is not None and before + ANSWER_TIMEOUT <= deadline <= monotonic() + ANSWER_TIMEOUT
    assert connection.questions.give_up(deadline - 1) == []
    [exchange] = connection.questions.give_up(deadline)
    [call] = exchange.calls
    exchange.settle(call, run(call))
    withdrawn, *last = [json.loads(line) for line in exchange.output()]
    assert withdrawn["params"] == {"requestId": "question-1"}
    assert text(last) == "cancel"
    assert connection.questions.deadline is None and connection.questions.give_up() == []


def test_the_questions_of_a_client_are_bounded() -> None:
    connection = agreed({"elicitation": {}})
    for number in range(MAX_OPEN):
        [asked] = say(connection, request("tools/call", PARAMS, number))
        assert asked["method"] == "elicitation/create"
    [refused] = say(connection, request("tools/call", PARAMS, "last"))
    assert refused["error"] == {"code": -32603, "message": "Too many questions to the user are open"}
    assert len(connection.questions.give_up()) == MAX_OPEN


# -- the per-request generation ---------------------------------------------------------------------------------


def test_the_result_is_a_question_and_the_call_sent_again_answers_it() -> None:
    connection = Connection(QUIET)
    [asked] = say(connection, modern({"elicitation": {}}))
    assert asked["result"] == {
        "resultType": "input_required",
        "inputRequests": {KEY: ASKED},
        "_meta": {f"{META}serverInfo": QUIET.server},
    }
    official.check(asked, "tools/call", "2026-07-28")
    for action in ("accept", "decline", "cancel"):
        again = modern({"elicitation": {"form": {}}}, 2, inputResponses={KEY: {"action": action, "content": {}}})
        assert text(say(connection, again), 2) == action


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"elicitation": []}])
def test_without_the_capability_the_call_is_just_run(capabilities: dict[str, Any]) -> None:
    assert text(say(Connection(QUIET), modern(capabilities))) == "not asked"


def test_an_answer_to_another_question_is_asked_again() -> None:
    connection, asks = Connection(QUIET), {"elicitation": {}}
    accepted = {KEY: {"action": "accept"}}
    for other in (
        modern(asks, inputResponses={"confirm-0": {"action": "accept"}}, requestState="made up"),
        modern(asks, inputResponses={KEY: {"roots": []}}),
        modern(asks, inputResponses=None),
        modern(asks, inputResponses={}),
        modern(asks, inputResponses=accepted, arguments={"items": ["a", "b", "c"]}),
        modern(asks, inputResponses=accepted, name="purge"),
    ):
        [asked] = say(connection, other)
        assert asked["result"]["resultType"] == "input_required"


@pytest.mark.parametrize(
    ("responses", "details"),
    [
        ([], "inputResponses must be an object"),
        ({"k": "accept"}, "inputResponses.k must be an object"),
        ({"k": {"action": "yes"}}, "inputResponses.k.action must be one of accept, decline, cancel"),
        ({"k": {"action": ["accept"]}}, "inputResponses.k.action must be one of accept, decline, cancel"),
    ],
)
def test_malformed_answers_are_refused(responses: object, details: str) -> None:
    [refused] = say(Connection(QUIET), modern({"elicitation": {}}, inputResponses=responses))
    assert refused["error"] == {"code": -32602, "message": "Invalid params", "data": {"details": details}}


def test_the_order_of_arguments_makes_no_other_question() -> None:
    one, other = {"items": [10**30], "project": "x"}, {"project": "x", "items": [10**30]}
    keys = {make_question({"name": "delete", "arguments": given}, "Sure?").key for given in (one, other)}
    assert len(keys) == 1


# -- what a revision does not have ------------------------------------------------------------------------------


LINK = {"type": "resource_link", "uri": "satchel://resource/a", "name": "a"}
SOUND = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
WORDS = {"type": "text", "text": "a"}
FULL: dict[str, Any] = {
    "content": [WORDS, SOUND, LINK],
    "messages": [{"role": "user", "content": one} for one in (WORDS, SOUND, LINK)],
    "structuredContent": {"a": 1},
    "tools": [{"name": "a", "icons": [{"src": "data:,"}]}, {"name": "b"}],
}


@pytest.mark.parametrize(
    ("revision", "blocks", "has_structured", "has_icons"),
    [
        ("2024-11-05", [WORDS], False, False),
        ("2025-03-26", [WORDS, SOUND], False, False),
        ("2025-06-18", [WORDS, SOUND, LINK], True, False),
        ("2025-11-25", [WORDS, SOUND, LINK], True, True),
        ("2026-07-28", [WORDS, SOUND, LINK], True, True),
    ],
)
def test_a_result_has_only_what_its_revision_knows(
    revision: str, blocks: list[Any], has_structured: bool, has_icons: bool
) -> None:
    expected: dict[str, Any] = {"content": blocks, "messages": [{"role": "user", "content": one} for one in blocks]}
    expected["tools"] = FULL["tools"] if has_icons else [{"name": "a"}, {"name": "b"}]
    if has_structured:
        expected["structuredContent"] = {"a": 1}
    assert fit_result(REVISIONS[revision], FULL) == expected
    assert fit_result(NEWEST, FULL) == FULL
