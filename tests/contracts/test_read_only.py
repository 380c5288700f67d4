"""`--read-only` in every contract: tools that write are neither listed nor run, over stdio and over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest

from satchel.auth import tokens
from satchel.contracts import CONTRACTS, load
from satchel.storage.database import Database
from tests.support.in_process_http import HttpInProcess
from tests.support.stdio import NEWEST, Client

ADA = "550e8400-e29b-41d4-a716-446655440000"
READING = {
    name: [tool.name for tool in load(name).tools if not tool.writes and tool.is_listed]
    for name in CONTRACTS
    if name != "twig"
}


def test_what_reads_is_known() -> None:
    assert READING["todo"] == READING["tasks"] == ["list_tasks"]
    assert READING["mcpkg"] == []
    assert READING["prompt-store"] == ["list_prompts", "get_prompt", "search_prompts", "filter_by_tags", "list_tags"]


@pytest.mark.parametrize("contract", READING)
def test_on_stdio_only_tools_that_read_are_there(contract: str, store: str, serve: Callable[..., Client]) -> None:
    client = serve(contract, store, NEWEST, "--user", ADA, "--read-only")
    assert client.request("server/discover")["result"]["capabilities"] == load(contract).capabilities
    listed: dict[str, Any] = client.request("tools/list")["result"]
    assert [tool["name"] for tool in listed["tools"]] == READING[contract]
    for tool in load(contract).tools:
        answer = client.request("tools/call", {"name": tool.name, "arguments": {"user_id": ADA}})
        if tool.writes:
            more = f". There are {', '.join(READING[contract])}." if contract == "satchel" else ""
            assert answer["error"] == {"code": -32602, "message": f"Unknown tool: {tool.name}{more}"}
        else:
            assert "result" in answer
    for method in load(contract).methods:
        assert client.request(method, {"name": "x"}).get("error", {}).get("code") in (None, -32602)


def test_a_read_only_token_is_shown_the_tools_that_it_may_use(store: str, database: Database) -> None:
    with database.write() as tx:
        read_only, whole = (tokens.create(tx, user=ADA, is_read_only=one)[1] for one in (True, False))
    with HttpInProcess("--database", store, "--auth", "token") as server:
        for contract, reading in READING.items():
            server.token = read_only
            assert listed(server, contract) == reading
            server.token = whole
            assert listed(server, contract) == [tool.name for tool in load(contract).tools if tool.is_listed]


def listed(server: HttpInProcess, contract: str) -> list[str]:
    return [tool["name"] for tool in server.ask("tools/list", path=f"/mcp/{contract}").result["tools"]]
