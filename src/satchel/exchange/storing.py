"""Reads a project as entries, and adds, changes and deletes entries for import and sync."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from satchel.errors import Refused, VersionConflict
from satchel.exchange.entries import DocumentEntry, Entry, Kind, NoteEntry, Problem, PromptEntry, TaskEntry
from satchel.model import (
    BlockerChange,
    Document,
    DocumentDraft,
    DocumentPatch,
    Prompt,
    PromptDraft,
    PromptPatch,
    Scope,
    Task,
    TaskDraft,
    TaskPatch,
    TaskPosition,
    TaskQuery,
    TaskStatus,
)
from satchel.services import documents, prompts, rules, tasks
from satchel.storage.database import Tx

BATCH = 1000  # entries in one transaction
_PAGE = 500  # how many items to read at once
_ROOM = 9  # characters for a number after a name or title

NamedEntry = PromptEntry | DocumentEntry


# -- reading ----------------------------------------------------------------------------------------------------


class Snapshot(Struct, frozen=True):
    """The items of a project by key: prompts and documents by name, tasks by number."""

    prompts: dict[str, PromptEntry]
    documents: dict[str, DocumentEntry]
    tasks: dict[str, TaskEntry]
    versions: Mapping[tuple[Kind, str], int]
    outside: int = 0  # blockers and parents outside the project

    @property
    def entries(self) -> list[Entry]:
        """All entries: prompts and documents by name, tasks by number."""
        return [*self.prompts.values(), *self.documents.values(), *self.tasks.values()]


def take_snapshot(tx: Tx, scope: Scope) -> Snapshot:
    """Return everything in the project of a scope."""
    versions: dict[tuple[Kind, str], int] = {}
    found_prompts: dict[str, PromptEntry] = {}
    labels = prompts.list_all_labels(tx, scope)
    for prompt in sorted(prompts.iterate_whole(tx, scope, size=_PAGE), key=lambda one: one.name):
        versions["prompt", prompt.name] = prompt.version
        found_prompts[prompt.name] = replace(to_prompt(prompt), labels=labels.get(prompt.number, {}))
    found_documents: dict[str, DocumentEntry] = {}
    for document in sorted(documents.iterate_whole(tx, scope, size=_PAGE), key=lambda one: one.name):
        versions["document", document.name] = document.version
        found_documents[document.name] = to_document(document)
    found = list_tasks(tx, scope, scope.project)
    numbers = {task.number for task in found}
    versions |= {("task", str(task.number)): task.version for task in found}
    outside = sum(len({*task.blocked_by, *([task.parent] if task.parent else [])} - numbers) for task in found)
    return Snapshot(found_prompts, found_documents, _add_notes(tx, scope, found), versions, outside)


def take_tasks(tx: Tx, scope: Scope, project: str | None) -> dict[str, TaskEntry]:
    """Return the user's tasks in a project, or in none, by number."""
    return _add_notes(tx, scope, list_tasks(tx, scope, project))


def list_tasks(tx: Tx, scope: Scope, project: str | None) -> list[Task]:
    """Return the user's tasks in a project, or in none, oldest first."""
    found: list[Task] = []
    after: TaskPosition | None = None
    has_more = scope.user is not None
    while has_more:
        query = TaskQuery(filter="all", project=project)
        page, has_more = tasks.list_page(tx, scope, query, limit=_PAGE, after=after)
        found += [task for task in page if project is not None or task.project is None]
        after = tasks.position_of("all", page[-1]) if page else None
    return sorted(found, key=lambda task: task.number)


def _add_notes(tx: Tx, scope: Scope, found: Sequence[Task]) -> dict[str, TaskEntry]:
    """Convert tasks to entries with their notes, and with those of their blockers that are among `found`."""
    numbers = {task.number for task in found}
    entries: dict[str, TaskEntry] = {}
    for start in range(0, len(found), _PAGE):
        page = found[start : start + _PAGE]
        notes = tasks.notes_of(tx, scope, [task.number for task in page])
        for task in page:
            comments = tuple(NoteEntry(text, at) for at, text in notes.get(task.number, ()))
            entries[str(task.number)] = to_task(task, numbers, comments)
    return entries


def to_prompt(prompt: Prompt) -> PromptEntry:
    """Convert a stored prompt to an entry."""
    return PromptEntry(name=prompt.name, **_prompt_fields(prompt))


def to_document(document: Document) -> DocumentEntry:
    """Convert a stored document, read whole, to an entry."""
    assert document.content is not None, "a document without its content cannot be exported"
    return DocumentEntry(name=document.name, uri=document.uri, **_document_fields(document))


