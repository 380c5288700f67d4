"""Contents and descriptions as MCP carries them: texts as they are, any other content in base64."""

from binascii import Error, a2b_base64, b2a_base64
from typing import Any

from satchel.errors import WrongArgument
from satchel.model import Resource
from satchel.services import rules


def with_description(value: dict[str, Any], description: str | None) -> dict[str, Any]:
    """A value with a description, where there is one; MCP forbids null there."""
    return value if description is None else {**value, "description": description}


def encode_resource(resource: Resource) -> dict[str, Any]:
    """A resource as `resources/read` answers it."""
    value = {"uri": resource.uri, "mimeType": resource.mime_type}
    if isinstance(resource.content, bytes):
        return {**value, "blob": b2a_base64(resource.content, newline=False).decode()}
    return {**value, "text": resource.content}


def decode_content(content: str, mime_type: str) -> str | bytes:
    """A content that a client sent: text types as they are, any other type from base64.

    Raises:
        WrongArgument: it is not base64.
    """
    if rules.is_text(mime_type):
        return content
    try:
        data = a2b_base64(content, strict_mode=True)
    except (Error, ValueError):
        data = None
    # Encoding again finds surplus padding and unused bits that are not zero, which a2b_base64 accepts.
    if data is None or b2a_base64(data, newline=False) != content.encode():
        raise WrongArgument("content", "contentEncoding", limit="base64", kind="resource")
    return data
