"""Keeps a folder and a project in sync: an edit on one side is made on the other; a clash keeps both versions.

The store is changed first, then the files, then the state. After an interruption, the next sync finds completed
steps equal on both sides, and continues.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from msgspec import UNSET, Struct, field, to_builtins
from msgspec.structs import replace

from satchel import clock
from satchel.errors import NotFound, Refused, Taken, VersionConflict
from satchel.exchange import cleaning, folder, sources, storing, sync_plan, task_file
from satchel.exchange.entries import KINDS, DocumentEntry, Entry, Kind, Problem, PromptEntry, TaskEntry, Unreadable
from satchel.exchange.storing import BATCH, NamedEntry, Snapshot, TaskLinks
from satchel.exchange.sync_plan import FolderSide, Key, Plan, Step, Synced, SyncState, digest
from satchel.model import BlockerChange, Scope
from satchel.services import projects, rules, tasks
from satchel.storage.database import Database, Tx

Results = dict[Key, Entry | None]  # the entry on both sides after a step; None: neither has it

_FEW = 10  # so many deletions need no confirmation
_ORDER = {"delete": 0, "update": 1, "clash": 2, "add": 3}
_PARTS: tuple[tuple[Kind, str, str], ...] = (
    ("prompt", folder.PROMPTS, ".md"),
    ("document", folder.DOCUMENTS, ""),
)


class SyncReport(Struct, kw_only=True):
    """The result of a sync, or of a dry run."""

    is_check: bool = False
    lines: list[str] = field(default_factory=list)
    clashes: list[str] = field(default_factory=list)  # sentences that name both items
    problems: list[Problem] = field(default_factory=list)
    same: int = 0
    refused: str = ""  # the reason why nothing was done

    @property
    def is_same(self) -> bool:
        """Whether both sides were equal before."""
        return not self.lines and not self.problems and not self.refused

    @property
    def exit_status(self) -> int:
        """The exit status of the command: 1 if a person must act, or if a check found differences."""
        return int(bool(self.refused or self.problems or self.clashes or (self.is_check and self.lines)))

    def describe(self, root: str, project: str) -> list[str]:
        """Return the lines of the report."""
        lines = [*self.lines, *self.clashes, *(f"Not synced: {one.where}: {one.what}" for one in self.problems)]
        if self.is_same:
            items = "1 item" if self.same == 1 else f"{self.same} items"
            lines.append(f"{root} and project '{project}' are the same ({items}).")
        elif self.is_check:
            lines.append(f"{root} and project '{project}' differ. Sync them without --check.")
        return lines


class SyncOptions(Struct, frozen=True, kw_only=True):
    """The options of a sync."""

    is_check: bool = False
    is_sure: bool = False  # confirms a folder with other files, and many deletions
    waits: bool = False  # wait until another sync of the folder ends
    tell: Callable[[str], None] = lambda _text: None  # reports the wait


def run(database: Database, scope: Scope, root: str, options: SyncOptions) -> SyncReport:
    """Make a folder and the scope's project equal."""
    if not os.path.isdir(root):
        if os.path.lexists(root):
            raise Unreadable(f"{root} is not a folder")
        if not options.is_check:
            os.makedirs(root)
    with _lock(root, options):
        return _Sync(database, scope, root, options).run()


