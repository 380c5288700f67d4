"""Which tasks block which: rules about the blockers of a task, and which of them a scope may see."""

from collections.abc import Sequence

from msgspec.structs import replace

from satchel.errors import MissingBlocker, NotFound, WrongArgument
from satchel.model import Scope, TaskDetails
from satchel.services import projects
from satchel.storage import tasks as rows
from satchel.storage import trash
from satchel.storage.database import Tx, Violation

_LARGEST_NUMBER = 2**63 - 1


def set_all(tx: Tx, scope: Scope, task: int, blockers: Sequence[int]) -> None:
    """Replace the blockers of a task; those that the scope may not see stay.

    Raises:
        NotFound: the user has no such task.
        WrongArgument: the task would block itself, directly or through others.
    """
    if task in blockers:
        raise WrongArgument("blocked_by", "acyclic", value=task, kind="task")
    wanted = sorted(set(blockers))
    possible = [number for number in wanted if 0 < number <= _LARGEST_NUMBER]
    if scope.projects is not None:
        # Blockers that the scope cannot see can be neither added nor removed.
        [before] = rows.details(tx, scope.owner, [task])
        seen = rows.visible(tx, scope.owner, [*possible, *before.blocked_by], scope.projects)
        possible = [number for number in possible if number in seen]
        possible += [number for number in before.blocked_by if number not in seen]
    try:
        added = set(rows.set_blockers(tx, scope.owner, task, possible))
    except Violation as violation:  # one of them was deleted meanwhile
        raise NotFound("task", str(wanted[0]), scope) from violation
    missing = [number for number in wanted if number not in added]
    if missing:
        raise NotFound("task", str(missing[0]), scope)
    check_circle(tx, scope.owner, task)


def check_circle(tx: Tx, user: str, task: int) -> None:
    """Check that a task does not block itself.

    Raises:
        WrongArgument: it does, directly or through others.
    """
    with tx.in_all_projects():
        is_circular = rows.is_circular(tx, user, task)
    if is_circular:
        raise WrongArgument("blocked_by", "acyclic", value=task, kind="task")


def keep_existing(tx: Tx, scope: Scope, blockers: Sequence[int]) -> list[int]:
    """Those of some former blockers that still exist.

    Raises:
        MissingBlocker: one of the others is in the trash, and can be brought back first.
    """
    with tx.in_all_projects():
        present = rows.visible(tx, scope.owner, blockers, None)
    gone = keep_visible(tx, scope, [number for number in blockers if number not in present])
    for trashed in trash.by_number(tx, "task", gone, trash.kept_since(tx)):
        raise MissingBlocker(trashed.number, trashed.title)
    return [number for number in blockers if number in present]


def keep_visible(tx: Tx, scope: Scope, blockers: Sequence[int]) -> list[int]:
    """Those of some former blockers that the scope may see."""
    if scope.projects is None or not blockers:
        return list(blockers)
    allowed = projects.allowed_numbers(tx, scope)
    seen = rows.visible(tx, scope.owner, blockers, scope.projects)
    deleted = trash.by_number(tx, "task", blockers)
    seen |= {one.number for one in deleted if one.project in allowed}
    return [number for number in blockers if number in seen]


def hide_in(tx: Tx, scope: Scope, found: list[TaskDetails]) -> list[TaskDetails]:
    """Tasks without the blockers that the scope may not see."""
    blockers = sorted({number for task in found for number in task.blocked_by})
    if scope.projects is None or not blockers:
        return found
    seen = rows.visible(tx, scope.owner, blockers, scope.projects)
    return [
        replace(
            task,
            blocked_by=tuple(number for number in task.blocked_by if number in seen),
            open_blockers=tuple(number for number in task.open_blockers if number in seen),
            waits_elsewhere=not seen.issuperset(task.open_blockers),
        )
        for task in found
    ]
