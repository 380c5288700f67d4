"""Queries about deleted items that can be brought back."""

from collections.abc import Sequence

from satchel import clock
from satchel.model import Item, ItemKind, TrashedItem
from satchel.storage.database import Row, Tx, explain_damage

_COLUMNS = "kind, item, id, project, owner, name, title, version, deleted_at, blocks"
_SELECT = f"select {_COLUMNS} from trash"


def kept_since(tx: Tx) -> str:
    """The time of the oldest deletion that can be taken back."""
    days = tx.retention.trash_days
    return clock.days_before(tx.now, days) if days else tx.now


def add(tx: Tx, item: Item, blocks: Sequence[int]) -> None:
    """Put a deleted item into the trash."""
    sql = """
        insert into trash (kind, item, id, project, owner, name, title, version, deleted_at, blocks)
        values (:kind, :item, :id, :project, :owner, :name, :title, :version, :now, :blocks)
    """
    values = {"kind": item.kind, "item": item.number, "id": item.id, "project": item.project, "owner": item.owner}
    values |= {"name": item.name, "title": item.title, "version": item.version + 1, "now": tx.now}
    tx.run(sql, **values, blocks=",".join(map(str, blocks)))


def take(tx: Tx, item: TrashedItem) -> bool:
    """Take an item out of the trash; says whether it was still there, deleted by the same change."""
    sql = "delete from trash where kind = :kind and item = :item and version = :version returning item"
    return tx.one(sql, kind=item.kind, item=item.number, version=item.version) is not None


def named(tx: Tx, kind: ItemKind, project: int | None, name: str, since: str) -> list[TrashedItem]:
    """The deleted items of a name in a project, the last deleted first; projects are in none."""
    sql = f"""
        {_SELECT} where kind = :kind and name = :name and (kind = 'project' or project = :project)
        and deleted_at >= :since order by deleted_at desc, item desc
    """
    return [_trashed(row) for row in tx.all(sql, kind=kind, project=project, name=name, since=since)]


def titled(tx: Tx, kind: ItemKind, project: int, title: str, since: str) -> list[TrashedItem]:
    """The deleted items of a title in a project, the last deleted first."""
    sql = f"""
        {_SELECT} where kind = :kind and project = :project and title = :title and deleted_at >= :since
        order by deleted_at desc, item desc
    """
    return [_trashed(row) for row in tx.all(sql, kind=kind, project=project, title=title, since=since)]


def task(tx: Tx, owner: str, number: int, since: str) -> TrashedItem | None:
    """An owner's deleted task."""
    sql = f"{_SELECT} where kind = 'task' and item = :number and owner = :owner and deleted_at >= :since"
    row = tx.one(sql, number=number, owner=owner, since=since)
    return _trashed(row) if row else None


def newest(tx: Tx, kind: ItemKind, project: int, since: str, limit: int) -> list[TrashedItem]:
    """The last deleted items of a kind in a project, the newest first."""
    sql = f"""
        {_SELECT} where kind = :kind and project = :project and deleted_at >= :since
        order by deleted_at desc, item desc limit :limit
    """
    return [_trashed(row) for row in tx.all(sql, kind=kind, project=project, since=since, limit=limit)]


def newest_tasks(tx: Tx, owner: str, projects: Sequence[int] | None, since: str, limit: int) -> list[TrashedItem]:
    """The last deleted tasks of an owner in some projects, or with None in all and in none, the newest first."""
    sql = f"""
        {_SELECT} where kind = 'task' and owner = :owner and deleted_at >= :since
            and (:all_projects or project in :projects)
        order by deleted_at desc, item desc limit :limit
    """
    values = {"all_projects": projects is None, "projects": list(projects or ())}
    return [_trashed(row) for row in tx.all(sql, **values, owner=owner, since=since, limit=limit)]


def by_id(tx: Tx, id: str, since: str) -> TrashedItem | None:
    """The deleted item with an id."""
    sql = f"{_SELECT} where id = :id and deleted_at >= :since"
    row = tx.one(sql, id=id, since=since)
    return _trashed(row) if row else None


def by_number(tx: Tx, kind: ItemKind, numbers: Sequence[int], since: str = "") -> list[TrashedItem]:
    """Those of some numbers that are deleted items of a kind."""
    sql = f"{_SELECT} where kind = :kind and item in :numbers and deleted_at >= :since"
    return [_trashed(row) for row in tx.all(sql, kind=kind, numbers=list(numbers), since=since)]


def list_all(
    tx: Tx, *, projects: Sequence[int] | None, has_loose: bool = True, owner: str | None, since: str, limit: int = 2**31
) -> list[TrashedItem]:
    """The deleted items of some projects, or of all, the last deleted first; of tasks only those of an owner.

    `has_loose` adds the tasks of no project.
    """
    sql = f"""
        {_SELECT} where deleted_at >= :since
            and (:all_projects or project in :projects or (:has_loose and kind = 'task' and project is null))
            and (owner is null or owner = :owner)
        order by deleted_at desc, item desc limit :limit
    """
    values = {"all_projects": projects is None, "projects": list(projects or ()), "owner": owner or ""}
    return [_trashed(row) for row in tx.all(sql, **values, has_loose=has_loose, since=since, limit=limit)]


def _trashed(row: Row) -> TrashedItem:
    kind, number, id, project, owner, name, title, version, deleted_at, blocks = row
    return TrashedItem(
        kind=kind,
        number=number,
        id=id,
        project=project,
        owner=owner,
        name=name,
        title=title,
        version=version,
        deleted_at=deleted_at,
        blocks=_numbers(blocks),
    )


def _numbers(joined: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, joined.split(","))) if joined else ()
    except ValueError as error:
        raise explain_damage("a deleted task", error) from error
