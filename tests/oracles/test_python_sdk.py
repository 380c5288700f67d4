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
