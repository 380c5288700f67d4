"""Resources and prompts as MCP carries them: texts as they are, anything else in base64."""

from binascii import Error, a2b_base64, b2a_base64
from typing import Any

from satchel.errors import WrongArgument
from satchel.model import Resource
from satchel.services import rules


def described(value: dict[str, Any], description: str | None) -> dict[str, Any]:
    return value if description is None else {**value, "description": description}


def contents(resource: Resource) -> dict[str, Any]:
    value = {"uri": resource.uri, "mimeType": resource.mime_type}
    if isinstance(resource.content, bytes):
        return {**value, "blob": b2a_base64(resource.content, newline=False).decode()}
    return {**value, "text": resource.content}


def decoded(content: str, mime_type: str) -> str | bytes:
    """A content as it came over the wire: text types as they are, any other in base64."""
    if rules.is_text(mime_type):
        return content
    try:
        data = a2b_base64(content, strict_mode=True)
    except (Error, ValueError):
        data = None
    # What does not come out as it went in had too much padding, or bits that mean nothing.
    if data is None or b2a_base64(data, newline=False) != content.encode():
        raise WrongArgument("content", "contentEncoding", limit="base64", kind="resource")
    return data
