"""Items as history keeps them: everything but their version and the time of the change, as bytes.

A state is one line of JSON with the short fields, then the long text or the bytes as they are. So two versions that
differ in one sentence differ in few bytes.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from satchel.model import Argument, Document, Item, ItemKind, Priority, Project, Prompt, Task, TaskStatus
from satchel.storage.database import explain_damage


class State(Struct, frozen=True, omit_defaults=True):
    """The content of an item at one version; fields that its kind does not have are empty."""

    id: str
    created_at: str
    name: str = ""
    title: str = ""
    description: str | None = None
    tags: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()
    uri: str = ""
    mime_type: str = ""
    priority: Priority = "normal"
    due: str | None = None
    blocked_by: tuple[int, ...] = ()
    completed_at: str | None = None
    is_cancelled: bool = False
    is_binary: bool = False
    text: str = ""  # the content of a prompt or document
    data: bytes = b""  # the content of a binary document

    @property
    def content(self) -> str | bytes:
        """The content of a prompt or document."""
        return self.data if self.is_binary else self.text


_DECODER = msgspec.json.Decoder(State)


def of_prompt(prompt: Prompt) -> Item:
    """Return a prompt as an item."""
    fields = State(
        prompt.id,
        prompt.created_at,
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        tags=prompt.tags,
        arguments=prompt.arguments,
    )
    return _item("prompt", prompt, fields, prompt.content, prompt.project)


def of_document(document: Document) -> Item:
    """Return a document, read whole, as an item."""
    content = document.content
    assert content is not None, "a document without its content cannot be kept"
    fields = State(
        document.id,
        document.created_at,
        name=document.name,
        description=document.description,
        uri=document.uri,
        mime_type=document.mime_type,
        is_binary=isinstance(content, bytes),
    )
    return _item("document", document, fields, content, document.project)


def of_task(task: Task) -> Item:
    """Return a task as an item; its description is the long text."""
    fields = State(
        task.id,
        task.created_at,
        title=task.title,
        tags=task.tags,
        priority=task.priority,
        due=task.due,
        blocked_by=tuple(sorted((*task.blocked_by, *task.deleted_blockers))),
        completed_at=task.completed_at,
        is_cancelled=task.is_cancelled,
    )
    return _item("task", task, fields, task.description or "", task.project_number)


def of_project(project: Project) -> Item:
    """Return a project as an item: its name without its content."""
    return _item("project", project, State(project.id, project.created_at, name=project.name), "", project.number)


def encode(item: Item) -> bytes:
    """Encode the state of an item."""
    content = item.content.encode() if isinstance(item.content, str) else item.content
    return msgspec.json.encode(item.fields) + b"\n" + content


def read(kind: ItemKind, state: bytes) -> State:
    """Decode the state of an item."""
    head, _, body = state.partition(b"\n")
    try:
        fields = _DECODER.decode(head)
        if kind == "task":
            return replace(fields, description=body.decode() or None)
        return replace(fields, data=body) if fields.is_binary else replace(fields, text=body.decode())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise explain_damage(f"an old version of a {kind}", error) from error


def measure(item: Item) -> int:
    """Return about how many bytes an item takes."""
    content = item.content
    size = len(content) if isinstance(content, bytes) or content.isascii() else len(content.encode())
    return size + len(msgspec.json.encode(item.fields)) + 1


def is_same(one: Item, other: Item) -> bool:
    """Return whether an item has the same state at two versions."""
    return one.fields == other.fields and one.content == other.content


def find_status(item: Item) -> TaskStatus:
    """Return whether a task is pending, completed or cancelled; other items are pending."""
    fields = item.fields
    assert isinstance(fields, State)
    if fields.completed_at is None:
        return "pending"
    return "cancelled" if fields.is_cancelled else "completed"


def with_blockers(state: State, blockers: Sequence[int]) -> State:
    """Return a state with other blockers."""
    return replace(state, blocked_by=tuple(blockers))


def without_name(state: State) -> State:
    """Return a state without the fields that a restore leaves alone."""
    return replace(state, id="", name="", created_at="", uri="")


def _item(
    kind: ItemKind,
    value: Prompt | Document | Task | Project,
    fields: State,
    content: str | bytes,
    project: int | None,
) -> Item:
    return Item(
        kind=kind,
        number=value.number,
        id=value.id,
        version=value.version,
        updated_at=value.updated_at,
        name=fields.name,
        title=fields.title or fields.name,
        project=project,
        owner=value.owner if isinstance(value, Task) else None,
        fields=fields,
        content=content,
    )
