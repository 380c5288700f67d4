"""Copies and moves prompts, documents and tasks to other projects, with everything that they have."""

from msgspec import Struct

from satchel.errors import WrongArgument
from satchel.model import (
    Document,
    DocumentDraft,
    Prompt,
    PromptDraft,
    Scope,
    Task,
    TaskDraft,
    TaskPatch,
)
from satchel.services import documents, projects, prompts, rules, tasks
from satchel.storage import documents as document_rows
from satchel.storage.database import Tx


class Copied(Struct, frozen=True):
    """A copy, and what is different there, in sentences."""

    item: Prompt | Document
    notes: tuple[str, ...] = ()


class CopiedTask(Struct, frozen=True):
    """A task in its new project, and what may be unexpected, in sentences."""

    item: Task
    notes: tuple[str, ...] = ()


def copy_prompt(tx: Tx, scope: Scope, prompt: Prompt, to: str, *, renames: bool = True) -> Copied:
    """Copy a prompt to a project, under the next free name and title where its own are taken.

    Raises:
        NotFound, Forbidden: as `projects.current`, about the project.
        Taken: its name or title is taken there, and it is not renamed.
    """
    there = projects.enter(scope, to)
    projects.current(tx, there)
    draft = PromptDraft(
        name=prompt.name,
        title=prompt.title,
        content=prompt.content,
        description=prompt.description,
        tags=prompt.tags,
        arguments=prompt.arguments,
    )
    copy = prompts.add(tx, there, draft, renames=renames)
    notes = _tell("name", prompt.name, copy.name), _tell("title", prompt.title, copy.title)
    return Copied(copy, tuple(filter(None, notes)))


def copy_document(tx: Tx, scope: Scope, document: Document, to: str, *, renames: bool = True) -> Copied:
    """Copy a document to a project, under the next free name and URI where its own are taken.

    Raises:
        NotFound, Forbidden, Taken: as `copy_prompt`.
    """
    there = projects.enter(scope, to)
    projects.current(tx, there)
    assert document.content is not None, "a document without its content cannot be copied"
    name = document.name
    if renames:
        names = rules.list_free_names(name, tx.new_id())
        name = next(one for one in names if document_rows.find(tx, to, "name", one) is None)
    uri = wanted = rules.make_own_uri(name) if rules.is_own_uri(document.uri) else document.uri
    if renames:
        uris = rules.list_free_uris(wanted, tx.new_id())
        uri = next(one for one in uris if document_rows.find(tx, to, "uri", one) is None)
    draft = DocumentDraft(
        name=name,
        uri=uri,
        content=document.content,
        mime_type=document.mime_type,
        description=document.description,
    )
    notes = _tell("name", document.name, name), _tell("URI", wanted, uri)
    return Copied(documents.add(tx, there, draft), tuple(filter(None, notes)))


def copy_task(tx: Tx, scope: Scope, task: Task, to: str) -> CopiedTask:
    """Add a task like another one to a project; it is open, whatever the other one is, and nothing waits for it.

    Raises:
        NotFound, Forbidden: as `projects.current`, about the project.
    """
    draft = TaskDraft(
        title=task.title,
        description=task.description,
        project=to,
        tags=task.tags,
        priority=task.priority,
        due=task.due,
        blocked_by=task.open_blockers,
    )
    return CopiedTask(tasks.add(tx, scope, draft))


def move_prompt(tx: Tx, scope: Scope, prompt: Prompt, to: str, *, renames: bool = True) -> Copied:
    """Copy a prompt of the scope's project to another and delete it here; it stays in the trash with its history.

    Raises:
        NotFound, Forbidden, Taken: as `copy_prompt`.
        WrongArgument: it is there already.
    """
    _check_elsewhere(scope, "prompt", to)
    copied = copy_prompt(tx, scope, prompt, to, renames=renames)
    prompts.delete(tx, scope, prompt.id)
    return copied


def move_document(tx: Tx, scope: Scope, document: Document, to: str, *, renames: bool = True) -> Copied:
    """Copy a document of the scope's project to another and delete it here; it stays in the trash with its history.

    Raises:
        NotFound, Forbidden, Taken, WrongArgument: as `move_prompt`.
    """
    _check_elsewhere(scope, "document", to)
    copied = copy_document(tx, scope, document, to, renames=renames)
    documents.delete(tx, scope, document.name)
    return copied


def move_task(tx: Tx, scope: Scope, task: Task, to: str) -> CopiedTask:
    """Put a task into a project; it keeps its number, its notes and its history.

    Raises:
        NotFound, Forbidden: as `projects.current`, about the project.
    """
    if task.project == to:
        return CopiedTask(task, (f"#{task.number} was there already.",))
    tasks.update(tx, scope, task.number, TaskPatch(project=to))
    return CopiedTask(tasks.find(tx, scope, task.number))


def _check_elsewhere(scope: Scope, kind: str, to: str) -> None:
    if scope.project == to:
        raise WrongArgument("to", "not", value=to, kind=kind)


def _tell(what: str, wanted: str, got: str) -> str:
    return "" if wanted == got else f"The {what} {wanted} is taken there; the copy has {got}."
