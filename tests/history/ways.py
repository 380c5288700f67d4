"""The ways in which a user changes the store: the services, and each contract that can do it, in this process."""

from collections.abc import Callable
from typing import Any

import pytest

from satchel.contracts import load
from satchel.contracts.runner import Runner
from satchel.errors import Refused
from satchel.library import catalog
from satchel.model import Author, Scope
from satchel.protocol import REVISIONS, Call, Client
from satchel.storage.database import Database, Tx
from tests.history.store import write

_CALL = Call(id=1, method="tools/call", params={}, revision=REVISIONS["2026-07-28"], client=Client("model", "1"))
CONTRACTS = ("prompt-store", "mcpkg", "todo", "tasks", "satchel")


class Ways:
    """One open store, and the runners of all contracts on it."""

    def __init__(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.database = database
        libraries = catalog.Libraries(())
        self._runners = {name: Runner(load(name), database, lambda: libraries) for name in CONTRACTS}
        monkeypatch.setattr("satchel.contracts.runner.log_surprise", self._fail)

    def act(self, scope: Scope, act: Callable[[Tx], object]) -> bool:
        """Do something through the services; says whether it was done, and not refused."""
        assert scope.user is not None
        signed = Scope(user=scope.user, project=scope.project, author=Author(user=scope.user))
        try:
            write(self.database, signed, act)
        except Refused:
            return False
        return True

    def call(self, contract: str, scope: Scope, tool: str, **arguments: Any) -> bool:
        """Call a tool of a contract; says whether it succeeded."""
        if contract == "todo":
            arguments["user_id"] = scope.user
        given = {name: value for name, value in arguments.items() if value is not None}
        result = self._runners[contract].run_tool(tool, given, scope, lambda *_: None, _CALL)
        return not result["isError"]

    @staticmethod
    def _fail(tool: str) -> None:
        raise AssertionError(f"{tool} failed unexpectedly")
