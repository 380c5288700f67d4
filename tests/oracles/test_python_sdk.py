"""The official Python client, in both generations, drives the server over stdio."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult, TextContent

MODES = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
FIXTURES = StdioServerParameters(
    command=sys.executable, args=["-m", "tests.transports.fixtures"], cwd=Path(__file__).resolve().parents[2]
)


@pytest.mark.parametrize("mode", MODES)
def test_every_feature_of_the_protocol_is_understood(mode: str) -> None:
    """Prompts, resources, templates, completion, progress and pages, from the fixtures of the transport's tests."""

    async def conversation() -> None:
        async with Client(FIXTURES, mode=mode) as client:
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


@pytest.mark.parametrize("mode", MODES)
def test_the_client_asks_its_user(mode: str) -> None:
    asked: list[str] = []
    actions: tuple[Any, ...] = ("accept", "decline", "cancel")

    async def ask(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action=actions[len(asked) - 1])

    async def conversation() -> None:
        async with Client(FIXTURES, mode=mode, elicitation_callback=ask) as client:
            for action in actions:
                [content] = (await client.call_tool("confirm", {})).content
                assert isinstance(content, TextContent) and content.text == action

    asyncio.run(conversation())
    assert asked == ["Really?"] * 3
