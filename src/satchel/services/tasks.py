"""Tasks, with their claims, notes, blockers and subtasks. A task belongs to one user.

A claim says which agent works on a task, and until when. It ends then without a call, and its fence distinguishes old
holders from new ones. Every claim and every change locks the row of its task first, so a claim never overlaps a change
with a fence. Claims and notes make no versions of a task. A change for which a `holder` is given is refused with
TaskHeld if another agent has claimed the task; callers that know no claims, and people, who were asked, give none.

All functions raise NotFound, Forbidden and AmbiguousItem about a task as `lock` and `find` do, and about a project as
`projects.get` does; WrongArgument if a value breaks a rule; and VersionConflict or StaleFence if the task has another
version, or its newest claim another fence, than the caller expects.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from satchel import clock
from satchel.errors import (
    AmbiguousItem,
    Forbidden,
    NotFound,
    NothingReady,
    StaleFence,
    TaskClosed,
    TaskHeld,
    VersionConflict,
    WrongArgument,
)
from satchel.model import (
    MAX_DESCRIPTION,
    PRIORITIES,
    UNSET,
    BlockerChange,
    Claim,
    Holder,
    Scope,
    StoreChange,
    Task,
    TaskDraft,
    TaskFilter,
    TaskNote,
    TaskPatch,
    TaskPosition,
    TaskQuery,
    TaskStatus,
    Timestamp,
    UnsetType,
)
from satchel.services import links, lookup, projects, recording, rules
from satchel.storage import tasks as rows
from satchel.storage.database import Tx, Violation

Reference = str | int

# The columns of a board: name and title.
BOARD = (("ready", "Ready"), ("progress", "In progress"), ("blocked", "Blocked"), ("done", "Done"))
MAX_NOTES = 1_000  # notes on one task
MOST_SUBTASKS = 100  # subtasks to list of one task

_LARGEST_NUMBER = 2**63 - 1
_MOST_NAMED = 3  # tasks with one title that an error names
_BATCH = 500  # how many tasks to read at once in a full list
_NEWEST = 1000  # how many of the newest tasks supply suggested tags
_MOST_COUNTED = 1000
_MOST_TAKEN = 10  # tasks to list that were taken over from one holder
_LONGEST_CIRCLE = 20  # tasks of a circle that an error names


# -- lists ------------------------------------------------------------------------------------------------------


def list_all(tx: Tx, scope: Scope, status: TaskStatus | None = None) -> list[Task]:
    """Return the user's tasks as `iterate_all` reads them."""
    return list(chain.from_iterable(iterate_all(tx, scope, status)))


def iterate_all(tx: Tx, scope: Scope, status: TaskStatus | None = None) -> Iterator[list[Task]]:
    """Yield the user's tasks, or those of one status, newest first and in batches.

    Only the members without a default are read, which is several times faster.
    """
    before = ("~", 0)  # sorts after all times
    while True:
        is_open = status == "pending"
        found = rows.list_newest(tx, scope.owner, scope.projects, is_open=is_open, before=before, limit=_BATCH)
        yield [task for task in found if task.is_completed] if status == "completed" else found
        if len(found) < _BATCH:
            return
        before = (found[-1].created_at, found[-1].number)


def list_page(
    tx: Tx, scope: Scope, query: TaskQuery, *, limit: int, after: TaskPosition | None = None
) -> tuple[tuple[Task, ...], bool]:
    """Return a page of the user's tasks, by default the first one, and whether there are more.

    Open tasks are sorted by priority, then by due day, then oldest first; closed ones by closing time, last first;
    all tasks, newest first.
    """
    wanted = rules.clean_query("task", query)
    if query.project is not None:
        projects.get(tx, scope, query.project)
    numbers = rows.numbers(tx, scope.owner, wanted, scope.projects, limit + 1, after)
    return tuple(list_some(tx, scope, numbers[:limit])), len(numbers) > limit


class Board(Struct, frozen=True):
    """Tasks as cards in columns."""

    cards: dict[str, list[Task]]  # by the names in BOARD
    has_more: bool  # whether there are more open tasks


