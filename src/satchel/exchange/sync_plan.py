"""Compares a folder and a project with what they had in common, and decides what is to be done about each item."""

import os
from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from satchel.exchange import folder, sources
from satchel.exchange.entries import Entry, Kind, Problem, TaskEntry, Unreadable
from satchel.exchange.folder import ReadFile
from satchel.exchange.snapshot import Snapshot
from satchel.exchange.sync_state import SyncState, digest

Action = Literal["add", "update", "delete", "write", "remove", "clash"]  # the first three are done to the store
KINDS: tuple[Kind, ...] = ("prompt", "document", "task")
_NEW = "new "  # begins the key of a task in the folder that the store does not have


class Step(Struct, frozen=True, kw_only=True):
    """What is to be done about one item that is not the same on both sides."""

    kind: Kind
    key: str
    action: Action
    ours: Entry | None = None  # in the store
    theirs: Entry | None = None  # in the folder
    is_kept: bool = False  # one side deleted it, and the other one changed it


class FolderSide(Struct, kw_only=True):
    """What a folder holds, by kind and key."""

    entries: dict[tuple[Kind, str], Entry] = field(default_factory=dict)
    files: dict[tuple[Kind, str], ReadFile] = field(default_factory=dict)
    tasks_file: ReadFile | None = None
    problems: list[Problem] = field(default_factory=list)
    broken: set[tuple[Kind, str]] = field(default_factory=set)  # items whose file cannot be read
    broken_kinds: set[Kind] = field(default_factory=set)


class Plan(Struct, kw_only=True):
    """The steps of a sync, and what both sides agree on already."""

    steps: list[Step] = field(default_factory=list)
    same: dict[tuple[Kind, str], Entry] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)  # the key of a task by its label in the folder

    @property
    def deletions(self) -> int:
        """How many items of the store would be deleted."""
        return sum(step.action == "delete" for step in self.steps)


def read_folder(root: str, shown: str) -> FolderSide:
    """What a folder holds; a file that cannot be read makes its item untouchable, not absent."""
    side = FolderSide()
    try:
        for found, file in folder.read_files(root, shown):
            _add(side, found, file)
        path = os.path.join(root, folder.TASKS)
        if side.tasks_file is None and os.path.lexists(path):  # it has no tasks in it
            side.tasks_file = ReadFile(folder.TASKS, sources.read_bytes(path))
    except Unreadable as wrong:
        side.problems.append(Problem(shown, str(wrong)))
        side.broken_kinds |= set(KINDS)
    return side


def _add(side: FolderSide, found: Entry | Problem, file: ReadFile | None) -> None:
    path = file.path if file else ""
    if path == folder.TASKS:
        side.tasks_file = file
    if isinstance(found, Problem):
        side.problems.append(found)
        _mark_broken(side, path)
        return
    if isinstance(found, TaskEntry):
        key = found.key or f"{_NEW}{len(side.entries)}"
        if found.project:
            side.problems.append(Problem(found.where, f"it names project '{found.project}', and the folder has one"))
            _mark_broken(side, path)
            return
    else:
        key = str(found.name)
    if (found.kind, key) in side.entries:
        side.problems.append(Problem(found.where, f"another {found.kind} of the folder is also called '{key}'"))
        side.broken.add((found.kind, key))
        return
    side.entries[found.kind, key] = found
    if file is not None:
        side.files[found.kind, key] = file


def _mark_broken(side: FolderSide, path: str) -> None:
    part, _, name = path.partition("/")
    if part == folder.PROMPTS:
        side.broken.add(("prompt", name.removesuffix(".md")))
        if "~" in name:
            side.broken_kinds.add("prompt")  # the file does not tell which prompt it was
    elif part == folder.DOCUMENTS:
        side.broken.add(("document", name))
    elif path == folder.DETAILS:
        side.broken_kinds.add("document")
    elif path == folder.TASKS:
        side.broken_kinds.add("task")
    else:
        side.broken_kinds |= set(KINDS)


