"""Compares a folder and a project with their last common state, and plans the steps of a sync."""

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from satchel.exchange import cleaning, folder, sources
from satchel.exchange.entries import (
    KINDS,
    DocumentEntry,
    Entry,
    Found,
    Kind,
    Problem,
    PromptEntry,
    TaskEntry,
    Unreadable,
)
from satchel.exchange.folder import ReadFile
from satchel.exchange.storing import Snapshot, facts

Action = Literal["add", "update", "delete", "write", "remove", "clash"]  # the first three change the store
Key = tuple[Kind, str]  # the name of a prompt or document, the number of a task

STATE = ".satchel-sync.json"
_VERSION = 2
_NEW = "new "  # the start of keys for tasks that only the folder has


# -- the state after the last sync ------------------------------------------------------------------------------


class Synced(Struct, frozen=True, omit_defaults=True):
    """An item that was equal in folder and project after the last sync."""

    digest: str
    path: str = ""  # relative to the folder; tasks have none


class SyncState(Struct, kw_only=True):
    """The common state of a folder and a project after the last sync."""

    version: int = _VERSION
    project: str  # its id, because another store may have a project of the same name
    user: str
    prompt: dict[str, Synced] = field(default_factory=dict)
    document: dict[str, Synced] = field(default_factory=dict)
    task: dict[str, Synced] = field(default_factory=dict)

    def of(self, kind: Kind) -> dict[str, Synced]:
        """Return the items of a kind by key."""
        found: dict[str, Synced] = getattr(self, kind)
        return found

    def __len__(self) -> int:
        return sum(len(self.of(kind)) for kind in KINDS)


def load_state(root: str, project: str, user: str) -> tuple[SyncState, bool]:
    """Return the state that a folder had after its last sync, and whether that sync was with this project."""
    empty = SyncState(project=project, user=user)
    path = os.path.join(root, STATE)
    if not os.path.lexists(path):
        return empty, False
    try:
        data = sources.read_bytes(path)
        version = msgspec.json.decode(data, type=dict[str, Any]).get("version")
        found = msgspec.json.decode(data, type=SyncState) if version == _VERSION else None
    except msgspec.DecodeError:
        raise Unreadable(
            f"{path} is broken. Remove it to start over. The next sync keeps both versions of items that differ"
        ) from None
    if found is None:
        raise Unreadable(f"another version of Satchel wrote {path}. Remove the file to start over")
    if found.project != project:
        return empty, False
    return (found if found.user == user else replace(found, user=user, task={})), True


def digest(entry: Entry) -> str:
    """Return a digest of everything that a sync compares. Notes are not compared, because they are only added."""
    if isinstance(entry, PromptEntry):
        texts = [entry.name, entry.title, entry.content, entry.description]
        constant = ["template"] if entry.is_constant else []  # otherwise omitted: old digests stay valid
        data = msgspec.json.encode([*texts, entry.tags, entry.arguments, *constant, *_list_age(entry)])
    elif isinstance(entry, DocumentEntry):
        values = [entry.name, entry.uri, entry.mime_type, entry.description, isinstance(entry.content, str)]
        values += _list_age(entry)
        data = json.dumps(values).encode() + b"\n" + folder.to_bytes(entry)
    else:
        task = [entry.title, entry.description, entry.status, entry.priority, entry.due, entry.tags]
        parent = [entry.parent] if entry.parent else []  # otherwise omitted: old digests stay valid
        data = json.dumps([*task, sorted(entry.after), *parent]).encode()
    return hashlib.sha256(data).hexdigest()[:32]


def _list_age(entry: PromptEntry | DocumentEntry) -> list[str | None]:
    """Return the last valid day and the replacement of an entry; nothing if it has neither: old digests stay valid."""
    return [entry.expires, entry.replaced_by] if entry.expires or entry.replaced_by else []


# -- the folder -------------------------------------------------------------------------------------------------


class FolderSide(Struct, kw_only=True):
    """The items of a folder, and those to protect because their files cannot be read."""

    entries: dict[Key, Entry] = field(default_factory=dict)
    files: dict[Key, ReadFile] = field(default_factory=dict)
    tasks_file: ReadFile | None = None
    details: folder.Details = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    broken: set[Key] = field(default_factory=set)  # protected items
    broken_kinds: set[Kind] = field(default_factory=set)  # kinds whose items are all protected
    unclear: set[Kind] = field(default_factory=set)  # kinds of which no item counts as missing
    broken_paths: set[str] = field(default_factory=set)


