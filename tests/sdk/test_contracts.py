"""Every contract as a server of the official SDK: what its in-memory client gets is what a client on stdio gets.

The official client also validates structured content against the output schema of the tool, where there is one.
"""

import asyncio
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client, MCPError
from pydantic import BaseModel

from satchel.contracts import CONTRACTS
from satchel.sdk import create_server
from tests.conftest import Serve
from tests.contracts.test_real_transports import answers, settled, stable
from tests.support.conversations import CONVERSATIONS, EXAMPLES, USER, fill_in, last_task
from tests.support.in_process import InProcess
from tests.support.stdio import NEWEST

MODES = {"legacy": "2025-11-25", "auto": "2026-07-28"}
OF_REVISION = {"resultType", "_meta", "ttlMs", "cacheScope"}  # members that 2026-07-28 adds to results

METHODS: dict[str, Callable[[Client, dict[str, Any]], Any]] = {
    "tools/list": lambda client, params: client.list_tools(),
    "tools/call": lambda client, params: client.call_tool(params["name"], params["arguments"]),
    "prompts/list": lambda client, params: client.list_prompts(),
    "prompts/get": lambda client, params: client.get_prompt(params["name"], params.get("arguments")),
    "resources/list": lambda client, params: client.list_resources(),
    "resources/templates/list": lambda client, params: client.list_resource_templates(),
    "resources/read": lambda client, params: client.read_resource(params["uri"]),
    "completion/complete": lambda client, params: client.complete(**params),
}


async def ask(client: Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request, as it stands in a message."""
    if method == "completion/complete":
        from mcp_types import PromptReference

        params = {"ref": PromptReference(name=params["ref"]["name"]), "argument": params["argument"]}
    try:
        result: BaseModel = await METHODS[method](client, params)
    except MCPError as error:
        told = error.error.model_dump(exclude_none=True)
        # The SDK names a method that no contract has in `data`.
        return {"error": {name: value for name, value in told.items() if value != method}}
    return {"result": result.model_dump(by_alias=True, mode="json", exclude_unset=True)}


def without_revision(answer: dict[str, Any]) -> dict[str, Any]:
    result = answer.get("result")
    if result is None:
        return answer
    return {"result": {key: value for key, value in result.items() if key not in OF_REVISION}}


def converse_on_stdio(contract: str, revision: str, *options: str) -> list[Any]:
    client = InProcess("--contract", contract, *options)
    if revision != NEWEST:
        client.initialize(revision)
    told = answers(lambda method, params: settled(client, method, params), contract)
    assert client.close() == 0, client.stderr
    return [without_revision(answer) for answer in told]


def converse_in_memory(contract: str, mode: str, **options: Any) -> list[Any]:
    async def conversation() -> list[Any]:
        async with Client(create_server(contract, **options), mode=mode) as client:
            assert client.protocol_version == MODES[mode]
            known: dict[str, str] = {}
            told, last = [], ""
            for method, params in CONVERSATIONS[contract]:
                answer = await ask(client, method, fill_in(params, last))
                last = last_task(answer.get("result")) or last
                told.append(without_revision(stable(answer, known)))
            return told

    return asyncio.run(conversation())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_contract_answers_as_over_stdio(store: str, contract: str, mode: str) -> None:
    other = shutil.copy(store, f"{store}.copy")
    options = ("--database", store, "--libraries", str(EXAMPLES), "--user", USER)
    on_stdio = converse_on_stdio(contract, MODES[mode], *options)
    if contract == "twig":  # the SDK re-emits only what its models know
        assert all(prompt.pop("inputSchema") for prompt in on_stdio[0]["result"]["prompts"])

    in_memory = converse_in_memory(contract, mode, database=other, libraries=[str(EXAMPLES)], user=USER)
    assert in_memory == on_stdio


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_server_says_what_it_is_as_over_stdio(store: str, serve: Serve, contract: str) -> None:
    said = serve(contract, store).request("server/discover")["result"]

    async def conversation() -> None:
        async with Client(create_server(contract, database=store)) as client:
            assert client.server_info is not None
            about = client.server_info.model_dump(exclude_none=True)
            assert about == said["_meta"]["io.modelcontextprotocol/serverInfo"]
            assert client.instructions == said.get("instructions")
            declared = client.server_capabilities.model_dump(exclude_none=True)
            # Our extensions need methods of their own, which this server of the SDK does not have.
            assert declared.keys() == said["capabilities"].keys() - {"extensions"}

    asyncio.run(conversation())


def test_names_that_no_store_keeps_are_wrong_parameters(store: str) -> None:
    """The SDK lets them through; our own protocol layer refuses them before a contract sees them."""

    async def conversation() -> None:
        async with Client(create_server("mcpkg", database=store)) as client:
            details = {"details": "name contains NUL or half a character"}
            wrong = {"error": {"code": -32602, "message": "Invalid params", "data": details}}
            assert await ask(client, "prompts/get", {"name": "a\0b"}) == wrong

    asyncio.run(conversation())
