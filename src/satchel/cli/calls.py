"""Calls of the tools of the `satchel` contract: `--json` prints what a tool answers, as a client gets it."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from satchel.contracts.contract import Reply
from satchel.contracts.runner import Runner
from satchel.contracts.satchel import CONTRACT
from satchel.errors import SatchelError
from satchel.library.catalog import Libraries
from satchel.model import Scope
from satchel.storage.database import Database

MAX_PAGE = 200  # entries that a tool gives at once


class Answer(NamedTuple):
    """What a tool answered."""

    value: dict[str, Any]
    content: list[dict[str, Any]]  # blocks, as MCP has them

    @property
    def text(self) -> str:
        """The answer for people."""
        return str(self.content[0].get("text", ""))

    @property
    def notes(self) -> list[str]:
        """What the caller may not expect."""
        return list(self.value.get("notes", ()))


class Tools:
    """The tools of the contract on an open store. Close them to end the worker that fills in templates."""

    def __init__(self, database: Database, libraries: Sequence[str]) -> None:
        self._libraries = Libraries(libraries, is_quiet=True)
        self._runner = Runner(CONTRACT, database, lambda: self._libraries)

    def call(self, scope: Scope, name: str, arguments: dict[str, Any]) -> Answer:
        """The answer of a tool; arguments that are None are not given.

        Raises:
            SatchelError: the tool failed; nothing was done.
        """
        given = {key: value for key, value in arguments.items() if value is not None}
        result = self._runner.perform(self._runner.tools[name], given, scope)
        return Answer(msgspec.json.decode(result["structuredContent"]), msgspec.json.decode(result["content"]))

    def close(self) -> None:
        """End the worker."""
        self._libraries.renderer.close()


def explain_failure(name: str, error: SatchelError) -> dict[str, Any]:
    """An error as the tool answers it."""
    tool = next(tool for tool in CONTRACT.tools if tool.name == name)
    body = CONTRACT.explain_failure(tool, error)
    assert isinstance(body, Reply) and isinstance(body.structured, dict), (
        "every failure of the contract is such a reply"
    )
    return body.structured


class Page(NamedTuple):
    """Which part of a list a command shows."""

    limit: int | None  # None: all of it
    offset: int = 0
    cursor: str | None = None


def split(page: Page) -> Iterator[tuple[int, bool]]:
    """How many entries to ask for, call by call, and whether they are skipped; endless where there is no limit."""
    for count, is_skipped in ((page.offset, True), (page.limit, False)):
        while count is None or count > 0:
            size = MAX_PAGE if count is None else min(count, MAX_PAGE)
            yield size, is_skipped
            count = None if count is None else count - size