def to_task(task: Task, numbers: set[int], comments: tuple[NoteEntry, ...] = ()) -> TaskEntry:
    """Convert a stored task to an entry, with those of its blockers that are in `numbers`."""
    return TaskEntry(
        title=task.title,
        description=task.description,
        status="pending" if task.status == "in_progress" else task.status,
        priority=task.priority,
        due=task.due,
        tags=task.tags,
        completed_at=task.completed_at,
        key=str(task.number),
        after=tuple(str(number) for number in task.blocked_by if number in numbers),
        parent=str(task.parent) if task.parent in numbers else "",
        comments=comments,
    )


# -- comparing --------------------------------------------------------------------------------------------------


def facts(entry: Entry) -> tuple[object, ...]:
    """Return everything about an entry that an import compares, except name and title."""
    if isinstance(entry, PromptEntry):
        content = entry.content, entry.description, entry.tags, entry.arguments, entry.is_constant
        return *content, entry.expires, entry.replaced_by
    if isinstance(entry, DocumentEntry):
        return entry.content, entry.mime_type, entry.description, entry.expires, entry.replaced_by
    return entry.description, entry.priority, entry.due, entry.tags, entry.status


def renumber(entry: Entry, number: int) -> Entry:
    """Return an entry with the next name and title: `NAME-2` and `Title (2)`."""
    if isinstance(entry, TaskEntry):
        return replace(entry, title=f"{entry.title[: rules.MAX_TASK_TITLE - _ROOM]} ({number})")
    if isinstance(entry, PromptEntry):
        name = f"{entry.name[: rules.MAX_NAME - _ROOM]}-{number}" if entry.name else None
        return replace(entry, name=name, title=f"{entry.title[: rules.MAX_TITLE - _ROOM]} ({number})")
    stem, dot, extension = entry.name.rpartition(".")
    ending = f"-{number}{dot}{extension}" if stem else f"-{number}"
    name = (stem or entry.name)[: rules.MAX_NAME - len(ending)] + ending
    is_own = entry.uri in ("", rules.make_own_uri(entry.name))
    return replace(entry, name=name, uri=rules.make_own_uri(name) if is_own else f"{entry.uri}-{number}")


# -- writing; all functions raise Refused as the services do -------------------------------------------------------


def _prompt_fields(prompt: PromptEntry | Prompt) -> dict[str, Any]:
    names = ("title", "content", "description", "tags", "arguments", "is_constant", "expires", "replaced_by")
    return {name: getattr(prompt, name) for name in names}


def _document_fields(document: DocumentEntry | Document) -> dict[str, Any]:
    names = ("content", "mime_type", "description", "expires", "replaced_by")
    return {name: getattr(document, name) for name in names}


def add(tx: Tx, scope: Scope, entry: NamedEntry) -> NamedEntry:
    """Add a prompt or a document, and return it."""
    if isinstance(entry, PromptEntry):
        return to_prompt(prompts.add(tx, scope, PromptDraft(name=entry.name, **_prompt_fields(entry))))
    draft = DocumentDraft(name=entry.name, uri=entry.uri, **_document_fields(entry))
    return to_document(documents.add(tx, scope, draft))


def change(tx: Tx, scope: Scope, name: str, entry: NamedEntry, version: int | None = None) -> NamedEntry:
    """Update a prompt or document from an entry, except its name and URI, and return it."""
    if isinstance(entry, PromptEntry):
        id = prompts.get_by_name(tx, scope, name).id
        return to_prompt(prompts.update(tx, scope, id, PromptPatch(**_prompt_fields(entry)), version))
    return to_document(documents.update(tx, scope, name, DocumentPatch(**_document_fields(entry)), version))


def set_title_aside(tx: Tx, scope: Scope, name: str, title: str, version: int | None = None) -> tuple[str, int]:
    """Give a prompt a unique interim title; return the title and the new version."""
    aside = f"{title[: rules.MAX_TITLE - 40]} {tx.new_id()}"
    id = prompts.get_by_name(tx, scope, name).id
    return aside, prompts.update(tx, scope, id, PromptPatch(title=aside), version).version


def add_task(tx: Tx, scope: Scope, project: str | None, entry: TaskEntry, blockers: Sequence[int]) -> Task:
    """Add a task with its notes."""
    draft = TaskDraft(
        title=entry.title,
        description=entry.description,
        project=project,
        tags=entry.tags,
        priority=entry.priority,
        due=entry.due,
        blocked_by=blockers,
    )
    task = tasks.add(tx, scope, draft)
    for note in entry.comments:
        tasks.add_note(tx, scope, task.number, note.text, at=note.at or None)
    return task if entry.status == "pending" else tasks.update(tx, scope, task.number, _set_status(TaskPatch(), entry))


