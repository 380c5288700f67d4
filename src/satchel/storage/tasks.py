"""Queries about tasks, their pages, claims, notes and blockers. Every statement has the owner in its WHERE clause.

Lists without pages read only the fields of a `Task` that have no default; `details` reads everything.
"""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict, replace

from satchel.model import (
    PRIORITIES,
    Claim,
    Holder,
    Task,
    TaskDraft,
    TaskFilter,
    TaskNote,
    TaskPosition,
    TaskQuery,
)
from satchel.storage.database import Row, Tx, explain_damage
from satchel.storage.revisions import AUTHOR, find_author, make_author

Former = tuple[str, str]  # the holder from whom a claim was taken over and who is to be told, and when
Allowed = tuple[str, ...] | None  # the only projects in which a task may be; None: any project, or none

# The condition for the owner's tasks; True is for a caller limited to some projects. Such a caller's query must not use
# the indexes by owner: a walk along one passes the owner's tasks in other projects, and its time reveals them.
_OWNED = {False: "owner = :owner", True: "owner || '' = :owner and project in :allowed"}
# Limits a query on a few tasks to the allowed projects; the parameters come from `confine`. Numbers replace a
# sub-select, because a planner applies them first, and never tries the other conditions on rows of other projects.
CONFINED = "(not :is_confined or project in :allowed)"


def by_confinement(sql: str) -> dict[bool, str]:
    """Return two forms of a query: for callers limited to some projects (True), and for others (False)."""
    return {is_confined: sql.format(owned=owned) for is_confined, owned in _OWNED.items()}


_COLUMNS = "number, id, owner, title, description, completed_at, created_at, updated_at, version"  # as in Task
_COUNT = len(_COLUMNS.split(", "))
_NEWEST_FIRST = "order by created_at desc, number desc limit :limit"
# `owner || ''` keeps SQLite from the owner index, which it would scan whole for these few numbers. Tags and blockers
# are sorted in Python, because SQLite would open a temporary table for each `order by`. An open blocker has the
# sign +, a deleted one -.
_SEEN = f"owner || '' = :owner and deleted_at is null and {CONFINED}"
_AMONG = f"{_SEEN} and number in :numbers"
_BY_NUMBER = f"{_SEEN} and number = :key"
_BY_ID = f"{_SEEN} and id = :key"
_DELETED = "owner || '' = :owner and number = :number and deleted_at is not null"
_DETAILS = f"""
    {_COLUMNS}, (select name from projects where projects.number = project and deleted_at is null),
        project, priority, due,
        (select string_agg(tag, ',') from task_tags where task = tasks.number),
        (select string_agg(case when is_open then '+' when is_open is null then '-' else '' end
            || cast(blocker as text), ',') from blockers where task = tasks.number),
        is_cancelled, parent, review_at,
        (select cast(count(*) as text) || ',' || cast(count(c.completed_at) as text) from tasks c
            where c.parent = tasks.number and c.owner = tasks.owner and c.deleted_at is null
                and (not :is_confined or c.project in :allowed))
"""
_CLAIM = "holder, holder_key, until, fence, former_key, taken_at"
# This adds the current claim. Its columns are renamed, so that they do not make other names ambiguous.
_WITH_CLAIM = f"""
    select {_DETAILS}, {_CLAIM} from tasks
    left join (select task as claimed, {_CLAIM} from task_claims where until > :now) as active on claimed = number
    where {_AMONG}
"""


def confine(tx: Tx, allowed: Allowed) -> dict[str, object]:
    """Return the parameters that the condition CONFINED needs."""
    if allowed is None:
        return {"is_confined": False, "allowed": ()}
    sql = "select number from projects where name in :names and deleted_at is null"
    return {"is_confined": True, "allowed": [number for (number,) in tx.all(sql, names=list(allowed))]}


# -- reading ----------------------------------------------------------------------------------------------------

# `title || ''` keeps SQLite from replacing the title inside substr, which would rule out the expression index.
# `number + 0` keeps both engines from scanning all tasks in the order of their numbers.
_WITH_TITLE = by_confinement("""
    select number from tasks
    where {owned} and deleted_at is null
        and substr(title, 1, 60) = substr(:title, 1, 60) and title || '' = :title
    order by number + 0 limit :limit
""")
_LIST = by_confinement(f"""
    select {_COLUMNS} from tasks
    where {{owned}} and deleted_at is null and (created_at, number) < (:moment, :last) {_NEWEST_FIRST}
""")
_LIST_OPEN = by_confinement(f"""
    select {_COLUMNS} from tasks
    where {{owned}} and deleted_at is null and completed_at is null and (created_at, number) < (:moment, :last)
    {_NEWEST_FIRST}
""")