def list_board(tx: Tx, scope: Scope, project: str | None, *, most_open: int, most_done: int) -> Board:
    """Return the board of a project: its tasks, and those of no project. For None, return the board of all tasks."""
    query = TaskQuery(filter="pending", project=project, takes_unfiled=True)
    pending, has_more = list_page(tx, scope, query, limit=most_open)
    done, _ = list_page(tx, scope, replace(query, filter="completed"), limit=most_done)
    cards: dict[str, list[Task]] = {name: [] for name, _ in BOARD}
    for task in pending:
        cards["progress" if task.claim or task.review_at else "ready" if task.is_ready else "blocked"].append(task)
    cards["done"] = list(done)
    return Board(cards, has_more)


def list_some(tx: Tx, scope: Scope, numbers: Sequence[int]) -> list[Task]:
    """Return those of the user's tasks that have the given numbers and that the scope may see, in the given order."""
    return _hide(tx, scope, rows.details(tx, scope.owner, numbers, scope.projects))


def list_blocked(tx: Tx, scope: Scope, number: int) -> list[Task]:
    """Return the user's tasks that a task blocks."""
    return list_some(tx, scope, [one for one, _ in rows.blocked_tasks(tx, scope.owner, number)])


def list_subtasks(tx: Tx, scope: Scope, number: int) -> list[Task]:
    """Return the first subtasks of a task that the user may see."""
    return list_some(tx, scope, rows.list_subtasks(tx, scope.owner, number, scope.projects, MOST_SUBTASKS))


def count_held(tx: Tx, scope: Scope, query: TaskQuery) -> int:
    """Count the ready tasks that a query leaves out because others hold them."""
    return rows.count_held(tx, scope.owner, rules.clean_query("task", query), scope.projects)


def count_listed(tx: Tx, scope: Scope, query: TaskQuery, most: int = _MOST_COUNTED) -> int:
    """Count the tasks that match a query, up to a thousand unless `most` is given."""
    wanted = rules.clean_query("task", query)
    return 0 if wanted is None else len(rows.numbers(tx, scope.owner, wanted, scope.projects, most))


def has_tag(tx: Tx, scope: Scope, tag: str, project: str | None) -> bool:
    """Return whether a task of the user, in a project or anywhere, has a tag."""
    wanted = rules.clean_query("task", TaskQuery(filter="all", project=project, tags=(tag,)))
    return bool(rows.numbers(tx, scope.owner, wanted, scope.projects, 1))


def list_tags(tx: Tx, scope: Scope, project: str | None, newest: int = _NEWEST) -> list[str]:
    """Return the tags of the user's newest tasks, in a project or anywhere."""
    numbers = rows.numbers(tx, scope.owner, TaskQuery(filter="all", project=project), scope.projects, newest)
    return rows.tags(tx, scope.owner, numbers)


def position_of(filter: TaskFilter, task: Task) -> TaskPosition:
    """Return the position of a task in the list for a filter; the next page starts after it."""
    if filter in ("completed", "cancelled"):
        return TaskPosition(task.completed_at or "", task.number)
    if filter == "all":
        return TaskPosition(task.created_at, task.number)
    return TaskPosition(task.created_at, task.number, PRIORITIES.index(task.priority) + 1, task.due)


# -- one task ---------------------------------------------------------------------------------------------------


def find(tx: Tx, scope: Scope, reference: Reference, project: str | None = None) -> Task:
    """Return the user's task that a reference names: by number, with or without #, by id, or by an unambiguous title.

    If no title is equal, case and separators may differ. With `project`, only titles in that project count; a number or
    an id is found everywhere. Neither is read as a title: a caller that still has the number of a deleted task
    must not change another one.

    Raises:
        NotFound: the user has no such task, or there is no such project.
        AmbiguousItem: several tasks have this title.
    """
    found = list_some(tx, scope, [find_number(tx, scope, reference, project)])
    if not found:
        raise NotFound("task", str(reference), scope)
    return found[0]


def find_number(tx: Tx, scope: Scope, reference: Reference, project: str | None = None) -> int:
    """Return the number of the task that `find` returns; if the reference is a number, do not check that it exists."""
    numbers = _find_numbers(tx, scope, reference, _narrow(tx, scope, project))
    if not numbers:
        raise NotFound("task", str(reference), scope)
    return numbers[0]


def lock(tx: Tx, scope: Scope, reference: Reference, project: str | None = None) -> Task:
    """Return the task that `find` returns, with all its blockers, and lock its row until the transaction ends.

    Raises:
        Forbidden: the reference is the id of a task of another user, or of a project that the scope may not enter.
    """
    id, titled = clock.parse_id(str(reference)), _narrow(tx, scope, project)
    keys = [id] if id is not None else _find_numbers(tx, scope, reference, titled)
    task = rows.lock(tx, scope.owner, keys[0], scope.projects) if keys else None
    if task is None and id is not None and tx.is_task(id):
        raise Forbidden("task", str(reference), scope)
    if task is None:
        raise NotFound("task", str(reference), scope)
    return task