def read_folder(root: str, shown: str, base: SyncState, here: Snapshot) -> FolderSide:
    """Read a folder; items whose files cannot be read are protected, and do not count as deleted."""
    side = FolderSide()
    try:
        side.details = folder.read_details(root)
    except Unreadable:
        side.broken_kinds.add("document")  # reported with the documents
    for found, file in folder.read_files(root, shown):
        _add(side, base, here, found, file)
    if side.tasks_file is None and os.path.isfile(os.path.join(root, folder.TASKS)):  # the file has no tasks
        side.tasks_file = ReadFile(folder.TASKS, sources.read_bytes(os.path.join(root, folder.TASKS)))
    return side


def _add(side: FolderSide, base: SyncState, here: Snapshot, found: Found, file: ReadFile) -> None:
    if file.path == folder.TASKS:
        side.tasks_file = file
    try:
        if isinstance(found, Problem):
            raise Unreadable(found.what)
        found = cleaning.clean_entry(found)
        if isinstance(found, TaskEntry) and found.project:
            raise Unreadable(f"it names project '{found.project}', but a folder belongs to one project only")
        if isinstance(found, DocumentEntry) and _is_unmerged(found, base, here):
            raise Unreadable(folder.CONFLICT)
    except Unreadable as wrong:
        side.problems.append(Problem(found.where, str(wrong)))
        _mark_broken(side, base, file.path)
        return
    key = found.key or f"{_NEW}{len(side.entries)}" if isinstance(found, TaskEntry) else str(found.name)
    if (found.kind, key) in side.entries:
        side.problems.append(Problem(found.where, f"another {found.kind} of the folder is also called '{key}'"))
        if file.path == folder.TASKS:
            side.broken_kinds.add("task")  # otherwise, writing the file would lose the second line
        side.broken.add((found.kind, key))
        for path in (file.path, side.files[found.kind, key].path):
            side.broken |= _find_items(base, found.kind, path)  # it is unknown which item was meant
        return
    side.entries[found.kind, key] = found
    side.files[found.kind, key] = file


def _is_unmerged(document: DocumentEntry, base: SyncState, here: Snapshot) -> bool:
    """Return whether a text has new conflict markers of git; a text about git may have had some before."""
    if not _has_conflict(document) or _has_conflict(here.documents.get(document.name)):
        return False
    synced = base.document.get(document.name)
    return synced is None or synced.digest != digest(document)


def _has_conflict(document: Entry | None) -> bool:
    content = document.content if isinstance(document, DocumentEntry) else None
    return isinstance(content, str) and folder.has_conflict(content)


def _find_items(base: SyncState, kind: Kind, path: str) -> set[Key]:
    """Return the items whose file was at this path after the last sync."""
    return {(kind, key) for key, one in base.of(kind).items() if one.path == path}


def _mark_broken(side: FolderSide, base: SyncState, path: str) -> None:
    """Protect the item of an unreadable file; if the item is unknown, count no item as deleted."""
    side.broken_paths.add(path)
    part, _, name = path.partition("/")
    kind: Kind
    if path in (folder.TASKS, folder.PROMPTS, folder.DOCUMENTS, folder.DETAILS):
        kind = "task" if path == folder.TASKS else "prompt" if path == folder.PROMPTS else "document"
        side.broken_kinds.add(kind)
        return
    kind = "prompt" if part == folder.PROMPTS else "document"
    items = _find_items(base, kind, path)
    if not items:
        side.unclear.add(kind)
        stem = name.removesuffix(".md") if kind == "prompt" else name
        named = [key for key, one in side.details.items() if one.get("file") == name and kind == "document"]
        items = {(kind, key) for key in [stem, *named] if key not in base.of(kind)}
    side.broken |= items


# -- the plan ---------------------------------------------------------------------------------------------------