def find_number(tx: Tx, owner: str, id: str, allowed: Allowed) -> int | None:
    """Return the number of the owner's task that has this id."""
    sql = f"select number from tasks where {_BY_ID}"
    found: int | None = tx.value(sql, owner=owner, key=id, **confine(tx, allowed))
    return found


def numbers_with_title(tx: Tx, owner: str, title: str, limit: int, allowed: Allowed = None) -> list[int]:
    """Return the numbers of an owner's first tasks with exactly this title."""
    sql = _WITH_TITLE[allowed is not None]
    return [number for (number,) in tx.all(sql, owner=owner, title=title, limit=limit, **confine(tx, allowed))]


def visible(tx: Tx, owner: str, numbers: Sequence[int], allowed: Allowed, *, with_deleted: bool = False) -> set[int]:
    """Return those of the given numbers that belong to an owner's tasks in the allowed projects."""
    sql = f"""
        select number from tasks where owner || '' = :owner and number in :numbers
            and (:with_deleted or deleted_at is null) and {CONFINED}
    """
    values = {"owner": owner, "numbers": list(numbers), "with_deleted": with_deleted, **confine(tx, allowed)}
    return {number for (number,) in tx.all(sql, **values)}


def details(tx: Tx, owner: str, numbers: Sequence[int], allowed: Allowed = None) -> list[Task]:
    """Return the given tasks of an owner with all stored fields and claims, in the given order."""
    if not numbers:
        return []
    rows = tx.all(_WITH_CLAIM, owner=owner, numbers=list(numbers), now=tx.now, **confine(tx, allowed))
    found = {row[0]: _read(row) for row in rows}
    return [found[number] for number in numbers if number in found]


def lock(tx: Tx, owner: str, key: int | str, allowed: Allowed = None) -> Task | None:
    """Lock an owner's task, given by number or id, and return it with all stored fields."""
    where = _BY_NUMBER if isinstance(key, int) else _BY_ID
    row = tx.one_to_change(_DETAILS, "tasks", where, owner=owner, key=key, **confine(tx, allowed))
    if row is None:
        return None
    # Read after the lock, because another agent may have claimed the task during the wait.
    newest = last_claim(tx, owner, row[0])
    return replace(_read(row), claim=newest if newest is not None and newest.until > tx.now else None)


def find_deleted(tx: Tx, owner: str, number: int) -> Task | None:
    """Return an owner's deleted task with all stored fields."""
    sql = f"select {_DETAILS} from tasks where {_DELETED}"
    row = tx.one(sql, owner=owner, number=number, **confine(tx, None))
    return _read(row) if row else None


def list_newest(
    tx: Tx, owner: str, allowed: Allowed, *, is_open: bool, before: tuple[str, int], limit: int
) -> list[Task]:
    """Return an owner's tasks older than `before` (time and number), all or only open ones, newest first."""
    sql = _LIST_OPEN[allowed is not None] if is_open else _LIST[allowed is not None]
    values = {"owner": owner, "moment": before[0], "last": before[1], "limit": limit}
    return [Task(*row) for row in tx.all(sql, **values, **confine(tx, allowed))]


def _read(row: Row) -> Task:
    try:
        project, project_number, priority, due, tags, joined, is_cancelled, parent, review_at, counted, *claim = row[
            _COUNT:
        ]
        subtasks, subtasks_done = map(int, counted.split(","))
        blockers = joined.split(",") if joined else ()
        values = (
            *row[:_COUNT],
            project,
            project_number,
            tuple(sorted(tags.split(","))) if tags else (),
            PRIORITIES[priority - 1],
            due,
            tuple(sorted(int(one) for one in blockers if one[0] != "-")),
            tuple(sorted(int(one) for one in blockers if one[0] == "+")),
            tuple(sorted(-int(one) for one in blockers if one[0] == "-")),
            False,
            bool(is_cancelled),
            parent,
            review_at,
            subtasks,
            subtasks_done,
            _read_claim(tuple(claim)) if claim and claim[0] is not None else None,
        )
    except (IndexError, ValueError) as error:
        raise explain_damage("a task", error) from error
    return Task(*values)


# -- writing ----------------------------------------------------------------------------------------------------


def add(tx: Tx, owner: str, draft: TaskDraft, project: int | None) -> Task:
    """Insert a task, except its tags and blockers.

    Raises:
        Violation: the foreign key, if the project was purged.
    """
    sql = f"""
        insert into tasks (id, owner, title, description, project, priority, due, parent, created_at, updated_at)
        values (:id, :owner, :title, :description, :project, :priority, :due, :parent, :now, :now)
        returning {_COLUMNS}
    """
    priority = PRIORITIES.index(draft.priority) + 1
    values = {"id": tx.new_id(), "owner": owner, "project": project, "priority": priority, "now": tx.now}
    row = tx.one(sql, **asdict(draft) | values)
    assert row is not None, "an insert returns its row"
    return Task(*row)


