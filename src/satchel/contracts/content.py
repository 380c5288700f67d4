"""Answers of any contract: bounded lists, pages, and contents in MCP's form."""

from binascii import b2a_base64
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Any, TypeVar

from satchel.errors import AnswerTooLarge
from satchel.model import Argument, Document
from satchel.protocol.codec import encode

MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_PAGE_BYTES = 1024 * 1024  # bytes of the rows of one page as JSON; a page has at least one row
BATCH = 100  # how many rows to read at once

Row = TypeVar("Row")


def collect(
    batches: Iterable[Sequence[Row]], size_of: Callable[[Row], int], what: str, argument: str | None = None
) -> list[Row]:
    """Return all rows of a list that is not paginated.

    `size_of` returns a lower bound of the bytes that a row takes in the answer.

    Raises:
        AnswerTooLarge: the rows do not fit into an answer to `what`; the error suggests `argument` to make it smaller.
    """
    rows: list[Row] = []
    size = 0
    for batch in batches:
        size += sum(map(size_of, batch))
        if size > MAX_ANSWER_BYTES:
            raise AnswerTooLarge(what, MAX_ANSWER_BYTES, argument)
        rows += batch
    return rows


class PageRows:
    """The rows of one page, as many as fit."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._size = 0

    def add(self, row: object) -> bool:
        """Add a row if it fits, and return whether it did; the first row always fits."""
        size = len(encode(row)) + 1
        if self.rows and self._size + size > MAX_PAGE_BYTES:
            return False
        self._size += size
        self.rows.append(row)
        return True


def count_fitting(rows: Iterable[object]) -> int:
    """Return how many rows, from the first on, fit on a page; at least one."""
    page = PageRows()
    return sum(1 for _ in takewhile(page.add, rows))


def join_lines(text: str) -> str:
    """Return a text in one line."""
    return " ".join(text.splitlines())


def without_nulls(value: dict[str, Any]) -> dict[str, Any]:
    """Return a value without the members that are None; MCP forbids null there."""
    return {name: member for name, member in value.items() if member is not None}


def encode_arguments(arguments: tuple[Argument, ...]) -> list[dict[str, Any]]:
    """Return the arguments of a prompt in the form of `prompts/list`."""
    return [
        without_nulls({"name": one.name, "description": one.description, "required": one.is_required})
        for one in arguments
    ]


def encode_document(document: Document) -> dict[str, Any]:
    """Return a document in the form of `resources/read`."""
    value = {"uri": document.uri, "mimeType": document.mime_type}
    if isinstance(document.content, bytes):
        return {**value, "blob": b2a_base64(document.content, newline=False).decode()}
    return {**value, "text": document.content}


def format_minute(moment: str) -> str:
    """Return a time to the minute."""
    return f"{moment[:16]}Z"


def format_count(count: int, what: str) -> str:
    """Return a count with its noun, such as `1 byte` or `2 bytes`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
