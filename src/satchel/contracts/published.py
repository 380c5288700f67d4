"""Each tool as a published JSON Schema: what goes in, and what comes out as success or error."""

from typing import Any

from satchel.contracts.contract import Contract, Tool
from satchel.contracts.schema import answer_schema, json_schema


def published(contract: Contract, tool: Tool) -> dict[str, Any]:
    """The schema of one tool, in the format of the tasks document."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": tool.name,
        "description": tool.description,
        "type": "object",
        "properties": {
            "input": json_schema(tool.input, is_strict=contract.is_strict),
            "output": tool.output_schema or {"oneOf": [_success(tool), contract.refusal(tool)]},
        },
    }


def _success(tool: Tool) -> dict[str, Any]:
    schema = answer_schema(tool.output)
    return {**schema, "not": {"pattern": "^Error: "}} if tool.output is None else schema
