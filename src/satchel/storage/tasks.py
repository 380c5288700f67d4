"""Queries about tasks. Every statement that acts on a task has its owner in the WHERE clause.

Lists without pages read only the members of a `Task` that have no default; `details` reads everything.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import asdict

from satchel.model import PRIORITIES, UNSET, Task, TaskDraft, TaskPatch
from satchel.storage.database import Row, Tx, explain_damage, patch_values

Allowed = tuple[str, ...] | None  # the only projects that a task may be in; None: any, or none

_COLUMNS = "number, id, owner, title, description, completed_at, created_at, updated_at, version"  # as in Task
_COUNT = len(_COLUMNS.split(", "))

# Confines a query on a few tasks to the allowed projects; the parameters are those of `confine`. Numbers rather than a
# sub-select: a planner applies them first, so that the other conditions are never tried on rows of other projects.
CONFINED = "(not :is_confined or project in :allowed)"
_OWNED = "owner = :owner"
_OF_OWNER = f"{_OWNED} and deleted_at is null"
# Off the indexes by owner: a walk along one passes the owner's tasks of other projects, and its time tells of them.
_OWNED_WITHIN = "owner || '' = :owner and project in :allowed"
_IS_OPEN = f"{_OF_OWNER} and completed_at is null"
_NEWEST_FIRST = "order by created_at desc, number desc"
_BEFORE = "(created_at, number) < (:moment, :last)"
_LIST_OPEN = f"select {_COLUMNS} from tasks where {_IS_OPEN}"
_LIST = f"select {_COLUMNS} from tasks where {_OF_OWNER}"
_FIND = f"select {_COLUMNS} from tasks where owner || '' = :owner and deleted_at is null and {CONFINED}"
_BY = {column: f"{_FIND} and {column} = :key" for column in ("id", "number")}
# `owner || ''` keeps SQLite off the owner index, which it would walk whole to find these few numbers. Tags and blockers
# are sorted in Python: for `order by`, SQLite would open a temporary table for each list.
_DETAILS = f"""
    {_COLUMNS}, (select name from projects where projects.number = project and deleted_at is null),
        project, priority, due,
        (select string_agg(tag, ',') from task_tags where task = tasks.number),
        (select string_agg(cast(blocker as text), ',') from blockers where task = tasks.number),
        (select string_agg(cast(blocker as text), ',') from blockers where task = tasks.number and is_open),
        (select string_agg(cast(blocker as text), ',') from blockers where task = tasks.number and is_open is null),
        is_cancelled
"""
_AMONG = f"owner || '' = :owner and number in :numbers and deleted_at is null and {CONFINED}"
_DELETED = "owner || '' = :owner and number = :number and deleted_at is not null"


def within(sql: str, allowed: Allowed) -> str:
    """A query on an owner's tasks; for a caller who may not see all of them, one that reads no others."""
    return sql if allowed is None else sql.replace(_OWNED, _OWNED_WITHIN)


def confine(tx: Tx, allowed: Allowed) -> dict[str, object]:
    """The parameters of CONFINED."""
    if allowed is None:
        return {"is_confined": False, "allowed": ()}
    sql = "select number from projects where name in :names and deleted_at is null"
    return {"is_confined": True, "allowed": [number for (number,) in tx.all(sql, names=list(allowed))]}


_ADD = f"""
    insert into tasks (id, owner, title, description, project, priority, due, created_at, updated_at)
    values (:id, :owner, :title, :description, :project, :priority, :due, :now, :now) returning {_COLUMNS}
"""


def add(tx: Tx, owner: str, draft: TaskDraft, project: int | None) -> Task:
    """Insert a task, except its tags and blockers.

    Raises:
        Violation: foreign key, where its project was purged.
    """
    priority = PRIORITIES.index(draft.priority) + 1
    values = {"id": tx.new_id(), "owner": owner, "project": project, "priority": priority, "now": tx.now}
    task = _task(tx.one(_ADD, **asdict(draft) | values))
    assert task is not None, "an insert returns its row"
    return task


def find(tx: Tx, owner: str, column: Literal["id", "number"], key: str | int, allowed: Allowed = None) -> Task | None:
    """An owner's task with a key in one of its columns."""
    sql = _BY[column]
    return _task(tx.one(sql, key=key, owner=owner, **confine(tx, allowed)))


