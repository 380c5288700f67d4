"""Checks each message of the server against the official SDK's models and MCP's schemas.

The schemas are not part of the project. They are used if they are beside the checkout, as in CI, or in the folder
that SATCHEL_MCP_SCHEMAS names.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import mcp_types
from mcp_types import methods

SCHEMAS = Path(
    os.environ.get("SATCHEL_MCP_SCHEMAS") or Path(__file__).resolve().parents[3] / "shared" / "mcp" / "schema"
)

RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "server/discover": "DiscoverResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
    "completion/complete": "CompleteResult",
    "subscriptions/listen": "SubscriptionsListenResult",
}

# Method → name of the notification in the schemas.
NOTIFICATIONS = {
    "notifications/cancelled": "CancelledNotification",
    "notifications/progress": "ProgressNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
}


def check(message: dict[str, Any], method: str | None, revision: str) -> None:
    """Check one message of the server against its revision; `method` is the method of the request that it answers."""
    if "method" in message and "id" in message:
        assert message["method"] == "elicitation/create" and message["id"] not in ("", None)
        methods.parse_server_request(message["method"], revision, message.get("params"))
        _check_schema(message, "ElicitRequest", revision)
    elif "method" in message:
        methods.parse_server_notification(message["method"], revision, message.get("params"))
        _check_schema(message, NOTIFICATIONS[message["method"]], revision)
    elif "error" in message:
        # Skip errors without a readable id: old schemas allow neither a null id nor a missing one.
        if message.get("id") is not None:
            mcp_types.JSONRPCError.model_validate(message)
            _check_schema(message, "JSONRPCErrorResponse" if revision >= "2025-11-25" else "JSONRPCError", revision)
    else:
        assert method is not None, f"an answer to nothing we asked: {message}"
        mcp_types.JSONRPCResponse.model_validate(message)
        if method.startswith("skills/"):  # an extension, whose results are not in these schemas
            return
        methods.validate_server_result(method, revision, message["result"])
        is_question = message["result"].get("resultType") == "input_required"
        _check_schema(message["result"], "InputRequiredResult" if is_question else RESULTS[method], revision)


def _check_schema(value: object, definition: str, revision: str) -> None:
    validator = _validator(definition, revision)
    if validator is not None:
        validator.validate(value)


@cache
def _validator(definition: str, revision: str) -> Any:
    file = SCHEMAS / f"{revision}.json"
    if not file.exists():
        return None
    schema = json.loads(file.read_text())
    key = "$defs" if "$defs" in schema else "definitions"
    assert definition in schema[key], f"{revision} has no {definition}"
    whole = {"$schema": schema["$schema"], key: schema[key], "$ref": f"#/{key}/{definition}"}
    return jsonschema.validators.validator_for(whole)(whole)