def update(tx: Tx, task: Task) -> None:
    """Store the new state of a locked task, except its tags and blockers.

    Raises:
        Violation: the foreign key, if the project was purged.
    """
    sql = """
        update tasks set title = :title, description = :description, project = :project, priority = :priority,
            due = :due, parent = :parent, review_at = :review_at, completed_at = :completed_at,
            is_cancelled = :is_cancelled, updated_at = :updated_at, version = :version
        where number = :number and owner = :owner and deleted_at is null
    """
    names = ("number", "owner", "title", "description", "due", "parent", "review_at", "completed_at")
    values = {name: getattr(task, name) for name in (*names, "updated_at", "version")}
    values |= {"project": task.project_number, "priority": PRIORITIES.index(task.priority) + 1}
    tx.run(sql, **values, is_cancelled=int(task.is_cancelled))


def delete(tx: Tx, owner: str, number: int) -> None:
    """Mark an owner's task as deleted, and remove it from the text search."""
    where = "number = :number and owner = :owner and deleted_at is null"
    tx.renew("tasks", "deleted_at = :now", where, columns="number", number=number, owner=owner)
    tx.run("delete from task_texts where task = :number and owner = :owner", number=number, owner=owner)


def restore(tx: Tx, seen: Task) -> bool:
    """Mark a task as not deleted; return False if it was restored or purged meanwhile."""
    values = {"owner": seen.owner, "number": seen.number}
    row = tx.renew("tasks", "deleted_at = null", _DELETED, columns="number", version=seen.version, **values)
    return row is not None


def set_text(tx: Tx, owner: str, number: int, *, title: str, description: str) -> None:
    """Replace the folded text of a task, which searches read."""
    sql = """
        insert into task_texts (task, owner, title, description) values (:task, :owner, :title, :description)
        on conflict (task) do update set title = excluded.title, description = excluded.description
        where task_texts.title <> excluded.title or task_texts.description <> excluded.description
    """
    tx.run(sql, task=number, owner=owner, title=title, description=description)


def change_tags(tx: Tx, owner: str, number: int, before: Sequence[str], after: Sequence[str]) -> None:
    """Replace the tags of an owner's task."""
    if gone := [tag for tag in before if tag not in after]:
        # `owner || ''` keeps SQLite from the index by tags, which it would scan for all tags of the owner.
        sql = "delete from task_tags where task = :task and owner || '' = :owner and tag in :gone"
        tx.run(sql, task=number, owner=owner, gone=gone)
    sql = "insert into task_tags (task, owner, tag) values (:task, :owner, :tag)"
    tx.many(sql, [{"task": number, "owner": owner, "tag": tag} for tag in after if tag not in before])


# -- blockers ---------------------------------------------------------------------------------------------------


def set_blockers(tx: Tx, owner: str, task: int, blockers: Sequence[int], *, with_deleted: bool = False) -> list[int]:
    """Replace the blockers of a task by those of the given ones that are the owner's tasks; return these.

    Deleted blockers stay, and no deleted one is added, unless `with_deleted`.
    """
    values = {"owner": owner, "task": task, "blockers": list(blockers), "with_deleted": with_deleted}
    # Unchanged blockers are not inserted again, because row-level security may hide those tasks.
    old = """
        delete from task_blocks where task = :task and owner = :owner and blocker not in :blockers and (
            :with_deleted
            or not exists (select 1 from tasks where tasks.number = blocker and tasks.deleted_at is not null)
        )
    """
    tx.run(old, **values)
    return add_blockers(tx, owner, task, blockers, with_deleted=with_deleted) if blockers else []


def add_blockers(tx: Tx, owner: str, task: int, blockers: Sequence[int], *, with_deleted: bool = False) -> list[int]:
    """Add blockers, which the task may already have; return those that are the owner's tasks."""
    sql = """
        insert into task_blocks (task, blocker, owner)
        select :task, number, owner from tasks
        where owner = :owner and number in :blockers and (:with_deleted or deleted_at is null)
        on conflict (task, blocker) do update set owner = excluded.owner
        returning blocker
    """
    rows = tx.all(sql, task=task, owner=owner, blockers=list(blockers), with_deleted=with_deleted)
    return [blocker for (blocker,) in rows]


