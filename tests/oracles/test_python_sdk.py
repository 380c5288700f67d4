"""The official Python client, in both generations, drives the server over stdio."""

import asyncio
import sys
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import ElicitResult, TextContent

from satchel import __version__

MODES = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
TOOLS = [
    *("add_prompt", "list_prompts", "get_prompt", "update_prompt"),
    *("delete_prompt", "search_prompts", "filter_by_tags", "list_tags"),
]


@pytest.fixture(params=MODES)
def converse(request: pytest.FixtureRequest, store: str) -> Callable[[Callable[[Client], Awaitable[None]]], None]:
    """Runs a conversation with a new server in one of the client's modes."""

    def run(conversation: Callable[[Client], Awaitable[None]]) -> None:
        arguments = ["-m", "satchel", "serve", "--contract", "prompt-store", "--database", store]
        parameters = StdioServerParameters(command=sys.executable, args=arguments)

        async def connected() -> None:
            async with Client(parameters, mode=request.param) as client:
                assert client.protocol_version == MODES[request.param]
                await conversation(client)

        asyncio.run(connected())

    return run


async def call(client: Client, name: str, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    assert result.is_error is False, result
    return result.structured_content


def test_it_lists_and_calls_tools(converse: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        added = await call(client, "add_prompt", title="Review", content="Look closely", tags=["a"])
        got = await call(client, "get_prompt", id=added["id"])
        assert got == {
            "id": added["id"],
            "title": "Review",
            "content": "Look closely",
            "tags": ["a"],
            "created_at": added["created_at"],
            "updated_at": added["created_at"],
        }
        page = await call(client, "search_prompts", query="CLOSE")
        assert [prompt["id"] for prompt in page["prompts"]] == [added["id"]]
        assert (await call(client, "delete_prompt", id=added["id"]))["deleted"] is True

    converse(conversation)


def test_a_refusal_is_a_result_with_the_contracts_words(converse: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        result = await client.call_tool("get_prompt", {"id": "nope"})
        assert result.is_error is True
        assert result.structured_content == {"error": {"code": "NOT_FOUND", "message": "Prompt not found"}}

    converse(conversation)


def test_errors_arrive_with_code_and_data(converse: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("nope", {})
        assert (unknown.value.error.code, unknown.value.error.message) == (-32602, "Unknown tool: nope")
        with pytest.raises(MCPError) as missing:
            await client.get_prompt("x")
        assert missing.value.error.code == -32601
        with pytest.raises(MCPError) as cursor:
            await client.list_tools(cursor="nope")
        assert cursor.value.error.code == -32602
        assert cursor.value.error.data == {"details": "Unknown cursor"}

    converse(conversation)


@pytest.mark.parametrize("converse", ["legacy", "auto"], indirect=True)  # a pinned client asks nobody who he is
def test_the_server_is_who_it_says_it_is(converse: Callable[..., None]) -> None:
    async def conversation(client: Client) -> None:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("prompt-store", __version__)
        tools = client.server_capabilities.tools
        assert tools is not None and tools.list_changed is False
        assert client.server_capabilities.prompts is None and client.server_capabilities.resources is None

    converse(conversation)


@pytest.mark.parametrize("mode", MODES)
def test_every_feature_of_the_protocol_is_understood(mode: str) -> None:
    """Prompts, resources, templates, completion, progress and pages, from the fixtures of the transport's tests."""

    async def conversation() -> None:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "tests.transports.fixtures"], cwd=Path(__file__).resolve().parents[2]
        )
        async with Client(parameters, mode=mode) as client:
            names: list[str] = []
            cursor = None
            while True:
                page = await client.list_prompts(cursor=cursor)
                names += [prompt.name for prompt in page.prompts]
                cursor = page.next_cursor
                if cursor is None:
                    break
            assert names == [f"p{number}" for number in range(25)]
            assert (await client.get_prompt("p1", {"a": "b"})).messages
            assert (await client.list_resources()).resources[0].uri == "test://one"
            assert (await client.list_resource_templates()).resource_templates
            assert (await client.read_resource("test://one")).contents
            steps: list[float] = []

            async def report(progress: float, total: float | None, message: str | None) -> None:
                steps.append(progress)

            await client.call_tool("progress", {}, progress_callback=report)
            assert steps == [1, 2, 3]
            assert (await client.call_tool("print", {})).is_error is False

    asyncio.run(conversation())


def test_a_listener_hears_of_changes() -> None:
    async def conversation() -> None:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "tests.transports.fixtures"], cwd=Path(__file__).resolve().parents[2]
        )
        async with Client(parameters, mode="2026-07-28") as client, client.listen(prompts_list_changed=True) as events:
            await client.call_tool("announce", {})
            async with asyncio.timeout(10):
                event = await anext(aiter(events))
        assert "prompt" in type(event).__name__.lower()

    asyncio.run(conversation())


