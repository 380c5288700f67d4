"""Records every change in the transaction that makes it: the author, and the state that it replaced.

It also updates the word index, the links and the quota, so that every way to change an item keeps them in step. A
state is one line of JSON with the short fields, then the long text or the bytes unchanged: two versions that differ
in one sentence differ in few bytes. Every change may raise QuotaExceeded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from satchel.errors import QuotaExceeded, StoreConflict
from satchel.model import Action, Document, Item, ItemKind, Project, Prompt, State, Task, TaskStatus
from satchel.services import links
from satchel.storage import documents as document_rows
from satchel.storage import projects as project_rows
from satchel.storage import prompts as prompt_rows
from satchel.storage import pruning, revisions, search, users
from satchel.storage import tasks as task_rows
from satchel.storage.database import Tx, explain_damage
from satchel.storage.deltas import apply_delta, make_delta
from satchel.storage.search import Space
from satchel.storage.search_words import ItemText, list_correctable, make_words

Recorded = Prompt | Document | Task | Project | Item
Found = TypeVar("Found")

_CHANGED_TO: dict[TaskStatus, Action] = {
    "review": "review",
    "completed": "complete",
    "cancelled": "cancel",
    "pending": "reopen",
}


def add(tx: Tx, added: Recorded) -> None:
    """Record that an item was added."""
    item = of(added)
    revisions.add(tx, item, "add", item.version, measure(item))
    check_quota(tx)
    links.record(tx, item)
    _index(tx, item, is_new=True)


def update(tx: Tx, old: Recorded, new: Recorded) -> None:
    """Record that an item was changed."""
    before, after = of(old), of(new)
    size = _keep_state(tx, before, after)
    revisions.add(tx, after, _find_action(before, after) if tx.restores is None else "restore", after.version, size)
    check_quota(tx)
    links.record(tx, after, before)
    _index(tx, after, before)
    if after.kind in ("prompt", "document") and after.project != before.project:
        tx.settle()
        search.forget_words(tx, _space(before), _list_words(tx, after))


def note(tx: Tx, task: Task, number: int, notes: str) -> None:
    """Record that a note was added to a task, and index the task with all its notes. This makes no version of it."""
    item = of(task)
    revisions.add(tx, item, "note", item.version, note=number)
    check_quota(tx)
    tx.gather(search.put, _space(item), (item.number, _add_notes(_text(item), notes)))


def _find_action(before: Item, after: Item) -> Action:
    """Return the action that turned one version of an item into the next."""
    status = find_status(after)
    if status != find_status(before):
        return _CHANGED_TO[status]
    is_move = after.kind != "task" or is_same(before, after)  # the name of a prompt or document may be taken there
    return "move" if after.project != before.project and is_move else "update"


def delete(tx: Tx, *deleted: Recorded, permanently: bool = False) -> None:
    """Record that items of one kind were deleted, and take them out of the index.

    With `permanently`, or in a store without trash, only this record remains.
    """
    items = [of(one) for one in deleted]
    for item in items:
        revisions.add(tx, item, "delete", item.version + 1)
    kind, numbers = items[0].kind, [item.number for item in items]
    if not permanently and tx.retention.trash_days:
        if kind != "project":  # projects are not indexed
            search.remove(tx, kind, numbers)
        return
    words = [(_space(item), _list_words(tx, item)) for item in items if kind != "project"]
    pruning.remove_deleted(tx, kind, numbers)
    for space, found in words:
        search.forget_words(tx, space, found)


def _list_words(tx: Tx, item: Item) -> set[str]:
    """Return those words of all versions of an item to which mistyped words can be corrected."""
    item = item if item.state.id else read_deleted(tx, item, item.number) or item
    words, state = {*list_correctable(make_words(_read_text(tx, item)))}, encode(item)
    with tx.in_all_projects():  # the task may have been in other projects
        since = revisions.states_since(tx, item.kind, item.number, 0)
    for *_, kept in since:
        if kept is not None:
            state = apply_delta(kept, state)
            was, content = decode(item.kind, state)
            old = replace(item, name=was.name, title=was.title or was.name, state=was, content=content)
            words.update(list_correctable(make_words(_text(old))))
    return words


def check_deleted(found: Found | None, kind: ItemKind) -> Found:
    """Return what a restore found in the trash; raise StoreConflict if another call restored or purged it meanwhile."""
    if found is None:
        raise StoreConflict(f"another call restored the {kind}")
    return found


def restore(tx: Tx, deleted: Recorded, restored: Recorded) -> None:
    """Record that a deleted item was restored, perhaps under another name."""
    item = of(restored)
    size = _keep_state(tx, of(deleted), item)
    revisions.add(tx, item, "restore", item.version, size)
    check_quota(tx)
    _index(tx, item)


def _keep_state(tx: Tx, before: Item, after: Item) -> int:
    """Store the state that a change replaced; return by how many bytes the store grew."""
    if is_same(before, after):
        return 0
    old, new = encode(before), encode(after)
    delta = make_delta(old, new)
    revisions.keep_state(tx, before, delta)
    return len(delta) + max(0, len(new) - len(old))


@contextmanager
def restoring(tx: Tx, undone: int = 0) -> Iterator[None]:
    """Record the changes in the block as a restore that reverses the revision with the number `undone`."""
    before, tx.restores = tx.restores, undone
    try:
        yield
    finally:
        tx.restores = before


# -- states -----------------------------------------------------------------------------------------------------------


_DECODER = msgspec.json.Decoder(State)
# The fields of a state that have the same name in the value.
_FIELDS: dict[type, tuple[str, ...]] = {
    Prompt: ("name", "title", "description", "tags", "arguments", "is_constant", "expires", "replaced_by"),
    Document: ("name", "description", "uri", "mime_type", "expires", "replaced_by"),
    Task: ("title", "tags", "priority", "due", "parent", "completed_at", "is_cancelled", "review_at"),
    Project: ("name", "review"),
}
_ROWS: dict[ItemKind, Any] = {"prompt": prompt_rows, "document": document_rows, "project": project_rows}


def of(value: Recorded) -> Item:
    """Convert a prompt, a whole document, a task or a project to an item; the content of a task is its description."""
    if isinstance(value, Item):
        return value
    state = {name: getattr(value, name) for name in _FIELDS[type(value)]}
    if isinstance(value, Prompt):
        return _item("prompt", value, value.content, value.project, **state)
    if isinstance(value, Task):
        state["blocked_by"] = tuple(sorted((*value.blocked_by, *value.deleted_blockers)))
        return _item("task", value, value.description or "", value.project_number, **state)
    if isinstance(value, Project):
        return _item("project", value, "", value.number, **state)
    assert value.content is not None, "a document without its content cannot be kept"
    is_binary = isinstance(value.content, bytes)
    return _item("document", value, value.content, value.project, is_binary=is_binary, **state)


def read_deleted(tx: Tx, item: Item, number: int) -> Item | None:
    """Read a whole item, or a former one of its name, from the trash; None if it was restored or purged meanwhile."""
    if item.kind == "task":
        found: Recorded | None = task_rows.find_deleted(tx, item.owner or "", number)
    else:
        found = _ROWS[item.kind].find_deleted(tx, number)
    return None if found is None else of(found)


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
    """Return the status of a task, without claims; other kinds of items are always pending."""
    if item.state.completed_at is None:
        return "pending" if item.state.review_at is None else "review"
    return "cancelled" if item.state.is_cancelled else "completed"


def _item(
    kind: ItemKind, value: Prompt | Document | Task | Project, content: str | bytes, project: int | None, **fields: Any
) -> Item:
    state = State(value.id, value.created_at, **fields)
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


def _index(tx: Tx, after: Item, before: Item | None = None, *, is_new: bool = False) -> None:
    """Index an item that was added, changed or restored. Projects are not indexed."""
    if after.kind == "project":
        return
    space, text = _space(after), _text(after)
    if before is None or (_space(before), _text(before)) != (space, text):
        tx.gather(search.put, space, (after.number, text if is_new else _read_text(tx, after)))


def _space(item: Item) -> Space:
    return Space(item.kind, item.project, item.owner)


def _read_text(tx: Tx, item: Item) -> ItemText:
    """Return the indexed texts of an item; those of a task with its notes."""
    notes = task_rows.note_text(tx, item.owner or "", item.number) if item.kind == "task" else ""
    return _add_notes(_text(item), notes)


def _add_notes(text: ItemText, notes: str) -> ItemText:
    return replace(text, text=f"{text.text}\n{notes}") if notes else text


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
        items, size = users.read_usage(tx, user)  # this includes all commits since
    if quota.items and items > quota.items:
        raise QuotaExceeded("items", quota.items)
    if quota.bytes and size > quota.bytes:
        raise QuotaExceeded("bytes", quota.bytes)
