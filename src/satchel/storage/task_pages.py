"""Pages of an owner's tasks: what is asked for, in the order it is asked for.

A page is a walk along an index, from the beginning or from behind a place, until it is full. Only where a tag or a text
leaves few tasks, these are sorted instead.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from satchel.storage.database import Tx

Filter = Literal["ready", "pending", "completed", "all"]
Stretch = tuple[str, str]  # of a list: the condition of being in it, and the order

_FEW = 300  # so many tasks are sorted faster than an index is walked

_NEXT = "t.priority desc, (t.due is null), t.due, t.created_at, t.number"
_ORDER: dict[Filter, str] = {
    "ready": _NEXT,
    "pending": _NEXT,
    "completed": "t.completed_at desc, t.number desc",
    "all": "t.created_at desc, t.number desc",
}
# What is behind a place, in stretches one after the other. The order of what is not done goes down and then up, which
# no comparison of rows can say; each stretch is one of an index, sorted by what its tasks do not have in common. That
# there is a day, or none, is said twice: each engine sees one of the two in its index.
_DONE_EARLIER = ("and (t.completed_at, t.number) < (:moment, :last)", _ORDER["completed"])
_MADE_EARLIER = ("and (t.created_at, t.number) < (:moment, :last)", _ORDER["all"])
_BY_DAY = "t.due, t.created_at, t.number"
_AS_URGENT_LATER = (
    """
    and t.priority = :priority and (t.due is null) = false and (t.due is null) is false
    and (t.due, t.created_at, t.number) > (:due, :moment, :last)
    """,
    _BY_DAY,
)
_AS_URGENT_NO_DAY = ("and t.priority = :priority and (t.due is null) = true and t.due is null", _BY_DAY)
_AS_URGENT_NO_DAY_YOUNGER = (f"{_AS_URGENT_NO_DAY[0]} and (t.created_at, t.number) > (:moment, :last)", _BY_DAY)
_LESS_URGENT = ("and t.priority < :priority", _NEXT)

_STATUS: dict[Filter, str] = {
    "ready": """
        and t.completed_at is null and not exists (
            select 1 from task_blocks b join tasks o on o.number = b.blocker
            where b.task = t.number and o.completed_at is null
        )
    """,
    "pending": "and t.completed_at is null",
    "completed": "and t.completed_at is not null",
    "all": "",
}
_IN_PROJECT = "and t.project = :project"
_ALLOWED = "and (t.project is null or t.project in (select number from projects where name in :allowed))"
_TAGGED = "and (select count(*) from task_tags g where g.task = t.number and g.tag in :tags) >= :needed"
_CONTAINING = """
    and exists (
        select 1 from task_texts x
        where x.task = t.number and (instr(x.title, :text) > 0 or instr(x.description, :text) > 0)
    )
"""

_OF_OWNER = "select t.number from tasks t where t.owner = :owner"
# The owner joined to nothing, or SQLite goes through all of his tasks for these few.
_AMONG = "select t.number from tasks t where t.owner || '' = :owner and t.number in :few"


class Place(Struct, frozen=True):
    """Where a task stands in the order of a filter."""

    moment: str  # when it was made, or done where the filter asks for what is done
    number: int
    priority: int = 0  # this and the day where the filter asks for what is not done
    due: str | None = None


class TaskQuery(Struct, frozen=True, kw_only=True):
    """What is asked for; a None asks for nothing."""

    filter: Filter
    project: int | None = None
    allowed: tuple[str, ...] | None = None  # the only projects that a task may be in, if it is in any
    tags: tuple[str, ...] = ()
    needs_all_tags: bool = False
    text: str | None = None  # folded, in title or description


def numbers(tx: Tx, owner: str, wanted: TaskQuery, limit: int, behind: Place | None = None) -> list[int]:
    """A page of the numbers of an owner's tasks: the first, or the one behind a place."""
    few = _few(tx, owner, wanted)
    if few == []:
        return []
    values: dict[str, object] = {
        "owner": owner,
        "project": wanted.project,
        "allowed": list(wanted.allowed or ()),
        "tags": list(wanted.tags),
        "needed": len(wanted.tags) if wanted.needs_all_tags else 1,
        "text": wanted.text,
        "few": few or [],
    }
    if behind is not None:
        values |= {"moment": behind.moment, "last": behind.number, "priority": behind.priority, "due": behind.due}
    found: list[int] = []
    for stretch in _stretches(wanted.filter, behind):
        sql = _statement(
            wanted.filter,
            stretch,
            wanted.project is not None,
            wanted.allowed is not None,
            bool(wanted.tags),
            wanted.text is not None,
            few is not None,
        )
        found += [number for (number,) in tx.all(sql, **values, limit=limit - len(found))]
        if len(found) == limit:
            break
    return found


def _stretches(filter: Filter, behind: Place | None) -> Sequence[Stretch]:
    if behind is None:
        return [("", _ORDER[filter])]
    if filter == "completed":
        return [_DONE_EARLIER]
    if filter == "all":
        return [_MADE_EARLIER]
    if behind.due is None:
        return [_AS_URGENT_NO_DAY_YOUNGER, _LESS_URGENT]
    return [_AS_URGENT_LATER, _AS_URGENT_NO_DAY, _LESS_URGENT]


@lru_cache(maxsize=256)
def _statement(
    filter: Filter,
    stretch: Stretch,
    has_project: bool,
    is_confined: bool,
    has_tags: bool,
    has_text: bool,
    has_few: bool,
) -> str:
    """The query with those conditions that are asked for, so that the engine plans for no others."""
    condition, order = stretch
    pieces = [
        _AMONG if has_few else _OF_OWNER,
        _STATUS[filter],
        _IN_PROJECT if has_project else "",
        _ALLOWED if is_confined else "",
        _TAGGED if has_tags else "",
        _CONTAINING if has_text else "",
        condition,
        "order by",
        order,
        "limit :limit",
    ]
    return " ".join(pieces)


def _few(tx: Tx, owner: str, wanted: TaskQuery) -> list[int] | None:
    """The tasks that a tag or the text leaves, where those are few."""
    groups: Sequence[Sequence[str]] = [(tag,) for tag in wanted.tags] if wanted.needs_all_tags else [wanted.tags]
    for tags in groups if wanted.tags else []:
        sql = "select task from task_tags where owner = :owner and tag in :tags limit :limit"
        rows = tx.all(sql, owner=owner, tags=list(tags), limit=_FEW + 1)
        if len(rows) <= _FEW:
            return [task for (task,) in rows]
    if wanted.text is not None:
        sql = """
            select task from task_texts
            where owner = :owner and (instr(title, :text) > 0 or instr(description, :text) > 0) limit :limit
        """
        rows = tx.all(sql, owner=owner, text=wanted.text, limit=_FEW + 1)
        if len(rows) <= _FEW:
            return [task for (task,) in rows]
    return None