@pytest.mark.parametrize("mode", MODES)
def test_mcpkg_is_listed_got_and_read(mode: str, store: str) -> None:
    data = bytes(range(256)) * 40

    async def conversation() -> None:
        arguments = ["-m", "satchel", "serve", "--contract", "mcpkg", "--database", store]
        async with Client(StdioServerParameters(command=sys.executable, args=arguments), mode=mode) as client:
            for tool, given in (
                ("create_prompt", {"name": "p", "content": "{{ literal }}", "description": "d"}),
                ("create_resource", {"name": "t", "uri": "x:t", "content": "text", "mime_type": "text/markdown"}),
                (
                    "create_resource",
                    {"name": "b", "uri": "x:b", "content": b64encode(data).decode(), "mime_type": "image/png"},
                ),
            ):
                assert (await client.call_tool(tool, given)).is_error is False
            assert [(one.name, one.description) for one in (await client.list_prompts()).prompts] == [("p", "d")]
            [message] = (await client.get_prompt("p")).messages
            assert message.content.type == "text" and message.content.text == "{{ literal }}"
            assert [one.uri for one in (await client.list_resources()).resources] == ["x:t", "x:b"]
            [text] = (await client.read_resource("x:t")).contents
            [blob] = (await client.read_resource("x:b")).contents
            assert (text.text, text.mime_type) == ("text", "text/markdown")
            assert b64decode(blob.blob) == data and blob.mime_type == "image/png"
            with pytest.raises(MCPError) as missing:
                await client.read_resource("x:nope")
            assert missing.value.error.code == -32602
            assert missing.value.error.message == "Resource 'x:nope' not found in project 'default'"
            assert missing.value.error.data is None
            with pytest.raises(MCPError) as unknown:
                await client.get_prompt("nope")
            assert unknown.value.error.message == "Prompt 'nope' not found in project 'default'"

    asyncio.run(conversation())


@pytest.mark.parametrize("mode", MODES)
def test_libraries_are_listed_and_filled_in(mode: str) -> None:
    examples = Path(__file__).resolve().parents[2] / "examples" / "libraries"

    async def conversation() -> None:
        arguments = ["-m", "satchel", "serve", "--contract", "twig", "--libraries", str(examples)]
        async with Client(StdioServerParameters(command=sys.executable, args=arguments), mode=mode) as client:
            listed = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
            declared = listed["everyday:commit_message"].arguments
            assert declared is not None
            assert [(one.name, one.required) for one in declared] == [("diff", True), ("ticket", False)]
            [message] = (await client.get_prompt("everyday:commit_message", {"diff": "{{ 7 * 7 }}"})).messages
            assert message.content.type == "text" and message.content.text.endswith("\n\n{{ 7 * 7 }}\n")
            with pytest.raises(MCPError) as unknown:
                await client.get_prompt("everyday:nope")
            assert unknown.value.error.code == -32601
            assert unknown.value.error.data == {"details": "Prompt not found: everyday:nope"}

    asyncio.run(conversation())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_the_client_asks_its_user(mode: str, action: Any) -> None:
    asked: list[str] = []

    async def ask(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action=action)

    async def conversation() -> None:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "tests.transports.fixtures"], cwd=Path(__file__).resolve().parents[2]
        )
        async with Client(parameters, mode=mode, elicitation_callback=ask) as client:
            [content] = (await client.call_tool("confirm", {})).content
            assert isinstance(content, TextContent) and content.text == action

    asyncio.run(conversation())
    assert asked == ["Really?"]
