"""Calls whose answers are checked against the MCP envelope and the published schema of the tool."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from tests.support.stdio import Client

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "contracts"


def answered(client: Client, contract: str, tool: str, arguments: dict[str, Any]) -> Any:
    """Return the body of an answer with a member `success`, after checking the rest of the result."""
    result = client.call(tool, arguments)
    [content] = result["content"]
    body = json.loads(content["text"])
    expected: dict[str, Any] = {"content": [content], "isError": not body["success"]}
    if client.revision is None:
        expected["structuredContent"] = body
    assert result == expected
    jsonschema.Draft7Validator(published_output(contract, tool)).validate(body)
    return body


@cache
def published_output(contract: str, tool: str) -> Any:
    """Return the schema of a tool's answers, from its published file."""
    return json.loads((DOCS / contract / f"{tool}.json").read_text())["properties"]["output"]