def change_task(
    tx: Tx,
    scope: Scope,
    number: int,
    entry: TaskEntry,
    was: TaskStatus,
    *,
    blockers: BlockerChange | UnsetType = UNSET,
    parent: int | UnsetType | None = UNSET,
    version: int | None = None,
) -> None:
    """Update a task from an entry, and add the notes that it lacks."""
    patch = TaskPatch(
        title=entry.title,
        description=entry.description,
        tags=entry.tags,
        priority=entry.priority,
        due=entry.due,
        blocked_by=blockers,
        parent=parent,
    )
    patch = patch if entry.status == was else _set_status(patch, entry)
    tasks.update(tx, scope, number, patch, expected_version=version)
    if entry.comments:
        texts = {text for _, text in tasks.notes_of(tx, scope, [number]).get(number, ())}
        for note in entry.comments:
            if note.text not in texts:
                tasks.add_note(tx, scope, number, note.text, at=note.at or None)


def _set_status(patch: TaskPatch, entry: TaskEntry) -> TaskPatch:
    if entry.completed_at:
        return replace(patch, completed_at=entry.completed_at, is_cancelled=entry.status == "cancelled")
    return replace(patch, status=entry.status)


def delete(tx: Tx, scope: Scope, kind: Kind, key: str, version: int | None) -> None:
    """Delete an item if it still has this version.

    Raises:
        VersionConflict, NotFound: another process changed or deleted it meanwhile.
    """
    if kind == "task":
        tasks.delete(tx, scope, int(key), version)
        return
    item = prompts.get_by_name(tx, scope, key) if kind == "prompt" else documents.get_by_name(tx, scope, key)
    if version not in (None, item.version):
        raise VersionConflict(kind, key, expected=version or 0, actual=item.version)
    if kind == "prompt":
        prompts.delete(tx, scope, item.id)
    else:
        documents.delete(tx, scope, key)


class TaskLinks:
    """The tasks of one import or sync by key; the blockers and the parent of a task may come before or after it."""

    def __init__(self, scope: Scope, numbers: Mapping[str, int] | None = None) -> None:
        self._scope = scope
        self.numbers = dict(numbers or {})  # the numbers of tasks by key
        self.lost: list[Problem] = []  # dependencies that the store refused
        self._new: set[int] = set()
        self._waiting: dict[str, list[tuple[int, TaskEntry]]] = {}  # waiting tasks by the key of an unread one

    def find_blockers(self, entry: TaskEntry) -> list[int]:
        """Return the known tasks that block a new task."""
        found = sorted({self.numbers[key] for key in entry.after if key in self.numbers})
        is_safe = entry.key not in self._waiting and len(found) <= rules.MAX_BLOCKERS
        return found if is_safe else []  # otherwise, `learn` links them one by one and reports refusals

    def learn(self, tx: Tx, number: int, entry: TaskEntry, linked: Sequence[int] | None) -> None:
        """Link a task with its blockers and its parent, and with the tasks that wait for it.

        `linked` are the blockers that a new task already has; None means an existing task. Two existing tasks
        are not linked, because their owner may have changed the link.
        """
        if linked is not None:
            self._new.add(number)
        if entry.key:
            self.numbers[entry.key] = number
            for other, waiting in self._waiting.pop(entry.key, []):
                self._link(tx, other, number, waiting)
        for key in entry.others:
            if key not in self.numbers:
                self._waiting.setdefault(key, []).append((number, entry))
            elif key == entry.parent or self.numbers[key] not in (linked or ()):
                self._link(tx, number, self.numbers[key], entry)

    def _link(self, tx: Tx, number: int, other: int, entry: TaskEntry) -> None:
        """Link a task with another one, which is its blocker, its parent, or both."""
        if number not in self._new and other not in self._new:
            return
        is_blocker = any(self.numbers.get(key) == other for key in entry.after)
        patch = TaskPatch(
            blocked_by=BlockerChange(added=(other,)) if is_blocker else UNSET,
            parent=other if self.numbers.get(entry.parent) == other else UNSET,
        )
        try:
            with tx.savepoint():
                tasks.update(tx, self._scope, number, patch)
        except Refused as refused:
            is_circular = getattr(refused, "rule", "") == "acyclic"
            many = f"'{entry.label}' has more than {rules.MAX_BLOCKERS} blockers; the rest is left out"
            circle = f"a dependency of '{entry.label}' is left out, because it is circular"
            self.lost.append(Problem(entry.where, circle if is_circular else many))

    def list_missing(self) -> list[Problem]:
        """Return the dependencies on missing tasks."""
        return [
            Problem(task.where, f"'{task.label}' depends on {key.rpartition(chr(0))[2]}, which was not imported")
            for key, waiting in self._waiting.items()
            for _, task in waiting
        ]
