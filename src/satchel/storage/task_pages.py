"""Pages of an owner's tasks in the order of a filter.

A page is a walk along an index, from the start or from a position, until it is full. Where a tag or a text leaves only
a few tasks, these are sorted instead.
"""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from satchel.model import TaskFilter, TaskPosition, TaskQuery
from satchel.storage.database import Tx
from satchel.storage.tasks import OWNED, Allowed, confine

Range = tuple[str, str]  # a part of a list: the condition of its tasks, and their order

_FEW = 300  # sorting so many tasks is faster than walking the index
_MOST_WALKS = 16  # along the index of open tasks in a project, one after the other
_MOST_MERGED = 3000  # tasks that these walks may find together

_BY_URGENCY = "t.priority desc, (t.due is null), t.due, t.created_at, t.number"
_ORDER: dict[TaskFilter, str] = {
    "ready": _BY_URGENCY,
    "pending": _BY_URGENCY,
    "in_progress": _BY_URGENCY,
    "completed": "t.completed_at desc, t.number desc",
    "cancelled": "t.completed_at desc, t.number desc",
    "all": "t.created_at desc, t.number desc",
}
# What follows a position, as ranges one after the other. The order by urgency descends in one column and ascends in the
# next, which no comparison of rows can express. So each range is one of the index, ordered by the columns in which its
# tasks differ. Whether there is a due day is stated twice, because each engine finds one of the two in its index.
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
_IS_READY = f"and t.completed_at is null and not {_HAS_OPEN_BLOCKER}"
_STATUS: dict[TaskFilter, str] = {
    "ready": _IS_READY,
    "pending": "and t.completed_at is null",
    "in_progress": """
        and t.completed_at is null
        and t.number in (select task from task_claims where owner = :owner and until > :now)
    """,
    "completed": "and t.completed_at is not null and t.is_cancelled = 0",
    "cancelled": "and t.completed_at is not null and t.is_cancelled = 1",
    "all": "",
}
_ALONG_PROJECTS = ("ready", "pending")  # filters whose order is that of the index of a project's open tasks
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
_TAGGED = "and (select count(*) from task_tags g where g.task = t.number and g.tag in :tags) >= :needed"
# A scalar sub-select: `exists` could be turned into a join, which reads the texts of all tasks of the owner first.
_CONTAINING = """
    and (
        select instr(x.title, :text) > 0 or instr(x.description, :text) > 0 from task_texts x where x.task = t.number
    )
"""

_COUNT_HELD = f"""
    select count(*) from task_claims c join tasks t on t.number = c.task
    where c.owner = :owner and t.{{owned}} and t.deleted_at is null and c.until > :now
        and c.holder_key <> :holder_key {_IS_READY}
"""
_COUNT_BLOCKED = f"""
    select count(*) from tasks t
    where t.{{owned}} and t.deleted_at is null and t.completed_at is null and {_HAS_OPEN_BLOCKER}
"""
_ALL = "select t.number from tasks t where t.{owned} and t.deleted_at is null"
# Of a caller who may enter only some projects: one walk along the index of open tasks for each of them.
_OF_PROJECT = """
    select t.number from tasks t where t.owner = :owner and t.deleted_at is null and t.project = :walked
"""
# `owner || ''` keeps SQLite off the owner index, which it would walk whole to find these few numbers.
_AMONG_FEW = """
    select t.number from tasks t where t.owner || '' = :owner and t.deleted_at is null and t.number in :few
"""


def numbers(
    tx: Tx, owner: str, query: TaskQuery, allowed: Allowed, limit: int, after: TaskPosition | None = None
) -> list[int]:
    """Return the numbers of the tasks that a query with folded text and tags asks for, from a position on."""
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
            *_conditions(replace(query, text="") if are_of_text else query),
        )
    )
    ranges = _ranges(query.filter, after)
    if few is not None:
        return _walk(tx, f"{_AMONG_FEW} {conditions}", ranges, limit, values)
    walked: Sequence[int] = values["allowed"]  # none for a caller who may enter all
    is_short = len(walked) == 1 or (0 < len(walked) <= _MOST_WALKS and len(walked) * limit <= _MOST_MERGED)
    if query.filter not in _ALONG_PROJECTS or not is_short:
        return _walk(tx, f"{_ALL.format(owned=OWNED[allowed is not None])} {conditions}", ranges, limit, values)
    sql = f"{_OF_PROJECT} {conditions}"
    found = [number for one in walked for number in _walk(tx, sql, ranges, limit, values | {"walked": one})]
    if len(walked) == 1:
        return found
    return _walk(tx, _AMONG_FEW, _ranges(query.filter, None), limit, values | {"few": found})


