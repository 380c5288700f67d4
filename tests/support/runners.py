"""Every contract on one open store, called in this process: the runners of a server, without a transport."""

import json
from typing import Any

from msgspec import Raw

from satchel.contracts import CONTRACTS, load
from satchel.contracts.runner import Runner
from satchel.library import catalog
from satchel.model import Scope
from satchel.protocol import REVISIONS, Call, Client, ProtocolError
from satchel.storage.database import Database

STORED = tuple(name for name in CONTRACTS if name != "twig")  # the contracts that read a store
ADA = "550e8400-e29b-41d4-a716-446655440000"
BOB = "11111111-2222-4333-8444-555555555555"
CYD = "99999999-8888-4777-8666-555555555555"

_REVISION = REVISIONS["2026-07-28"]


class Runners:
    """The runners of all contracts on a store."""

    def __init__(self, database: Database, libraries: catalog.Libraries | None = None) -> None:
        self.database = database
        self._libraries = libraries or catalog.Libraries(())
        self._runners = {name: Runner(load(name), database, lambda: self._libraries) for name in STORED}
        self._runners["twig"] = Runner(load("twig"), None, lambda: self._libraries)

    def call(self, contract: str, name: str, given: dict[str, Any], scope: Scope) -> dict[str, Any]:
        """Call a tool, or a method if the name has a slash; return its result, or a JSON-RPC error as `{"code": …}`."""
        is_method = "/" in name
        params = dict(given) if is_method else {"name": name, "arguments": given}
        if is_method and name == "prompts/get":
            params.setdefault("arguments", {})
        call = Call(
            id=1,
            method=name if is_method else "tools/call",
            params=params,
            revision=_REVISION,
            client=Client("proofs", "1"),
        )
        try:
            result = self._runners[contract].answer(call, scope, lambda *_: None)
        except ProtocolError as error:
            return {"code": error.code, "message": error.message}
        return {key: json.loads(bytes(value)) if isinstance(value, Raw) else value for key, value in result.items()}

    def close(self) -> None:
        """Stop the renderer; the store stays open."""
        self._libraries.renderer.close()


def has_failed(result: dict[str, Any]) -> bool:
    """Return whether a result is a failure, of a tool or of a method."""
    return result.get("isError") is True or "code" in result


def body_of(result: dict[str, Any]) -> Any:
    """Return the answer of a tool: its structured content, otherwise the text."""
    return result["structuredContent"] if "structuredContent" in result else result["content"][0]["text"]
