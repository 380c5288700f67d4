"""A day with Satchel: the official clients plan, write, look up, render, finish, and hear of each other's changes."""

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters

import satchel
from satchel.contracts import load
from tests.oracles import node
from tests.support.in_process_http import HttpInProcess
from tests.support.satchel import check, make_library

ANN = "11111111-1111-4111-8111-111111111111"
# Clients give a server next to nothing of their environment; this is the Satchel that is tested, wherever it is.
HERE = {"PYTHONPATH": str(Path(satchel.__file__).parents[1])}
COMMAND = ["env", f"PYTHONPATH={HERE['PYTHONPATH']}"]
MODES = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
WAYS = [("stdio", "legacy"), ("stdio", "2026-07-28"), ("http", "2026-07-28")]

# The tools of the day, in order: what is called with which arguments, and a piece of the answer's first text.
DAY: list[tuple[str, dict[str, Any], str]] = [
    ("catch_up", {}, "Project 'default'"),
    ("list_projects", {}, "The current project is 'default'"),
    ("add_project", {"name": "attic"}, "Added project 'attic'"),
    (
        "add_prompt",
        {
            "title": "Stand-up",
            "content": "What did {{ who }} do? {{ mood }}",
            "tags": ["daily"],
            "arguments": [{"name": "who", "required": True}, {"name": "mood", "values": ["calm", "busy"]}],
        },
        "Added to project 'default':\n- stand-up [daily] (who, mood?) version 1",
    ),
    ("add_resource", {"name": "plan.md", "content": "# Plan"}, "Added to project 'default':\n- plan.md (6 bytes"),
    ("list_prompts", {"query": "what did"}, "- stand-up [daily] (who, mood?)"),
    ("list_tags", {}, "daily (1)"),
    ("get_prompt", {"prompt": "Stand-up"}, "What did {{ who }} do? {{ mood }}"),
    ("render_prompt", {"prompt": "stand-up", "arguments": {"who": "Ann"}}, "What did Ann do? "),
    ("render_prompt", {"prompt": "desk:letter", "arguments": {"to": "Ben"}}, "Dear Ben"),
    ("update_prompt", {"prompt": "stand-up", "description": "Each morning", "expected_version": 1}, "Updated in"),
    ("list_resources", {}, "- plan.md (6 bytes)"),
    ("update_resource", {"resource": "plan.md", "content": "# Plan B"}, "Updated in project 'default':\n- plan.md"),
    ("read_resource", {"resource": "plan.md"}, "# Plan B"),
    ("add_task", {"title": "Write the plan", "priority": "high", "due": "2026-12-01"}, "Added #1 Write the plan !high"),
    ("add_tasks", {"lines": ["Send it after:#1"]}, "Added:\n#2 Send it after:#1"),
    ("list_tasks", {}, "#1 Write the plan !high due:2026-12-01"),
    ("claim_task", {"minutes": 5}, "Claimed until"),
    ("complete_task", {"task": "1", "fence": 1}, "Completed #1 [x] Write the plan"),
    ("list_tasks", {}, "#2 Send it"),
    ("get_task", {"task": "2"}, "#2 Send it"),
    ("search", {"query": "plan b", "kind": "document"}, "- document plan.md"),
    ("update_task", {"task": "#2", "tags": ["+mail"]}, "Updated #2 Send it +mail"),
    ("edit_text", {"item": "plan.md", "edits": [{"old": "Plan B", "new": "Plan C"}]}, "Edited plan.md, version 3"),
    ("add_prompts", {"prompts": [{"title": "Old", "content": "Old"}]}, "Added to project 'default':\n- old version 1"),
    ("add_resources", {"resources": [{"name": "old.md", "content": "# Old"}]}, "Added to project 'default':\n- old.md"),
    (
        "update_items",
        {"items": ["old", "old.md"], "to": "attic"},
        "1 prompt and 1 document moved to project 'attic':\n- old",
    ),
    ("delete", {"items": ["old"], "project": "attic"}, "Deleted prompt old"),
    ("delete", {"items": ["#2", "plan.md", "Stand-up"]}, "1 task, 1 document and 1 prompt deleted:\n#2 Send it"),
    ("restore", {"item": "#2"}, "Brought back task #2"),
    ("history", {"item": "#2"}, "task #2\nv"),
    ("show", {"what": "prompts", "query": "letter"}, "- desk:letter"),
    ("remember", {"text": "Send it on a Monday"}, "Added to memory.md of project 'default':\n- "),
    ("delete", {"items": ["#2"]}, "Deleted #2 Send it"),
]
# What is asked of methods before the day's prompt and document are deleted again.
ASKED = 21  # after so many calls


