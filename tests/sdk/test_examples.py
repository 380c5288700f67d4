"""The examples of docs/teams/embedding.md with the official SDK and with Pydantic models, run as they stand."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from pydantic import ValidationError

from satchel.sdk import create_server
from tests.support.examples import NAMES, read_example
from tests.transports.test_asgi import served


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, which the examples keep their files in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_example_is_run_by_some_test() -> None:
    # starlette and fastapi: tests/transports/test_asgi.py; fastmcp: test_fastmcp.py
    assert NAMES == ["starlette", "fastapi", "sdk", "sdk-http", "fastmcp", "models", "validation"]


def test_the_in_memory_client_of_the_docs_adds_a_task(capsys: pytest.CaptureFixture[str]) -> None:
    exec(read_example("sdk"), {})
    assert capsys.readouterr().out == "Found 1 task\n"
    assert Path("satchel.db").exists() and not Path("satchel.db-wal").exists()  # it was closed


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdk_serves_the_contract_over_http(mode: str) -> None:
    names: dict[str, Any] = {}
    exec(read_example("sdk-http"), names)

    async def conversation(port: int) -> None:
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client:
            await client.call_tool("add_task", {"title": "Tea"})
            listed = await client.call_tool("list_tasks")
            assert listed.structured_content is not None
            assert listed.structured_content["message"] == "Found 1 task"

    with served(names["app"]) as client:
        asyncio.run(conversation(client.port))
    assert not Path("satchel.db-wal").exists()


def test_models_are_made_and_read_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = Path(sys.executable).parent
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-eu", "-c", read_example("models")], check=True, env={**os.environ, "PATH": path})
    monkeypatch.syspath_prepend(str(folder))
    names: dict[str, Any] = {}
    exec(read_example("validation"), names)
    for module in [module for module in sys.modules if module.split(".")[0] == "models"]:
        monkeypatch.delitem(sys.modules, module)

    async def conversation() -> None:
        async with Client(create_server("tasks", database="satchel.db")) as client:
            added = await client.call_tool("add_task", {"title": "Tea"})
            refused = await client.call_tool("add_task", {})
        success, failure = map(names["read_answer"], (added.structured_content, refused.structured_content))
        assert (success.success, success.data.title) == (True, "Tea")
        assert (failure.success, failure.code.value) == (False, "VALIDATION_ERROR")

    asyncio.run(conversation())
    with pytest.raises(ValidationError):
        names["read_answer"]({"success": True, "data": {"title": "Tea"}, "message": "Task created successfully"})
