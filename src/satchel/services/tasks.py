"""Use cases of tasks. A task is referred to by its id (a UUID) or its number, and belongs to one user."""

from collections.abc import Sequence

from msgspec.structs import asdict, replace

from satchel import clock
from satchel.errors import Forbidden, NotFound, VersionConflict, WrongArgument
from satchel.model import (
    PRIORITIES,
    UNSET,
    Scope,
    StoreChange,
    Task,
    TaskDetails,
    TaskDraft,
    TaskFilter,
    TaskPatch,
    TaskPosition,
    TaskQuery,
    TaskStatus,
)
from satchel.services import projects, rules
from satchel.services.suggestions import closest_names
from satchel.storage import task_pages as pages
from satchel.storage import tasks as rows
from satchel.storage.database import Tx, Violation

Reference = str | int

_LARGEST_NUMBER = 2**63 - 1
_NEIGHBOURS = 40  # on either side of a mistyped title
_SUGGESTIONS = 3


def add(tx: Tx, scope: Scope, draft: TaskDraft) -> TaskDetails:
    """Add a task of the scope's user.

    Raises:
        WrongArgument: a value breaks a rule.
        NotFound: there is no such project, or the user has no such blocker.
        Forbidden: the scope may not enter the project.
    """
    draft = rules.clean("task", draft)
    user = owner(scope)
    project = None if draft.project is None else projects.get(tx, scope, draft.project).number
    try:
        task = rows.add(tx, user, draft, project)
    except Violation as violation:  # the project was deleted after we read its number
        raise NotFound("project", str(draft.project), scope) from violation
    _index(tx, task)
    if draft.tags:
        rows.set_tags(tx, user, task.number, draft.tags)
    tx.changed(StoreChange("task", draft.project, user, str(task.number)))
    if draft.blocked_by:
        _set_blockers(tx, scope, task.number, draft.blocked_by)
        return _details_of(tx, scope, task.number)
    return TaskDetails(
        **asdict(task), project=draft.project, tags=tuple(draft.tags), priority=draft.priority, due=draft.due
    )


def list_all(tx: Tx, scope: Scope, status: TaskStatus | None = None) -> list[Task]:
    """The user's tasks, the newest first: all, or those of one status."""
    found = rows.list_all(tx, owner(scope), scope.projects, is_open=status == "pending")
    return [task for task in found if task.is_completed] if status == "completed" else found


def list_page(
    tx: Tx, scope: Scope, query: TaskQuery, *, limit: int, after: TaskPosition | None = None
) -> tuple[tuple[TaskDetails, ...], bool]:
    """The user's tasks from the first or after a position, and whether there are more.

    Open tasks come by priority, then by due day, then the oldest first; completed ones, the last completed first; all,
    the newest first.

    Raises:
        NotFound, Forbidden: as `projects.current`, about the project of the query.
    """
    wanted = rules.clean_query("task", query)
    if wanted is None:
        return (), False
    if query.project is not None:
        projects.get(tx, scope, query.project)
    numbers = pages.numbers(tx, owner(scope), wanted, scope.projects, limit + 1, after)
    return tuple(_details(tx, scope, numbers[:limit])), len(numbers) > limit


def position_of(filter: TaskFilter, task: TaskDetails) -> TaskPosition:
    """The position of a task in the order of a filter, for the page after it."""
    if filter == "completed":
        return TaskPosition(task.completed_at or "", task.number)
    if filter == "all":
        return TaskPosition(task.created_at, task.number)
    return TaskPosition(task.created_at, task.number, PRIORITIES.index(task.priority) + 1, task.due)


def get(tx: Tx, scope: Scope, reference: Reference) -> Task:
    """One of the user's tasks.

    Raises:
        NotFound: there is no such task.
        Forbidden: it belongs to another user, and was referred to by id; by number it is NotFound.
    """
    task = None
    if isinstance(reference, int):
        if 0 < reference <= _LARGEST_NUMBER:
            task = rows.find(tx, owner(scope), "number", reference, scope.projects)
    elif rules.is_storable(reference):
        task = rows.find(tx, owner(scope), "id", reference, scope.projects)
        if task is None and tx.is_task(reference):
            raise Forbidden("task", reference, scope)
    return _require(task, reference, scope)