def _locked(tx: Tx, scope: Scope, task: Task | Reference) -> Task:
    """Return what `lock` returns; a task that is already locked is returned unchanged."""
    return task if isinstance(task, Task) else lock(tx, scope, task)


def _narrow(tx: Tx, scope: Scope, project: str | None) -> Scope:
    """Return the scope in which titles are looked up: limited to a project, if the caller names one."""
    return scope if project is None else replace(scope, projects=(projects.get(tx, scope, project).name,))


def _find_numbers(tx: Tx, scope: Scope, reference: Reference, titled: Scope) -> Sequence[int]:
    """Return the number that a reference gives, which may not exist, or that of the only task with this title."""
    text = lookup.without_scheme("task", str(reference))
    if not rules.is_storable(text):
        return ()
    if lookup.is_number(text):
        digits = text.removeprefix("#")
        number = int(digits) if len(digits) < 20 else 0
        return [number] if 0 < number <= _LARGEST_NUMBER else ()
    id = clock.parse_id(text)
    if id is not None:
        found = rows.find_number(tx, scope.owner, id, scope.projects)
        return () if found is None else [found]
    numbers = rows.numbers_with_title(tx, scope.owner, text, _MOST_NAMED + 1, titled.projects)
    numbers = numbers or lookup.find_alike(tx, titled, "task", text)
    if len(numbers) > 1:
        named = tuple(f"#{number}" for number in numbers[:_MOST_NAMED])
        raise AmbiguousItem(str(reference), named, kind="task", has_more=len(numbers) > _MOST_NAMED)
    return numbers


# -- changes ----------------------------------------------------------------------------------------------------


def add(tx: Tx, scope: Scope, draft: TaskDraft, known: dict[str, int] | None = None) -> Task:
    """Add a task for the scope's user; a caller limited to some projects always adds it in one of them.

    `known` maps the names of projects that were read before to their numbers; this call adds its own.

    Raises:
        NotFound: there is no such project, or the user has no such blocker or parent.
        Forbidden: the scope may not enter the project.
    """
    draft = rules.clean("task", draft)
    rules.check_new(tx, "task", "title", draft.title)
    if draft.project is None and scope.projects is not None:
        assert scope.projects, "a scope that may enter no project makes no call"
        draft = replace(draft, project=scope.project if scope.project in scope.projects else scope.projects[0])
    known = {} if known is None else known
    if draft.project is not None and draft.project not in known:
        known[draft.project] = projects.get(tx, scope, draft.project).number
    project = None if draft.project is None else known[draft.project]
    return _hide(tx, scope, [_insert(tx, scope, draft, project)])[0]


def relate(tx: Tx, scope: Scope, task: Task, blocked_by: Sequence[int], parent: int | None) -> None:
    """Give a task that this transaction added, and did not change, blockers or a parent that it added later.

    This belongs to the addition, and makes no version. The caller checks that the new tasks make no circle.
    """
    if parent is not None:
        task = replace(task, parent=parent)
        rows.update(tx, task)
    if blocked_by:
        _store_blockers(tx, scope, task, replace(task, blocked_by=tuple(sorted({*task.blocked_by, *blocked_by}))))


