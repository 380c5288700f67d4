"""Calls whose answers are checked against the MCP envelope and the published schema of the tool."""

import json
from typing import Any

import jsonschema

from satchel.contracts import load
from tests.support.stdio import Server


def answered(client: Server, contract: str, tool: str, arguments: dict[str, Any]) -> Any:
    """The body of an answer with a member `success`, after the rest of the result was checked."""
    result = client.call(tool, arguments)
    [content] = result["content"]
    body = json.loads(content["text"])
    expected: dict[str, Any] = {"content": [content], "isError": not body["success"]}
    if client.revision is None:
        expected["structuredContent"] = body
    assert result == expected
    table = load(contract)
    [row] = [row for row in table.tools if row.name == tool]
    jsonschema.Draft7Validator(table.publish_schema(row)["properties"]["output"]).validate(body)
    return body
