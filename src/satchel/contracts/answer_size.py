"""Bounds of what is listed: a page ends where it has enough bytes, and a list that has no pages where it has too many.

One writer can store thousands of long descriptions. Rows are read in batches, so that neither their number nor their
length decides how much memory a list takes.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Any, TypeVar

from satchel.contracts import runner
from satchel.errors import AnswerTooLarge
from satchel.protocol.codec import encode

Row = TypeVar("Row")

MAX_PAGE_BYTES = 1024 * 1024  # of the rows of one page, as JSON; a page has at least one row
BATCH = 100  # rows that are read at once


def collect(
    batches: Iterable[Sequence[Row]], size_of: Callable[[Row], int], what: str, argument: str | None = None
) -> list[Row]:
    """All rows of a list without pages; `size_of` is at most the bytes of a row in the answer.

    Raises:
        AnswerTooLarge: they do not fit into an answer to `what`, of which `argument` asks for less.
    """
    rows: list[Row] = []
    size = 0
    for batch in batches:
        size += sum(map(size_of, batch))
        if size > runner.MAX_ANSWER_BYTES:
            raise AnswerTooLarge(what, runner.MAX_ANSWER_BYTES, argument)
        rows += batch
    return rows


class PageRows:
    """The rows of one page, as many as fit on it."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._size = 0

    def add(self, row: object) -> bool:
        """Add a row, if it fits; the first one always does."""
        size = len(encode(row)) + 1
        if self.rows and self._size + size > MAX_PAGE_BYTES:
            return False
        self._size += size
        self.rows.append(row)
        return True


def count_fitting(rows: Iterable[object]) -> int:
    """How many of the first rows of a page fit on it: at least one."""
    page = PageRows()
    return sum(1 for _ in takewhile(page.add, rows))
