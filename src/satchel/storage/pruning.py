"""Removes expired rows in small steps, each in its own transaction, and single items permanently.

On PostgreSQL the steps are the body of the function `satchel_prune`, because an application role may not delete
revisions.
"""

from collections.abc import Sequence

from satchel.model import KINDS, ItemKind
from satchel.storage.database import Cutoffs, Tx

MOST = 200  # revisions per step, which holds the write lock for some milliseconds; a step removes a tenth as many items

# Finds the last revision of the next step, if some of its revisions are older than the retention.
WINDOW = """
    select max(number) from (
        select number, at from revisions where number > :after order by number limit :most
    ) as next having min(at) < :kept_since
"""
# Matches the deletion of a permanently removed item. History keeps nothing else of such an item.
IS_OF_REMOVED = "action = 'delete' and " + " and ".join(
    f"(kind <> '{kind}' or not exists (select 1 from {kind}s gone where gone.number = item))" for kind in KINDS
)
# A version with a label can be read as long as the replaced states of all later versions are there.
_IS_NEEDED_BY_LABEL = """
    kind = 'prompt' and exists (
        select 1 from prompt_labels l where l.prompt = revisions.item and l.version <= revisions.version
    )
"""
# Selects revisions that are followed by enough newer, readable versions of their item.
HISTORY = f"""
    delete from revisions where number > :after and number <= :reached and at < :kept_since and (exists (
        select 1 from revisions newer
        where newer.kind = revisions.kind and newer.item = revisions.item and newer.version > revisions.version
            and newer.action not in ('delete', 'note')
        order by newer.version limit 1 offset :kept_versions - 1
    ) and not ({_IS_NEEDED_BY_LABEL}) or {IS_OF_REMOVED})
"""
_IS_EXPIRED = "deleted_at < :trashed_before"
_PROJECT = f"(select number from projects where {_IS_EXPIRED} order by deleted_at, number limit 1)"


# Remove the revisions of the first items that match a condition, then the items.
_FEW = "select number from {kind}s where {condition} order by {order} limit :few"
_REMOVE_REVISIONS = f"""
    delete from revisions where number in (
        select r.number from ({_FEW}) as gone join revisions r on r.kind = '{{kind}}' and r.item = gone.number
        order by r.number limit :most
    )
"""
_REMOVE_ITEMS = f"delete from {{kind}}s where {{condition}} and number in ({_FEW})"


def _remove(kind: ItemKind, condition: str, order: str) -> tuple[str, str]:
    values = {"kind": kind, "condition": condition, "order": order}
    return _REMOVE_REVISIONS.format(**values), _REMOVE_ITEMS.format(**values)


# The first statement that finds rows ends a step.
STEPS = (
    *_remove("prompt", _IS_EXPIRED, "deleted_at, number"),
    *_remove("document", _IS_EXPIRED, "deleted_at, number"),
    *_remove("task", _IS_EXPIRED, "deleted_at, number"),
    *_remove("prompt", f"project = {_PROJECT}", "number"),
    *_remove("document", f"project = {_PROJECT}", "number"),
    # The foreign key would do the same, but for all tasks at once.
    f"""
    update tasks set project = null where number in (
        select number from tasks where project = {_PROJECT} order by number limit :most
    )
    """,
    *_remove("project", f"number = {_PROJECT}", "number"),
)


def prune(tx: Tx, cutoffs: Cutoffs, after: int) -> tuple[int, int] | None:
    """Run one step; return the revision that it reached and the number of removed rows, or None if nothing is left.

    `after` is the revision that the previous step reached; 0 at first.
    """
    values = {"kept_since": cutoffs.history, "kept_versions": cutoffs.versions, "trashed_before": cutoffs.trash}
    values |= {"after": after, "most": MOST, "few": MOST // 10}
    row = tx.one(WINDOW, **values)
    if row is not None:
        return row[0], _count(tx, HISTORY, {**values, "reached": row[0]})
    for sql in STEPS:
        if removed := _count(tx, sql, values):
            return after, removed
    return None


def remove(tx: Tx, kind: ItemKind, item: int) -> None:
    """Remove an item with its history now; a project with everything in it except its tasks."""
    if kind == "project":
        for inner in ("prompt", "document"):
            sql = _FORGET_CONTENTS.format(inner)
            tx.run(sql, item=item)
    tx.run("delete from revisions where kind = :kind and item = :item", kind=kind, item=item)
    remove_deleted(tx, kind, [item])


def remove_deleted(tx: Tx, kind: ItemKind, items: Sequence[int]) -> None:
    """Remove items that are marked as deleted; a trigger removes their history, except the record of the deletion."""
    sql = _DELETE[kind]
    tx.run(sql, items=list(items))


_FORGET_CONTENTS = """
    delete from revisions where kind = '{0}' and item in (select number from {0}s where project = :item)
"""
_DELETE = {kind: f"delete from {kind}s where number in :items" for kind in KINDS}


def _count(tx: Tx, sql: str, values: dict[str, object]) -> int:
    """Execute a statement; return the number of changed rows."""
    returning = sql + " returning 1"
    return len(tx.all(returning, **values))
