"""The runner: answers of calls; unexpected errors are logged, never shown."""

import json
from typing import Any

import pytest
from msgspec import Struct, structs

from satchel.contracts import load
from satchel.contracts.contract import Context, Contract, Method, Report, Tool
from satchel.contracts.runner import Runner
from satchel.errors import StoreConflict, StoreFailed
from satchel.model import PromptDraft, Scope
from satchel.protocol import REVISIONS, Call, Question, Revision
from satchel.protocol.codec import encode
from satchel.services import projects, prompts
from satchel.storage.database import Database

CALL = Call(id=1, method="tools/call", params={"name": "list_tags", "arguments": {}}, revision=REVISIONS["2026-07-28"])


def answer(runner: Runner, call: Call, report: Report = lambda *_: None) -> Any:
    """Return the result of a call as clients decode it."""
    return json.loads(encode(runner.answer(call, Scope(), report)))


UNABLE = {"error": {"code": "INTERNAL_ERROR", "message": "Unable to complete request. Please try again."}}


@pytest.mark.parametrize("error", [StoreFailed("disk /secret"), RuntimeError("secret"), ZeroDivisionError()])
def test_a_failure_of_ours_is_an_apology(
    database: Database, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    projects.require(database, Scope())
    monkeypatch.setattr(prompts, "list_tags", fail)
    result = answer(Runner(load("prompt-store"), database), CALL)
    assert result["isError"] is True and json.loads(result["content"][0]["text"]) == UNABLE
    logged = capfd.readouterr().err
    assert type(error).__name__ in logged or "surprise" in logged


class Nothing(Struct):
    pass


def count_to_two(context: Context, _: Nothing) -> str:
    context.report(1, 2, "half")
    context.report(2, 2, None)
    return "counted"


TOY = Contract(
    name="toy",
    server_name="toy",
    capabilities={"tools": {}},
    reads_store=False,
    tools=(Tool("count_to_two", "Count", Nothing, count_to_two),),
    failures={Exception: lambda _: "failed"},
)


def call(method: str, **params: object) -> Call:
    return Call(id=1, method=method, params=params, revision=REVISIONS["2026-07-28"])


def test_a_result_is_fitted_to_its_revision_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[Any] = []

    def fit(_: Revision, result: dict[str, Any]) -> dict[str, Any]:
        fitted.append(result)
        return result

    monkeypatch.setattr("satchel.contracts.runner.fit_result", fit)
    answer(Runner(TOY, None), call("tools/call", name="count_to_two", arguments={}))
    assert len(fitted) == 1


def test_a_tool_reports_how_far_it_has_come() -> None:
    reports: list[tuple[object, ...]] = []
    counting = call("tools/call", name="count_to_two", arguments={})
    result = answer(Runner(TOY, None), counting, lambda *report: reports.append(report))
    assert result == {"content": [{"type": "text", "text": "counted"}], "isError": False}
    assert reports == [(1, 2, "half"), (2, 2, None)]


def delete_all(context: Context, _: Nothing) -> str:
    prompts.add(context.tx, context.scope, PromptDraft(title="Half done", content="x"))
    context.confirm("Delete 11 things?")
    return "deleted"


ASKING = Contract(
    name="toy",
    server_name="toy",
    capabilities={"tools": {}},
    tools=(Tool("delete_all", "Delete", Nothing, delete_all, transaction="write"),),
    failures=load("satchel").failures,
)


def test_a_call_that_wants_a_confirmation_does_nothing_before_it_has_one(database: Database) -> None:
    projects.require(database, Scope())
    runner = Runner(ASKING, database)
    request = structs.replace(call("tools/call", name="delete_all", arguments={}), can_ask=True)
    asked = answer(runner, request)
    [key] = asked["inputRequests"]
    assert asked == {"resultType": "input_required", "inputRequests": {key: Question(key, "Delete 11 things?").request}}
    for action, message, hint in (
        ("decline", "The user was asked and said no. Nothing was done.", "Ask the user what they want."),
        (
            "cancel",
            "The user was asked and did not answer. Nothing was done.",
            "Ask the user before you repeat it.",
        ),
    ):
        refused = answer(runner, structs.replace(request, answers={key: action}))
        assert refused == {
            "content": [{"type": "text", "text": f"forbidden: {message} {hint}"}],
            "structuredContent": {"error": {"code": "forbidden", "message": message, "hint": hint}},
            "isError": True,
        }
    other = structs.replace(request, params={"name": "delete_all", "arguments": {"x": 1}}, answers={key: "accept"})
    assert answer(runner, other)["resultType"] == "input_required"
    with database.read() as tx:
        assert tx.all("select * from prompts") == []
    done = {"content": [{"type": "text", "text": "deleted"}], "isError": False}
    assert answer(runner, structs.replace(request, answers={key: "accept"})) == done


def test_a_client_that_cannot_ask_is_not_held_up(database: Database) -> None:
    projects.require(database, Scope())
    done = {"content": [{"type": "text", "text": "deleted"}], "isError": False}
    assert answer(Runner(ASKING, database), call("tools/call", name="delete_all", arguments={})) == done
    without_mcp = Runner(ASKING, database).run_tool("delete_all", {}, Scope(project="default"), lambda *_: None)
    assert without_mcp["isError"] is True  # the title is taken; the call asked no question


def test_a_contract_may_answer_tools_list_itself() -> None:
    listing = structs.replace(TOY, methods={"tools/list": Method(lambda _context, _params: {"tools": []})})
    assert answer(Runner(listing, None), call("tools/list")) == {"tools": []}
    [entry] = answer(Runner(TOY, None), call("tools/list"))["tools"]
    assert entry == {
        "name": "count_to_two",
        "description": "Count",
        "inputSchema": {"type": "object", "properties": {}},
    }


def test_a_call_is_tried_again_until_it_has_committed(database: Database, capfd: pytest.CaptureFixture[str]) -> None:
    projects.require(database, Scope())
    tries: list[str] = []

    def lose_twice(context: Context, _: Nothing) -> str:
        with context.read():
            tries.append("read")
        with context.write():
            if len(tries) < 3:
                raise StoreConflict("another writer was faster")
        return "done"

    def lose_too_late(context: Context, _: Nothing) -> str:
        with context.write() as opened:
            prompts.add(opened.tx, opened.scope, PromptDraft(title=f"Try {len(tries)}", content="x"))
        tries.append("committed")
        raise StoreConflict("after the commit")

    tools = tuple(Tool(one.__name__, "Try", Nothing, one, transaction=None) for one in (lose_twice, lose_too_late))
    runner = Runner(structs.replace(ASKING, tools=tools), database)
    assert answer(runner, call("tools/call", name="lose_twice", arguments={}))["isError"] is False
    assert tries == ["read"] * 3
    tries.clear()
    assert answer(runner, call("tools/call", name="lose_too_late", arguments={}))["isError"] is True
    assert tries == ["committed"]
    assert "lose_too_late: after the commit" in capfd.readouterr().err  # the call was not repeated
    with database.read() as tx:
        assert tx.all("select title from prompts") == [("Try 0",)]
