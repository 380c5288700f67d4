"""Queries about projects."""

from satchel.model import Project, ProjectCounts
from satchel.storage.database import Tx

_COLUMNS = "number, id, name, created_at"  # as in Project


def by_name(tx: Tx, name: str) -> Project | None:
    """The project of that name."""
    sql = f"select {_COLUMNS} from projects where name = :name"
    row = tx.one(sql, name=name)
    return Project(*row) if row else None


def list_all(tx: Tx, allowed: tuple[str, ...] | None = None) -> list[tuple[Project, ProjectCounts]]:
    """Every project, or every allowed one, by name, and how much each holds."""
    sql = f"""
        select {_COLUMNS},
            (select count(*) from prompts where project = projects.number),
            (select count(*) from resources where project = projects.number)
        from projects where not :is_confined or name in :allowed order by name
    """
    found = tx.all(sql, is_confined=allowed is not None, allowed=allowed or ())
    return [(Project(*row[:4]), ProjectCounts(*row[4:])) for row in found]


def add(tx: Tx, name: str) -> bool:
    """Insert a project, unless there is one of that name; says whether it was inserted."""
    sql = """
        insert into projects (id, name, created_at, updated_at) values (:id, :name, :now, :now)
        on conflict (name) do nothing returning number
    """
    return tx.one(sql, id=tx.new_id(), name=name, now=tx.now) is not None


def rename(tx: Tx, old: str, new: str) -> bool:
    """Give a project another name; says whether there was one.

    Raises:
        Violation: projects_name, when the new name is taken.
    """
    sql = """
        update projects set name = :new, updated_at = :now, version = version + 1 where name = :old returning number
    """
    return tx.one(sql, old=old, new=new, now=tx.now) is not None


def delete(tx: Tx, name: str) -> bool:
    """Delete a project with everything in it; says whether there was one."""
    return tx.one("delete from projects where name = :name returning number", name=name) is not None
