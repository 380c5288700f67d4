"""Rules and use cases of tasks. A task is meant by its id (a UUID) or its number, and belongs to one user."""

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import asdict, replace

from satchel import clock
from satchel.errors import Forbidden, NotFound, VersionConflict, WrongArgument
from satchel.model import UNSET, Priority, Scope, StoreChange, Task, TaskDetails, UnsetType
from satchel.services import projects, rules
from satchel.services.suggestions import closest_names
from satchel.storage import task_blocks as blocks
from satchel.storage import task_pages as pages
from satchel.storage import tasks as rows
from satchel.storage.database import Tx, Violation

Reference = str | int
Status = Literal["pending", "completed"]
Filter = pages.Filter
Place = pages.Place

_LARGEST_NUMBER = 2**63 - 1
_NEIGHBOURS = 40  # on either side of a mistyped title
_NEAR = 3  # that are told


def add(
    tx: Tx,
    scope: Scope,
    *,
    title: str,
    description: str | None = None,
    project: str | None = None,
    tags: Sequence[str] = (),
    priority: Priority = "normal",
    due: str | None = None,
    blocked_by: Sequence[int] = (),
) -> TaskDetails:
    """Keep a new task of the scope's user.

    Raises:
        WrongArgument: tags, priority or day cannot be such.
        NotFound: there is no such project, or the user has no such task to wait for.
        Forbidden: the scope may not enter the project.
    """
    _check(tags, priority, due, blocked_by)
    user = owner(scope)
    number = None if project is None else projects.named(tx, scope, project).number
    try:
        task = rows.add(tx, user, title=title, description=description, project=number, priority=priority, due=due)
    except Violation as violation:  # the project went since we looked
        raise NotFound("project", str(project), scope) from violation
    _keep_text(tx, task)
    folded = rules.fold_tags(tags)
    if folded:
        rows.set_tags(tx, user, task.number, folded)
    tx.changed(StoreChange("task", project, user, str(task.number)))
    if blocked_by:
        _put_blockers(tx, scope, task.number, blocked_by)
        return _full(tx, scope, task.number)
    return TaskDetails(**asdict(task), project=project, tags=tuple(folded), priority=priority, due=due)


def listed(tx: Tx, scope: Scope, status: Status | None = None) -> list[Task]:
    """The user's tasks, the newest first: all, or those of one status."""
    if status == "pending":
        return rows.pending(tx, owner(scope), scope.projects)
    everything = rows.listed(tx, owner(scope), scope.projects)
    return everything if status is None else [task for task in everything if task.is_completed]


def page(
    tx: Tx,
    scope: Scope,
    *,
    filter: Filter = "ready",
    project: str | None = None,
    tags: Sequence[str] = (),
    tags_mode: Literal["any", "all"] = "any",
    query: str | None = None,
    limit: int,
    behind: Place | None = None,
) -> tuple[tuple[TaskDetails, ...], bool]:
    """Some of the user's tasks, the first or those behind a place, and whether there are more.

    What is not done comes by urgency, then by day, then by age; what is done, the last done first; all, the newest
    first. The query is literal text in title or description, whatever its case.

    Raises:
        NotFound, Forbidden: as `projects.current`, about the project that is asked for.
    """
    possible = rules.possible_tags(tags)
    if tags and (not possible or (tags_mode == "all" and not all(tag.isascii() for tag in tags))):
        return (), False
    wanted = pages.TaskQuery(
        filter=filter,
        project=None if project is None else projects.named(tx, scope, project).number,
        allowed=scope.projects,
        tags=tuple(possible),
        needs_all_tags=tags_mode == "all",
        text=query.casefold() if query else None,
    )
    numbers = pages.numbers(tx, owner(scope), wanted, limit + 1, behind)
    return tuple(_known(tx, scope, numbers[:limit])), len(numbers) > limit


def place(filter: Filter, task: TaskDetails) -> Place:
    """Where a task of a page stands, for the page behind it."""
    if filter == "completed":
        return Place(task.completed_at or "", task.number)
    if filter == "all":
        return Place(task.created_at, task.number)
    return Place(task.created_at, task.number, rows.PRIORITIES.index(task.priority) + 1, task.due)


def get(tx: Tx, scope: Scope, reference: Reference) -> Task:
    """One of the user's tasks.

    Raises:
        NotFound: there is no such task.
        Forbidden: it is somebody else's; only an id tells, a number that is not the user's is not there.
    """
    if isinstance(reference, str):
        task = rows.by_id(tx, owner(scope), reference, scope.projects)
        if task is None and tx.is_task(reference):
            raise Forbidden("task", reference, scope)
    else:
        is_possible = 0 < reference <= _LARGEST_NUMBER
        task = rows.by_number(tx, owner(scope), reference, scope.projects) if is_possible else None
    if task is None:
        raise NotFound("task", str(reference), scope)
    return task