def update(
    tx: Tx,
    scope: Scope,
    task: Task | Reference,
    patch: TaskPatch,
    expected_version: int | None = None,
    fence: int | None = None,
    *,
    holder: Holder | None = None,
    renews_time: bool = False,
) -> Task:
    """Change a task, open or closed; `task` is a task from `lock`, or a reference, which is locked first.

    An update without a difference makes no version, but may renew the time. A task that is closed again in the same way
    keeps the time of the first closing.

    Raises:
        NotFound, Forbidden: as `add` about project, blockers and parent.
        WrongArgument: the task would block itself or be part of itself, directly or through others; or a caller
            limited to some projects would take it out of them.
    """
    patch = rules.clean("task", patch)
    if patch.project is None and scope.projects is not None:
        raise WrongArgument("project", "minLength", limit=1, kind="task")
    before = _locked(tx, scope, task)
    rules.check_new(tx, "task", "title", patch.title, before.title)
    check_claims([before], holder, fence)
    check_unchanged(tx, before, expected_version, fence)
    now = max(tx.now, clock.after(before.updated_at))  # later than the last change, even if the clock went back
    after = _change(tx, scope, before, patch, now)
    if after == before and tx.restores is None:  # a restore is always recorded
        if renews_time:
            before = replace(before, updated_at=now)
            rows.update(tx, before)
        return _hide(tx, scope, [before])[0]
    if after.blocked_by != before.blocked_by or (tx.restores is not None and patch.blocked_by is not UNSET):
        after = _store_blockers(tx, scope, before, after)
    if (after.is_completed or after.review_at) and before.claim is not None:
        rows.end_claim(tx, before.owner, before.number)
        after = replace(after, claim=None)
    after = _store(tx, scope, before, after, now)
    if after.parent not in (None, before.parent):
        _check_circle(tx, scope, "parent", after.number)
    if after.project != before.project:
        _announce(tx, before)  # also in its former project
    _announce(tx, after, with_blocked=after.is_completed != before.is_completed)
    return _hide(tx, scope, [after])[0]


def _change(tx: Tx, scope: Scope, before: Task, patch: TaskPatch, now: Timestamp) -> Task:
    """Apply a patch to a task."""
    names = ("title", "description", "priority", "due", "parent", "completed_at", "is_cancelled", "review_at")
    new: dict[str, Any] = {name: value for name in names if (value := getattr(patch, name)) is not UNSET}
    if isinstance(patch.project, str) and patch.project != before.project:
        new |= {"project": patch.project, "project_number": projects.get(tx, scope, patch.project).number}
    elif patch.project is None:
        new |= {"project": None, "project_number": None}
    if patch.tags is not UNSET:
        new["tags"] = tuple(rules.clean_tags("task", rules.apply_changes(before.tags, patch.tags)))
    if patch.blocked_by is not UNSET:
        new["blocked_by"] = _change_blockers(tx, scope, before, patch.blocked_by)
    if isinstance(patch.parent, int) and patch.parent != before.parent:
        _check_parent(tx, scope, patch.parent)
    elif patch.parent is None and tx.restores is None and not _hide(tx, scope, [before])[0].parent:
        new["parent"] = before.parent  # a parent that is deleted or hidden from the scope stays
    if patch.status == "pending":
        new |= {"completed_at": None, "is_cancelled": False, "review_at": None}
    elif patch.status == "review" and before.status != "review":
        new |= {"completed_at": None, "is_cancelled": False, "review_at": now}
    elif patch.status in ("completed", "cancelled") and patch.status != before.status:
        new |= {"completed_at": now, "is_cancelled": patch.status == "cancelled", "review_at": None}
    return replace(before, **new)


def _store(tx: Tx, scope: Scope, before: Task, after: Task, now: Timestamp) -> Task:
    """Store the new state of a locked task as its next version."""
    after = replace(after, version=before.version + 1, updated_at=now)
    try:
        rows.update(tx, after)
    except Violation as violation:  # the project was purged after we read its number
        raise NotFound("project", str(after.project), scope) from violation
    if after.tags != before.tags:
        rows.change_tags(tx, after.owner, after.number, before.tags, after.tags)
    if (after.title, after.description) != (before.title, before.description):
        _index(tx, after)
    recording.update(tx, before, after)
    return after


def check_unchanged(tx: Tx, task: Task, expected_version: int | None = None, fence: int | None = None) -> None:
    """Check that a locked task has the version and the fence that the caller expects, if any."""
    if expected_version not in (None, task.version):
        raise VersionConflict("task", str(task.number), expected=expected_version or 0, actual=task.version)
    if fence is None:
        return
    newest = task.claim or rows.last_claim(tx, task.owner, task.number)
    if newest is None or newest.fence != fence:
        raise StaleFence(task.number, fence, newest)


def choose_status(
    tx: Tx, task: Task, wanted: TaskStatus | UnsetType, to: str | UnsetType | None = UNSET
) -> TaskStatus | UnsetType:
    """Return the status that the caller may give a task, which may move to another project in the same call.

    It is review for a completion that a person must accept first: an agent completes the task in a project that people
    review, or moves a completed task into one.
    """
    was_completed = task.status == "completed"
    if tx.scope.is_person or (wanted != "completed" and not (was_completed and wanted is UNSET)):
        return wanted
    places = {to if to and to != task.project else None, None if was_completed else task.project}
    found = [projects.find(tx, name) for name in places if name]
    return "review" if any(one is not None and one.review == "people" for one in found) else wanted