def find(tx: Tx, scope: Scope, reference: Reference) -> TaskDetails:
    """The user's task that a reference names: by number, with or without #, by id, or by a title that only one has.

    A number is never a title: a caller that still has the number of a deleted task must not change another one.

    Raises:
        NotFound: the user has no such task, or several with this title.
    """
    text = str(reference).strip()
    if not rules.is_storable(text):
        raise NotFound("task", str(reference), scope)
    numbers: list[int] = []
    id = clock.parse_id(text)
    if _is_number(text):
        numbers = _parse_number(text)
    elif id is not None:
        task = rows.find(tx, owner(scope), "id", id)
        numbers = [task.number] if task else []
    found = _details(tx, scope, numbers)
    if not found and not _is_number(text):
        found = _details(tx, scope, rows.numbers_with_title(tx, owner(scope), text, 2, scope.projects))
    if len(found) != 1:
        raise NotFound("task", str(reference), scope)
    return found[0]


def find_by_title(tx: Tx, scope: Scope, title: str) -> tuple[tuple[int, ...], bool]:
    """The numbers of the user's first tasks with exactly this title, and whether there are more; see `find`."""
    text = title.strip()
    if not rules.is_storable(text) or _is_number(text):
        return (), False
    numbers = rows.numbers_with_title(tx, owner(scope), text, _SUGGESTIONS + 1, scope.projects)
    return tuple(numbers[:_SUGGESTIONS]), len(numbers) > _SUGGESTIONS


def suggest(tx: Tx, scope: Scope, reference: Reference) -> tuple[tuple[int, str], ...]:
    """The numbers and titles of up to three tasks whose title is most like a mistyped one.

    For a number or an id there are none: the caller may delete what is suggested, and the next number is unrelated.
    """
    text = str(reference).strip()
    if text.lstrip("#-").isdigit() or clock.parse_id(text) is not None or not rules.is_storable(text):
        return ()
    user = owner(scope)
    known = rows.newest_open(tx, user, 2 * _NEIGHBOURS)
    for spelling in dict.fromkeys((text, text.lower(), text[:1].upper() + text[1:])):
        known += rows.beside_title(tx, user, spelling, _NEIGHBOURS)
    if scope.projects is not None:
        allowed = rows.visible(tx, user, [number for number, _ in known], scope.projects)
        known = [task for task in known if task[0] in allowed]
    titles: dict[str, set[int]] = {}
    for number, title in known:
        titles.setdefault(title, set()).add(number)
    closest = [(number, title) for title in closest_names(text, titles) for number in sorted(titles[title])]
    return tuple(closest[:_SUGGESTIONS])


def update(
    tx: Tx, scope: Scope, reference: Reference, patch: TaskPatch, expected_version: int | None = None
) -> TaskDetails:
    """Change a task, open or completed. One that is completed again keeps the time of the first completion.

    Raises:
        NotFound, Forbidden: as `get` about the task, and as `add` about project and blockers.
        VersionConflict: the task has another version than expected.
        WrongArgument: a value breaks a rule, or the task would block itself, directly or through others.
    """
    patch = rules.clean("task", patch)
    user = owner(scope)
    seen = get(tx, scope, reference)
    project = projects.get(tx, scope, patch.project).number if isinstance(patch.project, str) else None
    if patch.project is not UNSET:
        _announce(tx, user, seen.number)  # in the project that it leaves, too
    if patch.blocked_by is not UNSET:
        tx.lock(f"blockers of {user}")  # or two updates, of which each sees half, make a circle
    try:
        task = rows.update(tx, user, seen.id, patch, project, expected_version)
    except Violation as violation:  # the project was deleted after we read its number
        raise NotFound("project", str(patch.project), scope) from violation
    if task is None:
        actual = _require(rows.find(tx, user, "id", seen.id), reference, scope).version
        raise VersionConflict("task", str(reference), expected=expected_version or 0, actual=actual)
    if patch.title is not UNSET or patch.description is not UNSET:
        _index(tx, task)
    if patch.tags is not UNSET:
        rows.set_tags(tx, user, task.number, patch.tags)
    if patch.blocked_by is not UNSET:
        _set_blockers(tx, scope, task.number, patch.blocked_by)
    _announce(tx, user, task.number, with_blocked=patch.status is not UNSET)
    return _details_of(tx, scope, task.number)


