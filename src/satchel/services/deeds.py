"""What changes did to items, in a word: tasks were completed, cancelled or reopened, anything else just changed."""

from collections.abc import Sequence

from satchel.model import Action, Scope, Version
from satchel.services import states
from satchel.storage import revisions
from satchel.storage import tasks as task_rows
from satchel.storage.database import Tx
from satchel.storage.deltas import apply_delta

WORDS: dict[Action, str] = {
    "known": "kept",
    "add": "added",
    "update": "changed",
    "delete": "deleted",
    "restore": "restored",
}
_MOST_VERSIONS = 2000  # that are read; updates of tasks with more are just changes


def name_deeds(tx: Tx, scope: Scope, found: Sequence[Version]) -> dict[int, str]:
    """What some revisions did, by their numbers."""
    words = {one.number: WORDS[one.action] for one in found}
    updates = [one for one in found if one.kind == "task" and one.action == "update"]
    statuses = _read_statuses(tx, scope, sorted({one.item for one in updates})) if updates else {}
    for one in updates:
        before, after = statuses.get((one.item, one.version - 1)), statuses.get((one.item, one.version))
        if before is not None and after is not None and before != after:
            words[one.number] = "reopened" if after == "pending" else after
    return words


def _read_statuses(tx: Tx, scope: Scope, numbers: Sequence[int]) -> dict[tuple[int, int], str]:
    """The status of tasks by their number and version, from the newest version backwards."""
    with tx.in_all_projects():  # the tasks may have been in other projects since
        live = {task.number: states.of_task(task) for task in task_rows.details(tx, scope.owner, numbers)}
        kept_states = revisions.states_of_tasks(tx, numbers, _MOST_VERSIONS)
    statuses: dict[tuple[int, int], str] = {}
    current, state = 0, None
    for number, version, action, kept in kept_states:
        if number != current:
            current, state = number, None
        item = live.get(number)
        if item is not None and version == item.version:
            state = states.encode(item)
        elif action == "delete":
            state = b""  # the version before is kept whole
            continue
        elif state is not None:
            state = apply_delta(kept, state) if kept is not None else None
        if state:
            statuses[number, version] = _read_status(state)
    return statuses


def _read_status(state: bytes) -> str:
    old = states.read("task", state)
    if old.completed_at is None:
        return "pending"
    return "cancelled" if old.is_cancelled else "completed"
