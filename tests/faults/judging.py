"""What a contract answers when its store fails, and which parts of answers can be compared."""

import re
from typing import Any

import msgspec
import pytest

from satchel.contracts import load
from satchel.contracts.contract import Reply
from satchel.errors import StoreFailed


def forbid_surprises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make an error that no code expected a failure of the test, and keep the log quiet."""

    def fail(what: str) -> None:
        raise AssertionError(f"a surprise in {what}")

    monkeypatch.setattr("satchel.contracts.runner.log_surprise", fail)
    monkeypatch.setattr("satchel.contracts.runner.log", lambda _: None)
    monkeypatch.setattr("satchel.contracts.runner.log_call", lambda *_: None)


def failure_of(contract: str, name: str, error: StoreFailed | None = None) -> Any:
    """Return what a tool or a method says when the store fails."""
    if "/" in name:
        return {"code": -32603, "message": "Internal error"}
    table = load(contract)
    [tool] = [one for one in table.tools if one.name == name]
    body = table.explain_failure(tool, error or StoreFailed("x"))
    return msgspec.to_builtins(body.structured if isinstance(body, Reply) else body)


def comparable(answer: object) -> str:
    """Return an answer as a text without what differs from run to run."""
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", str(answer))
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{6})?)?Z", "TIME", text)
    return re.sub(r"\b\d\d:\d\d\b", "TIME", text)