def make(side: FolderSide, here: Snapshot, base: SyncState, *, is_known: bool) -> Plan:
    """What is to be done; `is_known` says whether the folder was synced with this project before."""
    plan = Plan()
    theirs = {kind: _of_kind(side, kind) for kind in KINDS}
    theirs["task"] = _match_tasks(theirs["task"], here, base, plan)
    ours: dict[Kind, Mapping[str, Entry]] = {"prompt": here.prompts, "document": here.documents, "task": here.tasks}
    bases: dict[Kind, dict[str, str]] = {"prompt": base.prompts, "document": base.documents, "task": base.tasks}
    if side.tasks_file is None and is_known:
        # A missing file of tasks means that it was lost, not that everything in it is to be deleted.
        bases["task"] = {}
    for kind in KINDS:
        if kind in side.broken_kinds:
            continue
        for key in sorted({*bases[kind], *theirs[kind], *ours[kind]}, key=_order):
            if (kind, key) not in side.broken:
                _decide(plan, kind, key, bases[kind].get(key), ours[kind].get(key), theirs[kind].get(key))
    return plan


def _of_kind(side: FolderSide, kind: Kind) -> dict[str, Entry]:
    return {key: entry for (one, key), entry in side.entries.items() if one == kind}


def _order(key: str) -> tuple[int, str]:
    return (int(key), "") if key.isdigit() and len(key) < 19 else (2**62, key)


def _decide(plan: Plan, kind: Kind, key: str, base: str | None, ours: Entry | None, theirs: Entry | None) -> None:
    left, right = ours and digest(ours), theirs and digest(theirs)
    if left == right:
        if ours is not None:
            plan.same[kind, key] = ours
        return
    is_kept = False
    if right == base:
        action: Action = "write" if ours is not None else "remove"
    elif left == base:
        action = "delete" if theirs is None else "add" if ours is None else "update"
    elif theirs is None or ours is None:
        action, is_kept = ("write" if theirs is None else "add"), base is not None
    else:
        action = "clash"
    plan.steps.append(Step(kind=kind, key=key, action=action, ours=ours, theirs=theirs, is_kept=is_kept))


def _match_tasks(theirs: dict[str, Entry], here: Snapshot, base: SyncState, plan: Plan) -> dict[str, Entry]:
    """The tasks of the folder by the numbers of those in the store; those that are new have keys of their own.

    A number is that of a task if it was so at the last sync, or if it has the same title. Otherwise the numbers are
    those of another store, and a task is one of ours if everything about it is the same.
    """
    found = {key: task for key, task in theirs.items() if isinstance(task, TaskEntry)}
    matched: dict[str, str] = {}  # the key of ours by the key of theirs
    for key, task in found.items():
        mine = here.tasks.get(key)
        if key in base.tasks or (mine is not None and mine.title == task.title):
            matched[key] = key
    free: dict[tuple[object, ...], list[str]] = {}
    for key, mine in here.tasks.items():
        if key not in base.tasks and key not in matched.values():
            free.setdefault(_facts(mine), []).append(key)
    for key, task in found.items():
        if key not in matched:
            same = free.get(_facts(task))
            matched[key] = same.pop(0) if same else key if key.startswith(_NEW) else f"{_NEW}{key}"
    plan.labels |= matched
    return {
        matched[key]: replace(task, key=matched[key], after=tuple(matched.get(one, one) for one in task.after))
        for key, task in found.items()
    }


def _facts(task: TaskEntry) -> tuple[object, ...]:
    return task.title, task.description, task.status, task.priority, task.due, task.tags


def is_new(key: str) -> bool:
    """Whether the key of a task is that of one that the store does not have."""
    return key.startswith(_NEW)


def explain(step: Step, describe: Callable[[Step], str]) -> str:
    """A step in a line."""
    words = {
        "add": "folder → store: new",
        "update": "folder → store: changed",
        "delete": "folder → store: deleted",
        "write": "store → folder: changed" if step.theirs is not None else "store → folder: new",
        "remove": "store → folder: deleted",
        "clash": "both changed",
    }
    kept = " (one side had deleted it, the other one changed it)" if step.is_kept else ""
    return f"{words[step.action]} {describe(step)}{kept}"
