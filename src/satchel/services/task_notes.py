"""Notes on tasks: what was written while working on one. They are only added, and are no versions of the task."""

from collections.abc import Sequence

from satchel.errors import NotFound, WrongArgument
from satchel.model import MAX_DESCRIPTION, Scope, StoreChange, TaskNote, Timestamp
from satchel.services import links, quotas, rules
from satchel.storage import task_notes as rows
from satchel.storage import tasks as task_rows
from satchel.storage.database import Tx

MAX_NOTES = 1_000  # of one task


def add(tx: Tx, scope: Scope, number: int, text: str, at: Timestamp | None = None) -> None:
    """Add a note to a task, written now, or at a time that is known from elsewhere.

    Raises:
        NotFound: the user has no such task.
        WrongArgument: it is empty or too long, or the task has too many.
        QuotaExceeded: the user may not keep that much.
    """
    rules.check_text("note", text)
    if not text.strip():
        raise WrongArgument("note", "minLength", limit=1, kind="task")
    if len(text) > MAX_DESCRIPTION:
        raise WrongArgument("note", "maxLength", limit=MAX_DESCRIPTION, kind="task")
    task = task_rows.find_to_change(tx, scope.owner, number, scope.projects)
    if task is None:
        raise NotFound("task", str(number), scope)
    if rows.count(tx, task.owner, number) >= MAX_NOTES:
        raise WrongArgument("note", "maxItems", limit=MAX_NOTES, kind="task")
    rows.add(tx, task.owner, number, text, at)
    quotas.check(tx)
    links.record_note(tx, task.owner, number, text)
    tx.changed(StoreChange("task", task.project, task.owner, str(number)))


def list_newest(tx: Tx, scope: Scope, number: int, limit: int) -> tuple[list[TaskNote], int]:
    """The last notes of a task that the caller may see, the oldest of them first, and how many there are in all."""
    notes = rows.newest(tx, scope.owner, number, limit)
    return notes, len(notes) if len(notes) < limit else rows.count(tx, scope.owner, number)


def list_of(tx: Tx, scope: Scope, numbers: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
    """Return time and text of the notes on some of the user's tasks by the task's number, the oldest first."""
    found: dict[int, list[tuple[str, str]]] = {}
    for task, at, text in rows.of_tasks(tx, scope.owner, numbers):
        found.setdefault(task, []).append((at, text))
    return found