def numbers_with_title(tx: Tx, owner: str, title: str, limit: int, allowed: Allowed = None) -> list[int]:
    """The numbers of an owner's first tasks with exactly this title."""
    # `title || ''` keeps SQLite from replacing the title inside substr, which would hide the expression index from it.
    # `number + 0` keeps both engines from walking all tasks in the order of their numbers.
    sql = f"""
        select number from tasks
        where {_OF_OWNER} and substr(title, 1, 60) = substr(:title, 1, 60) and title || '' = :title
        order by number + 0 limit :limit
    """
    sql = within(sql, allowed)
    return [number for (number,) in tx.all(sql, owner=owner, title=title, limit=limit, **confine(tx, allowed))]


def beside_title(tx: Tx, owner: str, title: str, limit: int, allowed: Allowed) -> list[tuple[int, str]]:
    """Numbers and titles of the tasks next to a title, in the order of the first 60 characters."""
    before = f"""
        select number, title from tasks
        where {_OF_OWNER} and substr(title, 1, 60) < substr(:title, 1, 60)
        order by substr(title, 1, 60) desc, number desc limit :limit
    """
    after = f"""
        select number, title from tasks
        where {_OF_OWNER} and substr(title, 1, 60) >= substr(:title, 1, 60)
        order by substr(title, 1, 60), number limit :limit
    """
    before, after = within(before, allowed), within(after, allowed)
    values = {"owner": owner, "title": title, "limit": limit, **confine(tx, allowed)}
    return [(number, title) for number, title in tx.all(before, **values) + tx.all(after, **values)]


def newest_open(tx: Tx, owner: str, limit: int, allowed: Allowed) -> list[tuple[int, str]]:
    """The numbers and titles of an owner's newest open tasks."""
    sql = f"select number, title from tasks where {_IS_OPEN} {_NEWEST_FIRST} limit :limit"
    sql = within(sql, allowed)
    return [(number, title) for number, title in tx.all(sql, owner=owner, limit=limit, **confine(tx, allowed))]


def open_numbers(tx: Tx, owner: str, limit: int, allowed: Allowed = None) -> list[int]:
    """The numbers of an owner's open tasks, the newest first."""
    sql = f"select number from tasks where {_IS_OPEN} {_NEWEST_FIRST} limit :limit"
    sql = within(sql, allowed)
    return [number for (number,) in tx.all(sql, owner=owner, limit=limit, **confine(tx, allowed))]


def visible(tx: Tx, owner: str, numbers: Sequence[int], allowed: Allowed, *, with_deleted: bool = False) -> set[int]:
    """Return those of some numbers that are an owner's tasks in the allowed projects."""
    sql = f"""
        select number from tasks where owner || '' = :owner and number in :numbers
            and (:with_deleted or deleted_at is null) and {CONFINED}
    """
    values = {"owner": owner, "numbers": list(numbers), "with_deleted": with_deleted, **confine(tx, allowed)}
    return {number for (number,) in tx.all(sql, **values)}


def details(tx: Tx, owner: str, numbers: Sequence[int], allowed: Allowed = None) -> list[Task]:
    """Some of an owner's tasks with everything that is stored about them, in the order given."""
    if not numbers:
        return []
    sql = f"select {_DETAILS} from tasks where {_AMONG}"
    rows = tx.all(sql, owner=owner, numbers=list(numbers), **confine(tx, allowed))
    found = {row[0]: _details(row) for row in rows}
    return [found[number] for number in numbers if number in found]


def find_to_change(tx: Tx, owner: str, number: int, allowed: Allowed = None) -> Task | None:
    """An owner's task with everything that is stored about it, which is updated or deleted next."""
    row = tx.one_to_change(_DETAILS, "tasks", _AMONG, owner=owner, numbers=[number], **confine(tx, allowed))
    return _details(row) if row else None


def projects_of(tx: Tx, owner: str, numbers: Sequence[int]) -> list[tuple[int, str | None]]:
    """Some of an owner's tasks with the names of the projects that they are in."""
    sql = """
        select number, (select name from projects where projects.number = project and deleted_at is null)
        from tasks where owner || '' = :owner and number in :numbers and deleted_at is null order by number
    """
    return [(number, name) for number, name in tx.all(sql, owner=owner, numbers=numbers)]