def list_circle(tx: Tx, owner: str, task: int) -> list[tuple[int, int]]:
    """If a task blocks itself, return the tasks that it waits for, directly or through others, each with a blocker."""
    above = """
        with recursive above (number) as (
            select blocker from task_blocks where task = :task and owner = :owner
            union
            select b.blocker from above join tasks t on t.number = above.number join task_blocks b on b.task = t.number
            where b.owner = :owner and t.deleted_at is null
        )
    """
    values = {"task": task, "owner": owner}
    if tx.one(f"{above} select 1 from above where number = :task limit 1", **values) is None:
        return []
    sql = f"""
        {above} select b.task, b.blocker
        from above join tasks t on t.number = above.number join task_blocks b on b.task = t.number
        where b.owner = :owner and t.deleted_at is null order by b.task, b.blocker
    """
    return [(number, blocker) for number, blocker in tx.all(sql, **values)]


def blocked_tasks(tx: Tx, owner: str, blocker: int) -> list[tuple[int, str | None]]:
    """Return the tasks that a task blocks, with the names of their projects."""
    sql = """
        select t.number, (select name from projects p where p.number = t.project and p.deleted_at is null)
        from task_blocks b join tasks t on t.number = b.task
        where b.blocker = :blocker and b.owner = :owner and t.deleted_at is null order by t.number
    """
    return [(number, project) for number, project in tx.all(sql, blocker=blocker, owner=owner)]


# -- subtasks ---------------------------------------------------------------------------------------------------


def list_subtasks(tx: Tx, owner: str, parent: int, allowed: Allowed, limit: int) -> list[int]:
    """Return the numbers of the first subtasks of an owner's task."""
    sql = f"""
        select number from tasks where parent = :parent and owner = :owner and deleted_at is null and {CONFINED}
        order by number limit :limit
    """
    values = {"parent": parent, "owner": owner, "limit": limit, **confine(tx, allowed)}
    return [number for (number,) in tx.all(sql, **values)]


def list_parents(tx: Tx, owner: str, task: int) -> list[tuple[int, int]]:
    """Return the task and the tasks above it, each with its parent, in no order."""
    sql = """
        with recursive above (number, parent) as (
            select number, parent from tasks where number = :task and owner = :owner and parent is not null
            union
            select t.number, t.parent from above join tasks t on t.number = above.parent
            where t.owner = :owner and t.deleted_at is null and t.parent is not null
        )
        select number, parent from above
    """
    return [(number, parent) for number, parent in tx.all(sql, task=task, owner=owner)]


# -- claims -----------------------------------------------------------------------------------------------------
# The row of a task's last claim is kept, so that its fence never decreases.


def last_claim(tx: Tx, owner: str, task: int) -> Claim | None:
    """Return the last claim of an owner's task, which may have ended."""
    sql = f"select {_CLAIM} from task_claims where task = :task and owner = :owner"
    row = tx.one(sql, task=task, owner=owner)
    return _read_claim(row) if row else None


def put_claim(tx: Tx, owner: str, task: int, holder: Holder, until: str, former: Former = ("", "")) -> Claim:
    """Claim an owner's task with the next fence, even if another holds it."""
    sql = f"""
        insert into task_claims (task, owner, holder, holder_key, until, fence, former_key, taken_at)
        values (:task, :owner, :holder, :holder_key, :until, 1, :former_key, :taken_at)
        on conflict (task) do update set holder = excluded.holder, holder_key = excluded.holder_key,
            until = excluded.until, fence = task_claims.fence + 1, former_key = excluded.former_key,
            taken_at = excluded.taken_at
        returning {_CLAIM}
    """
    values = {"holder": holder.name, "holder_key": holder.key, "former_key": former[0], "taken_at": former[1]}
    row = tx.one(sql, task=task, owner=owner, until=until, **values)
    assert row is not None, "an insert returns its row"
    return _read_claim(row)


def renew_claim(tx: Tx, owner: str, task: int, until: str) -> Claim:
    """Change the end of a claim on an owner's task; keep its fence."""
    sql = f"update task_claims set until = :until where task = :task and owner = :owner returning {_CLAIM}"
    row = tx.one(sql, task=task, owner=owner, until=until)
    assert row is not None, "only a claim that is there is renewed"
    return _read_claim(row)


def end_claim(tx: Tx, owner: str, task: int, former: Former = ("", "")) -> None:
    """End the claim of an owner's task, if there is one."""
    sql = """
        update task_claims set until = '', former_key = :former_key, taken_at = :taken_at
        where task = :task and owner = :owner
    """
    tx.run(sql, task=task, owner=owner, former_key=former[0], taken_at=former[1])


