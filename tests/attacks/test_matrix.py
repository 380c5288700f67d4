"""The cross-user matrix: who asks, by which tool, method or route, for what of others, in which spelling.

The rows are made from the tables of contracts, methods and routes: a new tool, argument, method or route fails here
until it has a place. A cell asks for something foreign and for something that does not exist, and both answers must be
the same byte for byte but for what was asked. At the end nothing foreign has changed, and no answer told any of it.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route, Router

from satchel.contracts import CONTRACTS, load
from satchel.contracts.schema import fields_of
from tests.attacks.matrix import METHODS, PLAIN, REFERENCES, Asker, Connect, Matrix, make_arguments, make_calls
from tests.attacks.worlds import ANN, CANARY, OTHER_CANARY, SPELLINGS, Cast, Spelling, Thing
from tests.support.soak import amount
from tests.transports import test_http_auth


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_argument_of_every_tool_has_a_place_in_the_matrix(contract: str) -> None:
    for tool in load(contract).tools:
        for field in fields_of(tool.input):
            assert field.name in REFERENCES or field.name in PLAIN, (contract, tool.name, field.name)


def test_every_method_of_every_contract_has_a_place_in_the_matrix() -> None:
    assert {method for name in CONTRACTS for method in load(name).methods} == METHODS.keys()


@pytest.mark.timeout(amount(300, 3600))
def test_foreign_items_are_answered_like_missing_ones(cast: Cast, connect: Connect) -> None:
    # The quick form asks for some of the spellings, each time for others; fewer on PostgreSQL, where they cost more.
    before, matrix = cast.dump(), Matrix()
    often = amount(16 if cast.database.is_shared else 2, 1)
    seldom = amount(64 if cast.database.is_shared else 8, 2)
    callers = {
        "free": (cast.make_token(ANN), cast.of_bob, often),
        "limited": (cast.make_token(ANN, ["pub"]), cast.hidden, often),
        "reader": (cast.make_token(ANN, is_read_only=True), cast.of_bob, seldom),
        "limited reader": (cast.make_token(ANN, ["pub"], is_read_only=True), cast.hidden, seldom),
        "of a deleted project": (cast.of_deleted_project, cast.hidden, seldom),
    }
    for caller, (token, things, matrix.step) in callers.items():
        asker = connect(token)
        for contract in map(load, CONTRACTS):
            path = f"/mcp/{contract.name}"
            for tool, argument, kind, make in make_calls(cast, contract):
                for thing in (one for one in things if one.kind == kind):
                    for spelling in matrix.choose(SPELLINGS[kind]):
                        is_plain = argument == "lines" and spelling != "hash"  # a part of the title of a new task
                        if is_plain or _tells_by_contract(contract.name, argument, thing, spelling):
                            continue

                        def ask(one: Thing, kind: str = kind, spelling: str = spelling) -> tuple[int, str]:
                            arguments = make(SPELLINGS[kind][spelling](one))  # noqa: B023 - called at once
                            return asker.ask(path, "tools/call", {"name": tool, "arguments": arguments})  # noqa: B023

                        matrix.compare((caller, contract.name, tool, argument, kind, spelling), thing, ask)
            for method in contract.methods:
                _ask_method(matrix, (caller, contract.name, method), asker, path, things)
        _ask_door(matrix, caller, asker, things)
    assert cast.dump() == before
    print(f"{matrix.cells} cells, {matrix.asked} calls")
    assert matrix.cells >= 3 * 4300 // matrix.step, matrix.cells


def _tells_by_contract(contract: str, argument: str, thing: Thing, spelling: str) -> bool:
    """Return whether a contract distinguishes a foreign task from a missing one, as `todo` does by id."""
    is_told = contract == "todo" and argument == "task_id" and spelling in ("id", "upper id")
    return is_told and not thing.title.endswith("three")  # a deleted one is not there


def _ask_method(matrix: Matrix, key: tuple[str, ...], asker: Asker, path: str, things: Sequence[Thing]) -> None:
    argument, kinds = METHODS[key[-1]]
    for thing in (one for one in things if one.kind in kinds):
        for spelling in matrix.choose(SPELLINGS[thing.kind]):
            spell = SPELLINGS[thing.kind][spelling]

            def ask(one: Thing, spell: Spelling = spell) -> tuple[int, str]:
                reference = str(spell(one))
                params: dict[str, Any] = {argument: reference}
                if argument == "ref":
                    params = {"ref": {"type": "ref/prompt", "name": reference}, "argument": {"name": "a", "value": ""}}
                elif argument == "name" and one.kind == "task":
                    params = {"name": "start-task", "arguments": {"task": reference}}
                return asker.ask(path, key[-1], params)

            matrix.compare((*key, thing.kind, spelling), thing, ask)


def _ask_door(matrix: Matrix, caller: str, asker: Asker, things: Sequence[Thing]) -> None:
    """Call the tools of `tasks` without MCP."""
    for tool in load("tasks").tools:
        if "task_id" not in tool.input.__struct_fields__:
            continue
        for thing in (one for one in things if one.kind == "task"):
            for spelling in matrix.choose(SPELLINGS["task"]):
                spell = SPELLINGS["task"][spelling]

                def ask(one: Thing, spell: Spelling = spell, name: str = tool.name) -> tuple[int, str]:
                    title = {"title": "x"} if name == "update_task" else {}
                    return asker.send("POST", f"/mcp/tool/{name}", {"task_id": spell(one), **title})

                matrix.compare((caller, "door", tool.name, spelling), thing, ask)


def test_no_list_page_or_cursor_reveals_foreign_items(cast: Cast, connect: Connect) -> None:
    free, limited = (connect(cast.make_token(ANN, some)) for some in (None, ["pub"]))
    hidden = cast.hidden[-1].name
    cursors: set[str] = set()
    for name in ("list_prompts", "list_resources", "list_tasks", "search", "history"):
        for more in ({"limit": 1, "project": hidden}, {"limit": 1}):
            given: dict[str, Any] = {**more, **({"query": CANARY} if name == "search" else {})}
            given = {key: one for key, one in given.items() if key != "limit" or name != "history"}
            said = json.loads(free.ask("/mcp/satchel", "tools/call", {"name": name, "arguments": given})[1])
            structured = said["result"]["structuredContent"]
            cursors |= {structured[member] for member in ("next_cursor", "since") if member in structured}
    assert len(cursors) > 3
    for contract in map(load, CONTRACTS):
        path = f"/mcp/{contract.name}"
        for tool in (one for one in contract.tools if not one.writes):
            names = {field.name for field in fields_of(tool.input)}
            base = make_arguments(cast, tool)
            calls = [base, *({**base, "cursor": one} for one in cursors if "cursor" in names)]
            calls += [{**base, "since": one} for one in cursors if "since" in names]
            calls += [{**base, "query": one} for one in (_QUERY, OTHER_CANARY[:4])] if "query" in names else []
            calls += [{**base, "status": status} for status in ("all", "completed")] if "status" in names else []
            for arguments in calls:
                _, said_of = limited.ask(path, "tools/call", {"name": tool.name, "arguments": arguments})
                assert not {CANARY, OTHER_CANARY} & {*re.findall("[a-z]+", said_of.replace(_QUERY, ""))}, said_of
        for method in contract.methods:
            if not METHODS[method][0]:
                assert CANARY not in limited.ask(path, method, {})[1]


# By template: what it names, and the argument that is completed.
TEMPLATES = {
    "satchel://prompt/{name}": ("prompt", "name"),
    "satchel://task/{number}": ("task", "number"),
    "satchel://project/{name}": ("project", "name"),
}


def test_no_uri_template_or_completion_reveals_foreign_items(cast: Cast, connect: Connect) -> None:
    matrix = Matrix()
    callers = {
        "free": (connect(cast.make_token(ANN)), cast.of_bob),
        "limited": (connect(cast.make_token(ANN, ["pub"])), cast.hidden),
        "of a deleted project": (connect(cast.of_deleted_project), cast.hidden),
    }
    for contract in map(load, CONTRACTS):
        if "resources/templates/list" not in contract.methods:
            continue
        path = f"/mcp/{contract.name}"
        said = json.loads(callers["free"][0].ask(path, "resources/templates/list", {})[1])
        for template in (one["uriTemplate"] for one in said["result"]["resourceTemplates"]):
            kind, argument = TEMPLATES[template]  # a new one needs a place
            for caller, (asker, things) in callers.items():
                for thing in (one for one in things if one.kind == kind):

                    def read(one: Thing, asker: Asker = asker, template: str = template) -> tuple[int, str]:
                        uri = template.replace("{name}", one.name).replace("{number}", str(one.number))
                        return asker.ask(path, "resources/read", {"uri": uri})  # noqa: B023 - called at once

                    def complete(one: Thing, asker: Asker = asker, template: str = template) -> tuple[int, str]:
                        value = {"name": argument, "value": str(one.number or one.name)}  # noqa: B023
                        params = {"ref": {"type": "ref/resource", "uri": template}, "argument": value}
                        return asker.ask(path, "completion/complete", params)  # noqa: B023

                    for what, ask in (("read", read), ("complete", complete)):
                        matrix.compare((caller, contract.name, template, what, thing.title[-4:]), thing, ask)
    assert matrix.cells >= 38, matrix.cells


_QUERY = f"{CANARY} secret"  # which some answers repeat


def test_every_route_has_a_place_in_the_matrix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from satchel import config
    from satchel.app import http as app
    from satchel.transports.http import app as asgi

    seen: set[str] = set()

    class Noted(Router):
        def __init__(self, routes: list[Route], **more: Any) -> None:
            super().__init__(routes, **more)
            seen.update(route.path for route in routes)

    monkeypatch.setattr(asgi, "Router", Noted)
    settings = config.load({"database": str(tmp_path / "s.db"), "transport": "http"}, {})
    assert settings.http is not None
    app.make_app(settings, settings.http, "http://127.0.0.1").close()
    asked = {re.sub("/tool/.*", "/tool/{tool:path}", route) for _, route in test_http_auth.ROUTES}
    assert seen == asked | {"/health"}  # the page is in tests/page/test_guard.py


def test_a_read_only_caller_changes_nothing_with_any_tool(cast: Cast, connect: Connect) -> None:
    before = cast.dump()
    readers = [connect(cast.make_token(ANN, some, is_read_only=True)) for some in (None, ["pub"])]
    for contract in map(load, CONTRACTS):
        for tool in (one for one in contract.tools if one.writes):
            arguments = make_arguments(cast, tool)
            for reader in readers:
                call = {"name": tool.name, "arguments": arguments}
                assert reader.ask(f"/mcp/{contract.name}", "tools/call", call)[0] == 403, (contract.name, tool.name)
                if contract.name == "tasks":
                    assert reader.send("POST", f"/mcp/tool/{tool.name}", arguments)[0] == 403
    assert cast.dump() == before
