"""Queries about tasks. Whoever acts on a task names its owner, and the statement that acts looks for both.

Lists for those who know only title and description read no more than that; `full` reads everything.
"""

from collections.abc import Sequence

from satchel.model import UNSET, Priority, Task, TaskDetails, UnsetType
from satchel.storage.database import Row, Tx

Allowed = tuple[str, ...] | None  # the only projects that a task may be in, if it is in any; None: all

PRIORITIES: tuple[Priority, ...] = ("low", "normal", "high", "urgent")  # kept as 1 to 4

_LAST = "select updated_at from tasks where id = :id and owner = :owner"
_LAST_IF_OPEN = "select updated_at from tasks where id = :id and owner = :owner and completed_at is null"
_LAST_IF_VERSION = """
    select updated_at from tasks where id = :id and owner = :owner and (:any_version or version = :version)
"""


def add(
    tx: Tx,
    owner: str,
    *,
    title: str,
    description: str | None,
    project: int | None = None,
    priority: Priority = "normal",
    due: str | None = None,
) -> Task:
    """Insert a task.

    Raises:
        Violation: foreign key, when its project is gone.
    """
    sql = """
        insert into tasks (id, owner, title, description, project, priority, due, created_at, updated_at)
        values (:id, :owner, :title, :description, :project, :priority, :due, :now, :now)
        returning number, id, owner, title, description, completed_at, created_at, updated_at, version
    """
    row = tx.one(
        sql,
        id=tx.new_id(),
        owner=owner,
        title=title,
        description=description,
        project=project,
        priority=PRIORITIES.index(priority) + 1,
        due=due,
        now=tx.now,
    )
    assert row is not None, "an insert returns its row"
    return _task(row)


def by_id(tx: Tx, owner: str, id: str, allowed: Allowed = None) -> Task | None:
    """An owner's task with an id."""
    sql = """
        select number, id, owner, title, description, completed_at, created_at, updated_at, version
        from tasks where id = :id and owner = :owner
            and (not :is_confined or project is null
                or project in (select number from projects where name in :allowed))
    """
    row = tx.one(sql, id=id, owner=owner, is_confined=allowed is not None, allowed=allowed or ())
    return _task(row) if row else None


def by_number(tx: Tx, owner: str, number: int, allowed: Allowed = None) -> Task | None:
    """An owner's task with a number."""
    sql = """
        select number, id, owner, title, description, completed_at, created_at, updated_at, version
        from tasks where number = :number and owner = :owner
            and (not :is_confined or project is null
                or project in (select number from projects where name in :allowed))
    """
    row = tx.one(sql, number=number, owner=owner, is_confined=allowed is not None, allowed=allowed or ())
    return _task(row) if row else None


def titled(tx: Tx, owner: str, title: str, limit: int, allowed: Allowed = None) -> list[int]:
    """The numbers of an owner's first tasks with exactly this title."""
    # The title joined to nothing, or SQLite puts it into substr too, and no longer knows what the index is of. The
    # number plus nothing, or an engine may go through all tasks in the order of their numbers.
    sql = """
        select number from tasks
        where owner = :owner and substr(title, 1, 60) = substr(:title, 1, 60) and title || '' = :title
            and (not :is_confined or project is null
                or project in (select number from projects where name in :allowed))
        order by number + 0 limit :limit
    """
    values = {"is_confined": allowed is not None, "allowed": allowed or ()}
    return [number for (number,) in tx.all(sql, owner=owner, title=title, limit=limit, **values)]


def beside_title(tx: Tx, owner: str, title: str, limit: int) -> list[tuple[int, str]]:
    """The tasks whose titles stand before and behind a title, in the order of their beginnings."""
    before = """
        select number, title from tasks where owner = :owner and substr(title, 1, 60) < substr(:title, 1, 60)
        order by substr(title, 1, 60) desc, number desc limit :limit
    """
    behind = """
        select number, title from tasks where owner = :owner and substr(title, 1, 60) >= substr(:title, 1, 60)
        order by substr(title, 1, 60), number limit :limit
    """
    values = {"owner": owner, "title": title, "limit": limit}
    return [(number, title) for number, title in tx.all(before, **values) + tx.all(behind, **values)]


