"""A server of the official SDK inside a FastMCP program, mounted as docs/teams/embedding.md shows."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server import create_proxy

from satchel.contracts import load
from satchel.sdk import create_server
from satchel.storage import database
from tests.support.examples import read_example

MODES = ("legacy", "auto")


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the example of the docs defines; its store is in a folder of the test."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(read_example("fastmcp"), names)
    return names


def mount(example: dict[str, Any], contract: str, **options: Any) -> FastMCP:
    """Return a FastMCP program with a tool of its own and a contract below `ours`."""
    satchel = create_server(contract, **options)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with satchel.lifespan(satchel):
            yield

    app = FastMCP("Program", lifespan=lifespan)
    app.tool(lambda: "Hello", name="greet")
    app.mount(create_proxy(example["InMemory"](satchel)), namespace="ours")
    return app


@pytest.mark.parametrize("mode", MODES)
def test_tools_are_called_by_their_mounted_names(example: dict[str, Any], store: str, mode: str) -> None:
    async def conversation() -> None:
        async with Client(mount(example, "tasks", database=store), mode=mode) as client:
            listed = {tool.name: tool.input_schema for tool in await client.list_tools()}
            contract = load("tasks")
            expected = {f"ours_{tool.name}": contract.describe_tool(tool)["inputSchema"] for tool in contract.tools}
            assert listed == {"greet": listed["greet"], **expected}
            [said] = (await client.call_tool("greet")).content
            assert said.type == "text" and said.text == "Hello"

            added = await client.call_tool("ours_add_task", {"title": "Tea"})
            task = {"id": 1, "title": "Tea", "description": None, "status": "pending", "completed_at": None}
            assert added.structured_content == {
                "success": True,
                "data": {**task, "created_at": added.structured_content["data"]["created_at"]},
                "message": "Task created successfully",
            }
            refused = await client.call_tool("ours_complete_task", {"task_id": 7}, raise_on_error=False)
            failure = {"success": False, "error": "Task not found", "code": "NOT_FOUND", "details": {"task_id": 7}}
            assert (refused.is_error, refused.structured_content) == (True, failure)
            with pytest.raises(ToolError, match="Task not found"):
                await client.call_tool("ours_complete_task", {"task_id": 7})

    asyncio.run(conversation())


def test_a_program_that_holds_the_lifespan_opens_the_store_once(
    example: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[threading.Thread] = []
    open_database = database.open_database

    def open_and_count(*given: Any, **more: Any) -> database.Database:
        opened.append(threading.current_thread())
        return open_database(*given, **more)

    monkeypatch.setattr("satchel.app.startup.open_database", open_and_count)

    async def conversation() -> None:
        async with Client(example["app"]) as client:
            for _ in range(3):
                await client.call_tool("satchel_add_task", {"title": "Tea"})
            listed = await client.call_tool("satchel_list_tasks")
            assert listed.structured_content["message"] == "Found 3 tasks"

    asyncio.run(conversation())
    assert len(opened) == 1 and opened[0] is not threading.main_thread()
    assert Path("satchel.db").exists() and not Path("satchel.db-wal").exists()
