"""Removes what is older than the retention, in small steps, each a transaction of its own; and one item for good.

PostgreSQL has the same steps as the function `satchel_prune`, because an application role may not delete revisions.
"""

from collections.abc import Sequence

from satchel.model import ItemKind
from satchel.storage.database import Cutoffs, Tx

MOST = 200  # revisions of one step, so that it holds the write lock for a few milliseconds
_MOST_ITEMS = MOST // 10  # of a deleted project in one step, because an item may have 4 MiB


def prune(tx: Tx, cutoffs: Cutoffs, after: int) -> tuple[int, int] | None:
    """Remove what one step finds; the revision it came to and how many rows went, or None when nothing is left to do.

    `after` is the revision that the last step came to, 0 at first.
    """
    sql = "select number, at, action from revisions where number > :after order by number limit :most"
    window = tx.all(sql, after=after, most=MOST)
    # Revisions are in the order of time but for those that tell of a time before history was kept.
    if any(at < cutoffs.history and action != "known" for _, at, action in window):
        numbers = [number for number, at, _ in window if at < cutoffs.history]
        return window[-1][0], _prune_history(tx, cutoffs, numbers)
    sql = "select kind, item from trash where deleted_at < :before order by deleted_at, kind, item limit 1"
    row = tx.one(sql, before=cutoffs.trash)
    if row is None:
        return None
    kind, item = row
    return after, (_remove_contents(tx, item) if kind == "project" else 0) or _remove_trashed(tx, kind, item)


def remove(tx: Tx, kind: ItemKind, item: int) -> None:
    """Remove an item, its history and its place in the trash, now."""
    if kind == "project":
        while _remove_contents(tx, item):
            pass
    sql = _DELETE[kind]
    tx.run(sql, numbers=[item])
    tx.run("delete from revisions where kind = :kind and item = :item", kind=kind, item=item)
    tx.run("delete from trash where kind = :kind and item = :item", kind=kind, item=item)


def _prune_history(tx: Tx, cutoffs: Cutoffs, numbers: Sequence[int]) -> int:
    """Remove those of some revisions that enough newer versions of their item follow, which can be read."""
    sql = """
        delete from revisions where number in (
            select r.number from revisions r where r.number in :numbers and exists (
                select 1 from revisions n
                where n.kind = r.kind and n.item = r.item and n.version > r.version and n.action <> 'delete'
                order by n.version limit 1 offset :others
            )
        ) returning number
    """
    return len(tx.all(sql, numbers=numbers, others=cutoffs.versions - 1))


def _remove_trashed(tx: Tx, kind: ItemKind, item: int) -> int:
    """Remove a deleted item, after all its revisions; how many rows went."""
    gone = _remove_revisions(tx, kind, [item])
    if gone == MOST:
        return gone
    if kind == "project":
        tx.run("delete from projects where number = :item", item=item)
    tx.run("delete from trash where kind = :kind and item = :item", kind=kind, item=item)
    return gone + 1


def _remove_contents(tx: Tx, project: int) -> int:
    """Remove some of what is in a project, and let some of its tasks go; how many rows went, 0 when nothing is left."""
    for kind, sql in _CONTENTS.items():
        found = [number for (number,) in tx.all(sql, project=project, most=_MOST_ITEMS)]
        if found:
            gone = _remove_revisions(tx, kind, found)
            if gone < MOST:
                sql = _DELETE[kind]
                tx.run(sql, numbers=found)
                gone += len(found)
            return gone
    for kind in _CONTENTS:
        sql = "select item from trash where kind = :kind and project = :project order by item limit :most"
        found = [number for (number,) in tx.all(sql, kind=kind, project=project, most=_MOST_ITEMS)]
        if found:
            gone = _remove_revisions(tx, kind, found)
            if gone < MOST:
                tx.run("delete from trash where kind = :kind and item in :numbers", kind=kind, numbers=found)
                gone += len(found)
            return gone
    # The database would do this by itself, of all tasks in one go.
    sql = """
        update tasks set project = null
        where number in (select number from tasks where project = :project order by number limit :most) returning number
    """
    return len(tx.all(sql, project=project, most=MOST))


def _remove_revisions(tx: Tx, kind: ItemKind, items: Sequence[int]) -> int:
    sql = """
        delete from revisions where number in (
            select number from revisions where kind = :kind and item in :items order by number limit :most
        ) returning number
    """
    return len(tx.all(sql, kind=kind, items=items, most=MOST))


_CONTENTS: dict[ItemKind, str] = {
    "prompt": "select number from prompts where project = :project order by number limit :most",
    "document": "select number from documents where project = :project order by number limit :most",
}
_DELETE: dict[ItemKind, str] = {
    "prompt": "delete from prompts where number in :numbers",
    "document": "delete from documents where number in :numbers",
    "task": "delete from tasks where number in :numbers",
    "project": "delete from projects where number in :numbers",
}