def newest_open(tx: Tx, owner: str, limit: int) -> list[tuple[int, str]]:
    """The numbers and titles of an owner's newest tasks that are not done."""
    sql = """
        select number, title from tasks where owner = :owner and completed_at is null
        order by created_at desc, number desc limit :limit
    """
    return [(number, title) for number, title in tx.all(sql, owner=owner, limit=limit)]


def open_numbers(tx: Tx, owner: str, limit: int, allowed: Allowed = None) -> list[int]:
    """The numbers of an owner's newest tasks that are not done, the newest first; all are read from an index alone."""
    everywhere = """
        select number from tasks where owner = :owner and completed_at is null
        order by created_at desc, number desc limit :limit
    """
    confined = """
        select number from tasks where owner = :owner and completed_at is null
            and (project is null or project in (select number from projects where name in :allowed))
        order by created_at desc, number desc limit :limit
    """
    sql = everywhere if allowed is None else confined
    return [number for (number,) in tx.all(sql, owner=owner, limit=limit, allowed=allowed or ())]


def among(tx: Tx, owner: str, numbers: Sequence[int], allowed: tuple[str, ...]) -> set[int]:
    """Those of some numbers that are an owner's tasks in no other than the allowed projects."""
    sql = """
        select number from tasks where owner || '' = :owner and number in :numbers
            and (project is null or project in (select number from projects where name in :allowed))
    """
    return {number for (number,) in tx.all(sql, owner=owner, numbers=list(numbers), allowed=allowed)}


def full(tx: Tx, owner: str, numbers: Sequence[int], allowed: Allowed = None) -> list[TaskDetails]:
    """Some of an owner's tasks with all that is known of them, in the order given."""
    # The owner joined to nothing, or SQLite goes through all of his tasks for the few whose numbers it has. Nothing is
    # sorted here: for each list of three it would open a table.
    sql = """
        select t.number, t.id, t.owner, t.title, t.description, t.completed_at, t.created_at, t.updated_at, t.version,
            (select name from projects p where p.number = t.project), t.priority, t.due,
            (select string_agg(g.tag, ',') from task_tags g where g.task = t.number),
            (select string_agg(cast(b.blocker as text), ',') from task_blocks b where b.task = t.number),
            (select string_agg(cast(b.blocker as text), ',')
                from task_blocks b join tasks o on o.number = b.blocker
                where b.task = t.number and o.completed_at is null)
        from tasks t where t.owner || '' = :owner and t.number in :numbers
            and (not :is_confined or t.project is null
                or t.project in (select number from projects where name in :allowed))
    """
    rows = tx.all(sql, owner=owner, numbers=list(numbers), is_confined=allowed is not None, allowed=allowed or ())
    found = {row[0]: _full(row) for row in rows}
    return [found[number] for number in numbers if number in found]


def places(tx: Tx, owner: str, numbers: Sequence[int]) -> list[tuple[int, bool, str | None]]:
    """Of some of an owner's tasks, whether they are in a project, and its name, which row-level security may hide."""
    sql = """
        select t.number, t.project is not null, (select name from projects p where p.number = t.project)
        from tasks t where t.owner || '' = :owner and t.number in :numbers order by t.number
    """
    return [(number, bool(is_placed), name) for number, is_placed, name in tx.all(sql, owner=owner, numbers=numbers)]


def listed(tx: Tx, owner: str, allowed: Allowed = None) -> list[Task]:
    """An owner's tasks, the newest first."""
    sql = """
        select number, id, owner, title, description, completed_at, created_at, updated_at, version
        from tasks where owner = :owner
            and (not :is_confined or project is null
                or project in (select number from projects where name in :allowed))
        order by created_at desc, number desc
    """
    return [_task(row) for row in tx.all(sql, owner=owner, is_confined=allowed is not None, allowed=allowed or ())]