def list_newest(
    tx: Tx, owner: str, allowed: Allowed, *, is_open: bool, before: tuple[str, int], limit: int
) -> list[Task]:
    """An owner's tasks before a time of creation and a number, all or only the open ones, the newest first."""
    sql = f"{_LIST} and {_BEFORE} {_NEWEST_FIRST} limit :limit"
    if is_open:
        sql = f"{_LIST_OPEN} and {_BEFORE} {_NEWEST_FIRST} limit :limit"
    sql = within(sql, allowed)
    values = {"owner": owner, "moment": before[0], "last": before[1], "limit": limit}
    return [Task(*row) for row in tx.all(sql, **values, **confine(tx, allowed))]


def update(
    tx: Tx, owner: str, id: str, patch: TaskPatch, project: int | None, version: int | None = None
) -> Task | None:
    """Change an owner's task, except its tags and blockers; None where there is no such task of this version.

    `project` is the number of the project that the patch names.

    Raises:
        Violation: foreign key, where its project was deleted.
    """
    changes = """
        title = coalesce(:title, title),
        description = case when :has_description then :description else description end,
        project = case when :has_project then :project else project end,
        priority = coalesce(:priority, priority),
        due = case when :has_due then :due else due end,
        completed_at = case when :has_completed_at then :completed_at when :reopens then null
            when :closes and (completed_at is null or is_cancelled <> :is_cancelled) then :now else completed_at end,
        is_cancelled = case when :has_completed_at or :closes or :reopens then :is_cancelled else is_cancelled end
    """
    priority = None if patch.priority is UNSET else PRIORITIES.index(patch.priority) + 1
    values = patch_values(patch) | {"id": id, "owner": owner, "project": project, "priority": priority}
    values |= {"closes": patch.status in ("completed", "cancelled"), "reopens": patch.status == "pending"}
    values["is_cancelled"] = int(patch.status == "cancelled" or patch.is_cancelled is True)
    where = "id = :id and owner = :owner and deleted_at is null"
    row = tx.renew("tasks", changes, where, columns=_COLUMNS, version=version, **values)
    return _task(row)


_STORED = ("number", "owner", "title", "description", "due", "completed_at", "updated_at", "version")


def store(tx: Tx, task: Task) -> None:
    """Store what a locked task has become, except its tags and blockers.

    Raises:
        Violation: foreign key, where its project was deleted.
    """
    sql = """
        update tasks set title = :title, description = :description, project = :project, priority = :priority,
            due = :due, completed_at = :completed_at, is_cancelled = :is_cancelled, updated_at = :updated_at,
            version = :version
        where number = :number and owner = :owner
    """
    values = {name: getattr(task, name) for name in _STORED}
    values |= {"project": task.project_number, "priority": PRIORITIES.index(task.priority) + 1}
    tx.run(sql, **values, is_cancelled=int(task.is_cancelled))


def complete(tx: Tx, owner: str, id: str) -> Task | None:
    """Complete an owner's task now, open or cancelled; None where there is none."""
    changes = "completed_at = :now, is_cancelled = 0"
    where = "id = :id and owner = :owner and deleted_at is null and (completed_at is null or is_cancelled = 1)"
    return _task(tx.renew("tasks", changes, where, columns=_COLUMNS, id=id, owner=owner))


def delete(tx: Tx, owner: str, number: int) -> None:
    """Mark an owner's task as deleted, and remove it from the search by text."""
    where = "number = :number and owner = :owner and deleted_at is null"
    tx.renew("tasks", "deleted_at = :now", where, columns="number", number=number, owner=owner)
    tx.run("delete from task_texts where task = :number and owner = :owner", number=number, owner=owner)


def find_deleted(tx: Tx, owner: str, number: int) -> Task | None:
    """Return an owner's deleted task, with everything that is stored about it."""
    sql = f"select {_DETAILS} from tasks where {_DELETED}"
    row = tx.one(sql, owner=owner, number=number)
    return _details(row) if row else None


