"""Queries about projects."""

from collections.abc import Sequence
from typing import Literal

from satchel.model import Project, ProjectCounts, Reviewer, TagCount
from satchel.storage.database import Tx
from satchel.storage.tasks import Allowed, by_confinement, confine

_COLUMNS = "number, id, name, created_at, updated_at, version, review"  # as in Project
_COUNT = len(_COLUMNS.split(", "))
_COUNT_OPEN = by_confinement("""
    select coalesce(project, 0), count(*) from tasks
    where {owned} and completed_at is null and deleted_at is null group by coalesce(project, 0)
""")


def by_name(tx: Tx, name: str) -> Project | None:
    """Return the project with this name."""
    sql = f"select {_COLUMNS} from projects where name = :name and deleted_at is null"
    row = tx.one(sql, name=name)
    return Project(*row) if row else None


def list_all(tx: Tx, allowed: tuple[str, ...] | None = None, most: int = 2**31) -> list[tuple[Project, ProjectCounts]]:
    """List all projects or the allowed ones by name, each with its counts, which stop at a limit."""
    sql = f"""
        select {_COLUMNS},
            (select count(*) from (
                select 1 from prompts where project = projects.number and deleted_at is null limit :most
            ) as counted),
            (select count(*) from (
                select 1 from documents where project = projects.number and deleted_at is null limit :most
            ) as counted)
        from projects where deleted_at is null and (not :is_confined or name in :allowed) order by name
    """
    found = tx.all(sql, is_confined=allowed is not None, allowed=allowed or (), most=most)
    return [(Project(*row[:_COUNT]), ProjectCounts(*row[_COUNT:])) for row in found]


def count_tasks(tx: Tx, name: str) -> int:
    """Count the tasks in a project that the transaction may see."""
    sql = """
        select count(*) from tasks
        where deleted_at is null and project = (select number from projects where name = :name and deleted_at is null)
    """
    return tx.value(sql, name=name) or 0


def names(tx: Tx, allowed: tuple[str, ...] | None = None) -> list[str]:
    """List the names of all projects, or of the allowed ones, in order."""
    sql = "select name from projects where deleted_at is null and (not :is_confined or name in :allowed) order by name"
    return [name for (name,) in tx.all(sql, is_confined=allowed is not None, allowed=allowed or ())]


def newest(tx: Tx, allowed: tuple[str, ...] | None, limit: int) -> dict[int, str]:
    """Return the names of the newest projects, or of the newest allowed ones, by number."""
    sql = """
        select number, name from projects where deleted_at is null and (not :is_confined or name in :allowed)
        order by number desc limit :limit
    """
    rows: list[tuple[int, str]] = [
        (number, name)
        for number, name in tx.all(sql, is_confined=allowed is not None, allowed=allowed or (), limit=limit)
    ]
    return dict(rows)


def numbers(tx: Tx, allowed: tuple[str, ...] | None = None) -> list[int]:
    """List the numbers of all projects, or of the allowed ones, in order."""
    sql = """
        select number from projects where deleted_at is null and (not :is_confined or name in :allowed) order by number
    """
    return [number for (number,) in tx.all(sql, is_confined=allowed is not None, allowed=allowed or ())]


def find_to_change(tx: Tx, name: str) -> Project | None:
    """Return the project with this name, in order to rename or delete it."""
    row = tx.one_to_change(_COLUMNS, "projects", "name = :name and deleted_at is null", name=name)
    return Project(*row) if row else None


def add(tx: Tx, name: str) -> bool:
    """Insert a project unless its name is taken; return whether it was inserted."""
    # Versions continue after a deleted project of the same name.
    sql = """
        insert into projects (id, name, created_at, updated_at, version)
        values (:id, :name, :now, :now,
            coalesce((select max(version) from projects where name = :name and deleted_at is not null), 0) + 1)
        on conflict (name) where deleted_at is null do nothing returning number
    """
    return tx.one(sql, id=tx.new_id(), name=name, now=tx.now) is not None