def check_claims(found: Sequence[Task], holder: Holder | None, fence: int | None = None) -> None:
    """Check that no agent other than `holder` has claimed one of some tasks, unless `fence` is that of the claim.

    Raises:
        TaskHeld: another agent has; the error names all these tasks.
    """
    if holder is None:
        return
    claims = [(one.number, one.claim) for one in found if one.claim is not None]
    held = [(number, one) for number, one in claims if one.holder_key != holder.key and one.fence != fence]
    if held:
        (number, claim), *others = held
        was_yours, more = claim.former_key == holder.key, tuple(number for number, _ in others)
        raise TaskHeld(number, claim, was_yours=was_yours, others=more)


def complete(
    tx: Tx, scope: Scope, task: Task | Reference, fence: int | None = None, *, keeps_cancelled: bool = False
) -> tuple[Task, bool]:
    """Complete a task; return it, and whether it was already completed, in which case nothing changes.

    With `keeps_cancelled` a cancelled task counts as completed, for callers that do not distinguish the two.
    """
    before = _locked(tx, scope, task)
    if keeps_cancelled and before.status == "cancelled":
        return before, True
    was_completed = before.status == "completed"
    return update(tx, scope, before, TaskPatch(status="completed"), fence=fence), was_completed


def delete(
    tx: Tx,
    scope: Scope,
    reference: Reference,
    expected_version: int | None = None,
    *,
    holder: Holder | None = None,
    permanently: bool = False,
) -> Task:
    """Delete a task and return it; it no longer blocks other tasks.

    It can be restored from the trash, unless it is removed permanently.
    """
    task = lock(tx, scope, reference)
    check_claims([task], holder)
    check_unchanged(tx, task, expected_version)
    _announce(tx, task, with_blocked=True)
    if task.claim is not None:
        rows.end_claim(tx, task.owner, task.number)
    rows.delete(tx, task.owner, task.number)
    recording.delete(tx, task, permanently=permanently)
    return task


def restore(tx: Tx, scope: Scope, number: int) -> Task:
    """Restore a deleted task, with its former blockers, parent and subtasks, and the tasks that it blocked.

    The result also has the blockers and the parent that the scope may not see.

    Raises:
        WrongArgument: the task would block itself or be part of itself, because other tasks changed meanwhile.
    """
    was = recording.check_deleted(rows.find_deleted(tx, scope.owner, number), "task")
    recording.check_deleted(rows.restore(tx, was) or None, "task")
    _check_circle(tx, scope, "blocked_by", number)
    _check_circle(tx, scope, "parent", number)
    [task] = rows.details(tx, was.owner, [number])
    _index(tx, task)
    rows.set_note_text(tx, was.owner, number, rules.fold(rows.note_text(tx, was.owner, number)))
    recording.restore(tx, was, task)
    _announce(tx, task, with_blocked=True)
    return task


def _insert(tx: Tx, scope: Scope, draft: TaskDraft, project: int | None) -> Task:
    user = scope.owner
    if draft.parent is not None:
        _check_parent(tx, scope, draft.parent)
    try:
        task = rows.add(tx, user, draft, project)
    except Violation as violation:  # the project was purged after we read its number
        raise NotFound("project", str(draft.project), scope) from violation
    _index(tx, task)
    rows.change_tags(tx, user, task.number, (), draft.tags)
    task = replace(
        task,
        project=draft.project,
        project_number=project,
        tags=tuple(draft.tags),
        priority=draft.priority,
        due=draft.due,
        parent=draft.parent,
    )
    if draft.blocked_by:
        task = _store_blockers(tx, scope, task, replace(task, blocked_by=tuple(sorted({*draft.blocked_by}))))
    recording.add(tx, task)
    _announce(tx, task)
    return task


def _index(tx: Tx, task: Task) -> None:
    title, description = rules.fold(task.title), rules.fold(task.description or "")
    rows.set_text(tx, task.owner, task.number, title=title, description=description)


def _announce(tx: Tx, task: Task, *, with_blocked: bool = False) -> None:
    """Announce that a task changed and, if `with_blocked`, that the tasks that it blocks changed."""
    tx.changed(StoreChange("task", task.project, task.owner, str(task.number)))
    if with_blocked:
        with tx.in_all_projects():
            for number, project in rows.blocked_tasks(tx, task.owner, task.number):
                tx.changed(StoreChange("task", project, task.owner, str(number)))