def test_the_day_has_every_tool_in_it() -> None:
    assert {tool for tool, _, _ in DAY} == {tool.name for tool in load("satchel").tools}


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    make_library(tmp_path / "shelf", "desk", {"letter": ("Dear {{ to }}", ["to!"])})
    return tmp_path / "shelf"


@contextmanager
def reached(transport: str, store: str, shelf: Path) -> Iterator[StdioServerParameters | str]:
    """Yield the way to a server: the address of one that runs over HTTP, or the command of one on stdio."""
    options = ["--database", store, "--libraries", str(shelf), "--user", ANN]
    if transport == "stdio":
        arguments = ["-m", "satchel", "serve", *options]
        yield StdioServerParameters(command=sys.executable, args=arguments, env=HERE)
    else:
        with HttpInProcess(*options) as server:
            yield f"{server.url}/mcp"


# -- Python -----------------------------------------------------------------------------------------------------


async def live(client: Client) -> None:
    """Go through the day."""
    listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == [tool.name for tool in load("satchel").tools if tool.is_listed]
    for number, (tool, arguments, said) in enumerate(DAY):
        if number == ASKED:
            await look_around(client)
        result = await client.call_tool(tool, arguments)
        told = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        check(tool, {key: told[key] for key in ("content", "structuredContent", "isError")})
        assert result.is_error is False and told["content"][0]["text"].startswith(said), (tool, told)
    refused = await client.call_tool("get_prompt", {"prompt": "Stand-up"})
    assert refused.is_error is True and refused.structured_content["error"]["code"] == "not_found"


async def look_around(client: Client) -> None:
    """Use everything but tools: prompts, completion, resources and templates."""
    from mcp.types import PromptReference, ResourceTemplateReference

    names = [prompt.name for prompt in (await client.list_prompts()).prompts]
    assert names == ["start-task", "stand-up", "desk:letter"]
    [message] = (await client.get_prompt("stand-up", {"who": "Cid", "mood": "calm"})).messages
    assert message.content.type == "text" and message.content.text == "What did Cid do? calm"
    [begun] = (await client.get_prompt("start-task", {"task": "2"})).messages
    assert begun.content.type == "text" and "# Task #2: Send it" in begun.content.text
    for argument, values in {"mood": ["calm", "busy"], "who": ["Cid", "Ann"]}.items():
        reference = PromptReference(type="ref/prompt", name="stand-up")
        found = await client.complete(reference, {"name": argument, "value": ""})
        assert found.completion.values == values
    templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
    assert templates == ["satchel://prompt/{name}", "satchel://task/{number}", "satchel://project/{name}"]
    found = await client.complete(
        ResourceTemplateReference(type="ref/resource", uri=templates[0]), {"name": "name", "value": "st"}
    )
    assert found.completion.values == ["stand-up"]
    assert [one.name for one in (await client.list_resources()).resources] == ["plan.md"]
    for uri, piece in {
        "satchel://resource/plan.md": "# Plan B",
        "satchel://prompt/stand-up": "What did {{ who }} do?",
        "satchel://task/2": "# Task #2",
        "satchel://project/default": '"prompts":1',
    }.items():
        [contents] = (await client.read_resource(uri)).contents
        assert piece in contents.text
    with pytest.raises(MCPError) as missing:
        await client.read_resource("satchel://task/99")
    assert missing.value.error.code == -32602


@pytest.mark.parametrize(("transport", "mode"), WAYS)
def test_the_python_client_lives_through_the_day(transport: str, mode: str, store: str, shelf: Path) -> None:
    async def day(target: StdioServerParameters | str) -> None:
        async with Client(target, mode=mode) as client:
            assert client.protocol_version == MODES[mode]
            await live(client)

    with reached(transport, store, shelf) as way:
        asyncio.run(day(way))


# -- TypeScript, and the Inspector ------------------------------------------------------------------------------

