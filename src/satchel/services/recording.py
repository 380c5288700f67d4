"""Records every change in the transaction that makes it: who did what, and the state that it replaced.

The index of words and the links follow, so that every way to change an item keeps them in step.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from satchel.model import Action, Item, ItemKind, TaskStatus
from satchel.services import indexing, links, quotas
from satchel.services.states import encode, find_status, is_same, measure
from satchel.storage import revisions, search
from satchel.storage.database import Tx
from satchel.storage.deltas import make_delta

_CHANGED_TO: dict[TaskStatus, Action] = {"completed": "complete", "cancelled": "cancel", "pending": "reopen"}


def record_add(tx: Tx, item: Item) -> None:
    """Record that an item was added.

    Raises:
        QuotaExceeded: the user may not keep that much.
    """
    revisions.add(tx, item, "add", item.version, measure(item))
    quotas.check(tx)
    links.record(tx, item)
    indexing.index_item(tx, item)


def record_update(tx: Tx, before: Item, after: Item) -> None:
    """Record that an item was changed.

    Raises:
        QuotaExceeded: the user may not keep that much.
    """
    size = _keep_state(tx, before, after)
    revisions.add(tx, after, _name_update(before, after) if tx.restores is None else "restore", after.version, size)
    quotas.check(tx)
    links.record(tx, after, before)
    indexing.index_item(tx, after, before)


def record_delete(tx: Tx, item: Item) -> None:
    """Record that an item was deleted; `forget` follows."""
    revisions.add(tx, item, "delete", item.version + 1)


def forget(tx: Tx, kind: ItemKind, numbers: Sequence[int]) -> None:
    """Remove items that were deleted from the index of words."""
    search.remove(tx, kind, numbers)


def record_restore(tx: Tx, deleted: Item, restored: Item) -> None:
    """Record that a deleted item was restored, perhaps under another name.

    Raises:
        QuotaExceeded: the user may not keep that much.
    """
    size = _keep_state(tx, deleted, restored)
    revisions.add(tx, restored, "restore", restored.version, size)
    quotas.check(tx)
    indexing.index_item(tx, restored)


def _keep_state(tx: Tx, before: Item, after: Item) -> int:
    """Keep the state that a change replaced; return by how many bytes the store grew."""
    if is_same(before, after):
        return 0
    old, new = encode(before), encode(after)
    delta = make_delta(old, new)
    revisions.keep_state(tx, before, delta)
    return len(delta) + max(0, len(new) - len(old))


def _name_update(before: Item, after: Item) -> Action:
    """Return what a change did: tasks are completed, cancelled or reopened; anything else is an update."""
    status = find_status(after)
    return "update" if status == find_status(before) else _CHANGED_TO[status]


@contextmanager
def restoring(tx: Tx, undone: int = 0) -> Iterator[None]:
    """Record what is done meanwhile as a restore; `undone` is the number of the revision that it takes back."""
    before, tx.restores = tx.restores, undone
    try:
        yield
    finally:
        tx.restores = before