def taken_claims(tx: Tx, owner: str, key: str, allowed: Allowed, limit: int) -> list[tuple[int, Claim]]:
    """Return the last claims of the owner's open tasks that were taken over from a holder, with their tasks."""
    sql = f"""
        select c.task, {_CLAIM} from task_claims c join tasks t on t.number = c.task
        where c.owner = :owner and c.former_key = :key and c.former_key <> ''
            and t.deleted_at is null and t.completed_at is null and {CONFINED}
        order by c.task limit :limit
    """
    rows = tx.all(sql, owner=owner, key=key, limit=limit, **confine(tx, allowed))
    return [(task, _read_claim(tuple(claim))) for task, *claim in rows]


def forget_taken(tx: Tx, owner: str, tasks: Sequence[int]) -> None:
    """Clear the former holder in the claims of an owner's tasks."""
    sql = "update task_claims set former_key = '', taken_at = '' where owner = :owner and task in :tasks"
    tx.run(sql, owner=owner, tasks=list(tasks))


def expired_claims(
    tx: Tx, owner: str, project: int, since: str, limit: int, *, has_loose: bool
) -> list[tuple[int, Claim]]:
    """Return the last claims of an owner's open tasks in a project that ran out since a time, last ended first.

    `has_loose` adds the tasks of no project.
    """
    # A cross join keeps SQLite from reading all tasks of the project. A claim that was released ends at ''.
    sql = f"""
        select c.task, {_CLAIM} from task_claims c cross join tasks t
        where c.owner = :owner and c.until >= :since and c.until > '' and c.until <= :now
            and t.number = c.task and t.owner = :owner and t.deleted_at is null and t.completed_at is null
            and (t.project = :project or (:has_loose and t.project is null))
        order by c.until desc limit :limit
    """
    values = {"owner": owner, "project": project, "has_loose": has_loose, "since": since, "limit": limit}
    return [(number, _read_claim(tuple(claim))) for number, *claim in tx.all(sql, **values, now=tx.now)]


def _read_claim(row: Row) -> Claim:
    holder, holder_key, until, fence, former_key, taken_at = row
    return Claim(
        holder=holder, holder_key=holder_key, until=until, fence=fence, former_key=former_key, taken_at=taken_at
    )


# -- notes ------------------------------------------------------------------------------------------------------

# The last notes on a task, newest first, up to a limit: searches find their words.
NOTE_TEXT = """(
    select substr(string_agg(text, '\n'), 1, 100000) from (
        select text from task_notes where task = tasks.number order by number desc limit 200
    ) as last
)"""


def add_note(tx: Tx, owner: str, task: int, text: str, at: str) -> int:
    """Add a note by the transaction's author to an owner's task; return its number."""
    sql = """
        insert into task_notes (task, owner, author, at, text) values (:task, :owner, :author, :at, :text)
        returning number
    """
    row = tx.one(sql, task=task, owner=owner, author=find_author(tx), at=at, text=text)
    assert row is not None, "an insert returns its row"
    return int(row[0])


def renew_time(tx: Tx, owner: str, task: int, at: str) -> None:
    """Store the time of the last change of an owner's task; an earlier time changes nothing."""
    sql = "update tasks set updated_at = :at where number = :task and owner = :owner and updated_at < :at"
    tx.run(sql, task=task, owner=owner, at=at)


def note_text(tx: Tx, owner: str, task: int) -> str:
    """Return the text of the last notes of an owner's task, newest first, as searches read it."""
    sql = f"select {NOTE_TEXT} from tasks where number = :task and owner = :owner"
    return tx.value(sql, task=task, owner=owner) or ""


def set_note_text(tx: Tx, owner: str, task: int, folded: str) -> None:
    """Store the folded text of a task's notes, which searches for a literal text read."""
    sql = "update task_texts set notes = :folded where task = :task and owner = :owner and notes <> :folded"
    tx.run(sql, task=task, owner=owner, folded=folded)


def count_notes(tx: Tx, owner: str, task: int) -> int:
    """Count the notes of an owner's task."""
    sql = "select count(*) from task_notes where task = :task and owner = :owner"
    return tx.value(sql, task=task, owner=owner) or 0


def newest_notes(tx: Tx, owner: str, task: int, limit: int) -> list[TaskNote]:
    """Return the last notes of an owner's task, in order."""
    sql = f"""
        select n.at, n.text, {AUTHOR} from task_notes n join authors a on a.number = n.author
        where n.task = :task and n.owner = :owner order by n.number desc limit :limit
    """
    rows = tx.all(sql, task=task, owner=owner, limit=limit)
    return [TaskNote(at=at, text=text, author=make_author(tuple(author))) for at, text, *author in reversed(rows)]