VERSIONS = {"1": "2025-11-25", "2": "2025-11-25", "auto": "2026-07-28"}


@pytest.mark.npm
@pytest.mark.parametrize("client", VERSIONS)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_typescript_clients_live_through_the_day(transport: str, client: str, tmp_path: Path, shelf: Path) -> None:
    calls = [["tools/call", {"name": tool, "arguments": arguments}] for tool, arguments, _ in DAY]
    prompt = {"type": "ref/prompt", "name": "stand-up"}
    around = [
        ["prompts/list", {}],
        ["prompts/get", {"name": "stand-up", "arguments": {"who": "Cid", "mood": "calm"}}],
        ["prompts/get", {"name": "start-task", "arguments": {"task": "2"}}],
        ["completion/complete", {"ref": prompt, "argument": {"name": "who", "value": ""}}],
        ["resources/list", {}],
        ["resources/templates/list", {}],
        ["resources/read", {"uri": "satchel://resource/plan.md"}],
        ["resources/read", {"uri": "satchel://task/2"}],
    ]
    steps = [["tools/list", {}], *calls[:ASKED], *around, *calls[ASKED:]]
    store = str(tmp_path / "satchel.db")
    options = ["--database", store, "--libraries", str(shelf), "--user", ANN]
    if transport == "stdio":
        command = [*COMMAND, *node.satchel("satchel", Path(store))[:2], *options]
        done = node.run("own.mjs", client, json.dumps(steps), *command, home=tmp_path)
    else:
        with HttpInProcess(*options) as server:
            done = node.run("own.mjs", client, json.dumps(steps), f"{server.url}/mcp", home=tmp_path)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["version"] == VERSIONS[client] and seen["problems"] == []
    outcomes = seen["outcomes"]
    assert all("result" in outcome for outcome in outcomes), [one for one in outcomes if "result" not in one]
    results = [outcome["result"] for outcome in outcomes]
    assert [tool["name"] for tool in results[0]["tools"]] == [
        tool.name for tool in load("satchel").tools if tool.is_listed
    ]
    tools = [*results[1 : 1 + ASKED], *results[1 + ASKED + len(around) :]]
    for (tool, _, said), result in zip(DAY, tools, strict=True):
        check(tool, {key: result[key] for key in ("content", "structuredContent", "isError")})
        assert result["isError"] is False and result["content"][0]["text"].startswith(said)
    listed, got, begun, completed, documents, templates, plan, task = results[1 + ASKED : 1 + ASKED + len(around)]
    assert [one["name"] for one in listed["prompts"]] == ["start-task", "stand-up", "desk:letter"]
    assert got["messages"][0]["content"]["text"] == "What did Cid do? calm"
    assert "# Task #2: Send it" in begun["messages"][0]["content"]["text"]
    assert completed["completion"]["values"] == ["Cid", "Ann"]
    assert [one["name"] for one in documents["resources"]] == ["plan.md"]
    assert len(templates["resourceTemplates"]) == 3
    assert seen["meeting"]["heard"] == "told", seen["meeting"]
    assert seen["meeting"]["names"] == ["start-task", "from-the-other", "desk:letter"]
    assert plan["contents"][0]["text"] == "# Plan B" and task["contents"][0]["text"].startswith("# Task #2")


@pytest.mark.npm
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
def test_the_inspector_finds_nothing_to_complain_of(era: str, method: str, tmp_path: Path) -> None:
    server = [*COMMAND, *node.satchel("satchel", tmp_path / "satchel.db")]
    options = ["--method", method, "--protocol-era", era, "--format", "json", "--quiet"]
    strict = ["--strict"] if method == "tools/list" else []
    done = node.run("node_modules/.bin/mcp-inspector", "--cli", *server, *options, *strict, home=tmp_path)
    # What an answer may leave open is published as `"type": ["integer", "null"]`; there is nothing else to warn of.
    issues = set(re.findall(r"Issue: (`type` is an array)?", done.stderr))
    assert (done.returncode, issues) == (0, {"`type` is an array"} if method == "tools/list" else set())
    assert bool(done.stderr) == bool(issues), done.stderr
    result = json.loads(done.stdout)["result"]
    if method == "tools/list":
        assert [tool["name"] for tool in result["tools"]] == [
            tool.name for tool in load("satchel").tools if tool.is_listed
        ]
