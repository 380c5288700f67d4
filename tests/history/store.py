"""Changes for the tests of history, each in its own transaction by one of three users; and a clock."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from satchel import clock
from satchel.errors import StoreConflict
from satchel.model import Document, DocumentDraft, Item, Prompt, PromptDraft, PromptPatch, Scope, Task, TaskDraft
from satchel.services import documents, lookup, projects, prompts, restoring, tasks
from satchel.services.restoring import Restored
from satchel.storage.database import Database, Tx

Value = TypeVar("Value")

ADA = Scope(user="550e8400-e29b-41d4-a716-446655440000")
BOB = Scope(user="11111111-2222-4333-8444-555555555555")
CYD = Scope(user="99999999-8888-4777-8666-555555555555")


def write(database: Database, scope: Scope, act: Callable[[Tx], Value]) -> Value:
    """Run a function in a transaction, and repeat it after a conflict with another writer, as the runner does."""
    for attempt in range(5):
        try:
            with database.write(scope) as tx:
                return act(tx)
        except StoreConflict:
            if attempt == 4:
                raise
    raise AssertionError("the last try returns or raises")


def read(database: Database, scope: Scope, ask: Callable[[Tx], Value]) -> Value:
    with database.read(scope) as tx:
        return ask(tx)


def add_projects(database: Database, *names: str) -> None:
    write(database, ADA, lambda tx: [projects.add(tx, name) for name in names])


def add_prompt(database: Database, scope: Scope, title: str, content: str = "one two three") -> Prompt:
    return write(database, scope, lambda tx: prompts.add(tx, scope, PromptDraft(title=title, content=content)))


def edit_prompt(database: Database, scope: Scope, prompt: Prompt, content: str) -> Prompt:
    return write(database, scope, lambda tx: prompts.update(tx, scope, prompt.id, PromptPatch(content=content)))


def delete_prompt(database: Database, scope: Scope, prompt: Prompt) -> None:
    write(database, scope, lambda tx: prompts.delete(tx, scope, prompt.id))


def add_resource(database: Database, scope: Scope, name: str, content: str | bytes = "text") -> Document:
    mime_type = "text/plain" if isinstance(content, str) else "application/octet-stream"
    draft = DocumentDraft(name=name, uri=f"x:{name}", content=content, mime_type=mime_type)
    return write(database, scope, lambda tx: documents.add(tx, scope, draft))


def add_task(database: Database, scope: Scope, title: str, *blockers: int, project: str | None = None) -> Task:
    draft = TaskDraft(title=title, description=f"About {title}", project=project, blocked_by=blockers)
    return write(database, scope, lambda tx: tasks.add(tx, scope, draft))


def delete_task(database: Database, scope: Scope, number: int) -> None:
    write(database, scope, lambda tx: tasks.delete(tx, scope, number))


def restore(database: Database, scope: Scope, reference: str, version: int | None = None) -> Restored:
    return write(database, scope, lambda tx: restoring.restore(tx, scope, reference, version))


def find(database: Database, scope: Scope, reference: str) -> Item:
    return read(database, scope, lambda tx: lookup.find(tx, scope, reference))


class Calendar:
    """A clock for tests: each call returns a later time, and the test sets the day."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Return to the first day."""
        self.day = 0
        self._tick = 0

    def __call__(self) -> str:
        self._tick += 1
        return clock.write(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=self.day, microseconds=self._tick))