def _walk(tx: Tx, sql: str, ranges: Sequence[Range], limit: int, values: dict[str, object]) -> list[int]:
    """Return the numbers of the first tasks in some ranges, one range after the other."""
    found: list[int] = []
    # Only with the conditions that are asked for, so that the engine plans for no others.
    for condition, order in ranges:
        text = f"{sql} {condition} order by {order} limit :limit"
        found += [number for (number,) in tx.all(text, **values, limit=limit - len(found))]
        if len(found) == limit:
            break
    return found


def tags(tx: Tx, owner: str, tasks: Sequence[int]) -> list[str]:
    """Return the tags of some of an owner's tasks."""
    # `owner || ''` keeps SQLite off the index by tags, which it would walk whole.
    sql = "select distinct tag from task_tags where owner || '' = :owner and task in :tasks order by tag"
    return [tag for (tag,) in tx.all(sql, owner=owner, tasks=list(tasks))]


def count_held(tx: Tx, owner: str, query: TaskQuery, allowed: Allowed) -> int:
    """Return how many ready tasks of a query with folded text and tags others hold now."""
    sql = " ".join([_COUNT_HELD.format(owned=OWNED[allowed is not None]), *_conditions(query)])
    row = tx.one(sql, **_values(tx, owner, query, allowed))
    return row[0] if row else 0


def count_blocked(tx: Tx, owner: str, query: TaskQuery, allowed: Allowed) -> int:
    """Return how many open tasks of a query with folded text and tags are blocked."""
    sql = " ".join([_COUNT_BLOCKED.format(owned=OWNED[allowed is not None]), *_conditions(query)])
    row = tx.one(sql, **_values(tx, owner, query, allowed))
    return row[0] if row else 0


def _conditions(query: TaskQuery) -> tuple[str, ...]:
    """Return the conditions that a query sets, besides its filter."""
    return (
        "" if query.project is None else _IN_PROJECT_OR_NONE if query.takes_unfiled else _IN_PROJECT,
        _TAGGED if query.tags else "",
        _CONTAINING if query.text else "",
    )


def _values(tx: Tx, owner: str, query: TaskQuery, allowed: Allowed) -> dict[str, Any]:
    return {
        **confine(tx, allowed),
        "owner": owner,
        "project": query.project,
        "tags": list(query.tags),
        "needed": query.needed_tags,
        "text": query.text,
        "now": tx.now,
        "holder_key": query.holder_key or "",
    }


def _ranges(filter: TaskFilter, after: TaskPosition | None) -> Sequence[Range]:
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
    """Return the tasks with one of the tags, with a rare one of them, or with the text; None where they are many.

    Also whether they are those with the text. For a caller who may not see all tasks of the owner it is always None:
    these look-ups read all of them.
    """
    if allowed is not None:
        return None, False
    by_tag = "select task from task_tags where owner = :owner and tag in :tags limit :limit"
    by_text = """
        select task from task_texts
        where owner = :owner and (instr(title, :text) > 0 or instr(description, :text) > 0) limit :limit
    """
    groups = [[tag] for tag in query.tags] if query.needs_all_tags else [list(query.tags)] if query.tags else []
    searches: list[tuple[str, dict[str, object]]] = [(by_tag, {"tags": tags}) for tags in groups]
    if query.text:
        searches.append((by_text, {"text": query.text}))
    for sql, values in searches:
        rows = tx.all(sql, owner=owner, limit=_FEW + 1, **values)
        if len(rows) <= _FEW:
            return [task for (task,) in rows], sql == by_text
    return None, False
