"""Removes what is older than the retention, in small steps, each a transaction of its own; and one item for good.

PostgreSQL has the same steps as the function `satchel_prune`, because an application role may not delete revisions.
"""

from collections.abc import Sequence

from satchel.model import ItemKind
from satchel.storage.database import Cutoffs, Tx

MOST = 200  # rows of one step, so that it holds the write lock for a few milliseconds


def prune(tx: Tx, cutoffs: Cutoffs, after: int) -> tuple[int, int] | None:
    """Remove what one step finds; the revision it came to and how many rows went, or None when nothing is left to do.

    `after` is the revision that the last step came to, 0 at first.
    """
    window = "select number from revisions where number > :after and at < :before order by number limit :most"
    numbers = [number for (number,) in tx.all(window, after=after, before=cutoffs.history, most=MOST)]
    if numbers:
        return numbers[-1], _prune_history(tx, cutoffs, numbers)
    sql = "select kind, item from trash where deleted_at < :before order by deleted_at, item limit 1"
    row = tx.one(sql, before=cutoffs.trash)
    if row is None:
        return None
    kind, item = row
    return after, _remove_project_step(tx, item) if kind == "project" else _remove_trashed(tx, kind, item)


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
    sql = """
        delete from revisions where number in (
            select r.number from revisions r where r.number in :numbers and exists (
                select 1 from revisions n where n.kind = r.kind and n.item = r.item and n.version > r.version
                order by n.version limit 1 offset :others
            )
        ) returning number
    """
    return len(tx.all(sql, numbers=numbers, others=cutoffs.versions - 1))


def _remove_trashed(tx: Tx, kind: ItemKind, item: int) -> int:
    gone = _remove_revisions(tx, kind, item)
    if not gone:
        tx.run("delete from trash where kind = :kind and item = :item", kind=kind, item=item)
    return gone + 1


def _remove_project_step(tx: Tx, project: int) -> int:
    gone = _remove_contents(tx, project)
    if not gone:
        remove(tx, "project", project)
    return gone + 1


def _remove_contents(tx: Tx, project: int) -> int:
    """Remove some of what is in a project; how many rows went, 0 when nothing is left."""
    for kind, sql in _CONTENTS.items():
        found = [number for (number,) in tx.all(sql, project=project, most=MOST // 10)]
        for number in found:
            remove(tx, kind, number)
        if found:
            return len(found)
    sql = "select kind, item from trash where project = :project and kind in ('prompt', 'resource') limit :most"
    trashed = tx.all(sql, project=project, most=MOST // 10)
    for trashed_kind, number in trashed:
        remove(tx, trashed_kind, number)
    return len(trashed)


def _remove_revisions(tx: Tx, kind: ItemKind, item: int) -> int:
    sql = """
        delete from revisions where number in (
            select number from revisions where kind = :kind and item = :item order by number limit :most
        ) returning number
    """
    return len(tx.all(sql, kind=kind, item=item, most=MOST))


_CONTENTS: dict[ItemKind, str] = {
    "prompt": "select number from prompts where project = :project limit :most",
    "resource": "select number from resources where project = :project limit :most",
}
_DELETE: dict[ItemKind, str] = {
    "prompt": "delete from prompts where number in :numbers",
    "resource": "delete from resources where number in :numbers",
    "task": "delete from tasks where number in :numbers",
    "project": "delete from projects where number in :numbers",
}