@contextmanager
def _lock(root: str, options: SyncOptions) -> Iterator[None]:
    """Allow only one sync of a folder at a time; if a process dies, the kernel releases its lock."""
    if not os.path.isdir(root):
        yield
        return
    file = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if not options.waits:
                raise Unreadable(f"another sync of {root} is running. Wait for it, or stop it") from None
            options.tell(f"Waiting for another sync of {root} to end.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


class _Sync:
    """One sync of a folder."""

    def __init__(self, database: Database, scope: Scope, root: str, options: SyncOptions) -> None:
        self._database = database
        self._scope = replace(scope, began=clock.now())  # so that one undo reverses all transactions
        self._root = root
        self._options = options
        self._report = SyncReport(is_check=options.is_check)

    def run(self) -> SyncReport:
        report = self._report
        named = self._read_marker()
        with self._database.read(self._scope) as tx:
            project = projects.current(tx, self._scope)
            here = storing.take_snapshot(tx, self._scope)
        if not project.number and not self._options.is_check:
            with self._database.write(self._scope) as tx:
                project = projects.current(tx, self._scope)  # the state needs its id
        base, is_known = sync_plan.load_state(self._root, project.id, self._scope.user or "")
        if named not in (None, project.name) and not is_known and not self._options.is_sure:
            raise Unreadable(
                f"{self._root} is the folder of project '{named}'. Use -p {named}, or add --yes to sync it with "
                f"project '{project.name}'"
            )
        side = sync_plan.read_folder(self._root, self._root, base, here)
        report.problems += side.problems
        plan = sync_plan.make(side, here, base, is_known=is_known)
        report.same = len(plan.same)
        if self._options.is_check:
            report.lines = [step.line for step in plan.steps]
            clashing = [step.label for step in plan.steps if step.action == "clash"]
            report.clashes = [f"Both sides changed {label}: a sync keeps both." for label in clashing]
            return report
        if plan.deletions > max(_FEW, len(base) // 2) and not self._options.is_sure:
            report.refused = (
                f"{plan.deletions} of {len(base)} items are gone from the folder, and would be deleted from the "
                "store. Nothing was done. If that is intended, add --yes"
            )
            return report
        self._carry_out(side, here, base, plan)
        return report

    def _read_marker(self) -> str | None:
        """Return the project that the folder names, if any; refuse a folder that holds something else."""
        path = os.path.join(self._root, sources.MARKER)
        if os.path.lexists(path):
            kind, name = folder.read_marker(sources.read_bytes(path))
            if kind == "store":
                raise Unreadable(f"{self._root} holds all projects of a store; name the folder of one of them")
            return name
        is_known = os.path.lexists(os.path.join(self._root, sync_plan.STATE)) or self._options.is_sure
        names = os.listdir(self._root) if not is_known and os.path.isdir(self._root) else []
        if any(not name.startswith(".") for name in names):
            what = f"{self._root} holds other files, and is not a folder of Satchel yet"
            raise Unreadable(f"{what}. Name another one, or add --yes to sync with it")
        return None

    def _carry_out(self, side: FolderSide, here: Snapshot, base: SyncState, plan: Plan) -> None:
        agreed: Results = {**plan.same, **dict.fromkeys(plan.gone)}
        for step in plan.steps:
            if step.action in ("write", "remove"):
                agreed[step.kind, step.key] = step.ours
                self._report.lines.append(step.line)
        steps = [step for step in plan.steps if step.action in _ORDER]
        steps.sort(key=lambda step: _ORDER[step.action])
        store = _StoreSide(self._scope, here, steps)
        for start in range(0, len(steps), BATCH):
            agreed |= self._change_store(store, steps[start : start + BATCH])
        self._report.problems += store.links.lost
        paths = self._write_files(side, agreed)
        self._write_tasks(side, agreed, plan)
        self._save(base, side, agreed, paths)

    def _change_store(self, store: "_StoreSide", steps: Sequence[Step]) -> Results:
        """Change the store in one transaction; leave items that another process changed meanwhile for the next sync."""
        done: Results = {}
        lines: list[str] = []
        clashes: list[str] = []
        problems: list[Problem] = []
        with self._database.write(self._scope) as tx:
            for step in steps:
                try:
                    with tx.savepoint():
                        results = store.carry_out(tx, step)
                except (VersionConflict, NotFound):
                    problems.append(Problem(step.label, "it was changed meanwhile; sync again"))
                except Refused as refused:
                    where = step.theirs.where if step.theirs is not None else step.label
                    problems.append(Problem(where, cleaning.explain(refused)))
                else:
                    done |= results
                    lines.append(step.line)
                    if step.action == "clash":
                        clashes.append(_explain_clash(step, results))
        self._report.lines += lines
        self._report.clashes += clashes
        self._report.problems += problems
        return done

    # -- files ----------------------------------------------------------------------------------------------------

    def _write_files(self, side: FolderSide, agreed: Results) -> dict[Key, str]:
        """Write and remove the files of prompts and documents, and return the path of each item."""
        sources.write_file(self._root, sources.MARKER, folder.write_marker(self._scope.project))
        paths: dict[Key, str] = {}
        for kind, part, ending in _PARTS:
            found = self._name_files(side, agreed, kind, part, ending)
            for (one, key), entry in agreed.items():
                if one == kind:
                    self._write_item(side, (kind, key), entry, found.get(key, ""))
            if kind == "document" and kind not in side.broken_kinds:
                self._write_details(side, agreed, found)
            paths |= {(kind, key): path for key, path in found.items()}
        return paths

    def _name_files(self, side: FolderSide, agreed: Results, kind: Kind, part: str, ending: str) -> dict[str, str]:
        """Return the path of each item: the path that it has, or a new one."""
        paths = {key: file.path for (one, key), file in side.files.items() if one == kind}
        names = [key for (one, key), entry in agreed.items() if one == kind and entry is not None]
        made = folder.name_files(part, [*{*names, *paths}], ending)
        taken = {path.casefold() for path in [*paths.values(), *side.broken_paths]}
        for name in names:
            if name not in paths:
                path = made[name]
                if path.casefold() in taken:
                    path = folder.name_files(part, [name, name.swapcase()], ending)[name]
                paths[name] = path
        return paths

    def _write_item(self, side: FolderSide, key: Key, entry: Entry | None, path: str) -> None:
        before, file = side.entries.get(key), side.files.get(key)
        is_same = entry is not None and before is not None and digest(entry) == digest(before)
        if is_same or (entry is None and file is None):
            return  # the file stays as its author wrote it
        try:
            if not self._is_unchanged(path, None if file is None else file.data):
                raise Unreadable("it was changed meanwhile; sync again")
            if entry is None:
                sources.remove_file(self._root, path)
            elif isinstance(entry, PromptEntry):
                sources.write_file(self._root, path, folder.write_prompt_file(entry, path))
            elif isinstance(entry, DocumentEntry):
                sources.write_file(self._root, path, folder.to_bytes(entry))
        except Unreadable as wrong:
            self._report.problems.append(Problem(os.path.join(self._root, path), str(wrong)))
            side.broken.add(key)

    def _is_unchanged(self, path: str, data: bytes | None) -> bool:
        """Return whether a file is unchanged since the sync began; None means that it did not exist."""
        target = os.path.join(self._root, *path.split("/"))
        if not os.path.lexists(target):
            return True
        return data is not None and sources.read_bytes(target) == data

    def _write_details(self, side: FolderSide, agreed: Results, paths: dict[str, str]) -> None:
        """Write the details of documents, and keep those of documents that cannot be read."""
        documents = [entry for entry in agreed.values() if isinstance(entry, DocumentEntry)]
        names = {entry.name for entry in documents}
        kept: dict[str, dict[str, Any]] = {}
        for name, details in side.details.items():
            is_settled = ("document", name) in agreed and ("document", name) not in side.broken
            if not is_settled and name not in names:
                kept[name] = details
        data = folder.write_details(sorted(documents, key=lambda one: one.name), paths, kept)
        if data:
            sources.write_file(self._root, folder.DETAILS, data)
        else:
            sources.remove_file(self._root, folder.DETAILS)

    def _write_tasks(self, side: FolderSide, agreed: Results, plan: Plan) -> None:
        """Rewrite the file of tasks if it differs from the store."""
        if "task" in side.broken_kinds:
            return
        with self._database.read(self._scope) as tx:
            now = storing.take_tasks(tx, self._scope, self._scope.project)
        keys = [key for (kind, key), entry in agreed.items() if kind == "task" and entry is not None and key in now]
        found = [now[key] for key in sorted(keys, key=int)]
        before = [side.entries["task", label] for label in plan.labels if ("task", label) in side.entries]
        if [replace(one, where="", notes=()) for one in before] == found:
            return
        file = side.tasks_file
        if not self._is_unchanged(folder.TASKS, None if file is None else file.data):
            self._report.problems.append(Problem(folder.TASKS, "it was changed meanwhile; sync again"))
            side.broken_kinds.add("task")
            return
        text = task_file.write(found, {task.key: int(task.key) for task in found})
        sources.write_file(self._root, folder.TASKS, text.encode())

    def _save(self, base: SyncState, side: FolderSide, agreed: Results, paths: dict[Key, str]) -> None:
        """Save the common state; for skipped items, keep the old state."""
        state = SyncState(project=base.project, user=base.user)
        for kind in KINDS:
            after = state.of(kind)
            is_open = kind not in side.broken_kinds
            settled = {key for one, key in agreed if one == kind and is_open and (kind, key) not in side.broken}
            after |= {key: known for key, known in base.of(kind).items() if key not in settled}
            for key in settled:
                entry = agreed[kind, key]
                if entry is not None:
                    after[key] = Synced(digest(entry), paths.get((kind, key), ""))
        text = json.dumps(to_builtins(state), indent=1, sort_keys=True)
        sources.write_file(self._root, sync_plan.STATE, f"{text}\n".encode())


def _explain_clash(step: Step, results: Results) -> str:
    [(kind, key)] = [key for key in results if key != (step.kind, step.key)]
    name = f"task #{key} '{entry.label}'" if kind == "task" and (entry := results[kind, key]) else f"{kind} '{key}'"
    return f"Both sides changed {step.label}: the store's version stays, the folder's is now {name}."


# -- the store --------------------------------------------------------------------------------------------------


class _StoreSide:
    """The store's side of a sync."""

    def __init__(self, scope: Scope, here: Snapshot, steps: Sequence[Step]) -> None:
        self._scope = scope
        self._here = here
        self._versions = dict(here.versions)
        self.links = TaskLinks(scope, {key: int(key) for key in here.tasks})
        self._titles = {prompt.title: name for name, prompt in here.prompts.items()}
        updated = [step for step in steps if step.action == "update" and isinstance(step.theirs, PromptEntry)]
        self._moving = {step.key: step.theirs.title for step in updated if isinstance(step.theirs, PromptEntry)}

    def carry_out(self, tx: Tx, step: Step) -> Results:
        """Run a step in the store, and return the result for both sides.

        Raises:
            VersionConflict, NotFound: the item was changed meanwhile.
            Refused: a value breaks a rule.
        """
        if step.action == "delete":
            blocked = tasks.list_blocked(tx, self._scope, int(step.key)) if step.kind == "task" else []
            storing.delete(tx, self._scope, step.kind, step.key, self._versions.get((step.kind, step.key)))
            for task in blocked:
                self._versions.pop(("task", str(task.number)), None)  # the deletion gives them a new version
            if isinstance(step.ours, PromptEntry):
                self._titles.pop(step.ours.title, None)
            return {(step.kind, step.key): None}
        entry = step.theirs
        if isinstance(entry, TaskEntry):
            return self._change_task(tx, step, entry)
        assert entry is not None, "only a deletion has no entry in the folder"
        key = (step.kind, step.key)
        if step.action == "update":
            return {key: self._update(tx, entry, step.ours)}
        if step.action == "add":
            return {key: self._add(tx, entry)}
        copy = self._copy(tx, entry)
        return {key: step.ours, (step.kind, str(copy.name)): copy}

    # -- prompts and documents ------------------------------------------------------------------------------------

    def _update(self, tx: Tx, entry: NamedEntry, ours: Entry | None) -> Entry:
        version = self._versions.get((entry.kind, str(entry.name)))
        if isinstance(entry, DocumentEntry):
            if isinstance(ours, DocumentEntry) and ours.uri != entry.uri:  # a document's URI cannot be changed
                storing.delete(tx, self._scope, "document", entry.name, version)
                return storing.add(tx, self._scope, entry)
            return storing.change(tx, self._scope, entry.name, entry, version)
        name = str(entry.name)
        self._free_title(tx, name, entry.title)
        changed = storing.change(tx, self._scope, name, entry, version)
        if isinstance(ours, PromptEntry) and self._titles.get(ours.title) == name:
            del self._titles[ours.title]
        self._titles[entry.title] = name
        return changed

    def _add(self, tx: Tx, entry: NamedEntry) -> NamedEntry:
        if isinstance(entry, PromptEntry):
            self._free_title(tx, str(entry.name), entry.title)
        added = storing.add(tx, self._scope, entry)
        if isinstance(entry, PromptEntry):
            self._titles[entry.title] = str(entry.name)
        return added

    def _free_title(self, tx: Tx, name: str, title: str) -> None:
        """Free a title that another prompt still has, if the folder changes that prompt's title.

        Raises:
            Taken: the folder does not change that prompt's title.
        """
        holder = self._titles.get(title, name)
        if holder == name:
            return
        if self._moving.get(holder, title) == title:
            raise Taken("prompt", "title", title, self._scope, holder=holder)
        version = self._versions.get(("prompt", holder))
        aside, self._versions["prompt", holder] = storing.set_title_aside(tx, self._scope, holder, title, version)
        del self._titles[title]
        self._titles[aside] = holder

    def _copy(self, tx: Tx, entry: NamedEntry) -> NamedEntry:
        """Add the folder's side of a clash under another name, unless an interrupted sync has already added it."""
        there = self._here.prompts if isinstance(entry, PromptEntry) else self._here.documents
        for number in count(2):
            copy = storing.renumber(entry, number)
            assert not isinstance(copy, TaskEntry)
            known = there.get(str(copy.name))
            if known is not None and storing.facts(known) == storing.facts(copy):
                return known
            if known is None and (isinstance(copy, DocumentEntry) or copy.title not in self._titles):
                return self._add(tx, copy)
        raise AssertionError("there is always another number")

    # -- tasks ----------------------------------------------------------------------------------------------------

    def _change_task(self, tx: Tx, step: Step, entry: TaskEntry) -> Results:
        if step.action == "update":
            self._update_task(tx, int(step.key), entry)
            return {("task", step.key): self._read_task(tx, int(step.key))}
        if step.action == "clash":
            entry = replace(entry, title=f"{entry.title[: rules.MAX_TASK_TITLE - 20]} (from the folder)", key="")
        linked = self.links.find_blockers(entry)
        number = storing.add_task(tx, self._scope, self._scope.project, entry, linked).number
        self.links.learn(tx, number, entry, linked)
        self.links.numbers[str(number)] = number
        results: Results = {("task", str(number)): self._read_task(tx, number)}
        if step.action == "clash":
            results["task", step.key] = step.ours
        elif not sync_plan.is_new(step.key):
            results["task", step.key] = None  # the store had deleted the task, which now has a new number
        return results

    def _update_task(self, tx: Tx, number: int, entry: TaskEntry) -> None:
        before = self._here.tasks[str(number)]
        wanted = {self.links.numbers[one] for one in entry.after if one in self.links.numbers}
        known = {int(one) for one in before.after}
        change = BlockerChange(added=tuple(sorted(wanted - known)), removed=tuple(sorted(known - wanted)))
        version = self._versions.get(("task", str(number)))
        parent = UNSET if entry.parent == before.parent else self.links.numbers.get(entry.parent)
        storing.change_task(
            tx, self._scope, number, entry, before.status, blockers=change, parent=parent, version=version
        )
        self.links.learn(tx, number, replace(entry, key=""), sorted(wanted))

    def _read_task(self, tx: Tx, number: int) -> TaskEntry:
        [task] = tasks.list_some(tx, self._scope, [number])
        return storing.to_task(task, {*self.links.numbers.values()})