class Step(Struct, frozen=True, kw_only=True):
    """The action for an item that differs between store and folder."""

    kind: Kind
    key: str
    action: Action
    ours: Entry | None = None  # in the store
    theirs: Entry | None = None  # in the folder
    is_kept: bool = False  # one side deleted it, the other changed it

    @property
    def label(self) -> str:
        """The item's name in a report."""
        entry = self.theirs or self.ours
        if self.kind == "task" and not is_new(self.key):
            return f"task #{self.key}" + (f" '{entry.label}'" if entry else "")
        return f"{self.kind} '{entry.label if entry else self.key}'"

    @property
    def line(self) -> str:
        """The step as a line in a report."""
        words = {
            "add": "folder → store: new",
            "update": "folder → store: changed",
            "delete": "folder → store: deleted",
            "write": "store → folder: changed" if self.theirs is not None else "store → folder: new",
            "remove": "store → folder: deleted",
            "clash": "both changed",
        }
        kept = " (one side had deleted it, the other one changed it)" if self.is_kept else ""
        return f"{words[self.action]} {self.label}{kept}"


class Plan(Struct, kw_only=True):
    """The steps of a sync, and the items that are already equal on both sides."""

    steps: list[Step] = field(default_factory=list)
    same: dict[Key, Entry] = field(default_factory=dict)
    gone: list[Key] = field(default_factory=list)  # deleted on both sides
    labels: dict[str, str] = field(default_factory=dict)  # the keys of tasks by label in the folder

    @property
    def deletions(self) -> int:
        """The number of stored items that would be deleted."""
        return sum(step.action == "delete" for step in self.steps)


def make(side: FolderSide, here: Snapshot, base: SyncState, *, is_known: bool) -> Plan:
    """Plan the steps of a sync; `is_known` tells whether the folder was synced with this project before."""
    plan = Plan()
    theirs = {kind: {key: one for (of, key), one in side.entries.items() if of == kind} for kind in KINDS}
    theirs["task"] = _match_tasks(theirs["task"], here, base, plan)
    ours: dict[Kind, Mapping[str, Entry]] = {"prompt": here.prompts, "document": here.documents, "task": here.tasks}
    for kind in KINDS:
        if kind in side.broken_kinds:
            continue
        bases = base.of(kind)
        if kind == "task" and side.tasks_file is None and is_known:
            bases = {}  # the file of tasks was lost, which does not delete its tasks
        for key in sorted({*bases, *theirs[kind], *ours[kind]}, key=_order):
            is_unclear = kind in side.unclear and key in bases and key not in theirs[kind]
            if (kind, key) not in side.broken and not is_unclear:
                known = bases[key].digest if key in bases else None
                _decide(plan, kind, key, known, ours[kind].get(key), theirs[kind].get(key))
    return plan


def _order(key: str) -> tuple[int, str]:
    return (int(key), "") if key.isdigit() and len(key) < 19 else (2**62, key)


def _decide(plan: Plan, kind: Kind, key: str, base: str | None, ours: Entry | None, theirs: Entry | None) -> None:
    left, right = ours and digest(ours), theirs and digest(theirs)
    if left == right:
        if ours is not None:
            plan.same[kind, key] = ours
        else:
            plan.gone.append((kind, key))
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
    """Map the tasks of the folder to their numbers in the store; new ones get separate keys.

    A number means the same task on both sides if it did so at the last sync, or if the titles are equal. Other numbers
    come from another store, and a task matches a stored one only if everything about it is equal.
    """
    found = {key: task for key, task in theirs.items() if isinstance(task, TaskEntry)}
    here_too = {key for key, task in found.items() if key in here.tasks and here.tasks[key].title == task.title}
    matched = {key: key for key in found if key in base.task or key in here_too}  # the store's keys by the folder's
    free: dict[tuple[object, ...], list[str]] = {}
    for key, mine in here.tasks.items():
        if key not in base.task and key not in matched:
            free.setdefault((mine.title, *facts(mine)), []).append(key)
    for key, task in found.items():
        if key not in matched:
            same = free.get((task.title, *facts(task)))
            matched[key] = same.pop(0) if same else key if key.startswith(_NEW) else f"{_NEW}{key}"
    plan.labels |= matched
    return {
        matched[key]: replace(
            task,
            key=matched[key],
            after=tuple(matched.get(one, one) for one in task.after),
            parent=matched.get(task.parent, task.parent),
        )
        for key, task in found.items()
    }


def is_new(key: str) -> bool:
    """Return whether a key stands for a task that the store does not have yet."""
    return key.startswith(_NEW)
