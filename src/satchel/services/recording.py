"""Records every change in the transaction that makes it: who did what, and the state that it replaced.

The index of words and the links follow, so that every way to change an item keeps them in step.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from satchel.model import Item
from satchel.services import indexing, links, quotas
from satchel.services.states import encode
from satchel.storage import revisions, trash
from satchel.storage.database import Tx
from satchel.storage.deltas import make_delta


def record_add(tx: Tx, item: Item) -> None:
    """Record that an item was added, or brought back.

    Raises:
        QuotaExceeded: the user may not keep that much.
    """
    revisions.add(tx, item, "add" if tx.restores is None else "restore", item.version, len(encode(item)))
    quotas.check(tx)
    links.record(tx, item)
    indexing.index_item(tx, item)


def record_update(tx: Tx, before: Item, after: Item) -> None:
    """Record that an item was changed.

    Raises:
        QuotaExceeded: the user may not keep that much.
    """
    old, new = encode(before), encode(after)
    delta = make_delta(old, new)
    size = len(delta) + max(0, len(new) - len(old))
    revisions.keep_state(tx, before, delta)
    revisions.add(tx, after, "update" if tx.restores is None else "restore", after.version, size)
    quotas.check(tx)
    links.record(tx, after, before)
    indexing.index_item(tx, after, before)


def record_delete(tx: Tx, item: Item, blocks: Sequence[int] = ()) -> None:
    """Record that an item was deleted, and put it into the trash; `blocks` are the tasks that it blocked."""
    revisions.keep_state(tx, item, make_delta(encode(item), b""))
    revisions.add(tx, item, "delete", item.version + 1)
    trash.add(tx, item, blocks)
    indexing.forget_item(tx, item)


@contextmanager
def restoring(tx: Tx, undone: int = 0) -> Iterator[None]:
    """Record what is done meanwhile as a restore; `undone` is the number of the revision that it takes back."""
    before, tx.restores = tx.restores, undone
    try:
        yield
    finally:
        tx.restores = before