# -- blockers ---------------------------------------------------------------------------------------------------


def keep_existing_blockers(tx: Tx, scope: Scope, numbers: Sequence[int]) -> list[int]:
    """Return those former blockers, deleted ones included, that still exist and that the scope may see."""
    seen = rows.visible(tx, scope.owner, numbers, scope.projects, with_deleted=True) if numbers else set()
    return [number for number in numbers if number in seen]


def _change_blockers(tx: Tx, scope: Scope, task: Task, given: Sequence[int] | BlockerChange) -> tuple[int, ...]:
    """Return the blockers that a task has after an update, including those that the scope may not see."""
    present = task.blocked_by if tx.restores is None else (*task.blocked_by, *task.deleted_blockers)
    seen = present if scope.projects is None else keep_existing_blockers(tx, scope, present)
    if isinstance(given, BlockerChange):
        given = [*(number for number in seen if number not in given.removed), *given.added]
        rules.clean_blockers("task", given)
    return tuple(sorted({*given, *({*present} - {*seen})}))


def _store_blockers(tx: Tx, scope: Scope, before: Task, after: Task) -> Task:
    """Replace the blockers of a locked task; its deleted blockers stay, except in a restore."""
    user, number, restores = before.owner, before.number, tx.restores is not None
    tx.lock(f"blockers of {user}")  # otherwise, two updates that do not see each other could make a circle
    new = [one for one in after.blocked_by if one not in before.blocked_by]
    possible = [one for one in new if 0 < one <= _LARGEST_NUMBER]
    if scope.projects is not None:  # blockers that the scope cannot see can be neither added nor removed
        seen = rows.visible(tx, user, possible, scope.projects, with_deleted=restores)
        possible = [one for one in possible if one in seen or one in before.deleted_blockers]
    if restores or len(after.blocked_by) - len(new) < len(before.blocked_by):
        kept = [one for one in after.blocked_by if one in before.blocked_by]
        added = rows.set_blockers(tx, user, number, [*kept, *possible], with_deleted=restores)
    else:
        added = rows.add_blockers(tx, user, number, possible)
    for one in new:
        if one not in added and not restores:
            raise NotFound("task", str(one), scope)
    if new:
        _check_circle(tx, scope, "blocked_by", number)
    [stored] = rows.details(tx, user, [number])
    return replace(
        after,
        blocked_by=stored.blocked_by,
        open_blockers=stored.open_blockers,
        deleted_blockers=stored.deleted_blockers,
    )


def _check_circle(tx: Tx, scope: Scope, field: Literal["blocked_by", "parent"], task: int) -> None:
    """Check that a stored task neither waits for itself nor is part of itself, directly or through others.

    Raises:
        WrongArgument: it does; the value names the shortest circle.
    """
    with tx.in_all_projects():
        pairs = (rows.list_parents if field == "parent" else rows.list_circle)(tx, scope.owner, task)
    above: dict[int, list[int]] = {}
    for number, other in pairs:
        above.setdefault(number, []).append(other)
    reached, following = {task: task}, [task]  # each task with the one below it
    for number in following:
        for other in above.get(number, ()):
            if other == task:
                path = [task, number]
                while path[-1] != task:
                    path.append(reached[path[-1]])
                raise WrongArgument(field, "acyclic", value=_name_circle(tx, scope, path[::-1]), kind="task")
            if other not in reached:
                reached[other] = number
                following.append(other)


