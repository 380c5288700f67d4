"""Contents and descriptions as MCP carries them: texts as they are, any other content in base64."""

from binascii import b2a_base64
from typing import Any

from satchel.model import Argument, Document


def join_lines(text: str) -> str:
    """A text in one line."""
    return " ".join(text.splitlines())


def with_description(value: dict[str, Any], description: str | None) -> dict[str, Any]:
    """A value with a description, where there is one; MCP forbids null there."""
    return value if description is None else {**value, "description": description}


def encode_arguments(arguments: tuple[Argument, ...]) -> list[dict[str, Any]]:
    """The arguments of a prompt as `prompts/list` answers them."""
    return [with_description({"name": one.name, "required": one.is_required}, one.description) for one in arguments]


def encode_document(document: Document) -> dict[str, Any]:
    """A document as `resources/read` answers it."""
    value = {"uri": document.uri, "mimeType": document.mime_type}
    if isinstance(document.content, bytes):
        return {**value, "blob": b2a_base64(document.content, newline=False).decode()}
    return {**value, "text": document.content}


def format_count(count: int, what: str) -> str:
    """Return a number of things, as in `1 byte` and `2 bytes`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
