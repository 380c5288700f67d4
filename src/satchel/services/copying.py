"""Copies and moves prompts, documents and tasks to other projects, with everything that they have."""

from satchel.errors import WrongArgument
from satchel.model import Document, DocumentDraft, Prompt, PromptDraft, Scope, Task, TaskDraft, TaskPatch
from satchel.services import documents, projects, prompts, rules, tasks
from satchel.storage.database import Tx

Copyable = Prompt | Document | Task
Notes = tuple[str, ...]  # the differences in the new project, in sentences


def copy(tx: Tx, scope: Scope, item: Copyable, to: str, *, renames: bool = True) -> tuple[Copyable, Notes]:
    """Copy an item to a project; return the copy and notes.

    The caller describes missing includes of prompts after its last copy, because that may be what a prompt includes.

    If the item's name, title or URI is taken there, the copy gets the next free one. The copy of a task is open, and
    blocks no other task.

    Raises:
        NotFound, Forbidden: see `projects.current`; the project is `to`.
        Taken: the item's name, title or URI is taken there, and `renames` is false.
    """
    there = projects.enter(scope, to)
    projects.current(tx, there)
    if isinstance(item, Prompt):
        return _copy_prompt(tx, there, item, renames=renames)
    if isinstance(item, Document):
        return _copy_document(tx, there, item, renames=renames)
    draft = TaskDraft(
        title=item.title,
        description=item.description,
        project=to,
        tags=item.tags,
        priority=item.priority,
        due=item.due,
        blocked_by=item.open_blockers,
    )
    return tasks.add(tx, scope, draft), ()


def move(tx: Tx, scope: Scope, item: Copyable, to: str, *, renames: bool = True) -> tuple[Copyable, Notes]:
    """Move an item to a project; return the moved item and notes.

    Every item keeps its number and history: a task its notes, a prompt its labels and uses.

    Raises:
        NotFound, Forbidden, Taken: see `copy`.
        WrongArgument: the prompt or document is already in that project.
    """
    if isinstance(item, Task):
        if item.project == to:
            return item, (f"#{item.number} was in that project already.",)
        return tasks.update(tx, scope, item.number, TaskPatch(project=to)), ()
    if scope.project == to:
        raise WrongArgument("to", "not", value=to, kind="prompt" if isinstance(item, Prompt) else "document")
    if isinstance(item, Prompt):
        prompt = prompts.move(tx, scope, item.id, to, renames=renames)
        return prompt, _describe_prompt(item, prompt)
    document = documents.move(tx, scope, item.name, to, renames=renames)
    return document, _describe_document(item, document)


def _copy_prompt(tx: Tx, there: Scope, prompt: Prompt, *, renames: bool) -> tuple[Copyable, Notes]:
    draft = PromptDraft(**{name: getattr(prompt, name) for name in PromptDraft.__struct_fields__})
    made = prompts.add(tx, there, draft, renames=renames)
    notes = _describe_prompt(prompt, made)
    if labels := prompts.list_labels(tx, prompt):
        stay = f"Its labels ({', '.join(labels)}) stay with the original, because they name its versions."
        return made, (*notes, stay)
    return made, notes


def _describe_prompt(prompt: Prompt, made: Prompt) -> Notes:
    notes = _tell("name", prompt.name, made.name), _tell("title", prompt.title, made.title)
    return tuple(filter(None, notes))


def _copy_document(tx: Tx, there: Scope, document: Document, *, renames: bool) -> tuple[Copyable, Notes]:
    assert document.content is not None, "a document without its content cannot be copied"
    name = document.name
    uri = rules.make_own_uri(name) if rules.is_own_uri(document.uri) else document.uri
    if renames:
        name, uri = documents.choose_free(tx, there, name, document.uri, tx.new_id())
    draft = DocumentDraft(
        name=name,
        uri=uri,
        content=document.content,
        mime_type=document.mime_type,
        description=document.description,
        expires=document.expires,
        replaced_by=document.replaced_by,
    )
    made = documents.add(tx, there, draft)
    return made, _describe_document(document, made)


def _describe_document(document: Document, made: Document) -> Notes:
    wanted = rules.make_own_uri(made.name) if rules.is_own_uri(document.uri) else document.uri
    return tuple(filter(None, (_tell("name", document.name, made.name), _tell("URI", wanted, made.uri))))


def _tell(what: str, wanted: str, got: str) -> str:
    return "" if wanted == got else f"The {what} {wanted} is taken there, so {got} is used."