def notes_of(tx: Tx, owner: str, tasks: Sequence[int]) -> list[tuple[int, str, str]]:
    """Return the task, time and text of each note on the given tasks of an owner, oldest first."""
    sql = "select task, at, text from task_notes where owner = :owner and task in :tasks order by number"
    return [(task, at, text) for task, at, text in tx.all(sql, owner=owner, tasks=list(tasks))]


def last_notes(tx: Tx, owner: str, tasks: Sequence[int]) -> dict[int, TaskNote]:
    """Return the last note of each of an owner's given tasks that has notes."""
    sql = f"""
        select n.task, n.at, n.text, {AUTHOR} from task_notes n join authors a on a.number = n.author
        where n.number in (select max(number) from task_notes where owner = :owner and task in :tasks group by task)
    """
    rows = tx.all(sql, owner=owner, tasks=list(tasks)) if tasks else []
    return {task: TaskNote(at=at, text=text, author=make_author(tuple(by))) for task, at, text, *by in rows}


def newest_notes_of_open(
    tx: Tx, owner: str, project: int, since: str, limit: int, *, seen: str = "", has_loose: bool
) -> list[tuple[int, TaskNote]]:
    """Return the last notes on an owner's open tasks in a project, with their tasks, newest first.

    `has_loose` adds the tasks of no project; notes of the time `seen` are left out.
    """
    # A cross join keeps SQLite from scanning the notes of all users.
    sql = f"""
        select n.task, n.at, n.text, {AUTHOR}
        from tasks t cross join task_notes n join authors a on a.number = n.author
        where t.owner = :owner and t.deleted_at is null and t.completed_at is null
            and (t.project = :project or (:has_loose and t.project is null))
            and n.task = t.number and n.owner = :owner and n.at >= :since and n.at <> :seen
        order by n.number desc limit :limit
    """
    values = {"owner": owner, "project": project, "has_loose": has_loose, "since": since, "seen": seen, "limit": limit}
    rows = tx.all(sql, **values)
    return [(task, TaskNote(at=at, text=text, author=make_author(tuple(by)))) for task, at, text, *by in rows]


# -- pages ------------------------------------------------------------------------------------------------------
# A page is a walk along an index, from the start or from a position, until it is full. If a tag or a text leaves
# only a few tasks, these are sorted instead.

_Range = tuple[str, str]  # a part of a list: the condition for its tasks, and their order

_FEW = 300  # up to this many tasks, sorting is faster than walking the index
_MOST_WALKS = 16  # walks along the index of open tasks in a project, one after the other
_MOST_MERGED = 3000  # tasks that these walks may find together

_BY_URGENCY = "t.priority desc, (t.due is null), t.due, t.created_at, t.number"
_ORDER: dict[TaskFilter, str] = {
    "ready": _BY_URGENCY,
    "pending": _BY_URGENCY,
    "in_progress": _BY_URGENCY,
    "review": _BY_URGENCY,
    "completed": "t.completed_at desc, t.number desc",
    "cancelled": "t.completed_at desc, t.number desc",
    "all": "t.created_at desc, t.number desc",
}
# The tasks after a position, as consecutive ranges. The order by urgency descends in one column and ascends in the
# next, which no comparison of rows can express. So each range is a range of the index, ordered by the columns in which
# its tasks differ. The condition about a due day is written twice: each engine indexes one form.
_COMPLETED_EARLIER = ("and (t.completed_at, t.number) < (:moment, :last)", _ORDER["completed"])
_CREATED_EARLIER = ("and (t.created_at, t.number) < (:moment, :last)", _ORDER["all"])
_BY_DAY = "t.due, t.created_at, t.number"
_SAME_PRIORITY_LATER = (
    """
    and t.priority = :priority and (t.due is null) = false and (t.due is null) is false
    and (t.due, t.created_at, t.number) > (:due, :moment, :last)
    """,
    _BY_DAY,
)
_SAME_PRIORITY_NO_DAY = ("and t.priority = :priority and (t.due is null) = true and t.due is null", _BY_DAY)
_SAME_PRIORITY_NO_DAY_YOUNGER = (f"{_SAME_PRIORITY_NO_DAY[0]} and (t.created_at, t.number) > (:moment, :last)", _BY_DAY)
_LOWER_PRIORITY = ("and t.priority < :priority", _BY_URGENCY)

