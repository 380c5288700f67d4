"""Queries about deleted items of all kinds."""

from collections.abc import Sequence

from satchel import clock
from satchel.model import Item, ItemKind
from satchel.storage.database import Tx

# The members of an Item in order. An engine skips a part if the query asks for another kind.
_TRASH = """(
    select 'prompt' as kind, number, id, version, deleted_at as updated_at, name, title, project, null as owner,
        deleted_at from prompts where deleted_at is not null
    union all
    select 'document', number, id, version, deleted_at, name, name, project, null, deleted_at
        from documents where deleted_at is not null
    union all
    select 'task', number, id, version, deleted_at, '', title, project, owner, deleted_at
        from tasks where deleted_at is not null
    union all
    select 'project', number, id, version, deleted_at, name, name, number, null, deleted_at
        from projects where deleted_at is not null
) as trash"""
_SELECT = f"select * from {_TRASH} where deleted_at >= :since"
_NEWEST_FIRST = "order by deleted_at desc, number desc"


def kept_since(tx: Tx) -> str:
    """Return the time since when a deletion can still be undone."""
    days = tx.retention.trash_days
    return clock.days_before(tx.now, days) if days else tx.now


def named(tx: Tx, kind: ItemKind, project: int | None, name: str, since: str) -> list[Item]:
    """Return the deleted items with this name in a project (none for projects), last deleted first."""
    sql = f"{_SELECT} and kind = :kind and name = :name and (kind = 'project' or project = :project) {_NEWEST_FIRST}"
    return _all(tx, sql, kind=kind, project=project, name=name, since=since)


def by_id(tx: Tx, id: str, since: str) -> list[Item]:
    """Return the deleted item with an id, if any."""
    sql = f"{_SELECT} and id = :id"
    return _all(tx, sql, id=id, since=since)


def by_number(tx: Tx, kind: ItemKind, numbers: Sequence[int], since: str = "") -> list[Item]:
    """Return the deleted items of one kind that have the given numbers."""
    sql = f"{_SELECT} and kind = :kind and number in :numbers"
    return _all(tx, sql, kind=kind, numbers=list(numbers), since=since)


def list_newest(
    tx: Tx,
    kinds: Sequence[ItemKind],
    *,
    projects: Sequence[int] | None,
    has_loose: bool = False,
    owner: str | None,
    since: str,
    limit: int,
) -> list[Item]:
    """List the deleted items of these kinds in some or all projects, last deleted first; tasks only of `owner`.

    `has_loose` adds the tasks of no project.
    """
    sql = f"""
        {_SELECT} and kind in :kinds
            and (:all_projects or project in :projects or (:has_loose and kind = 'task' and project is null))
            and (owner is null or owner = :owner)
        {_NEWEST_FIRST} limit :limit
    """
    values = {"all_projects": projects is None, "projects": list(projects or ()), "owner": owner or ""}
    return _all(tx, sql, **values, kinds=list(kinds), has_loose=has_loose, since=since, limit=limit)


def count(tx: Tx) -> dict[ItemKind, int]:
    """Count the stored deleted items of each kind, for all projects and users."""
    sql = f"select kind, count(*) from {_TRASH} group by kind order by kind"
    counts: list[tuple[ItemKind, int]] = [(kind, count) for kind, count in tx.all(sql)]
    return dict(counts)


def _all(tx: Tx, sql: str, **values: object) -> list[Item]:
    return [Item(*row) for row in tx.all(sql, **values)]
