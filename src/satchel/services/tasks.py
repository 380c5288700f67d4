"""Rules and use cases of tasks. A task is meant by its id (a UUID) or its number, and belongs to one user."""

from typing import Literal

from satchel.errors import Forbidden, NotFound
from satchel.model import UNSET, Scope, Task, UnsetType
from satchel.storage import tasks as rows
from satchel.storage.database import Tx

Reference = str | int
Status = Literal["pending", "completed"]

_LARGEST_NUMBER = 2**63 - 1


def add(tx: Tx, scope: Scope, *, title: str, description: str | None = None) -> Task:
    """Keep a new task of the scope's user."""
    return rows.add(tx, owner(scope), title=title, description=description)


def listed(tx: Tx, scope: Scope, status: Status | None = None) -> list[Task]:
    """The user's tasks, the newest first: all, or those of one status."""
    if status == "pending":
        return rows.pending(tx, owner(scope))
    everything = rows.listed(tx, owner(scope))
    return everything if status is None else [task for task in everything if task.is_completed]


def get(tx: Tx, scope: Scope, reference: Reference) -> Task:
    """One of the user's tasks.

    Raises:
        NotFound: there is no such task.
        Forbidden: it is somebody else's; only an id tells, a number that is not the user's is not there.
    """
    task = _look_up(tx, scope, reference)
    if task is None:
        raise NotFound("task", str(reference), scope)
    if task.owner != owner(scope):
        raise Forbidden("task", str(reference), scope)
    return task


def update(
    tx: Tx,
    scope: Scope,
    reference: Reference,
    *,
    title: str | UnsetType = UNSET,
    description: str | UnsetType | None = UNSET,
) -> Task:
    """Change what is given of a task, whatever its status.

    Raises:
        NotFound, Forbidden: as `get`.
    """
    id = get(tx, scope, reference).id
    return _found(rows.update(tx, owner(scope), id, title=title, description=description), reference, scope)


def complete(tx: Tx, scope: Scope, reference: Reference, *, renews: bool) -> tuple[Task, bool]:
    """Mark a task as done, and tell whether it was done before; `renews` gives such a one the new time.

    Raises:
        NotFound, Forbidden: as `get`.
    """
    before = get(tx, scope, reference)
    first = rows.complete_first(tx, owner(scope), before.id)
    if first is not None:
        return first, False
    if renews:
        return _found(rows.complete(tx, owner(scope), before.id), reference, scope), True
    return get(tx, scope, before.id), True


def delete(tx: Tx, scope: Scope, reference: Reference) -> Task:
    """Remove a task for good, and give what it was.

    Raises:
        NotFound, Forbidden: as `get`.
    """
    task = get(tx, scope, reference)
    if not rows.delete(tx, owner(scope), task.id):
        raise NotFound("task", str(reference), scope)
    return task


def owner(scope: Scope) -> str:
    """The user whose tasks a call is about."""
    assert scope.user is not None, "a scope for tasks names a user"
    return scope.user


def _look_up(tx: Tx, scope: Scope, reference: Reference) -> Task | None:
    if isinstance(reference, str):
        return rows.by_id(tx, reference)
    return rows.by_number(tx, owner(scope), reference) if 0 < reference <= _LARGEST_NUMBER else None


def _found(task: Task | None, reference: Reference, scope: Scope) -> Task:
    if task is None:  # gone since we looked
        raise NotFound("task", str(reference), scope)
    return task
