"""Resources and prompts as MCP carries them: texts as they are, anything else in base64."""

from binascii import b2a_base64
from typing import Any

from satchel.model import Resource


def described(value: dict[str, Any], description: str | None) -> dict[str, Any]:
    return value if description is None else {**value, "description": description}


def contents(resource: Resource) -> dict[str, Any]:
    value = {"uri": resource.uri, "mimeType": resource.mime_type}
    if isinstance(resource.content, bytes):
        return {**value, "blob": b2a_base64(resource.content, newline=False).decode()}
    return {**value, "text": resource.content}
