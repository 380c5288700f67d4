"""Keeps a folder and a project the same: edits on either side go to the other, and a clash is kept as both.

The store is changed first, then the files, then the state. Where a sync is interrupted, the next one finds what was
done to be the same on both sides, and goes on.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct, field
from msgspec.structs import replace

from satchel.errors import NotFound, Refused, StoreConflict, VersionConflict
from satchel.exchange import folder, prompt_file, snapshot, sources, sync_plan, sync_state, task_file, writing
from satchel.exchange.entries import DocumentEntry, Entry, Kind, Problem, PromptEntry, TaskEntry, Unreadable
from satchel.exchange.snapshot import Snapshot
from satchel.exchange.sync_plan import FolderSide, Plan, Step
from satchel.exchange.sync_state import SyncState, digest
from satchel.exchange.sync_store import StoreSide
from satchel.model import Scope
from satchel.services import projects
from satchel.storage.database import Database

BATCH = 1000  # steps of one transaction
_FEW = 10  # deletions that are always done
_ORDER = {"delete": 0, "update": 1, "clash": 2, "add": 3}


class SyncReport(Struct, kw_only=True):
    """What a sync did, or would do."""

    is_check: bool = False
    lines: list[str] = field(default_factory=list)
    clashes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    same: int = 0
    refused: str = ""  # why nothing was done

    @property
    def is_same(self) -> bool:
        """Whether both sides were the same."""
        return not self.lines and not self.problems and not self.refused


class SyncOptions(Struct, frozen=True, kw_only=True):
    """How to sync."""

    is_check: bool = False
    is_sure: bool = False  # about a folder that holds other things, and about many deletions


def run(database: Database, scope: Scope, root: str, options: SyncOptions) -> SyncReport:
    """Make a folder and the scope's project the same.

    Raises:
        Unreadable: the folder cannot be used.
    """
    if not os.path.isdir(root):
        if os.path.lexists(root):
            raise Unreadable(f"{root} is no folder")
        if not options.is_check:
            os.makedirs(root)
    with _lock(root):
        return _Sync(database, scope, root, options).run()


@contextmanager
def _lock(root: str) -> Iterator[None]:
    """Only one sync of a folder at a time; the kernel frees the lock of a process that dies."""
    if not os.path.isdir(root):
        yield
        return
    file = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Unreadable(f"another sync of {root} is running. Wait for it, or stop it") from None
        yield
    finally:
        os.close(file)


class _Sync:
    def __init__(self, database: Database, scope: Scope, root: str, options: SyncOptions) -> None:
        self._database = database
        self._scope = scope
        self._root = root
        self._options = options
        self._report = SyncReport(is_check=options.is_check)

    def run(self) -> SyncReport:
        report = self._report
        self._check_marker()
        side = sync_plan.read_folder(self._root, self._root)
        report.problems += side.problems
        with self._database.read(self._scope) as tx:
            project = projects.current(tx, self._scope)
            here = snapshot.take(tx, self._scope)
        base, is_known = sync_state.load(self._root, project.id, self._scope.user or "")
        plan = sync_plan.make(side, here, base, is_known=is_known)
        report.same = len(plan.same)
        if self._options.is_check:
            report.lines = [sync_plan.explain(step, _describe) for step in plan.steps]
            report.clashes = [_describe(step) for step in plan.steps if step.action == "clash"]
            return report
        known = len(base.prompts) + len(base.documents) + len(base.tasks)
        if plan.deletions > max(_FEW, known // 2) and not self._options.is_sure:
            report.refused = (
                f"{plan.deletions} of {known} items are gone from the folder, and would be deleted from the store. "
                "Nothing was done. If that is meant, say --yes"
            )
            return report
        self._carry_out(side, here, base, plan)
        return report

    def _check_marker(self) -> None:
        path = os.path.join(self._root, sources.MARKER)
        if os.path.lexists(path):
            kind, _ = folder.read_marker(sources.read_bytes(path))
            if kind == "store":
                raise Unreadable(f"{self._root} holds all projects of a store; name the folder of one of them")
            return
        is_known = os.path.lexists(os.path.join(self._root, sync_state.FILE)) or self._options.is_sure
        if (
            not is_known
            and os.path.isdir(self._root)
            and any(not one.startswith(".") for one in os.listdir(self._root))
        ):
            what = f"{self._root} holds other files, and is no folder of Satchel yet"
            raise Unreadable(f"{what}. Name another one, or say --yes to sync with it")

    # -- doing it -------------------------------------------------------------------------------------------------

    def _carry_out(self, side: FolderSide, here: Snapshot, base: SyncState, plan: Plan) -> None:
        agreed: dict[tuple[Kind, str], Entry | None] = dict(plan.same)
        updated = [step for step in plan.steps if step.action == "update"]
        moving = {step.key: step.theirs.title for step in updated if isinstance(step.theirs, PromptEntry)}
        store = StoreSide(self._scope, here, moving)
        steps = [step for step in plan.steps if step.action in _ORDER]
        steps.sort(key=lambda step: _ORDER[step.action])
        done = self._change_store(store, steps)
        for step in plan.steps:
            if step.action in ("write", "remove"):
                agreed[step.kind, step.key] = step.ours
                self._tell(step)
        for step, results in done:
            agreed |= results
            self._tell(step)
        self._write_files(side, agreed)
        self._write_tasks(side, agreed, plan)
        self._save(base, side, agreed)

    def _tell(self, step: Step) -> None:
        self._report.lines.append(sync_plan.explain(step, _describe))
        if step.action == "clash":
            self._report.clashes.append(_describe(step))

    def _change_store(
        self, store: StoreSide, steps: Sequence[Step]
    ) -> list[tuple[Step, dict[tuple[Kind, str], Entry | None]]]:
        """Do what is to be done to the store; what another process changed meanwhile is left for the next sync."""
        done = []
        for start in range(0, len(steps), BATCH):
            batch = steps[start : start + BATCH]
            store.begin()
            try:
                with self._database.write(self._scope) as tx:
                    done += [(step, store.carry_out(tx, step)) for step in batch]
            except (Refused, StoreConflict):
                store.roll_back()
                done += self._change_each(store, batch)
        return done

    def _change_each(
        self, store: StoreSide, steps: Sequence[Step]
    ) -> list[tuple[Step, dict[tuple[Kind, str], Entry | None]]]:
        done = []
        for step in steps:
            store.begin()
            try:
                with self._database.write(self._scope) as tx:
                    done.append((step, store.carry_out(tx, step)))
            except (VersionConflict, NotFound, StoreConflict):
                store.roll_back()
                what = "it was changed meanwhile; sync again"
                self._report.problems.append(Problem(_describe(step), what))
            except Refused as refused:
                store.roll_back()
                where = step.theirs.where if step.theirs is not None else _describe(step)
                self._report.problems.append(Problem(where, prompt_file.explain(refused)))
        return done

    # -- files ----------------------------------------------------------------------------------------------------

    def _write_files(self, side: FolderSide, agreed: dict[tuple[Kind, str], Entry | None]) -> None:
        """Write and remove the files of prompts and documents."""
        writing.write_file(self._root, sources.MARKER, folder.write_marker(self._scope.project))
        parts: tuple[tuple[Kind, str, str], ...] = (
            ("prompt", folder.PROMPTS, ".md"),
            ("document", folder.DOCUMENTS, ""),
        )
        for kind, part, ending in parts:
            paths = self._name_files(side, agreed, kind, part, ending)
            for (one, key), entry in [*agreed.items()]:
                if one == kind:
                    self._write_item(side, kind, key, entry, paths.get(key, ""))
            if kind == "document" and kind not in side.broken_kinds:
                self._write_details(side, agreed, paths)

    def _name_files(
        self, side: FolderSide, agreed: dict[tuple[Kind, str], Entry | None], kind: Kind, part: str, ending: str
    ) -> dict[str, str]:
        """A path for each item: the one that it has, or a new one."""
        paths = {key: file.path for (one, key), file in side.files.items() if one == kind}
        names = [key for (one, key), entry in agreed.items() if one == kind and entry is not None]
        made = folder.name_files(part, [*{*names, *paths}], ending)
        taken = {path.casefold() for path in paths.values()}
        for name in names:
            if name not in paths:
                path = made[name]
                if path.casefold() in taken:
                    path = folder.name_files(part, [name, name.swapcase()], ending)[name]
                paths[name] = path
        return paths

    def _write_item(self, side: FolderSide, kind: Kind, key: str, entry: Entry | None, path: str) -> None:
        before = side.entries.get((kind, key))
        if entry is not None and before is not None and digest(entry) == digest(before):
            return  # as its author wrote it
        file = side.files.get((kind, key))
        if entry is None and file is None:
            return
        try:
            if not self._is_unchanged(path, None if file is None else file.data):
                raise Unreadable("it was changed meanwhile; sync again")
            if entry is None:
                writing.remove_file(self._root, path)
            elif isinstance(entry, PromptEntry):
                writing.write_file(self._root, path, prompt_file.write_prompt_file(entry, path))
            elif isinstance(entry, DocumentEntry):
                writing.write_file(self._root, path, folder.to_bytes(entry))
        except Unreadable as wrong:
            self._report.problems.append(Problem(os.path.join(self._root, path), str(wrong)))
            side.broken.add((kind, key))

    def _is_unchanged(self, path: str, data: bytes | None) -> bool:
        """Whether a file is as it was when the sync began; None: there was none."""
        target = os.path.join(self._root, *path.split("/"))
        if not os.path.lexists(target):
            return True
        return data is not None and sources.read_bytes(target) == data

    def _write_details(
        self, side: FolderSide, agreed: dict[tuple[Kind, str], Entry | None], paths: dict[str, str]
    ) -> None:
        """Write what the names of documents do not say; what is said about broken ones stays."""
        documents = [entry for entry in agreed.values() if isinstance(entry, DocumentEntry)]
        documents += [
            entry
            for key, entry in side.entries.items()
            if key in side.broken and isinstance(entry, DocumentEntry) and key not in agreed
        ]
        documents.sort(key=lambda one: one.name)
        data = folder.write_details(documents, paths)
        if data:
            writing.write_file(self._root, folder.DETAILS, data)
        else:
            writing.remove_file(self._root, folder.DETAILS)

    def _write_tasks(self, side: FolderSide, agreed: dict[tuple[Kind, str], Entry | None], plan: Plan) -> None:
        """Write the file of tasks anew, where a task in it is not as in the store."""
        if "task" in side.broken_kinds:
            return
        with self._database.read(self._scope) as tx:
            now = snapshot.take(tx, self._scope).tasks
        keys = [key for (kind, key), entry in agreed.items() if kind == "task" and entry is not None and key in now]
        tasks = [now[key] for key in sorted(keys, key=int)]
        before = [side.entries["task", label] for label in plan.labels if ("task", label) in side.entries]
        written = task_file.write(tasks, {task.key: int(task.key) for task in tasks}).encode()
        if [_facts(one) for one in before] == [_facts(one) for one in tasks]:
            return
        file = side.tasks_file
        if not tasks and file is None:
            return
        if not self._is_unchanged(folder.TASKS, None if file is None else file.data):
            self._report.problems.append(Problem(folder.TASKS, "it was changed meanwhile; sync again"))
            side.broken_kinds.add("task")
            return
        writing.write_file(self._root, folder.TASKS, written)

    def _save(self, base: SyncState, side: FolderSide, agreed: dict[tuple[Kind, str], Entry | None]) -> None:
        """Keep what both sides have now; about what is broken, keep what was known."""
        state = SyncState(project=base.project, user=base.user)
        parts: list[tuple[Kind, dict[str, str], dict[str, str]]] = [
            ("prompt", base.prompts, state.prompts),
            ("document", base.documents, state.documents),
            ("task", base.tasks, state.tasks),
        ]
        for kind, before, after in parts:
            for (one, key), entry in agreed.items():
                if one == kind and entry is not None and (kind, key) not in side.broken:
                    after[key] = digest(entry)
            for key, known in before.items():
                is_settled = (kind, key) in agreed and (kind, key) not in side.broken
                if not is_settled or kind in side.broken_kinds:
                    after[key] = known
            for key in [key for key in after if (kind, key) in agreed and agreed[kind, key] is None]:
                if (kind, key) not in side.broken:
                    del after[key]
        sync_state.save(self._root, state)


def _facts(entry: Entry) -> object:
    if not isinstance(entry, TaskEntry):
        return entry
    return replace(entry, where="", notes=(), completed_at=entry.completed_at or None)


def _describe(step: Step) -> str:
    entry = step.theirs or step.ours
    label = entry.label if entry is not None else step.key
    if step.kind == "task" and not sync_plan.is_new(step.key):
        return f"task #{step.key} '{label}'" if entry is not None else f"task #{step.key}"
    return f"{step.kind} '{label}'"