def find(tx: Tx, scope: Scope, reference: Reference) -> TaskDetails:
    """The task of the user's that a person means: by number, with or without #, by id, or by a title that only one has.

    Raises:
        NotFound: the user has no such task, or several of this title.
    """
    text = str(reference).strip()
    numbers: list[int] = []
    number = _number(text)
    id = clock.parse_id(text)
    if number is not None:
        numbers = [number]
    elif id is not None:
        task = rows.by_id(tx, owner(scope), id)
        numbers = [task.number] if task else []
    found = _known(tx, scope, numbers)
    if not found:
        found = _known(tx, scope, rows.titled(tx, owner(scope), text, 2, scope.projects))
    if len(found) != 1:
        raise NotFound("task", str(reference), scope)
    return found[0]


def titled(tx: Tx, scope: Scope, title: str) -> tuple[tuple[int, ...], bool]:
    """The numbers of the user's first tasks with exactly this title, and whether there are more."""
    numbers = rows.titled(tx, owner(scope), title.strip(), _NEAR + 1, scope.projects)
    return tuple(numbers[:_NEAR]), len(numbers) > _NEAR


def near(tx: Tx, scope: Scope, reference: Reference) -> tuple[tuple[int, str], ...]:
    """The numbers and titles of up to three tasks that somebody may have meant who mistyped a title.

    Whoever gives a number or an id did not mean the next one: beside deleting, a guess would be dangerous.
    """
    text = str(reference).strip()
    if text.lstrip("#-").isdigit() or clock.parse_id(text) is not None:
        return ()
    user = owner(scope)
    known = rows.newest_open(tx, user, 2 * _NEIGHBOURS)
    for spelling in dict.fromkeys((text, text.lower(), text[:1].upper() + text[1:])):
        known += rows.beside_title(tx, user, spelling, _NEIGHBOURS)
    if scope.projects is not None:
        allowed = {task.number for task in rows.full(tx, user, [number for number, _ in known], scope.projects)}
        known = [task for task in known if task[0] in allowed]
    titles: dict[str, set[int]] = {}
    for number, title in known:
        titles.setdefault(title, set()).add(number)
    return tuple((number, title) for title in closest_names(text, titles) for number in sorted(titles[title]))[:_NEAR]


def update(
    tx: Tx,
    scope: Scope,
    reference: Reference,
    *,
    title: str | UnsetType = UNSET,
    description: str | UnsetType | None = UNSET,
    project: str | UnsetType | None = UNSET,
    tags: Sequence[str] | UnsetType = UNSET,
    priority: Priority | UnsetType = UNSET,
    due: str | UnsetType | None = UNSET,
    blocked_by: Sequence[int] | UnsetType = UNSET,
    status: Status | UnsetType = UNSET,
    expected_version: int | None = None,
) -> TaskDetails:
    """Change what is given of a task, whatever its status. One that is done stays done at its time.

    Raises:
        NotFound, Forbidden: as `get` about the task, and as `add` about project and blockers.
        VersionConflict: the task has not the version that is expected.
        WrongArgument: as `add`, or the task would wait for itself in the end.
    """
    _check(tags or (), priority or "normal", due or None, blocked_by or ())
    user = owner(scope)
    seen = get(tx, scope, reference)
    if isinstance(project, str):
        place: int | UnsetType | None = projects.named(tx, scope, project).number
    else:
        place = project
    if project is not UNSET:
        _tell(tx, user, seen.number)  # where it was, too
    if blocked_by is not UNSET:
        tx.lock(f"blockers of {user}")  # or two updates make a circle of which each sees half
    try:
        task = rows.update(
            tx,
            user,
            seen.id,
            title=title,
            description=description,
            project=place,
            priority=priority,
            due=due,
            status=status,
            version=expected_version,
        )
    except Violation as violation:  # the project went since we looked
        raise NotFound("project", str(project), scope) from violation
    if task is None:
        actual = _found(rows.by_id(tx, user, seen.id), reference, scope).version
        raise VersionConflict("task", str(reference), expected=expected_version or 0, actual=actual)
    if title is not UNSET or description is not UNSET:
        _keep_text(tx, task)
    if tags is not UNSET:
        rows.set_tags(tx, user, task.number, rules.fold_tags(tags))
    if blocked_by is not UNSET:
        _put_blockers(tx, scope, task.number, blocked_by)
    _tell(tx, user, task.number, with_waiting=status is not UNSET)
    return _full(tx, scope, task.number)


