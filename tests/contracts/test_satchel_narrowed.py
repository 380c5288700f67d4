"""`--toolsets` and `--read-only` of the contract satchel; test_read_only.py tests all contracts, and HTTP."""

from collections.abc import Callable
from typing import Any

import pytest

from satchel.contracts import load
from satchel.model import Argument, PromptDraft, Scope
from satchel.services import prompts
from satchel.storage.database import Database
from tests.support.stdio import NEWEST, Client, plain

ANN = "11111111-1111-4111-8111-111111111111"
TOOLS = {tool.name: tool for tool in load("satchel").tools}


def tools_of(*sets: str) -> list[str]:
    return [name for name, tool in TOOLS.items() if tool.toolset in ("", *sets)]


def listed_of(names: list[str]) -> list[str]:
    return [name for name in names if TOOLS[name].is_listed]


Ask = Callable[[str, dict[str, Any]], Any]


@pytest.fixture
def start(store: str, serve: Callable[..., Client]) -> Callable[..., Ask]:
    """Return a function that starts a server, and returns a function to ask it."""
    return lambda *more: serve("satchel", store, NEWEST, "--user", ANN, *more).request


def listed(ask: Ask) -> list[str]:
    return [tool["name"] for tool in ask("tools/list", {})["result"]["tools"]]


def call(ask: Ask, tool: str, **arguments: Any) -> Any:
    return ask("tools/call", {"name": tool, "arguments": arguments})


def test_only_the_wanted_tools_are_there(start: Callable[..., Ask]) -> None:
    for sets in ("prompts", "documents", "tasks", "tasks, prompts", "prompts,documents,tasks"):
        ask = start("--toolsets", sets)
        names = tools_of(*(one.strip() for one in sets.split(",")))
        assert listed(ask) == listed_of(names)
        for name in TOOLS:
            if name not in names:
                message = f"Unknown tool: {name}. There are {', '.join(listed_of(names))}."
                assert call(ask, name)["error"] == {"code": -32602, "message": message}
        assert plain(call(ask, "list_projects")["result"])["isError"] is False


def test_read_only_changes_nothing(start: Callable[..., Ask]) -> None:
    writer = start()
    call(writer, "add_prompt", title="Tea", content="Boil {{ x }}", arguments=[{"name": "x"}])
    call(writer, "add_task", title="Drink")
    ask = start("--read-only")
    assert plain(call(ask, "get_prompt", prompt="Tea")["result"])["isError"] is False
    rendered = plain(call(ask, "render_prompt", prompt="Tea", arguments={"x": "milk"})["result"])
    assert rendered["structuredContent"]["text"] == "Boil milk"
    # The given values are not stored either.
    params = {"ref": {"type": "ref/prompt", "name": "tea"}, "argument": {"name": "x", "value": ""}}
    assert plain(ask("completion/complete", params)["result"])["completion"]["values"] == []
    assert plain(call(ask, "get_task", task=1)["result"])["structuredContent"]["task"]["version"] == 1


def started(ask: Ask) -> str:
    [message] = ask("prompts/get", {"name": "start-task", "arguments": {"task": "1"}})["result"]["messages"]
    return message["content"]["text"]


def prompts_of(ask: Ask) -> list[str]:
    return [one["name"] for one in ask("prompts/list", {})["result"]["prompts"]]


def test_no_text_mentions_a_tool_that_is_not_served(start: Callable[..., Ask], database: Database) -> None:
    writer = start()
    call(writer, "add_task", title="Drink")
    with database.write() as tx:  # as another contract does, which checks no template
        prompts.add(tx, Scope(), PromptDraft(title="Broken", content="{{ x", arguments=[Argument("x", None, False)]))
    page = "Work on this task.\n\n# Task #1: Drink\n\n- Status: ready\n- Priority: normal\n- Project: default\n\n"
    reading = "Read the documents that matter with read_resource.\n\n"
    done = "When it is done, call complete_task with task 1; note what comes up with add_tasks.\n"
    assert started(writer) == f"{page}{reading}{done}"
    assert prompts_of(writer) == ["start-task", "broken"]

    ask = start("--read-only", "--toolsets", "prompts")
    assert prompts_of(ask) == ["broken"]
    params: dict[str, Any] = {"name": "start-task", "arguments": {"task": "1"}}
    assert ask("prompts/get", params)["error"]["message"] == "Prompt 'start-task' not found"
    params = {"ref": {"type": "ref/prompt", "name": "start-task"}, "argument": {"name": "task", "value": ""}}
    assert ask("completion/complete", params)["error"]["message"] == "Prompt 'start-task' not found"
    error = plain(call(ask, "render_prompt", prompt="Broken")["result"])["structuredContent"]["error"]
    assert error["hint"] == "Ask the user to correct its content."

    assert started(start("--toolsets", "tasks")) == f"{page}{done}"
    assert started(start("--read-only")) == f"{page}{reading}When it is done, tell me.\n"
    ask = start("--toolsets", "documents")
    error = plain(call(ask, "read_resource", resource="satchel://task/7")["result"])["structuredContent"]["error"]
    assert error == {
        "code": "not_found",
        "message": "Task 7 does not exist.",
        "hint": "Check the name.",
    }


def test_the_instructions_mention_only_served_tools(start: Callable[..., Ask]) -> None:
    ask = start("--read-only", "--toolsets", "tasks,documents")
    assert ask("server/discover", {})["result"]["instructions"] == (
        "Satchel keeps the user's documents and tasks by project, across sessions. Begin with catch_up. Name an "
        "item by #4, its name or its URI, like satchel://task/4; such a URI in a text is a link. Search here "
        "before you ask the user. `near` in an error lists what you probably meant."
    )
