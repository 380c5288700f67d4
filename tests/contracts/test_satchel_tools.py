"""The contract satchel as clients see it before they call a tool: names, hints, schemas, and their cost in tokens.

The schemas themselves are in docs/reference/contracts/, which test_published.py compares.
"""

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fastmcp.utilities.json_schema_type import json_schema_to_type_adapter

from satchel.contracts import load
from satchel.contracts.satchel import errors
from satchel.protocol.revisions import without_icons
from tests.support.in_process import InProcess
from tests.support.satchel import check

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = load("satchel")
TOOLS = {tool.name: without_icons(CONTRACT.describe_tool(tool)) for tool in CONTRACT.tools}

LISTED = [
    *("search", "catch_up", "remember", "add_project"),
    *("list_prompts", "get_prompt", "add_prompts", "update_prompt"),
    *("list_resources", "read_resource", "add_resources", "update_resource", "edit_text"),
    *("list_tasks", "get_task", "add_tasks", "update_task", "complete_task", "claim_task"),
    *("update_items", "delete", "history", "restore", "show"),
]
UNLISTED = [
    "list_projects",
    *("add_prompt", "render_prompt", "list_tags"),
    *("add_resource", "add_task"),
]
NAMES = [*LISTED, *UNLISTED]


def test_there_are_these_tools_and_no_others() -> None:
    assert [tool.name for tool in CONTRACT.tools if tool.is_listed] == LISTED
    assert [tool.name for tool in CONTRACT.tools if not tool.is_listed] == UNLISTED


def test_no_error_sends_a_model_to_a_tool_that_is_not_listed() -> None:
    texts = [*errors._HINTS.values(), *errors._ARGUMENT_HINTS.values()]
    assert [text for text in texts if set(re.findall(r"[a-z]+_[a-z]+", text)) & set(UNLISTED)] == []


def test_a_tool_has_everything_that_clients_need() -> None:
    for name in NAMES:
        tool = TOOLS[name]
        more = ["_meta"] if name == "show" else []
        assert list(tool) == ["name", "description", "inputSchema", "outputSchema", "annotations", *more]
        assert re.fullmatch("[A-Za-z0-9_]{1,64}", name)
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"


READS = {
    name
    for name in NAMES
    if name.startswith(("list_", "get_", "read_", "render_", "history", "search", "catch_", "show"))
}
LOSES = {name for name in NAMES if name.startswith(("update_", "delete", "edit_", "restore"))}
REPEATS = {name for name in NAMES if name.startswith(("update_", "complete_", "restore"))}


def test_the_hints_say_what_a_tool_does() -> None:
    for name in NAMES:
        assert TOOLS[name]["annotations"] == {
            "title": name.replace("_", " ").capitalize(),
            "readOnlyHint": name in READS,
            "destructiveHint": name in LOSES,
            "idempotentHint": name in READS | REPEATS,
            "openWorldHint": False,
        }
        [row] = [row for row in CONTRACT.tools if row.name == name]
        assert row.writes is (name not in READS)


def test_an_answer_is_a_success_or_an_error_and_never_both() -> None:
    for name in NAMES:
        validator = jsonschema.Draft202012Validator(TOOLS[name]["outputSchema"])
        error = {"error": {"code": "not_found", "message": "Nothing there.", "hint": "Look."}}
        assert validator.is_valid(error)
        assert not validator.is_valid({})
        assert not validator.is_valid({"error": "text"})
        assert not validator.is_valid({"project": "default"})
        required = TOOLS[name]["outputSchema"]["oneOf"][0]["required"]
        assert "project" in required


def test_a_model_is_shown_no_more_than_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import budget

    tools = budget.definitions()
    assert 1_000 < budget.cost(tools) <= budget.MOST_TOKENS == 2_700
    assert budget.main() == 0
    wordier = [{**tools[0], "description": "word " * 2_000}, *tools[1:]]
    monkeypatch.setattr(budget, "definitions", lambda: wordier)
    assert budget.main() == 1


def test_a_client_that_makes_types_of_schemas_keeps_all_that_tools_answer(store: str) -> None:
    """Use FastMCP's client, which keeps only members that an output schema names."""
    with InProcess("--database", store) as server:
        answers = {}
        for name, arguments in CALLS:
            result = server.call(name, arguments)
            check(name, result)
            assert not result["isError"], result
            typed = json_schema_to_type_adapter(TOOLS[name]["outputSchema"]).validate_python(
                result["structuredContent"]
            )
            assert_kept(result["structuredContent"], typed)
            answers[name] = typed
    assert answers.keys() == set(NAMES)


def assert_kept(value: Any, typed: Any) -> None:
    """Assert that a typed value has every member of an answer."""
    if isinstance(value, dict):
        for name, member in value.items():
            assert_kept(member, getattr(typed, "from_" if name == "from" else name))
    elif isinstance(value, list):
        assert len(value) == len(typed)
        for one, other in zip(value, typed, strict=True):
            assert_kept(one, other)
    else:
        assert value == typed


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("add_project", {"name": "other"}),
    ("add_prompt", {"title": "Old", "content": "See satchel://task/1"}),
    ("add_prompts", {"prompts": [{"title": "Review", "content": "Review {{ what }}", "tags": ["code"]}]}),
    ("update_prompt", {"prompt": "review", "description": "How we review"}),
    ("list_prompts", {"limit": 1}),
    ("get_prompt", {"prompt": "review"}),
    ("get_prompt", {"prompt": "review", "arguments": {"what": "this"}}),
    ("render_prompt", {"prompt": "review", "arguments": {"what": "that"}}),
    ("list_tags", {}),
    ("list_projects", {}),
    ("add_resource", {"name": "a.md", "content": "# One"}),
    ("add_resources", {"resources": [{"name": "b.md", "content": "Two\n" * 5_000}]}),
    ("update_resource", {"resource": "a.md", "content": "# One, see satchel://resource/b.md"}),
    ("read_resource", {"resource": "a.md"}),
    ("read_resource", {"resource": "b.md"}),
    ("list_resources", {}),
    ("edit_text", {"item": "a.md", "append": "more"}),
    ("add_task", {"title": "One", "description": "See satchel://prompt/review", "due": "2030-01-01"}),
    ("add_tasks", {"lines": ["Two !high +docs after:#1", "Three @other"]}),
    ("update_task", {"task": 2, "note": "Begun"}),
    ("list_tasks", {"status": "all"}),
    ("claim_task", {"task": 2}),
    ("list_tasks", {}),
    ("get_task", {"task": 2}),
    ("remember", {"text": "Deploy with make release"}),
    ("catch_up", {}),
    ("claim_task", {"task": 2, "release": True}),
    ("complete_task", {"task": 1}),
    ("update_items", {"items": ["#2", "review"], "tags": ["+new"]}),
    ("search", {"query": "review"}),
    ("show", {}),
    ("show", {"what": "prompts"}),
    ("history", {}),
    ("history", {"item": "review"}),
    ("history", {"item": "review", "version": 1}),
    ("history", {"item": "review", "version": 2, "against": 1}),
    ("restore", {"item": "review"}),
    ("delete", {"items": ["#1", "old", "a.md"]}),
    ("delete", {"items": ["review", "b.md", "#2"]}),
]
