"""Finds the place of an entry in the store: new, the same as what is there, or clashing; and puts it there."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Literal, TypeVar

from msgspec.structs import replace

from satchel.errors import NotFound
from satchel.exchange import cleaning
from satchel.exchange.entries import DocumentEntry, Problem, PromptEntry, TaskEntry
from satchel.exchange.snapshot import list_tasks, to_document, to_prompt
from satchel.model import (
    BlockerChange,
    PromptDraft,
    PromptPatch,
    ResourceDraft,
    ResourcePatch,
    Scope,
    TaskDetails,
    TaskDraft,
    TaskPatch,
)
from satchel.services import projects, prompts, resources, rules, task_notes, tasks
from satchel.storage.database import Tx

State = Literal["new", "same", "clashing", "renamed", "replaced"]
Key = TypeVar("Key")
Value = TypeVar("Value")
URI = "satchel://resource/"


class _Known:
    """What a project holds, those entries too that this import has put there. None: to be read from the store."""

    def __init__(self) -> None:
        self.prompts: dict[str, PromptEntry | None] = {}
        self.titles: dict[str, str] = {}  # the name of the prompt with a title
        self.documents: dict[str, DocumentEntry | None] = {}
        self.uris: dict[str, str] = {}
        self.tasks: dict[str, list[TaskDetails]] = {}  # by title, those that no entry was matched with


class Placer:
    """Places the entries of one import, one after the other. It learns of an entry only when that is in the store."""

    def __init__(self, scope: Scope, on_clash: str, *, is_dry_run: bool = False) -> None:
        self._scope = scope
        self._on_clash = on_clash
        self._is_dry_run = is_dry_run
        self._known: dict[str, _Known] = {}
        self._numbers: dict[str, int] = {}  # of tasks, by key
        self._new: set[int] = set()  # tasks that this import added
        self._blockers: dict[int, set[int]] = {}
        self._waiting: dict[str, list[tuple[int, TaskEntry]]] = {}  # tasks by the key of one that is not there yet
        self._undo: list[Callable[[], object]] = []
        self.made: list[str] = []  # projects
        self.lost: list[Problem] = []

    def begin(self) -> None:
        """From here on, what is learned can be forgotten again."""
        self._undo = []

    def roll_back(self) -> None:
        """Forget what was learned since `begin`, because the transaction was rolled back."""
        while self._undo:
            self._undo.pop()()

    def list_lost(self) -> list[Problem]:
        """The dependencies that could not be kept; a dry run does not know."""
        if self._is_dry_run:
            return []
        missing = [
            Problem(task.where, f"'{task.label}' waits for {key.rpartition(chr(0))[2]}, which is not here")
            for key, waiting in self._waiting.items()
            for _, task in waiting
        ]
        return [*self.lost, *missing]

    # -- prompts --------------------------------------------------------------------------------------------------

    def place_prompt(self, tx: Tx, entry: PromptEntry) -> tuple[State, str]:
        """Put a prompt into the store, and tell its state and its name there."""
        scope = self._enter(tx, entry.project)
        known = self._look(tx, scope)
        draft = rules.clean_prompt(_draft(entry))
        entry = replace(entry, title=str(draft.title), tags=tuple(draft.tags), description=draft.description)
        there = entry.name if entry.name in known.prompts else known.titles.get(entry.title)
        if there is not None and there != entry.name and _has_made_title(entry) and entry.name not in known.titles:
            # Its source has no titles, and another prompt has the one that was made from its name.
            entry, there = replace(entry, title=str(entry.name)), None
        if there is None:
            return "new", self._add_prompt(tx, scope, entry)
        if _is_same_prompt(self._read_prompt(tx, scope, there), entry):
            return "same", there
        if self._on_clash == "replace":
            return "replaced", self._replace_prompt(tx, scope, there, entry)
        return self._rename_prompt(tx, scope, entry, there) if self._on_clash == "rename" else ("clashing", there)

    def _add_prompt(self, tx: Tx, scope: Scope, entry: PromptEntry) -> str:
        known = self._look(tx, scope)
        name = entry.name or prompts.make_name(entry.title) or entry.title
        if not self._is_dry_run:
            name = prompts.add(tx, scope, _draft(entry)).name
        self._set(known.prompts, name, entry)
        self._set(known.titles, entry.title, name)
        return name

    def _read_prompt(self, tx: Tx, scope: Scope, name: str) -> PromptEntry:
        return self._look(tx, scope).prompts[name] or to_prompt(prompts.get_by_name(tx, scope, name))

    def _replace_prompt(self, tx: Tx, scope: Scope, name: str, entry: PromptEntry) -> str:
        known = self._look(tx, scope)
        if not self._is_dry_run:
            patch = PromptPatch(
                title=entry.title,
                content=entry.content,
                description=entry.description,
                tags=entry.tags,
                arguments=entry.arguments,
            )
            prompts.update(tx, scope, prompts.get_by_name(tx, scope, name).id, patch)
        self._set(known.prompts, name, entry)
        self._set(known.titles, entry.title, name)
        return name

    def _rename_prompt(self, tx: Tx, scope: Scope, entry: PromptEntry, there: str) -> tuple[State, str]:
        known = self._look(tx, scope)
        for name, title in _other_names(entry.name or there, entry.title):
            taken = name if name in known.prompts else known.titles.get(title)
            if taken is None:
                return "renamed", self._add_prompt(tx, scope, replace(entry, name=name, title=title))
            if _is_same_prompt(self._read_prompt(tx, scope, taken), replace(entry, title=title)):
                return "same", taken
        raise AssertionError("there is always another number")

    # -- documents ------------------------------------------------------------------------------------------------

    def place_document(self, tx: Tx, entry: DocumentEntry) -> tuple[State, str]:
        """Put a document into the store, and tell its state and its name there."""
        scope = self._enter(tx, entry.project)
        known = self._look(tx, scope)
        uri = rules.clean_uri("resource", entry.uri or URI + rules.clean_name("resource", entry.name))
        content = rules.clean_content(rules.clean_mime_type("resource", entry.mime_type), entry.content)
        entry = replace(entry, uri=uri, content=content)
        there = entry.name if entry.name in known.documents else known.uris.get(entry.uri)
        if there is None:
            return "new", self._add_document(tx, scope, entry)
        if _is_same_document(self._read_document(tx, scope, there), entry):
            return "same", there
        if self._on_clash == "replace":
            return "replaced", self._replace_document(tx, scope, there, entry)
        return self._rename_document(tx, scope, entry) if self._on_clash == "rename" else ("clashing", there)

    def _add_document(self, tx: Tx, scope: Scope, entry: DocumentEntry) -> str:
        known = self._look(tx, scope)
        if not self._is_dry_run:
            draft = ResourceDraft(
                name=entry.name,
                uri=entry.uri,
                content=entry.content,
                mime_type=entry.mime_type,
                description=entry.description,
            )
            resources.add(tx, scope, draft)
        self._set(known.documents, entry.name, entry)
        self._set(known.uris, entry.uri, entry.name)
        return entry.name

    def _read_document(self, tx: Tx, scope: Scope, name: str) -> DocumentEntry:
        return self._look(tx, scope).documents[name] or to_document(resources.get_by_name(tx, scope, name))

    def _replace_document(self, tx: Tx, scope: Scope, name: str, entry: DocumentEntry) -> str:
        if not self._is_dry_run:
            patch = ResourcePatch(content=entry.content, mime_type=entry.mime_type, description=entry.description)
            resources.update(tx, scope, name, patch)
        self._set(self._look(tx, scope).documents, name, entry)
        return name

    def _rename_document(self, tx: Tx, scope: Scope, entry: DocumentEntry) -> tuple[State, str]:
        known = self._look(tx, scope)
        stem, dot, extension = entry.name.rpartition(".")
        for number in count(2):
            name = f"{stem}-{number}{dot}{extension}" if stem else f"{entry.name}-{number}"
            uri = URI + name if entry.uri == URI + entry.name else f"{entry.uri}-{number}"
            taken = name if name in known.documents else known.uris.get(uri)
            renamed = replace(entry, name=name, uri=uri)
            if taken is None:
                return "renamed", self._add_document(tx, scope, renamed)
            if _is_same_document(self._read_document(tx, scope, taken), renamed):
                return "same", taken
        raise AssertionError("there is always another number")

    # -- tasks ----------------------------------------------------------------------------------------------------

    def place_task(self, tx: Tx, entry: TaskEntry) -> tuple[State, str]:
        """Put a task into the store, and tell its state and its title there."""
        project = self._name_project(tx, entry)
        pool = self._look_at_tasks(tx, project).setdefault(entry.title, [])
        same = next((one for one in pool if _is_same_task(one, entry)), None)
        if same is not None:
            self._remove(pool, same)
            self._learn_task(tx, entry, same)
            return "same", entry.title
        if not pool:
            self._add_task(tx, entry, project)
            return "new", entry.title
        if self._on_clash == "replace":
            self._replace_task(tx, entry, pool[0])
            self._remove(pool, pool[0])
            return "replaced", entry.title
        if self._on_clash == "rename":
            return self._rename_task(tx, entry, project)
        self._learn_task(tx, entry, pool[0])
        self._remove(pool, pool[0])
        return "clashing", entry.title

    def _name_project(self, tx: Tx, entry: TaskEntry) -> str | None:
        if entry.project == "":
            return None
        return self._enter(tx, entry.project).project

    def _rename_task(self, tx: Tx, entry: TaskEntry, project: str | None) -> tuple[State, str]:
        for number in count(2):
            renamed = replace(entry, title=f"{entry.title[: rules.MAX_TASK_TITLE - 9]} ({number})")
            pool = self._look_at_tasks(tx, project).get(renamed.title, [])
            same = next((one for one in pool if _is_same_task(one, renamed)), None)
            if same is not None:
                self._remove(pool, same)
                self._learn_task(tx, renamed, same)
                return "same", renamed.title
            if not pool:
                self._add_task(tx, renamed, project)
                return "renamed", renamed.title
        raise AssertionError("there is always another number")

    def _add_task(self, tx: Tx, entry: TaskEntry, project: str | None) -> None:
        if self._is_dry_run:
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
        task = tasks.add(tx, self._scope, draft)
        for note in entry.comments:
            task_notes.add(tx, self._scope, task.number, note.text, at=note.at or None)
        if entry.status != "pending":
            tasks.update(tx, self._scope, task.number, _close(entry))
        self._undo.append(lambda: self._new.discard(task.number))
        self._new.add(task.number)
        self._learn_task(tx, entry, task)

    def _replace_task(self, tx: Tx, entry: TaskEntry, task: TaskDetails) -> None:
        if not self._is_dry_run:
            patch = TaskPatch(
                description=entry.description,
                tags=entry.tags,
                priority=entry.priority,
                due=entry.due,
                status="pending" if entry.status == "pending" else entry.status,
            )
            tasks.update(tx, self._scope, task.number, patch)
        self._learn_task(tx, entry, task)

    def _learn_task(self, tx: Tx, entry: TaskEntry, task: TaskDetails) -> None:
        """Keep the number of a task for those that wait for it, and for those that already do."""
        self._set(self._blockers, task.number, set(task.blocked_by))
        if entry.key:
            self._set(self._numbers, entry.key, task.number)
            waiting = self._waiting.pop(entry.key, [])
            if waiting:
                self._undo.append(lambda: self._waiting.update({entry.key: waiting}))
            for number, other in waiting:
                self._block(tx, number, task.number, other)
        for key in entry.after:
            if key in self._numbers:
                self._block(tx, task.number, self._numbers[key], entry)
            else:
                there = self._waiting.setdefault(key, [])
                there.append((task.number, entry))
                self._undo.append(there.pop)

    def _block(self, tx: Tx, number: int, blocker: int, entry: TaskEntry) -> None:
        """Let a task wait for another one, unless that waits for it."""
        known = self._blockers.setdefault(number, set())
        is_new = number in self._new or blocker in self._new  # what was there before, its owner may have changed
        if blocker in known or not is_new or self._is_dry_run:
            return
        if number == blocker or self._reaches(blocker, number):
            self.lost.append(Problem(entry.where, f"'{entry.label}' and what it waits for wait for each other"))
            self._undo.append(self.lost.pop)
        elif len(known) >= rules.MAX_BLOCKERS:
            self.lost.append(Problem(entry.where, f"'{entry.label}' waits for more than {rules.MAX_BLOCKERS} tasks"))
            self._undo.append(self.lost.pop)
        else:
            tasks.update(tx, self._scope, number, TaskPatch(blocked_by=BlockerChange(added=(blocker,))))
            known.add(blocker)
            self._undo.append(lambda: known.discard(blocker))

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

    # -- what is there --------------------------------------------------------------------------------------------

    def _enter(self, tx: Tx, project: str | None) -> Scope:
        """The scope of the project that an entry goes to, which is made where there is none."""
        if not project or project == self._scope.project:
            return self._scope
        scope = projects.enter(self._scope, project)
        if project in self._known:
            return scope
        try:
            projects.get_existing(tx, self._scope, project)
        except NotFound:
            if project not in self.made:
                if not self._is_dry_run:
                    projects.add(tx, project)
                self.made.append(project)
                self._undo.append(lambda: self.made.remove(project))
            self._set(self._known, project, _Known())
        return scope

    def _look(self, tx: Tx, scope: Scope) -> _Known:
        if scope.project not in self._known:
            known = _Known()
            for header in prompts.list_headers(tx, scope)[0]:
                known.prompts[header.name] = None
                known.titles[header.title] = header.name
            for one in resources.list_all(tx, scope):
                known.documents[one.name] = None
                known.uris[one.uri] = one.name
            for task in list_tasks(tx, self._scope, scope.project):
                known.tasks.setdefault(task.title, []).append(task)
            self._set(self._known, scope.project, known)
        return self._known[scope.project]

    def _look_at_tasks(self, tx: Tx, project: str | None) -> dict[str, list[TaskDetails]]:
        if project is not None:
            return self._look(tx, projects.enter(self._scope, project)).tasks
        if "" not in self._known:
            known = _Known()
            for task in list_tasks(tx, self._scope, None):
                known.tasks.setdefault(task.title, []).append(task)
            self._set(self._known, "", known)
        return self._known[""].tasks

    def _set(self, mapping: dict[Key, Value], key: Key, value: Value) -> None:
        had, before = key in mapping, mapping.get(key)

        def undo() -> None:
            if had:
                mapping[key] = before  # type: ignore[assignment]
            else:
                mapping.pop(key, None)

        mapping[key] = value
        self._undo.append(undo)

    def _remove(self, pool: list[TaskDetails], task: TaskDetails) -> None:
        pool.remove(task)
        self._undo.append(lambda: pool.insert(0, task))


def _draft(entry: PromptEntry) -> PromptDraft:
    return PromptDraft(
        name=entry.name,
        title=entry.title,
        content=entry.content,
        description=entry.description,
        tags=entry.tags,
        arguments=entry.arguments,
    )


def _close(entry: TaskEntry) -> TaskPatch:
    if entry.completed_at:
        return TaskPatch(completed_at=entry.completed_at, is_cancelled=entry.status == "cancelled")
    return TaskPatch(status=entry.status)


def _has_made_title(entry: PromptEntry) -> bool:
    return entry.name is not None and entry.title == cleaning.make_title(entry.name)


def _is_same_prompt(there: PromptEntry, entry: PromptEntry) -> bool:
    if there.title == entry.name and _has_made_title(entry):
        entry = replace(entry, title=there.title)
    return (there.title, there.content, there.description, there.tags, there.arguments) == (
        entry.title,
        entry.content,
        entry.description,
        entry.tags,
        entry.arguments,
    )


def _is_same_document(there: DocumentEntry, entry: DocumentEntry) -> bool:
    return (there.name, there.uri, there.content, there.mime_type, there.description) == (
        entry.name,
        entry.uri,
        entry.content,
        entry.mime_type,
        entry.description,
    )


def _is_same_task(task: TaskDetails, entry: TaskEntry) -> bool:
    status = "pending" if not task.is_completed else "cancelled" if task.is_cancelled else "completed"
    return (task.description, task.priority, task.due, task.tags, status) == (
        entry.description,
        entry.priority,
        entry.due,
        entry.tags,
        entry.status,
    )


def _other_names(name: str, title: str) -> Iterator[tuple[str, str]]:
    for number in count(2):
        yield f"{name[: rules.MAX_NAME - 9]}-{number}", f"{title[: rules.MAX_TITLE - 9]} ({number})"