def pending(tx: Tx, owner: str, allowed: Allowed = None) -> list[Task]:
    """An owner's tasks that are not done, the newest first."""
    sql = """
        select number, id, owner, title, description, completed_at, created_at, updated_at, version
        from tasks where owner = :owner and completed_at is null
            and (not :is_confined or project is null
                or project in (select number from projects where name in :allowed))
        order by created_at desc, number desc
    """
    return [_task(row) for row in tx.all(sql, owner=owner, is_confined=allowed is not None, allowed=allowed or ())]


def update(
    tx: Tx,
    owner: str,
    id: str,
    *,
    title: str | UnsetType = UNSET,
    description: str | UnsetType | None = UNSET,
    project: int | UnsetType | None = UNSET,
    priority: Priority | UnsetType = UNSET,
    due: str | UnsetType | None = UNSET,
    status: str | UnsetType = UNSET,
    version: int | None = None,
) -> Task | None:
    """Change what is given of an owner's task; None when he has no such task, or not of this version.

    Raises:
        Violation: foreign key, when its project is gone.
    """
    sql = """
        update tasks set
            title = coalesce(:title, title),
            description = case when :has_description then :description else description end,
            project = case when :has_project then :project else project end,
            priority = coalesce(:priority, priority),
            due = case when :has_due then :due else due end,
            completed_at = case when :completes then coalesce(completed_at, :now)
                when :reopens then null else completed_at end,
            updated_at = :now,
            version = version + 1
        where id = :id and owner = :owner and (:any_version or version = :version) and updated_at < :now
        returning number, id, owner, title, description, completed_at, created_at, updated_at, version
    """
    row = tx.renew(
        sql,
        _LAST_IF_VERSION,
        id=id,
        owner=owner,
        title=None if title is UNSET else title,
        has_description=description is not UNSET,
        description=None if description is UNSET else description,
        has_project=project is not UNSET,
        project=None if project is UNSET else project,
        priority=None if priority is UNSET else PRIORITIES.index(priority) + 1,
        has_due=due is not UNSET,
        due=None if due is UNSET else due,
        completes=status == "completed",
        reopens=status == "pending",
        any_version=version is None,
        version=version,
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
    """Remove an owner's task with all that hangs on it; says whether he had it."""
    return (
        tx.one("delete from tasks where id = :id and owner = :owner returning number", id=id, owner=owner) is not None
    )


def set_text(tx: Tx, owner: str, number: int, *, title: str, description: str) -> None:
    """Make this the folded text by which a task is found."""
    sql = """
        insert into task_texts (task, owner, title, description) values (:task, :owner, :title, :description)
        on conflict (task) do update set title = excluded.title, description = excluded.description
        where task_texts.title <> excluded.title or task_texts.description <> excluded.description
    """
    tx.run(sql, task=number, owner=owner, title=title, description=description)


def set_tags(tx: Tx, owner: str, number: int, tags: Sequence[str]) -> None:
    """Make these the tags of an owner's task."""
    # Not `task = :task and owner = :owner`, for which SQLite goes through all tags of the owner.
    old = "delete from task_tags where task = (select number from tasks where number = :task and owner = :owner)"
    tx.run(old, task=number, owner=owner)
    sql = "insert into task_tags (task, owner, tag) values (:task, :owner, :tag)"
    tx.many(sql, [{"task": number, "owner": owner, "tag": tag} for tag in tags])


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


def _full(row: Row) -> TaskDetails:
    number, id, owner, title, description, completed_at, created_at, updated_at, version = row[:9]
    project, priority, due, tags, blockers, open_blockers = row[9:]
    return TaskDetails(
        number=number,
        id=id,
        owner=owner,
        title=title,
        description=description,
        completed_at=completed_at,
        created_at=created_at,
        updated_at=updated_at,
        version=version,
        project=project,
        tags=tuple(sorted(tags.split(","))) if tags else (),
        priority=PRIORITIES[priority - 1],
        due=due,
        blocked_by=_numbers(blockers),
        open_blockers=_numbers(open_blockers),
    )


def _numbers(joined: str | None) -> tuple[int, ...]:
    return tuple(sorted(map(int, joined.split(",")))) if joined else ()
