"""Callers whom the matrix does not let in: no token, a wrong one, a revoked one, an expired one, at every door."""

from collections.abc import Iterator
from typing import Any

from satchel.contracts import CONTRACTS, load
from tests.attacks.matrix import Connect, make_arguments
from tests.attacks.worlds import ANN, CANARY, OTHER_CANARY, Cast

Call = tuple[str, str, object]  # verb, path and body

# Methods of MCP that contracts do not list, because they are the same for all.
COMMON = ("initialize", "ping", "tools/list", "logging/setLevel", "subscriptions/listen", "resources/subscribe")


def list_calls(cast: Cast) -> Iterator[Call]:
    """Every tool, method and route, asked for what Ann may see."""
    for contract in map(load, CONTRACTS):
        path = f"/mcp/{contract.name}"
        for tool in contract.tools:
            arguments = make_arguments(cast, tool)
            yield "POST", path, _message("tools/call", {"name": tool.name, "arguments": arguments})
            if contract.name == "tasks":
                yield "POST", f"/mcp/tool/{tool.name}", arguments
        for method in (*contract.methods, *COMMON):
            yield "POST", path, _message(method, {"name": "mine", "uri": f"satchel://task/{cast.own_task.number}"})
        for verb in ("GET", "DELETE"):
            yield verb, path, None
    yield "POST", "/mcp", [_message("ping", {}), _message("tools/list", {})]
    yield "GET", "/metrics", None


def _message(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_who_is_not_let_in_hears_the_same_at_every_door(cast: Cast, connect: Connect) -> None:
    before = cast.dump()
    good = cast.make_token(ANN)
    strangers = {
        "no token": None,
        "no token of ours": "x",
        "an unknown token": "satchel_" + "a" * 43,
        "part of a token": good[:-1],
        "a revoked token": cast.make_token(ANN, ended="revoked_at"),
        "an expired token": cast.make_token(ANN, ["pub"], ended="expires_at"),
    }
    heard: dict[str, set[tuple[int, str]]] = {}
    calls = list(list_calls(cast))
    for name, token in strangers.items():
        asker = connect(token)
        for verb, path, body in calls:
            status, text = asker.send(verb, path, body)
            heard.setdefault(name, set()).add((status, text.replace('"id":1', '"id":null')))
            assert status == 401 or (status == 405 and verb != "POST"), (name, verb, path, status, text)
            assert not {CANARY, OTHER_CANARY} & {*text.split('"')}
    assert heard["no token of ours"] == heard["an unknown token"] == heard["part of a token"]
    assert len(calls) * len(strangers) >= 700
    assert cast.dump() == before
    welcome = connect(good)
    assert {welcome.send(*call)[0] for call in calls if call[0] == "POST"} <= {200, 202, 400, 404}
