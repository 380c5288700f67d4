"""A client that changes a store through a server until the server is gone, and records what was acknowledged.

Each client has items of its own, by their names. What was sent and not answered may have happened or not, but whole.
"""

import random
from collections.abc import Callable
from typing import Any

from satchel.model import uri_of
from satchel.storage.database import Tx

Key = tuple[str, str]  # kind, and the name of a prompt or document or the title of a task
Effects = dict[Key, str | None]  # the token in its text; None: it is not there

FILLER = "some text of a few words " * 120  # so that the log is full, and moved into the file, every few dozen writes


class Gone(Exception):
    """The server does not answer any more."""


class Recorder:
    """One client. `call` takes a tool of `satchel` with its arguments, and gives the answer or raises Gone."""

    def __init__(self, name: str, seed: int) -> None:
        self._name = name
        self._dice = random.Random(seed)
        self._count = 0
        self._numbers: dict[str, int] = {}  # of tasks, by title
        self.known: Effects = {}  # as acknowledged
        self.pending: Effects = {}  # of the call that was not answered
        self.acknowledged = 0

    def work(self, call: Callable[[str, dict[str, Any]], Any], most: int = 1_000_000) -> None:
        """Change one thing after the other until the server is gone."""
        try:
            for _ in range(most):
                self._step(call)
        except Gone:
            pass

    def _step(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        live = [key for key in list(self.known)[-200:] if self.known[key] is not None]
        way = self._dice.choice(("add", "add", "edit", "edit", "delete")) if live else "add"
        self._count += 1
        token = f"token-{self._name}-{self._count}"
        tool, arguments, effects = (
            self._add(token) if way == "add" else self._change(way, self._dice.choice(live), token)
        )
        self.pending = effects
        answer = call(tool, arguments)
        assert "error" not in answer, (tool, answer)
        for row in answer.get("tasks", []) if tool == "add_tasks" else []:
            self._numbers[row["title"]] = row["number"]
        self.known |= effects
        self.pending = {}
        self.acknowledged += 1

    def _add(self, token: str) -> tuple[str, dict[str, Any], Effects]:
        names = [f"{self._name}x{self._count}x{index}" for index in range(2)]
        text = f"{token}\n{FILLER}"
        kind = self._dice.choice(("prompt", "document", "task"))
        effects: Effects = {(kind, name): token for name in names}
        if kind == "prompt":
            return (
                "add_prompts",
                {"prompts": [{"title": one, "content": text, "tags": ["t"]} for one in names]},
                effects,
            )
        if kind == "document":
            return "add_resources", {"resources": [{"name": one, "content": text} for one in names]}, effects
        return "add_tasks", {"lines": [f"{one}\n  {token}\n  more words" for one in names]}, effects

    def _change(self, way: str, key: Key, token: str) -> tuple[str, dict[str, Any], Effects]:
        kind, name = key
        if kind == "task" and name not in self._numbers:  # added by a call that was not answered
            return self._add(token)
        reference = uri_of(kind, self._numbers[name] if kind == "task" else name)
        if way == "delete":
            return "delete", {"items": [reference]}, {key: None}
        edits = [{"old": self.known[key], "new": token}]
        return "edit_text", {"item": reference, "edits": edits}, {key: token}

    def check(self, found: dict[Key, str]) -> None:
        """Compare with what the store has: nothing acknowledged is lost, and what is pending is there whole or not."""
        mine = {key: token for key, token in found.items() if key[1].startswith(f"{self._name}x")}
        settled = {key: token for key, token in self.known.items() if key not in self.pending}
        assert {key: token for key, token in mine.items() if key not in self.pending} == {
            key: token for key, token in settled.items() if token is not None
        }
        if self.pending:
            now = {key: mine.get(key) for key in self.pending}
            before = {key: self.known.get(key) for key in self.pending}
            assert now in (before, self.pending), (now, before, self.pending)
            self.known |= now
            self.pending = {}


def read_items(tx: Tx) -> dict[Key, str]:
    """Return the items of a store, each with the token in its text."""
    found: dict[Key, str] = {}
    for kind, sql in (
        ("prompt", "select name, substr(content, 1, 100) from prompts where deleted_at is null"),
        ("document", "select name, substr(content, 1, 100) from documents where deleted_at is null"),
        ("task", "select title, description from tasks where deleted_at is null"),
    ):
        for name, text in tx.all(sql):
            assert (kind, name) not in found
            found[kind, name] = text.partition("\n")[0]
    return found