_HAS_OPEN_BLOCKER = "exists (select 1 from blockers b where b.task = t.number and b.is_open)"
_IS_READY = f"and t.completed_at is null and t.review_at is null and not {_HAS_OPEN_BLOCKER}"
_STATUS: dict[TaskFilter, str] = {
    "ready": _IS_READY,
    "pending": "and t.completed_at is null",
    "in_progress": """
        and t.completed_at is null
        and t.number in (select task from task_claims where owner = :owner and until > :now)
    """,
    "review": """
        and t.completed_at is null
        and t.number in (select number from tasks where owner = :owner and review_at is not null and deleted_at is null)
    """,
    "completed": "and t.completed_at is not null and t.is_cancelled = 0",
    "cancelled": "and t.completed_at is not null and t.is_cancelled = 1",
    "all": "",
}
_ALONG_PROJECTS = ("ready", "pending")  # filters in the order of the index of a project's open tasks
_NOT_HELD_BY_OTHERS = """
    and not exists (
        select 1 from task_claims c where c.task = t.number and c.until > :now and c.holder_key <> :holder_key
    )
"""
_IN_PROJECT = "and t.project = (select number from projects where name = :project and deleted_at is null)"
_IN_PROJECT_OR_NONE = """
    and (t.project is null or t.project not in (
        select number from projects where deleted_at is null and name <> :project
    ))
"""
_DUE_FROM, _DUE_BEFORE = "and t.due >= :due_from", "and t.due < :due_before"
_NO_OPEN_SUBTASK = """
    and not exists (
        select 1 from tasks s
        where s.parent = t.number and s.owner = t.owner and s.completed_at is null and s.deleted_at is null
    )
"""
_OF_PRIORITY = "and t.priority = :wanted_priority"
_TAGGED = "and (select count(*) from task_tags g where g.task = t.number and g.tag in :tags) >= :needed"
# This is a scalar sub-select, because `exists` could become a join that reads the texts of all the owner's tasks first.
_CONTAINING = """
    and (
        select instr(x.title, :text) > 0 or instr(x.description, :text) > 0
            or (:reads_notes and instr(x.notes, :text) > 0)
        from task_texts x where x.task = t.number
    )
"""

_COUNT_HELD = by_confinement(f"""
    select count(*) from task_claims c join tasks t on t.number = c.task
    where c.owner = :owner and t.{{owned}} and t.deleted_at is null and c.until > :now
        and c.holder_key <> :holder_key {_IS_READY}
""")
_COUNT_BLOCKED = by_confinement(f"""
    select count(*) from tasks t
    where t.{{owned}} and t.deleted_at is null and t.completed_at is null and {_HAS_OPEN_BLOCKER}
""")
_ALL = by_confinement("select t.number from tasks t where t.{owned} and t.deleted_at is null")
# For a caller limited to some projects: one walk along the index of open tasks for each project.
_OF_PROJECT = """
    select t.number from tasks t where t.owner = :owner and t.deleted_at is null and t.project = :walked
"""
# `owner || ''` keeps SQLite from the owner index, which it would scan whole to find these few numbers.
_AMONG_FEW = """
    select t.number from tasks t where t.owner || '' = :owner and t.deleted_at is null and t.number in :few
"""


def numbers(
    tx: Tx, owner: str, query: TaskQuery, allowed: Allowed, limit: int, after: TaskPosition | None = None
) -> list[int]:
    """Return the numbers of the tasks after a position that match a query (text and tags folded)."""
    few, are_of_text = _few(tx, owner, query, allowed)
    if few == []:
        return []
    values = _values(tx, owner, query, allowed) | {"few": few or []}
    if after is not None:
        values |= {"moment": after.moment, "last": after.number, "priority": after.priority, "due": after.due}
    conditions = " ".join(
        (
            _STATUS[query.filter],
            _NOT_HELD_BY_OTHERS if query.filter == "ready" and query.holder_key is not None else "",
            "and t.completed_at >= :completed_since" if query.completed_since else "",
            *_conditions(replace(query, text="") if are_of_text else query),
        )
    )
    ranges = _ranges(query.filter, after)
    if few is not None:
        return _walk(tx, f"{_AMONG_FEW} {conditions}", ranges, limit, values)
    walked: Sequence[int] = values["allowed"]  # empty for a caller who may enter all projects
    is_short = len(walked) == 1 or (0 < len(walked) <= _MOST_WALKS and len(walked) * limit <= _MOST_MERGED)
    if query.filter not in _ALONG_PROJECTS or not is_short:
        return _walk(tx, f"{_ALL[allowed is not None]} {conditions}", ranges, limit, values)
    sql = f"{_OF_PROJECT} {conditions}"
    found = [number for one in walked for number in _walk(tx, sql, ranges, limit, values | {"walked": one})]
    if len(walked) == 1:
        return found
    return _walk(tx, _AMONG_FEW, _ranges(query.filter, None), limit, values | {"few": found})


