"""Records every change in the transaction that makes it: the author, and the state that it replaced.

It also updates the word index, the links and the quota, so that every way to change an item keeps them in step. A
state is one line of JSON with the short fields, then the long text or the bytes as they are: two versions that differ
in one sentence differ in few bytes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
from msgspec.structs import replace

from satchel.errors import QuotaExceeded
from satchel.model import Action, Document, Item, ItemKind, Project, Prompt, State, Task, TaskStatus
from satchel.services import links
from satchel.storage import pruning, revisions, search, users
from satchel.storage.database import Tx, explain_damage
from satchel.storage.deltas import apply_delta, make_delta
from satchel.storage.search import Space
from satchel.storage.search_words import ItemText, list_correctable, make_words

_CHANGED_TO: dict[TaskStatus, Action] = {"completed": "complete", "cancelled": "cancel", "pending": "reopen"}


def record_add(tx: Tx, item: Item) -> None:
    """Record that an item was added.

    Raises:
        QuotaExceeded: the user would exceed their quota.
    """
    revisions.add(tx, item, "add", item.version, measure(item))
    check_quota(tx)
    links.record(tx, item)
    _index(tx, item)


def record_update(tx: Tx, before: Item, after: Item) -> None:
    """Record that an item was changed.

    Raises:
        QuotaExceeded: the user would exceed their quota.
    """
    size = _keep_state(tx, before, after)
    revisions.add(tx, after, _name_update(before, after) if tx.restores is None else "restore", after.version, size)
    check_quota(tx)
    links.record(tx, after, before)
    _index(tx, after, before)


def record_delete(tx: Tx, item: Item) -> None:
    """Record that an item was deleted; `forget` or `remove` follows."""
    revisions.add(tx, item, "delete", item.version + 1)


def forget(tx: Tx, kind: ItemKind, numbers: Sequence[int]) -> None:
    """Remove deleted items from the word index."""
    search.remove(tx, kind, numbers)


def is_final(tx: Tx, *, permanently: bool) -> bool:
    """Return whether a deletion is permanent: the caller says so, or the store has no trash."""
    return permanently or not tx.retention.trash_days


def remove(tx: Tx, kind: ItemKind, items: Sequence[Item]) -> None:
    """Permanently remove deleted items of one kind with versions, links, notes and words; keep only their deletion."""
    words = [(_space(item), _list_words(tx, item)) for item in items if kind != "project"]  # projects are not indexed
    pruning.remove_deleted(tx, kind, [item.number for item in items])
    for space, found in words:
        search.forget_words(tx, space, found)


def _list_words(tx: Tx, item: Item) -> set[str]:
    """Return the words of all versions of an item that can correct mistyped ones."""
    words, state = {*list_correctable(make_words(_text(item)))}, encode(item)
    with tx.in_all_projects():  # the task may have been in other projects
        since = revisions.states_since(tx, item.kind, item.number, 0)
    for _, kept in since:
        if kept is not None:
            state = apply_delta(kept, state)
            was, content = decode(item.kind, state)
            old = replace(item, name=was.name, title=was.title or was.name, state=was, content=content)
            words.update(list_correctable(make_words(_text(old))))
    return words


def record_restore(tx: Tx, deleted: Item, restored: Item) -> None:
    """Record that a deleted item was restored, perhaps under another name.

    Raises:
        QuotaExceeded: the user would exceed their quota.
    """
    size = _keep_state(tx, deleted, restored)
    revisions.add(tx, restored, "restore", restored.version, size)
    check_quota(tx)
    _index(tx, restored)


def _keep_state(tx: Tx, before: Item, after: Item) -> int:
    """Store the state that a change replaced; return how many bytes the store grew by."""
    if is_same(before, after):
        return 0
    old, new = encode(before), encode(after)
    delta = make_delta(old, new)
    revisions.keep_state(tx, before, delta)
    return len(delta) + max(0, len(new) - len(old))


def _name_update(before: Item, after: Item) -> Action:
    """Return the action of a change: tasks are completed, cancelled or reopened; anything else is an update."""
    status = find_status(after)
    return "update" if status == find_status(before) else _CHANGED_TO[status]


@contextmanager
def restoring(tx: Tx, undone: int = 0) -> Iterator[None]:
    """Record the changes of the block as a restore; `undone` is the number of the revision that it reverses."""
    before, tx.restores = tx.restores, undone
    try:
        yield
    finally:
        tx.restores = before


# -- states -----------------------------------------------------------------------------------------------------------


_DECODER = msgspec.json.Decoder(State)


def of_prompt(prompt: Prompt) -> Item:
    """Convert a prompt to an item."""
    state = State(
        prompt.id,
        prompt.created_at,
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        tags=prompt.tags,
        arguments=prompt.arguments,
    )
    return _item("prompt", prompt, state, prompt.content, prompt.project)


def of_document(document: Document) -> Item:
    """Convert a whole document to an item."""
    content = document.content
    assert content is not None, "a document without its content cannot be kept"
    state = State(
        document.id,
        document.created_at,
        name=document.name,
        description=document.description,
        uri=document.uri,
        mime_type=document.mime_type,
        is_binary=isinstance(content, bytes),
    )
    return _item("document", document, state, content, document.project)


def of_task(task: Task) -> Item:
    """Convert a task to an item; its description is the long text."""
    state = State(
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
    return _item("task", task, state, task.description or "", task.project_number)


def of_project(project: Project) -> Item:
    """Convert a project to an item: its name without its content."""
    return _item("project", project, State(project.id, project.created_at, name=project.name), "", project.number)


def encode(item: Item) -> bytes:
    """Encode the state of an item."""
    content = item.content.encode() if isinstance(item.content, str) else item.content
    return msgspec.json.encode(item.state) + b"\n" + content


def decode(kind: ItemKind, data: bytes) -> tuple[State, str | bytes]:
    """Return the state and the content of an item, as `encode` wrote them."""
    head, _, content = data.partition(b"\n")
    try:
        state = _DECODER.decode(head)
        return state, content if state.is_binary else content.decode()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise explain_damage(f"an old version of a {kind}", error) from error


def measure(item: Item) -> int:
    """Estimate the bytes of an item."""
    content = item.content
    size = len(content) if isinstance(content, bytes) or content.isascii() else len(content.encode())
    return size + len(msgspec.json.encode(item.state)) + 1


def is_same(one: Item, other: Item) -> bool:
    """Return whether an item has the same state at two versions."""
    return one.state == other.state and one.content == other.content


def find_status(item: Item) -> TaskStatus:
    """Return whether a task is pending, completed or cancelled; other items are pending."""
    if item.state.completed_at is None:
        return "pending"
    return "cancelled" if item.state.is_cancelled else "completed"


def _item(
    kind: ItemKind,
    value: Prompt | Document | Task | Project,
    state: State,
    content: str | bytes,
    project: int | None,
) -> Item:
    return Item(
        kind=kind,
        number=value.number,
        id=value.id,
        version=value.version,
        updated_at=value.updated_at,
        name=state.name,
        title=state.title or state.name,
        project=project,
        owner=value.owner if isinstance(value, Task) else None,
        state=state,
        content=content,
    )


# -- the word index ---------------------------------------------------------------------------------------------------


def _index(tx: Tx, after: Item, before: Item | None = None) -> None:
    """Index an item that was added or changed. Projects are not indexed."""
    if after.kind == "project":
        return
    space, text = _space(after), _text(after)
    if before is None or (_space(before), _text(before)) != (space, text):
        tx.gather(search.put, space, (after.number, text))


def _space(item: Item) -> Space:
    return Space(item.kind, item.project, item.owner)


def _text(item: Item) -> ItemText:
    return ItemText(
        title=item.title,
        name=item.name,
        tags=item.state.tags,
        description=item.state.description or "",
        text=item.content if isinstance(item.content, str) else "",
    )


# -- how much a user may keep -----------------------------------------------------------------------------------------

# Transactions this close to a limit wait for each other, because together they could exceed it.
_MARGIN_ITEMS = 10_000
_MARGIN_BYTES = 256 * 1024 * 1024


def check_quota(tx: Tx) -> None:
    """Check the quota of the transaction's user, including its own changes.

    Raises:
        QuotaExceeded: the quota is exceeded.
    """
    quota = tx.scope.quota
    if quota is None:
        return
    user = tx.scope.author.user or tx.scope.user or ""
    items, size = users.read_usage(tx, user)
    is_near = (quota.items and items > quota.items - _MARGIN_ITEMS) or (
        quota.bytes and size > quota.bytes - _MARGIN_BYTES
    )
    if is_near:
        tx.lock(f"usage of {user}")
        items, size = users.read_usage(tx, user)  # with all commits since
    if quota.items and items > quota.items:
        raise QuotaExceeded("items", quota.items)
    if quota.bytes and size > quota.bytes:
        raise QuotaExceeded("bytes", quota.bytes)
