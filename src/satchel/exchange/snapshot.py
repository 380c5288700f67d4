"""What a project holds now, as entries: the other side of an import."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from satchel.exchange.entries import DocumentEntry, Entry, NoteEntry, PromptEntry, TaskEntry
from satchel.model import Prompt, Resource, Scope, TaskDetails, TaskPosition, TaskQuery
from satchel.services import prompts, resources, task_notes, tasks
from satchel.storage.database import Tx

_PAGE = 500  # tasks
_MAX_NOTES = task_notes.MAX_NOTES


class Snapshot(Struct, frozen=True):
    """The items of a project by key, with their versions: prompts and documents by name, tasks by number."""

    prompts: dict[str, PromptEntry]
    documents: dict[str, DocumentEntry]
    tasks: dict[str, TaskEntry]
    versions: Mapping[tuple[str, str], int]
    outside: int = 0  # dependencies on tasks that are not in the project

    @property
    def entries(self) -> list[Entry]:
        """All of them: prompts and documents by name, tasks in the order of their numbers."""
        return [*self.prompts.values(), *self.documents.values(), *self.tasks.values()]


def take(tx: Tx, scope: Scope) -> Snapshot:
    """Everything in the project of a scope, in one transaction.

    Raises:
        NotFound, Forbidden: as `projects.current`.
    """
    versions: dict[tuple[str, str], int] = {}
    made: dict[str, PromptEntry] = {}
    for header in sorted(prompts.list_headers(tx, scope)[0], key=lambda one: one.name):
        prompt = prompts.get_by_name(tx, scope, header.name)
        versions["prompt", prompt.name] = prompt.version
        made[prompt.name] = to_prompt(prompt)
    documents: dict[str, DocumentEntry] = {}
    for row in sorted(resources.list_all(tx, scope), key=lambda one: one.name):
        resource = resources.get_by_name(tx, scope, row.name)
        versions["document", resource.name] = resource.version
        documents[resource.name] = to_document(resource)
    found = take_tasks(tx, scope, scope.project)
    numbers = {task.number for task in found.values()}
    versions |= {("task", key): task.version for key, task in found.items()}
    outside = sum(len({*task.blocked_by} - numbers) for task in found.values())
    entries = {key: to_task(tx, scope, task, numbers) for key, task in found.items()}
    return Snapshot(made, documents, entries, versions, outside)


def take_tasks(tx: Tx, scope: Scope, project: str | None) -> dict[str, TaskDetails]:
    """The user's tasks of a project, or of none, by number."""
    if scope.user is None:
        return {}
    found = sorted(list_tasks(tx, scope, project), key=lambda task: task.number)
    return {str(task.number): task for task in found}


def take_loose_tasks(tx: Tx, scope: Scope) -> list[TaskEntry]:
    """The user's tasks that are in no project."""
    found = take_tasks(tx, scope, None)
    numbers = {task.number for task in found.values()}
    return [to_task(tx, scope, task, numbers) for task in found.values()]


def list_tasks(tx: Tx, scope: Scope, project: str | None) -> Iterator[TaskDetails]:
    """The user's tasks of a project, or of none, the newest first."""
    if scope.user is None:
        return
    after: TaskPosition | None = None
    while True:
        query = TaskQuery(filter="all", project=project)
        page, has_more = tasks.list_page(tx, scope, query, limit=_PAGE, after=after)
        yield from (task for task in page if project is not None or task.project is None)
        if not has_more:
            return
        after = tasks.position_of("all", page[-1])


def to_prompt(prompt: Prompt) -> PromptEntry:
    """A prompt of the store as an entry."""
    return PromptEntry(
        name=prompt.name,
        title=prompt.title,
        content=prompt.content,
        description=prompt.description,
        tags=prompt.tags,
        arguments=prompt.arguments,
    )


def to_document(resource: Resource) -> DocumentEntry:
    """A resource of the store, read whole, as an entry."""
    assert resource.content is not None, "a resource without its content cannot be exported"
    return DocumentEntry(
        name=resource.name,
        content=resource.content,
        mime_type=resource.mime_type,
        uri=resource.uri,
        description=resource.description,
    )


def to_task(tx: Tx, scope: Scope, task: TaskDetails, numbers: set[int]) -> TaskEntry:
    """A task of the store as an entry, with those of its blockers that have one of some numbers."""
    notes, _ = task_notes.list_newest(tx, scope, task.number, _MAX_NOTES)
    return TaskEntry(
        title=task.title,
        description=task.description,
        status="pending" if not task.is_completed else "cancelled" if task.is_cancelled else "completed",
        priority=task.priority,
        due=task.due,
        tags=task.tags,
        completed_at=task.completed_at,
        key=str(task.number),
        after=tuple(str(number) for number in task.blocked_by if number in numbers),
        comments=tuple(NoteEntry(note.text, note.at) for note in notes),
    )