def _walk(tx: Tx, sql: str, ranges: Sequence[_Range], limit: int, values: dict[str, object]) -> list[int]:
    """Return the numbers of the first tasks in the given ranges, range by range."""
    found: list[int] = []
    # Include only the requested conditions, so that the engine plans for no others.
    for condition, order in ranges:
        text = f"{sql} {condition} order by {order} limit :limit"
        found += [number for (number,) in tx.all(text, **values, limit=limit - len(found))]
        if len(found) == limit:
            break
    return found


def tags(tx: Tx, owner: str, tasks: Sequence[int]) -> list[str]:
    """Return the tags of the given tasks of an owner."""
    # `owner || ''` keeps SQLite from the index by tags, which it would scan whole.
    sql = "select distinct tag from task_tags where owner || '' = :owner and task in :tasks order by tag"
    return [tag for (tag,) in tx.all(sql, owner=owner, tasks=list(tasks))]


def count_held(tx: Tx, owner: str, query: TaskQuery, allowed: Allowed) -> int:
    """Count the ready tasks that match a query (text and tags folded) and are held by others."""
    sql = " ".join([_COUNT_HELD[allowed is not None], *_conditions(query)])
    return tx.value(sql, **_values(tx, owner, query, allowed)) or 0


def count_blocked(tx: Tx, owner: str, query: TaskQuery, allowed: Allowed) -> int:
    """Count the blocked ones among the open tasks that match a query (text and tags folded)."""
    sql = " ".join([_COUNT_BLOCKED[allowed is not None], *_conditions(query)])
    return tx.value(sql, **_values(tx, owner, query, allowed)) or 0


def _conditions(query: TaskQuery) -> tuple[str, ...]:
    """Return the conditions that a query adds, except its filter."""
    return (
        "" if query.project is None else _IN_PROJECT_OR_NONE if query.takes_unfiled else _IN_PROJECT,
        _DUE_FROM if query.due_from else "",
        _DUE_BEFORE if query.due_before else "",
        _NO_OPEN_SUBTASK if query.has_no_open_subtask else "",
        _OF_PRIORITY if query.priority else "",
        _TAGGED if query.tags else "",
        _CONTAINING if query.text else "",
    )


def _values(tx: Tx, owner: str, query: TaskQuery, allowed: Allowed) -> dict[str, Any]:
    return {
        **confine(tx, allowed),
        "owner": owner,
        "project": query.project,
        "due_from": query.due_from,
        "due_before": query.due_before,
        "wanted_priority": PRIORITIES.index(query.priority) + 1 if query.priority else 0,
        "tags": list(query.tags),
        "needed": query.needed_tags,
        "text": query.text,
        "reads_notes": query.reads_notes,
        "now": tx.now,
        "holder_key": query.holder_key or "",
        "completed_since": query.completed_since,
    }


def _ranges(filter: TaskFilter, after: TaskPosition | None) -> Sequence[_Range]:
    if after is None:
        return [("", _ORDER[filter])]
    if filter in ("completed", "cancelled"):
        return [_COMPLETED_EARLIER]
    if filter == "all":
        return [_CREATED_EARLIER]
    if after.due is None:
        return [_SAME_PRIORITY_NO_DAY_YOUNGER, _LOWER_PRIORITY]
    return [_SAME_PRIORITY_LATER, _SAME_PRIORITY_NO_DAY, _LOWER_PRIORITY]


def _few(tx: Tx, owner: str, query: TaskQuery, allowed: Allowed) -> tuple[list[int] | None, bool]:
    """Return the tasks with any of the tags, with a tag that few tasks have, or with the text; None if too many match.

    Also return whether the text selected the tasks. For a caller who may not see all of the owner's tasks, return None,
    because these lookups read all of them.
    """
    if allowed is not None:
        return None, False
    by_tag = "select task from task_tags where owner = :owner and tag in :tags limit :limit"
    by_text = """
        select task from task_texts
        where owner = :owner and (
            instr(title, :text) > 0 or instr(description, :text) > 0 or (:reads_notes and instr(notes, :text) > 0)
        ) limit :limit
    """
    groups = [[tag] for tag in query.tags] if query.needs_all_tags else [list(query.tags)] if query.tags else []
    searches: list[tuple[str, dict[str, object]]] = [(by_tag, {"tags": tags}) for tags in groups]
    if query.text:
        searches.append((by_text, {"text": query.text, "reads_notes": query.reads_notes}))
    for sql, values in searches:
        rows = tx.all(sql, owner=owner, limit=_FEW + 1, **values)
        if len(rows) <= _FEW:
            return [task for (task,) in rows], sql == by_text
    return None, False
