"""Places tasks of an import, and lets them wait for each other whatever order they come in."""

from itertools import count

from msgspec.structs import replace

from satchel.exchange.entries import Problem, TaskEntry
from satchel.exchange.ledger import Ledger, State
from satchel.model import BlockerChange, TaskDetails, TaskDraft, TaskPatch
from satchel.services import rules, task_notes, tasks
from satchel.storage.database import Tx


class TaskPlacer:
    """Places tasks, one after the other."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._numbers: dict[str, int] = {}  # of tasks, by key
        self._new: set[int] = set()  # tasks that this import added
        self._blockers: dict[int, set[int]] = {}
        self._waiting: dict[str, list[tuple[int, TaskEntry]]] = {}  # tasks by the key of one that is not there yet

    def list_missing(self) -> list[Problem]:
        """The tasks that are waited for, and did not come."""
        return [
            Problem(task.where, f"'{task.label}' waits for {key.rpartition(chr(0))[2]}, which is not here")
            for key, waiting in self._waiting.items()
            for _, task in waiting
        ]

    def place(self, tx: Tx, entry: TaskEntry) -> tuple[State, str]:
        """Put a task into the store, and tell its state and its title there."""
        project = self._name_project(tx, entry)
        pool = self._ledger.look_at_tasks(tx, project).setdefault(entry.title, [])
        same = next((one for one in pool if _is_same_task(one, entry)), None)
        if same is not None:
            self._ledger.remove(pool, same)
            self._learn_task(tx, entry, same)
            return "same", entry.title
        if not pool:
            self._add_task(tx, entry, project)
            return "new", entry.title
        if self._ledger.on_clash == "replace":
            self._replace_task(tx, entry, pool[0])
            self._ledger.remove(pool, pool[0])
            return "replaced", entry.title
        if self._ledger.on_clash == "rename":
            return self._rename_task(tx, entry, project)
        self._learn_task(tx, entry, pool[0])
        self._ledger.remove(pool, pool[0])
        return "clashing", entry.title

    def _name_project(self, tx: Tx, entry: TaskEntry) -> str | None:
        if entry.project == "":
            return None
        return self._ledger.enter(tx, entry.project).project

    def _rename_task(self, tx: Tx, entry: TaskEntry, project: str | None) -> tuple[State, str]:
        for number in count(2):
            renamed = replace(entry, title=f"{entry.title[: rules.MAX_TASK_TITLE - 9]} ({number})")
            pool = self._ledger.look_at_tasks(tx, project).get(renamed.title, [])
            same = next((one for one in pool if _is_same_task(one, renamed)), None)
            if same is not None:
                self._ledger.remove(pool, same)
                self._learn_task(tx, renamed, same)
                return "same", renamed.title
            if not pool:
                self._add_task(tx, renamed, project)
                return "renamed", renamed.title
        raise AssertionError("there is always another number")

    def _add_task(self, tx: Tx, entry: TaskEntry, project: str | None) -> None:
        if self._ledger.is_dry_run:
            return
        # Where tasks wait for this one already, it could close a circle: `_learn_task` adds its blockers one by one.
        is_safe = entry.key not in self._waiting
        blockers = [self._numbers[key] for key in entry.after if is_safe and key in self._numbers]
        draft = TaskDraft(
            title=entry.title,
            description=entry.description,
            project=project,
            tags=entry.tags,
            priority=entry.priority,
            due=entry.due,
            blocked_by=sorted(set(blockers))[: rules.MAX_BLOCKERS],
        )
        task = tasks.add(tx, self._ledger.scope, draft)
        for note in entry.comments:
            task_notes.add(tx, self._ledger.scope, task.number, note.text, at=note.at or None)
        if entry.status != "pending":
            tasks.update(tx, self._ledger.scope, task.number, _close(entry))
        self._ledger.undo.append(lambda: self._new.discard(task.number))
        self._new.add(task.number)
        self._learn_task(tx, entry, task)

    def _replace_task(self, tx: Tx, entry: TaskEntry, task: TaskDetails) -> None:
        if not self._ledger.is_dry_run:
            patch = TaskPatch(
                description=entry.description,
                tags=entry.tags,
                priority=entry.priority,
                due=entry.due,
                status="pending" if entry.status == "pending" else entry.status,
            )
            tasks.update(tx, self._ledger.scope, task.number, patch)
        self._learn_task(tx, entry, task)

    def _learn_task(self, tx: Tx, entry: TaskEntry, task: TaskDetails) -> None:
        """Keep the number of a task for those that wait for it, and for those that already do."""
        self._ledger.set(self._blockers, task.number, set(task.blocked_by))
        if entry.key:
            self._ledger.set(self._numbers, entry.key, task.number)
            waiting = self._waiting.pop(entry.key, [])
            if waiting:
                self._ledger.undo.append(lambda: self._waiting.update({entry.key: waiting}))
            for number, other in waiting:
                self._block(tx, number, task.number, other)
        for key in entry.after:
            if key in self._numbers:
                self._block(tx, task.number, self._numbers[key], entry)
            else:
                there = self._waiting.setdefault(key, [])
                there.append((task.number, entry))
                self._ledger.undo.append(there.pop)

    def _block(self, tx: Tx, number: int, blocker: int, entry: TaskEntry) -> None:
        """Let a task wait for another one, unless that waits for it."""
        known = self._blockers.setdefault(number, set())
        is_new = number in self._new or blocker in self._new  # what was there before, its owner may have changed
        if blocker in known or not is_new or self._ledger.is_dry_run:
            return
        if number == blocker or self._reaches(blocker, number):
            self._ledger.lost.append(Problem(entry.where, f"'{entry.label}' and what it waits for wait for each other"))
            self._ledger.undo.append(self._ledger.lost.pop)
        elif len(known) >= rules.MAX_BLOCKERS:
            self._ledger.lost.append(
                Problem(entry.where, f"'{entry.label}' waits for more than {rules.MAX_BLOCKERS} tasks")
            )
            self._ledger.undo.append(self._ledger.lost.pop)
        else:
            tasks.update(tx, self._ledger.scope, number, TaskPatch(blocked_by=BlockerChange(added=(blocker,))))
            known.add(blocker)
            self._ledger.undo.append(lambda: known.discard(blocker))

    def _reaches(self, start: int, goal: int) -> bool:
        seen, left = {start}, [start]
        while left:
            one = left.pop()
            if one == goal:
                return True
            more = self._blockers.get(one, set()) - seen
            seen |= more
            left += more
        return False


def _close(entry: TaskEntry) -> TaskPatch:
    if entry.completed_at:
        return TaskPatch(completed_at=entry.completed_at, is_cancelled=entry.status == "cancelled")
    return TaskPatch(status=entry.status)


def _is_same_task(task: TaskDetails, entry: TaskEntry) -> bool:
    status = "pending" if not task.is_completed else "cancelled" if task.is_cancelled else "completed"
    return (task.description, task.priority, task.due, task.tags, status) == (
        entry.description,
        entry.priority,
        entry.due,
        entry.tags,
        entry.status,
    )