def complete(tx: Tx, scope: Scope, reference: Reference, *, renews: bool) -> tuple[Task, bool]:
    """Mark a task as done, and tell whether it was done before; `renews` gives such a one the new time.

    Raises:
        NotFound, Forbidden: as `get`.
    """
    user = owner(scope)
    before = get(tx, scope, reference)
    first = rows.complete_first(tx, user, before.id)
    if first is not None:
        _tell(tx, user, first.number, with_waiting=True)
        return first, False
    if renews:
        again = _found(rows.complete(tx, user, before.id), reference, scope)
        _tell(tx, user, again.number)
        return again, True
    return get(tx, scope, before.id), True


def delete(tx: Tx, scope: Scope, reference: Reference) -> Task:
    """Remove a task for good, and give what it was; those that waited for it wait no more.

    Raises:
        NotFound, Forbidden: as `get`.
    """
    task = get(tx, scope, reference)
    _tell(tx, owner(scope), task.number, with_waiting=True)
    if not rows.delete(tx, owner(scope), task.id):
        raise NotFound("task", str(reference), scope)
    return task


def owner(scope: Scope) -> str:
    """The user whose tasks a call is about."""
    assert scope.user is not None, "a scope for tasks names a user"
    return scope.user


def _check(tags: Sequence[str], priority: str, due: str | None, blocked_by: Sequence[int]) -> None:
    rules.check_tags(tags, "task")
    if priority not in rows.PRIORITIES:
        raise WrongArgument("priority", "enum", limit=rows.PRIORITIES, value=priority, kind="task")
    if due is not None:
        rules.check_due(due)
    if len(blocked_by) > rules.MAX_BLOCKERS:
        raise WrongArgument("blocked_by", "maxItems", limit=rules.MAX_BLOCKERS, kind="task")


def _put_blockers(tx: Tx, scope: Scope, task: int, blockers: Sequence[int]) -> None:
    if task in blockers:
        raise WrongArgument("blocked_by", "acyclic", value=task, kind="task")
    wanted = sorted(set(blockers))
    possible = [number for number in wanted if 0 < number <= _LARGEST_NUMBER]
    if scope.projects is not None:
        # What the scope does not see it can neither wait for nor take away.
        [before] = rows.full(tx, owner(scope), [task])
        seen = rows.among(tx, owner(scope), [*possible, *before.blocked_by], scope.projects)
        possible = [number for number in possible if number in seen]
        possible += [number for number in before.blocked_by if number not in seen]
    try:
        put = set(blocks.put(tx, owner(scope), task, possible))
    except Violation as violation:  # one of them was deleted while we put them
        raise NotFound("task", str(wanted[0]), scope) from violation
    missing = [number for number in wanted if number not in put]
    if missing:
        raise NotFound("task", str(missing[0]), scope)
    if blocks.is_circular(tx, owner(scope), task):
        raise WrongArgument("blocked_by", "acyclic", value=task, kind="task")


def _keep_text(tx: Tx, task: Task) -> None:
    description = (task.description or "").casefold()
    rows.set_text(tx, task.owner, task.number, title=task.title.casefold(), description=description)


def _tell(tx: Tx, user: str, number: int, *, with_waiting: bool = False) -> None:
    """Tell of a task, and of those that wait for it where they may begin or have to wait again."""
    concerned = [number, *(blocks.waiting(tx, user, number) if with_waiting else ())]
    for one, is_placed, project in rows.places(tx, user, concerned):
        if is_placed and project is None:  # in one that this transaction may not know the name of
            tx.changed(StoreChange("everything", owner=user))
        else:
            tx.changed(StoreChange("task", project, user, str(one)))


def _full(tx: Tx, scope: Scope, number: int) -> TaskDetails:
    [task] = _known(tx, scope, [number])
    return task


def _known(tx: Tx, scope: Scope, numbers: Sequence[int]) -> list[TaskDetails]:
    """Some of the user's tasks as the scope may know them: of those that they wait for, only what is open to it."""
    found = rows.full(tx, owner(scope), numbers, scope.projects)
    blockers = sorted({number for task in found for number in task.blocked_by})
    if scope.projects is None or not blockers:
        return found
    seen = rows.among(tx, owner(scope), blockers, scope.projects)
    return [
        replace(
            task,
            blocked_by=tuple(number for number in task.blocked_by if number in seen),
            open_blockers=tuple(number for number in task.open_blockers if number in seen),
            waits_elsewhere=not seen.issuperset(task.open_blockers),
        )
        for task in found
    ]


def _number(text: str) -> int | None:
    digits = text.removeprefix("#")
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 20
    number = int(digits) if is_number else 0
    return number if 0 < number <= _LARGEST_NUMBER else None


def _found(task: Task | None, reference: Reference, scope: Scope) -> Task:
    if task is None:  # gone since we looked
        raise NotFound("task", str(reference), scope)
    return task
