"""What clients see of the contract satchel before they call anything: each definition whole, and what all cost.

The definitions are in own/, a file for each tool. Where one changes on purpose, renew them and look at the difference:

    SATCHEL_RENEW=1 .venv/bin/python -m pytest tests/contracts/test_satchel_tools.py; git diff tests/contracts/own
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from satchel.contracts import load
from satchel.contracts.satchel import errors
from satchel.protocol.revisions import without_icons

FOLDER = Path(__file__).parent / "own"
ROOT = Path(__file__).resolve().parents[2]
CONTRACT = load("satchel")
TOOLS = {tool.name: without_icons(CONTRACT.describe_tool(tool)) for tool in CONTRACT.tools}

LISTED = [
    *("search", "catch_up", "add_project"),
    *("list_prompts", "get_prompt", "add_prompts", "update_prompt"),
    *("list_resources", "read_resource", "add_resources", "update_resource", "edit_text"),
    *("list_tasks", "get_task", "add_tasks", "update_task", "complete_task", "claim_task"),
    *("update_items", "delete", "history", "restore", "show"),
]
UNLISTED = [
    "list_projects",
    *("add_prompt", "render_prompt", "delete_prompt", "list_tags"),
    *("add_resource", "delete_resource"),
    *("add_task", "delete_task"),
]
NAMES = [*LISTED, *UNLISTED]


def test_there_are_these_tools_and_no_others() -> None:
    assert [tool.name for tool in CONTRACT.tools if tool.is_listed] == LISTED
    assert [tool.name for tool in CONTRACT.tools if not tool.is_listed] == UNLISTED
    assert sorted(file.stem for file in FOLDER.glob("*.json")) == sorted(NAMES)


def test_no_error_sends_a_model_to_a_tool_that_is_not_listed() -> None:
    texts = [*errors._HINTS.values(), *errors._ARGUMENT_HINTS.values()]
    assert [text for text in texts if set(re.findall(r"[a-z]+_[a-z]+", text)) & set(UNLISTED)] == []


def test_a_tool_is_defined_as_it_was() -> None:
    for name in NAMES:
        file = FOLDER / f"{name}.json"
        if os.environ.get("SATCHEL_RENEW"):
            file.write_text(json.dumps(TOOLS[name], indent=2) + "\n")
        assert json.loads(file.read_text()) == TOOLS[name]


def test_a_tool_tells_what_a_client_wants_to_know() -> None:
    for name in NAMES:
        tool = TOOLS[name]
        more = ["_meta"] if name == "show" else []
        assert list(tool) == ["name", "title", "description", "inputSchema", "outputSchema", "annotations", *more]
        assert re.fullmatch("[A-Za-z0-9_]{1,64}", name)
        assert tool["title"].lower().replace(" ", "_") == name
        assert tool["annotations"].keys() == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
        assert all(isinstance(hint, bool) for hint in tool["annotations"].values())
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
        error = {"error": {"code": "not_found", "message": "Nothing there."}}
        assert validator.is_valid(error)
        assert not validator.is_valid({})
        assert not validator.is_valid({"error": "text"})
        assert not validator.is_valid({"project": "default"})
        required = TOOLS[name]["outputSchema"]["oneOf"][0]["required"]
        assert "project" in required


@pytest.mark.process
def test_all_of_it_fits_into_the_budget() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "budget.py"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.fullmatch(r"tools/list of satchel: (\d+) tokens of 2400, (\d+) bytes of 20480\n", done.stdout)
    assert said, done.stdout
    assert 1_000 < int(said[1]) <= 2_400 and 10_000 < int(said[2]) <= 20 * 1024


def test_more_than_the_budget_is_noticed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import budget
    finally:
        sys.path.pop(0)
    tools = budget.definitions()
    assert [without_icons(tool) for tool in tools] == [TOOLS[tool.name] for tool in CONTRACT.tools if tool.is_listed]
    tokens, size = budget.cost(tools)
    wordier = [{**tools[0], "description": "word " * 800}, *tools[1:]]
    assert budget.cost(wordier)[0] > tokens + 770
    monkeypatch.setattr(budget, "definitions", lambda: wordier)
    assert budget.main() == 1
    silent = [{**tools[0], "annotations": {"x" * size: True}}, *tools[1:]]  # which no model reads, but a client does
    assert budget.cost(silent)[0] == tokens
    monkeypatch.setattr(budget, "definitions", lambda: silent)
    assert budget.main() == 1
    capsys.readouterr()