def complete(tx: Tx, scope: Scope, reference: Reference) -> tuple[Task, bool]:
    """Complete a task, and say whether it was completed before: then nothing changes.

    Raises:
        NotFound, Forbidden: as `get`.
    """
    user = owner(scope)
    before = get(tx, scope, reference)
    completed = rows.complete(tx, user, before.id)
    if completed is None:
        return get(tx, scope, before.id), True
    _announce(tx, user, completed.number, with_blocked=True)
    return completed, False


def delete(tx: Tx, scope: Scope, reference: Reference) -> Task:
    """Delete a task for good, and return what it was; those that it blocked get a new version without it.

    Raises:
        NotFound, Forbidden: as `get`.
    """
    task = get(tx, scope, reference)
    _announce(tx, owner(scope), task.number, with_blocked=True)
    rows.renew_blocked(tx, owner(scope), task.number)
    if not rows.delete(tx, owner(scope), task.id):
        raise NotFound("task", str(reference), scope)
    return task


def owner(scope: Scope) -> str:
    """The user whose tasks a call is about."""
    assert scope.user is not None, "a scope for tasks names a user"
    return scope.user


def _set_blockers(tx: Tx, scope: Scope, task: int, blockers: Sequence[int]) -> None:
    if task in blockers:
        raise WrongArgument("blocked_by", "acyclic", value=task, kind="task")
    wanted = sorted(set(blockers))
    possible = [number for number in wanted if 0 < number <= _LARGEST_NUMBER]
    if scope.projects is not None:
        # Blockers that the scope cannot see can be neither added nor removed.
        [before] = rows.details(tx, owner(scope), [task])
        seen = rows.visible(tx, owner(scope), [*possible, *before.blocked_by], scope.projects)
        possible = [number for number in possible if number in seen]
        possible += [number for number in before.blocked_by if number not in seen]
    try:
        added = set(rows.set_blockers(tx, owner(scope), task, possible))
    except Violation as violation:  # one of them was deleted meanwhile
        raise NotFound("task", str(wanted[0]), scope) from violation
    missing = [number for number in wanted if number not in added]
    if missing:
        raise NotFound("task", str(missing[0]), scope)
    if rows.is_circular(tx, owner(scope), task):
        raise WrongArgument("blocked_by", "acyclic", value=task, kind="task")


def _index(tx: Tx, task: Task) -> None:
    """Bring the searchable text of a task up to date."""
    description = (task.description or "").casefold()
    rows.set_text(tx, task.owner, task.number, title=task.title.casefold(), description=description)


def _announce(tx: Tx, user: str, number: int, *, with_blocked: bool = False) -> None:
    """Announce that a task changed, and those that it blocks, where they become ready or blocked by the change."""
    concerned = [number, *(rows.blocked_tasks(tx, user, number) if with_blocked else ())]
    for one, has_project, project in rows.projects_of(tx, user, concerned):
        if has_project and project is None:  # row-level security hides the name from this transaction
            tx.changed(StoreChange("everything", owner=user))
        else:
            tx.changed(StoreChange("task", project, user, str(one)))


def _details_of(tx: Tx, scope: Scope, number: int) -> TaskDetails:
    [task] = _details(tx, scope, [number])
    return task


def _details(tx: Tx, scope: Scope, numbers: Sequence[int]) -> list[TaskDetails]:
    """Some of the user's tasks; of their blockers, only those that the scope may see."""
    found = rows.details(tx, owner(scope), numbers, scope.projects)
    blockers = sorted({number for task in found for number in task.blocked_by})
    if scope.projects is None or not blockers:
        return found
    seen = rows.visible(tx, owner(scope), blockers, scope.projects)
    return [
        replace(
            task,
            blocked_by=tuple(number for number in task.blocked_by if number in seen),
            open_blockers=tuple(number for number in task.open_blockers if number in seen),
            waits_elsewhere=not seen.issuperset(task.open_blockers),
        )
        for task in found
    ]


def _is_number(text: str) -> bool:
    """Whether a reference is a number, if perhaps not one that a task can have."""
    digits = text.removeprefix("#").removeprefix("-")
    return digits.isascii() and digits.isdigit()


def _parse_number(text: str) -> list[int]:
    """The number that a reference is, where a task can have it."""
    digits = text.removeprefix("#")
    number = int(digits) if len(digits) < 20 else 0
    return [number] if 0 < number <= _LARGEST_NUMBER else []


def _require(task: Task | None, reference: Reference, scope: Scope) -> Task:
    if task is None:
        raise NotFound("task", str(reference), scope)
    return task