def restore(tx: Tx, seen: Task) -> bool:
    """Mark a task as no longer deleted; return False where it was restored or purged meanwhile."""
    values = {"owner": seen.owner, "number": seen.number}
    row = tx.renew("tasks", "deleted_at = null", _DELETED, columns="number", version=seen.version, **values)
    return row is not None


def set_text(tx: Tx, owner: str, number: int, *, title: str, description: str) -> None:
    """Replace the folded text by which a task is found."""
    sql = """
        insert into task_texts (task, owner, title, description) values (:task, :owner, :title, :description)
        on conflict (task) do update set title = excluded.title, description = excluded.description
        where task_texts.title <> excluded.title or task_texts.description <> excluded.description
    """
    tx.run(sql, task=number, owner=owner, title=title, description=description)


def set_tags(tx: Tx, owner: str, number: int, tags: Sequence[str]) -> None:
    """Replace the tags of an owner's task."""
    # Not `task = :task and owner = :owner`, for which SQLite reads all tags of the owner.
    old = "delete from task_tags where task = (select number from tasks where number = :task and owner = :owner)"
    tx.run(old, task=number, owner=owner)
    sql = "insert into task_tags (task, owner, tag) values (:task, :owner, :tag)"
    tx.many(sql, [{"task": number, "owner": owner, "tag": tag} for tag in tags])


def set_blockers(tx: Tx, owner: str, task: int, blockers: Sequence[int], *, with_deleted: bool = False) -> list[int]:
    """Replace the blockers of a task; return those that are stored now because they are the owner's.

    Deleted blockers stay, and no others are added; with `with_deleted` they are replaced too.
    """
    values = {"owner": owner, "task": task, "blockers": list(blockers), "with_deleted": with_deleted}
    # Those that stay are not inserted again: row-level security may hide the tasks that they are.
    old = """
        delete from task_blocks where task = :task and owner = :owner and blocker not in :blockers and (
            :with_deleted
            or not exists (select 1 from tasks where tasks.number = blocker and tasks.deleted_at is not null)
        )
    """
    tx.run(old, **values)
    if not blockers:
        return []
    sql = """
        insert into task_blocks (task, blocker, owner)
        select :task, number, owner from tasks
        where owner = :owner and number in :blockers and (:with_deleted or deleted_at is null)
        on conflict (task, blocker) do update set owner = excluded.owner
        returning blocker
    """
    return [blocker for (blocker,) in tx.all(sql, **values)]


def is_circular(tx: Tx, owner: str, task: int) -> bool:
    """Whether a task blocks itself, directly or through others."""
    sql = """
        with recursive above (number) as (
            select blocker from task_blocks where task = :task and owner = :owner
            union
            select b.blocker from above join tasks t on t.number = above.number join task_blocks b on b.task = t.number
            where b.owner = :owner and t.deleted_at is null
        )
        select 1 from above where number = :task limit 1
    """
    return tx.one(sql, task=task, owner=owner) is not None


def blocked_tasks(tx: Tx, owner: str, blocker: int) -> list[int]:
    """The tasks that a task blocks."""
    sql = """
        select task from task_blocks b join tasks t on t.number = b.task
        where b.blocker = :blocker and b.owner = :owner and t.deleted_at is null order by task
    """
    return [task for (task,) in tx.all(sql, blocker=blocker, owner=owner)]


def _task(row: Row | None) -> Task | None:
    return Task(*row) if row else None


def _details(row: Row) -> Task:
    try:
        return _read_details(row)
    except (IndexError, ValueError) as error:
        raise explain_damage("a task", error) from error


def _read_details(row: Row) -> Task:
    project, project_number, priority, due, tags, blockers, open_blockers, deleted, is_cancelled = row[_COUNT:]
    values = (
        *row[:_COUNT],
        project,
        project_number,
        tuple(sorted(tags.split(","))) if tags else (),
        PRIORITIES[priority - 1],
        due,
        tuple(number for number in _numbers(blockers) if number not in _numbers(deleted)),
        _numbers(open_blockers),
        _numbers(deleted),
        False,
        bool(is_cancelled),
    )
    return Task(*values)


def _numbers(joined: str | None) -> tuple[int, ...]:
    return tuple(sorted(map(int, joined.split(",")))) if joined else ()