def _name_circle(tx: Tx, scope: Scope, path: Sequence[int]) -> str:
    """Name the tasks of a circle, such as #1 → #4 → #1, without the numbers that the scope may not see."""
    seen = rows.visible(tx, scope.owner, path, scope.projects, with_deleted=True)
    names = [f"#{one}" if one in seen else "a task elsewhere" for one in path]
    if len(names) > _LONGEST_CIRCLE:
        names[_LONGEST_CIRCLE // 2 : -1] = ["..."]
    return " → ".join(names)


def _hide(tx: Tx, scope: Scope, found: list[Task]) -> list[Task]:
    """Return tasks without deleted parents, and without the blockers and parents that the scope may not see."""
    others = {task.parent for task in found if task.parent is not None}
    if scope.projects is not None:
        others.update(number for task in found for number in task.blocked_by)
    if not others:
        return found
    seen = rows.visible(tx, scope.owner, sorted(others), scope.projects)
    found = [replace(task, parent=task.parent if task.parent in seen else None) for task in found]
    if scope.projects is None:
        return found
    return [
        replace(
            task,
            blocked_by=tuple(number for number in task.blocked_by if number in seen),
            open_blockers=tuple(number for number in task.open_blockers if number in seen),
            waits_elsewhere=not seen.issuperset(task.open_blockers),
        )
        for task in found
    ]


# -- subtasks ---------------------------------------------------------------------------------------------------


def choose_former_parent(tx: Tx, scope: Scope, present: int | None, former: int | None) -> int | None:
    """Return the parent that a restored version gets: the former one, deleted or not, if the scope may see it.

    A present parent that the scope may not see stays.
    """
    known = [one for one in (present, former) if one is not None]
    seen = rows.visible(tx, scope.owner, known, scope.projects, with_deleted=True) if known else set()
    if present is not None and present not in seen and scope.projects is not None:
        return present
    return former if former in seen else None


def _check_parent(tx: Tx, scope: Scope, parent: int) -> None:
    """Check that a new parent is a task that the scope may see, or in a restore a deleted one.

    Raises:
        NotFound: it is not.
    """
    tx.lock(f"parents of {scope.owner}")  # otherwise, two updates that do not see each other could make a circle
    possible = [parent] if 0 < parent <= _LARGEST_NUMBER else []
    if not rows.visible(tx, scope.owner, possible, scope.projects, with_deleted=tx.restores is not None):
        raise NotFound("task", str(parent), scope)


# -- claims -----------------------------------------------------------------------------------------------------


def make_holder(client: str, session: str, scope: Scope) -> Holder:
    """Make the holder of a caller's claims, from the client's name and the session, token or user."""
    key = rules.make_session_key(client, session or scope.author.token or scope.owner)
    return Holder(f"{rules.clean_client(client) or 'client'} {rules.shorten_session(key)}", key, bool(session))


def claim(
    tx: Tx, scope: Scope, task: Task | Reference, holder: Holder, minutes: int, *, takes_over: bool = False
) -> tuple[Task, Claim]:
    """Claim a task for a number of minutes from now, or renew the holder's own claim.

    A renewal keeps its fence if the session identifies the holder; otherwise, another agent may have the same key.

    Raises:
        TaskHeld: another agent has claimed it, and the call does not take it over.
        TaskClosed: the task is completed, cancelled or in review.
    """
    _check_minutes(minutes)
    task = _locked(tx, scope, task)
    if task.is_completed or task.review_at is not None:
        raise TaskClosed(task.number, task.status)
    check_claims([task], None if takes_over else holder)
    return _put_claim(tx, scope, task, holder, minutes)


def claim_next(tx: Tx, scope: Scope, project: str | None, holder: Holder, minutes: int) -> tuple[Task, Claim]:
    """Claim the most urgent task that is ready and unclaimed; one with open subtasks only if there is no other.

    Raises:
        NothingReady: there is none.
    """
    _check_minutes(minutes)
    if project is not None:
        projects.get(tx, scope, project)
    user = scope.owner
    tx.lock(f"claims of {user}")  # otherwise, all callers would wait for the same row, and only one would get it
    wanted = TaskQuery(filter="ready", project=project, holder_key="")
    for query in (replace(wanted, has_no_open_subtask=True), wanted):
        while numbers := rows.numbers(tx, user, query, scope.projects, 1):
            try:
                task = lock(tx, scope, numbers[0])
            except NotFound:
                continue  # another call may have claimed this task by name
            if task.is_ready and task.claim is None:
                return _put_claim(tx, scope, task, holder, minutes)
    blocked = rows.count_blocked(tx, user, wanted, scope.projects)
    held = rows.count_held(tx, user, wanted, scope.projects)
    raise NothingReady(project, blocked=blocked, held=held)


def release(
    tx: Tx, scope: Scope, task: Task | Reference, holder: Holder | None = None, *, takes_over: bool = False
) -> Task:
    """End the claim of a task, if there is one.

    Raises:
        TaskHeld: another agent has claimed it, and the call does not take it over.
    """
    task = _locked(tx, scope, task)
    check_claims([task], None if takes_over else holder)
    if task.claim is not None:
        rows.end_claim(tx, task.owner, task.number, _find_former(tx, task.claim, holder))
        _announce(tx, task)
    return _hide(tx, scope, [replace(task, claim=None)])[0]


def _check_minutes(minutes: int) -> None:
    if minutes < 1:
        raise WrongArgument("minutes", "minimum", limit=1, value=minutes, kind="task")
    if minutes > rules.MAX_CLAIM_MINUTES:
        raise WrongArgument("minutes", "maximum", limit=rules.MAX_CLAIM_MINUTES, value=minutes, kind="task")


def _put_claim(tx: Tx, scope: Scope, task: Task, holder: Holder, minutes: int) -> tuple[Task, Claim]:
    until = clock.minutes_after(tx.now, minutes)
    if task.claim is not None and task.claim.holder_key == holder.key and holder.has_session:
        claim = rows.renew_claim(tx, task.owner, task.number, until)
    else:
        claim = rows.put_claim(tx, task.owner, task.number, holder, until, _find_former(tx, task.claim, holder))
    _announce(tx, task)
    return _hide(tx, scope, [replace(task, claim=claim)])[0], claim


def _find_former(tx: Tx, claim: Claim | None, holder: Holder | None) -> rows.Former:
    """Return the holder who is to be told that a call took over or ended a claim, and when that happened."""
    if claim is None or holder is None:
        return "", ""
    return (claim.former_key, claim.taken_at) if claim.holder_key == holder.key else (claim.holder_key, tx.now)


def list_taken(tx: Tx, scope: Scope, holder: Holder) -> list[tuple[int, Claim]]:
    """Return the open tasks that were taken over from a holder, with their last claims; a write returns each once."""
    found = rows.taken_claims(tx, scope.owner, holder.key, scope.projects, _MOST_TAKEN)
    if found and tx.writes:
        rows.forget_taken(tx, scope.owner, [number for number, _ in found])
    return found


# -- notes ------------------------------------------------------------------------------------------------------


def add_note(tx: Tx, scope: Scope, task: Task | Reference, text: str, at: Timestamp | None = None) -> None:
    """Add a note to a task, dated now or at a given time. This changes the task's time, but makes no version.

    Raises:
        WrongArgument: the note is empty or too long, or the task has too many notes.
        QuotaExceeded: the user would exceed their quota.
    """
    rules.check_text("note", text)
    if not text.strip():
        raise WrongArgument("note", "minLength", limit=1, kind="task")
    if len(text) > MAX_DESCRIPTION:
        raise WrongArgument("note", "maxLength", limit=MAX_DESCRIPTION, kind="task")
    task = _locked(tx, scope, task)
    if rows.count_notes(tx, task.owner, task.number) >= MAX_NOTES:
        raise WrongArgument("note", "maxItems", limit=MAX_NOTES, kind="task")
    number = rows.add_note(tx, task.owner, task.number, text, at or tx.now)
    rows.renew_time(tx, task.owner, task.number, at or tx.now)
    notes = rows.note_text(tx, task.owner, task.number)
    rows.set_note_text(tx, task.owner, task.number, rules.fold(notes))
    recording.note(tx, task, number, notes)
    links.record_note(tx, task.owner, task.number, text)
    _announce(tx, task)


def list_notes(tx: Tx, scope: Scope, number: int, limit: int) -> tuple[list[TaskNote], int]:
    """Return the last notes on a task that the caller may see, oldest first, and the number of all notes."""
    notes = rows.newest_notes(tx, scope.owner, number, limit)
    return notes, len(notes) if len(notes) < limit else rows.count_notes(tx, scope.owner, number)


def last_notes(tx: Tx, scope: Scope, numbers: Sequence[int]) -> dict[int, TaskNote]:
    """Return the last note of each of the user's given tasks that has notes."""
    return rows.last_notes(tx, scope.owner, numbers)


def list_expired_claims(tx: Tx, scope: Scope, since: Timestamp, limit: int) -> list[tuple[Task, Claim]]:
    """Return the open tasks of the project whose claims ran out since a time, with these claims, last ended first.

    A caller who may enter all projects also gets the tasks of no project.
    """
    project = projects.current(tx, scope).number
    claims = dict(rows.expired_claims(tx, scope.owner, project, since, limit, has_loose=scope.projects is None))
    return [(task, claims[task.number]) for task in list_some(tx, scope, list(claims))]


def notes_of(tx: Tx, scope: Scope, numbers: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
    """Map the numbers of the given tasks of the user to the time and text of their notes, oldest first."""
    found: dict[int, list[tuple[str, str]]] = {}
    for task, at, text in rows.notes_of(tx, scope.owner, numbers):
        found.setdefault(task, []).append((at, text))
    return found
