"""Queries about projects."""

from satchel.model import Project
from satchel.storage.database import Tx


def by_name(tx: Tx, name: str) -> Project | None:
    """The project of that name."""
    row = tx.one("select number, id, name, created_at from projects where name = :name", name=name)
    return Project(number=row[0], id=row[1], name=row[2], created_at=row[3]) if row else None


def add(tx: Tx, name: str) -> bool:
    """Make a project, unless there is one of that name; says whether it was made."""
    sql = """
        insert into projects (id, name, created_at, updated_at) values (:id, :name, :now, :now)
        on conflict (name) do nothing returning number
    """
    return tx.one(sql, id=tx.new_id(), name=name, now=tx.now) is not None
