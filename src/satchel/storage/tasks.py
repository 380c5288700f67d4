"""Queries about tasks. Whoever acts on a task names its owner, and the statement that acts looks for both."""

from satchel.model import UNSET, Task, UnsetType
from satchel.storage.database import Row, Tx

_LAST = "select updated_at from tasks where id = :id and owner = :owner"
_LAST_IF_OPEN = "select updated_at from tasks where id = :id and owner = :owner and completed_at is null"


def add(tx: Tx, owner: str, *, title: str, description: str | None) -> Task:
    """Insert a task."""
    sql = """
        insert into tasks (id, owner, title, description, created_at, updated_at)
        values (:id, :owner, :title, :description, :now, :now)
        returning number, id, owner, title, description, completed_at, created_at, updated_at, version
    """
    row = tx.one(sql, id=tx.new_id(), owner=owner, title=title, description=description, now=tx.now)
    assert row is not None, "an insert returns its row"
    return _task(row)


def by_id(tx: Tx, id: str) -> Task | None:
    """The task with an id, whoever owns it."""
    sql = """
        select number, id, owner, title, description, completed_at, created_at, updated_at, version
        from tasks where id = :id
    """
    row = tx.one(sql, id=id)
    return _task(row) if row else None


def by_number(tx: Tx, owner: str, number: int) -> Task | None:
    """An owner's task with a number."""
    sql = """
        select number, id, owner, title, description, completed_at, created_at, updated_at, version
        from tasks where number = :number and owner = :owner
    """
    row = tx.one(sql, number=number, owner=owner)
    return _task(row) if row else None


def listed(tx: Tx, owner: str) -> list[Task]:
    """An owner's tasks, the newest first."""
    sql = """
        select number, id, owner, title, description, completed_at, created_at, updated_at, version
        from tasks where owner = :owner order by created_at desc, number desc
    """
    return [_task(row) for row in tx.all(sql, owner=owner)]


def pending(tx: Tx, owner: str) -> list[Task]:
    """An owner's tasks that are not done, the newest first."""
    sql = """
        select number, id, owner, title, description, completed_at, created_at, updated_at, version
        from tasks where owner = :owner and completed_at is null order by created_at desc, number desc
    """
    return [_task(row) for row in tx.all(sql, owner=owner)]


def update(
    tx: Tx,
    owner: str,
    id: str,
    *,
    title: str | UnsetType = UNSET,
    description: str | UnsetType | None = UNSET,
) -> Task | None:
    """Change what is given of an owner's task; None when he has no such task."""
    sql = """
        update tasks set
            title = coalesce(:title, title),
            description = case when :has_description then :description else description end,
            updated_at = :now,
            version = version + 1
        where id = :id and owner = :owner and updated_at < :now
        returning number, id, owner, title, description, completed_at, created_at, updated_at, version
    """
    row = tx.renew(
        sql,
        _LAST,
        id=id,
        owner=owner,
        title=None if title is UNSET else title,
        has_description=description is not UNSET,
        description=None if description is UNSET else description,
    )
    return _task(row) if row else None


def complete(tx: Tx, owner: str, id: str) -> Task | None:
    """Mark an owner's task as done now, even if it was; None when he has no such task."""
    sql = """
        update tasks set completed_at = :now, updated_at = :now, version = version + 1
        where id = :id and owner = :owner and updated_at < :now
        returning number, id, owner, title, description, completed_at, created_at, updated_at, version
    """
    row = tx.renew(sql, _LAST, id=id, owner=owner)
    return _task(row) if row else None


def complete_first(tx: Tx, owner: str, id: str) -> Task | None:
    """Mark an owner's task as done now, unless it was; None when it was, or when he has no such task."""
    sql = """
        update tasks set completed_at = :now, updated_at = :now, version = version + 1
        where id = :id and owner = :owner and completed_at is null and updated_at < :now
        returning number, id, owner, title, description, completed_at, created_at, updated_at, version
    """
    row = tx.renew(sql, _LAST_IF_OPEN, id=id, owner=owner)
    return _task(row) if row else None


def delete(tx: Tx, owner: str, id: str) -> bool:
    """Remove an owner's task; says whether he had it."""
    return (
        tx.one("delete from tasks where id = :id and owner = :owner returning number", id=id, owner=owner) is not None
    )


def _task(row: Row) -> Task:
    number, id, owner, title, description, completed_at, created_at, updated_at, version = row
    return Task(
        number=number,
        id=id,
        owner=owner,
        title=title,
        description=description,
        completed_at=completed_at,
        created_at=created_at,
        updated_at=updated_at,
        version=version,
    )
