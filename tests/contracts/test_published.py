"""The published contracts: the JSON Schema file of each tool fits the tool and its answers."""

import json
import re
from collections.abc import Callable

import jsonschema

from satchel.contracts import CONTRACTS, load
from tests.support.published import DOCS, published_output
from tests.support.stdio import NEWEST, OLDEST, Client

TOOLS = [(name, tool.name) for name in CONTRACTS for tool in load(name).tools]


def test_every_tool_is_published_in_the_printed_format() -> None:
    for contract, tool in TOOLS:
        schema = json.loads((DOCS / contract / f"{tool}.json").read_text())
        [row] = [row for row in load(contract).tools if row.name == tool]
        assert schema == load(contract).publish_schema(row)
        jsonschema.Draft7Validator.check_schema(schema)
        assert list(schema) == ["$schema", "title", "description", "type", "properties"]
        assert schema["$schema"] == "http://json-schema.org/draft-07/schema#" and schema["title"] == tool
        assert list(schema["properties"]) == ["input", "output"]
        assert schema["properties"]["input"] == load(contract).describe_tool(row)["inputSchema"]
        if contract != "todo":  # its document prints one schema for both
            *successes, error = schema["properties"]["output"]["oneOf"]
            assert successes and error not in successes


def test_only_the_tools_of_todo_tasks_and_satchel_list_what_they_answer(
    store: str, serve: Callable[..., Client]
) -> None:
    for name in CONTRACTS:
        if name == "twig":
            continue  # a contract without tools
        for revision in (NEWEST, OLDEST):
            for tool in serve(name, store, revision).request("tools/list")["result"]["tools"]:
                if name in ("todo", "tasks", "satchel"):
                    assert tool["outputSchema"] == published_output(name, tool["name"])
                    assert tool["outputSchema"]["type"] == "object"  # as MCP requires
                else:
                    assert "outputSchema" not in tool


CODES: dict[tuple[str, str], set[str]] = {
    ("tasks", "add_task"): {"VALIDATION_ERROR", "DATABASE_ERROR", "INTERNAL_ERROR"},
    ("tasks", "list_tasks"): {"VALIDATION_ERROR", "DATABASE_ERROR", "INTERNAL_ERROR"},
    **{
        ("tasks", tool): {"VALIDATION_ERROR", "NOT_FOUND", "DATABASE_ERROR", "INTERNAL_ERROR"}
        for tool in ("update_task", "complete_task", "delete_task")
    },
    **{
        ("prompt-store", tool): {"NOT_FOUND", "INVALID_INPUT", "INTERNAL_ERROR"}
        for tool in ("list_prompts", "get_prompt", "delete_prompt", "search_prompts", "filter_by_tags", "list_tags")
    },
    **{
        ("prompt-store", tool): {
            *("NOT_FOUND", "DUPLICATE_TITLE", "INVALID_TITLE"),
            *("INVALID_TAG", "INVALID_INPUT", "INTERNAL_ERROR"),
        }
        for tool in ("add_prompt", "update_prompt")
    },
}


def test_the_published_codes_are_those_that_a_tool_can_give() -> None:
    for contract, tool in CODES:
        _, failure = published_output(contract, tool)["oneOf"]
        members = failure["properties"]
        code = members["code"] if contract == "tasks" else members["error"]["properties"]["code"]
        assert set(code["enum"]) == CODES[contract, tool]


def test_the_pages_write_values_as_json() -> None:
    for page in DOCS.glob("*.md"):
        text = page.read_text().replace("`True` `False` `None`", "")  # words that Jinja2 reserves, not values
        assert not re.search(r"\b(None|True|False)\b", text), page.name


def test_a_text_answer_is_success_or_error_and_not_both() -> None:
    schema = json.loads((DOCS / "mcpkg" / "create_prompt.json").read_text())["properties"]["output"]
    for said in ("Created prompt 'x' in project 'p'", "Error: Prompt 'x' already exists in project 'p'"):
        jsonschema.Draft7Validator(schema).validate(said)
