"""The published contracts: a JSON Schema file for each tool, which what the tools say satisfies."""

import json

import jsonschema
import pytest

from satchel.contracts import CONTRACTS, load
from tests.support.published import DOCS

TOOLS = [(name, tool.name) for name in CONTRACTS for tool in load(name).tools]


@pytest.mark.parametrize(("contract", "tool"), TOOLS)
def test_every_tool_is_published_in_the_printed_format(contract: str, tool: str) -> None:
    schema = json.loads((DOCS / contract / f"{tool}.json").read_text())
    [row] = [row for row in load(contract).tools if row.name == tool]
    assert schema == load(contract).publish_schema(row)
    jsonschema.Draft7Validator.check_schema(schema)
    assert list(schema) == ["$schema", "title", "description", "type", "properties", "required"]
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#" and schema["title"] == tool
    assert list(schema["properties"]) == schema["required"] == ["input", "output"]
    assert isinstance(schema["properties"]["input"]["required"], list)
    success, error = schema["properties"]["output"]["oneOf"]
    assert success != error


def test_a_text_answer_is_success_or_error_and_not_both() -> None:
    schema = json.loads((DOCS / "mcpkg" / "create_prompt.json").read_text())["properties"]["output"]
    for said in ("Created prompt 'x' in project 'p'", "Error: Prompt 'x' already exists in project 'p'"):
        jsonschema.Draft7Validator(schema).validate(said)