def update(tx: Tx, number: int, name: str, review: Reviewer | None) -> None:
    """Change the name of a project, and who reviews its tasks.

    Raises:
        Violation: projects_name, if the new name is taken.
    """
    where = "number = :number and deleted_at is null"
    changes = "name = :name, review = :review"
    tx.renew("projects", changes, where, columns="number", number=number, name=name, review=review)


def delete(tx: Tx, number: int) -> None:
    """Mark a project as deleted; its contents do not change."""
    tx.renew(
        "projects", "deleted_at = :now", "number = :number and deleted_at is null", columns="number", number=number
    )


def find_deleted(tx: Tx, number: int) -> Project | None:
    """Return a deleted project."""
    sql = f"select {_COLUMNS} from projects where number = :number and deleted_at is not null"
    row = tx.one(sql, number=number)
    return Project(*row) if row else None


def restore(tx: Tx, seen: Project, name: str) -> Project | None:
    """Mark a project as not deleted, with this name; return None if it was restored or purged meanwhile.

    Raises:
        Violation: projects_name, if the name is taken.
    """
    where = "number = :number and deleted_at is not null"
    changes = "deleted_at = null, name = :name"
    values = {"number": seen.number, "name": name}
    row = tx.renew("projects", changes, where, columns=_COLUMNS, version=seen.version, **values)
    return Project(*row) if row else None


def names_of(tx: Tx, numbers: list[int]) -> dict[int, str]:
    """Map the numbers of the given projects to their names; omit deleted ones."""
    sql = "select number, name from projects where number in :numbers and deleted_at is null"
    rows: list[tuple[int, str]] = [(number, name) for number, name in tx.all(sql, numbers=numbers)]
    return dict(rows)


def tags_in_use(tx: Tx, project: int, owner: str, limit: int) -> list[str]:
    """List the tags of a project's prompts, and of an owner's open tasks in it, most frequent first."""
    sql = """
        select tag from (
            select tag from prompt_tags where project = :project
            union all
            select g.tag from tasks t join task_tags g on g.task = t.number
            where t.owner = :owner and t.project = :project and t.completed_at is null and t.deleted_at is null
        ) as used
        group by tag order by count(*) desc, tag limit :limit
    """
    return [tag for (tag,) in tx.all(sql, project=project, owner=owner, limit=limit)]


def count_open_tasks(tx: Tx, owner: str, allowed: Allowed) -> dict[int, int]:
    """Count an owner's open tasks by project number; 0 stands for no project."""
    sql = _COUNT_OPEN[allowed is not None]
    return {int(project): count for project, count in tx.all(sql, owner=owner, **confine(tx, allowed))}


# -- two projects, one below the other: a name in both means the item of the upper one ---------------------------

LayeredKind = Literal["prompt", "document"]

_SAME_PROMPT = (
    "exists (select 1 from prompts o where o.project = :upper and o.deleted_at is null and o.name = one.name)"
)
_SHADOWED_PROMPTS = f"select number from prompts one where number in :numbers and {_SAME_PROMPT}"
# Clients know a document by its URI.
_SHADOWED_DOCUMENTS = """
    select number from documents one where number in :numbers and (
        exists (select 1 from documents o where o.project = :upper and o.deleted_at is null and o.name = one.name)
        or exists (select 1 from documents o where o.project = :upper and o.deleted_at is null and o.uri = one.uri)
    )
"""
_TAGS = f"""
    select tag, count(*) from prompt_tags join prompts one on one.number = prompt
    where prompt_tags.project = :lower and not {_SAME_PROMPT} group by tag order by tag
"""


def find_shadowed(tx: Tx, kind: LayeredKind, upper: int, numbers: Sequence[int]) -> set[int]:
    """Return those items of the lower project whose name or URI an item of the upper project also has."""
    sql = _SHADOWED_PROMPTS if kind == "prompt" else _SHADOWED_DOCUMENTS
    return {number for (number,) in tx.all(sql, upper=upper, numbers=list(numbers))} if numbers else set()


def count_visible_tags(tx: Tx, upper: int, lower: int) -> list[TagCount]:
    """Count the tags of those of the lower project's prompts that the upper project does not shadow, by tag."""
    return [TagCount(tag, prompts) for tag, prompts in tx.all(_TAGS, upper=upper, lower=lower)]
