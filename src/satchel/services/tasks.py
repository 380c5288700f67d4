"""Use cases of tasks. A task is referred to by its id (a UUID) or its number, and belongs to one user."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import chain

from msgspec import Struct
from msgspec.structs import asdict, replace

from satchel import clock
from satchel.errors import Forbidden, NotFound, VersionConflict, WrongArgument
from satchel.model import (
    PRIORITIES,
    UNSET,
    BlockerChange,
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
    TrashedItem,
)
from satchel.services import alike, blockers, claims, projects, rules, signed_lists
from satchel.services.recording import record_add, record_delete, record_update
from satchel.services.states import State, of_task
from satchel.services.suggestions import closest_names
from satchel.storage import projects as project_rows
from satchel.storage import task_pages as pages
from satchel.storage import tasks as rows
from satchel.storage.database import Tx, Violation

Reference = str | int

# The columns of a board: name and title.
BOARD = (("ready", "Ready"), ("progress", "In progress"), ("blocked", "Blocked"), ("done", "Done"))

_LARGEST_NUMBER = 2**63 - 1
_NEIGHBOURS = 40  # on either side of a mistyped title
_SUGGESTIONS = 3
_BATCH = 500  # tasks that are read at once where all are listed
_NEWEST = 1000  # tasks whose tags are suggested


def add(tx: Tx, scope: Scope, draft: TaskDraft) -> TaskDetails:
    """Add a task of the scope's user; for a caller who may enter only some projects, it is always in one of them.

    Raises:
        WrongArgument: a value breaks a rule.
        NotFound: there is no such project, or the user has no such blocker.
        Forbidden: the scope may not enter the project.
    """
    draft = rules.clean("task", draft)
    rules.check_new(tx, "task", "title", draft.title)
    if draft.project is None and scope.projects is not None:
        draft = replace(draft, project=_own_project(scope))
    project = None if draft.project is None else projects.get(tx, scope, draft.project).number
    return blockers.hide_in(tx, scope, [_insert(tx, scope, draft, project)])[0]


def list_all(tx: Tx, scope: Scope, status: TaskStatus | None = None) -> list[Task]:
    """The user's tasks, the newest first: all, or those of one status."""
    return list(chain.from_iterable(iterate_all(tx, scope, status)))


def iterate_all(tx: Tx, scope: Scope, status: TaskStatus | None = None) -> Iterator[list[Task]]:
    """As `list_all`, some at a time, for a caller who may have enough before the end."""
    before = ("~", 0)  # after all times
    while True:
        is_open = status == "pending"
        found = rows.list_newest(tx, scope.owner, scope.projects, is_open=is_open, before=before, limit=_BATCH)
        yield [task for task in found if task.is_completed] if status == "completed" else found
        if len(found) < _BATCH:
            return
        before = (found[-1].created_at, found[-1].number)


def list_page(
    tx: Tx, scope: Scope, query: TaskQuery, *, limit: int, after: TaskPosition | None = None
) -> tuple[tuple[TaskDetails, ...], bool]:
    """The user's tasks from the first or after a position, and whether there are more.

    Open tasks come by priority, then by due day, then the oldest first; closed ones, the last closed first; all, the
    newest first.

    Raises:
        NotFound, Forbidden: as `projects.current`, about the project of the query.
    """
    wanted = rules.clean_query("task", query)
    if wanted is None:
        return (), False
    if query.project is not None:
        projects.get(tx, scope, query.project)
    numbers = pages.numbers(tx, scope.owner, wanted, scope.projects, limit + 1, after)
    return tuple(_details(tx, scope, numbers[:limit])), len(numbers) > limit


class Board(Struct, frozen=True):
    """Tasks as cards in columns."""

    cards: dict[str, list[TaskDetails]]  # by the names of BOARD
    has_more: bool  # open tasks than these


def list_board(tx: Tx, scope: Scope, project: str | None, *, most_open: int, most_done: int) -> Board:
    """Return the board of a project: its tasks and those of no project; of every project for None.

    Raises:
        NotFound, Forbidden: as `projects.current`.
    """
    query = TaskQuery(filter="pending", project=project, takes_unfiled=True)
    pending, has_more = list_page(tx, scope, query, limit=most_open)
    done, _ = list_page(tx, scope, replace(query, filter="completed"), limit=most_done)
    cards: dict[str, list[TaskDetails]] = {name: [] for name, _ in BOARD}
    for task in pending:
        cards["progress" if task.claim else "ready" if task.is_ready else "blocked"].append(task)
    cards["done"] = list(done)
    return Board(cards, has_more)


def count_held(tx: Tx, scope: Scope, query: TaskQuery) -> int:
    """How many ready tasks of a query it leaves out, because others hold them."""
    wanted = rules.clean_query("task", query)
    return 0 if wanted is None else pages.count_held(tx, scope.owner, wanted, scope.projects)


def has_tag(tx: Tx, scope: Scope, tag: str, project: str | None) -> bool:
    """Whether a task of the user, in a project or anywhere, has a tag."""
    wanted = rules.clean_query("task", TaskQuery(filter="all", project=project, tags=(tag,)))
    return wanted is not None and bool(pages.numbers(tx, scope.owner, wanted, scope.projects, 1))


def list_tags(tx: Tx, scope: Scope, project: str | None, newest: int = _NEWEST) -> list[str]:
    """The tags of the user's newest tasks, in a project or anywhere."""
    numbers = pages.numbers(tx, scope.owner, TaskQuery(filter="all", project=project), scope.projects, newest)
    return pages.tags(tx, scope.owner, numbers)


def position_of(filter: TaskFilter, task: TaskDetails) -> TaskPosition:
    """The position of a task in the order of a filter, for the page after it."""
    if filter in ("completed", "cancelled"):
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
            task = rows.find(tx, scope.owner, "number", reference, scope.projects)
    elif rules.is_storable(reference):
        task = rows.find(tx, scope.owner, "id", reference, scope.projects)
        if task is None and tx.is_task(reference):
            raise Forbidden("task", reference, scope)
    return _require(task, reference, scope)


def find(tx: Tx, scope: Scope, reference: Reference) -> TaskDetails:
    """The user's task that a reference names: by number, with or without #, by id, or by a title that only one has.

    A title may differ in case and separators, where none is the same. A number or an id is never a title: a caller that
    still has the one of a deleted task must not change another one.

    Raises:
        NotFound: the user has no such task, or several with this title.
    """
    text = alike.without_scheme("task", str(reference))
    if not rules.is_storable(text):
        raise NotFound("task", str(reference), scope)
    numbers: list[int] = []
    id = clock.parse_id(text)
    if _is_number(text):
        numbers = _parse_number(text)
    elif id is not None:
        task = rows.find(tx, scope.owner, "id", id, scope.projects)
        numbers = [task.number] if task else []
    found = _details(tx, scope, numbers)
    if not found and not _is_number(text) and id is None:
        found = _details(tx, scope, find_by_title(tx, scope, text)[0])
    if len(found) != 1:
        raise NotFound("task", str(reference), scope)
    return found[0]


def find_whole(tx: Tx, scope: Scope, reference: Reference) -> TaskDetails:
    """As `find`, with the blockers that the scope may not see.

    Raises:
        NotFound: as `find`.
    """
    task = find(tx, scope, reference)
    return task if scope.projects is None else rows.details(tx, scope.owner, [task.number])[0]


def find_by_title(tx: Tx, scope: Scope, title: str, *, is_exact: bool = False) -> tuple[tuple[int, ...], bool]:
    """The numbers of the user's first tasks with a title, and whether there are more; see `find`."""
    text = title.strip()
    if not rules.is_storable(text) or _is_number(text) or clock.parse_id(text) is not None:
        return (), False
    numbers = rows.numbers_with_title(tx, scope.owner, text, _SUGGESTIONS + 1, scope.projects)
    numbers = numbers or ([] if is_exact else alike.find_alike(tx, scope, "task", text))
    return tuple(numbers[:_SUGGESTIONS]), len(numbers) > _SUGGESTIONS


def suggest(tx: Tx, scope: Scope, reference: Reference) -> tuple[tuple[int, str], ...]:
    """The numbers and titles of up to three tasks whose title is most like a mistyped one, or has its words.

    For a number or an id there are none: the caller may delete what is suggested, and the next number is unrelated.
    """
    text = str(reference).strip()
    if text.lstrip("#-").isdigit() or clock.parse_id(text) is not None or not rules.is_storable(text):
        return ()
    user = scope.owner
    known = rows.newest_open(tx, user, 2 * _NEIGHBOURS, scope.projects)
    for spelling in dict.fromkeys((text, text.lower(), text[:1].upper() + text[1:])):
        known += rows.beside_title(tx, user, spelling, _NEIGHBOURS, scope.projects)
    titles: dict[str, set[int]] = {}
    for number, title in known:
        titles.setdefault(title, set()).add(number)
    closest = [(number, title) for title in closest_names(text, titles) for number in sorted(titles[title])]
    closest += [(one.number, one.title) for one in _details(tx, scope, alike.find_by_words(tx, scope, "task", text))]
    return tuple(dict.fromkeys(closest))[:_SUGGESTIONS]


def update(
    tx: Tx,
    scope: Scope,
    reference: Reference,
    patch: TaskPatch,
    expected_version: int | None = None,
    fence: int | None = None,
) -> TaskDetails:
    """Change a task, open or closed. One that is closed again in the same way keeps the time of the first closing.

    Raises:
        NotFound, Forbidden: as `get` about the task, and as `add` about project and blockers.
        VersionConflict: the task has another version than expected.
        StaleFence: the fence is not that of the newest claim.
        WrongArgument: a value breaks a rule, the task would block itself, directly or through others, or a caller
            who may enter only some projects would take it out of them.
    """
    patch = rules.clean("task", patch)
    if patch.project is None and scope.projects is not None:
        raise WrongArgument("project", "minLength", limit=1, kind="task")
    user = scope.owner
    before = _find_to_change(tx, scope, reference)
    rules.check_new(tx, "task", "title", patch.title, before.title)
    claims.check_fence(tx, user, before.number, fence)
    project = projects.get(tx, scope, patch.project).number if isinstance(patch.project, str) else None
    if patch.project is not UNSET:
        _announce(tx, user, before.number)  # in the project that it leaves, too
    if patch.blocked_by is not UNSET:
        tx.lock(f"blockers of {user}")  # or two updates, of which each sees half, make a circle
    try:
        task = rows.update(tx, user, before.id, patch, project, expected_version)
    except Violation as violation:  # the project was deleted after we read its number
        raise NotFound("project", str(patch.project), scope) from violation
    if task is None:
        raise VersionConflict("task", str(reference), expected=expected_version or 0, actual=before.version)
    _set_lists(tx, scope, before, patch)
    if patch.title is not UNSET or patch.description is not UNSET:
        _index(tx, task)
    if task.is_completed:
        claims.end(tx, user, task.number)
    has_other_status = patch.status is not UNSET or patch.completed_at is not UNSET
    _announce(tx, user, task.number, with_blocked=has_other_status)
    after = _record_update(tx, before)
    return _finish(tx, scope, [after])[0]


def check_unchanged(
    tx: Tx, scope: Scope, number: int, expected_version: int | None = None, fence: int | None = None
) -> None:
    """Check that a task has the version and the fence that the caller knows, where it names them.

    Raises:
        NotFound, VersionConflict, StaleFence: as `update`.
    """
    task = _find_to_change(tx, scope, number)
    if expected_version not in (None, task.version):
        raise VersionConflict("task", str(number), expected=expected_version or 0, actual=task.version)
    claims.check_fence(tx, task.owner, number, fence)


def complete(tx: Tx, scope: Scope, reference: Reference, fence: int | None = None) -> tuple[Task, bool]:
    """Complete a task, and say whether it was completed before; then nothing changes.

    Raises:
        NotFound, Forbidden: as `get`.
        StaleFence: the fence is not that of the newest claim.
    """
    user = scope.owner
    before = _find_to_change(tx, scope, reference)
    claims.check_fence(tx, user, before.number, fence)
    task = rows.complete(tx, user, before.id)
    if task is None:
        return before, True
    claims.end(tx, user, task.number)
    _announce(tx, user, task.number, with_blocked=True)
    record_update(tx, of_task(before), of_task(replace(before, **asdict(task), is_cancelled=False)))
    return task, False


def list_blocked(tx: Tx, scope: Scope, number: int) -> list[TaskDetails]:
    """The user's tasks that a task blocks."""
    return _details(tx, scope, rows.blocked_tasks(tx, scope.owner, number))


def list_some(tx: Tx, scope: Scope, numbers: Sequence[int]) -> list[TaskDetails]:
    """Those of some numbers that are tasks of the user, in the order given."""
    return _details(tx, scope, numbers)


def delete(tx: Tx, scope: Scope, reference: Reference) -> Task:
    """Delete a task, and return what it was; it no longer blocks other tasks. It can be brought back from the trash.

    Raises:
        NotFound, Forbidden: as `get`.
    """
    user = scope.owner
    task = _find_to_change(tx, scope, reference)
    _announce(tx, user, task.number, with_blocked=True)
    with tx.in_all_projects():
        numbers = rows.blocked_tasks(tx, user, task.number)
        blocked = [one for number in numbers if (one := rows.find_to_change(tx, user, number))]
    claims.end(tx, user, task.number)
    rows.delete(tx, user, task.id)
    record_delete(tx, of_task(task), [one.number for one in blocked])
    _renew_all(tx, blocked)
    return task


def bring_back(tx: Tx, scope: Scope, item: TrashedItem, state: State) -> TaskDetails:
    """Put a deleted task back with its number, its blockers, and the tasks that it blocked.

    Blockers that were removed for good are left out, and so is a project that no longer exists. The task that is
    returned also has the blockers that the scope may not see.

    Raises:
        MissingBlocker: a blocker is in the trash itself.
        WrongArgument: the task would block itself through others, whose blockers were changed meanwhile.
    """
    user = scope.owner
    project = item.project if item.project in project_rows.names_of(tx, [item.project or 0]) else None
    draft = TaskDraft(
        title=state.title,
        description=state.description,
        tags=state.tags,
        priority=state.priority,
        due=state.due,
        blocked_by=blockers.keep_existing(tx, scope, state.blocked_by),
    )
    was = TaskDetails(
        item.number,
        item.id,
        user,
        state.title,
        state.description,
        state.completed_at,
        state.created_at,
        tx.now,
        item.version + 1,
        is_cancelled=state.is_cancelled,
    )
    task = _insert(tx, scope, draft, project, was=was)
    if item.blocks:
        with tx.in_all_projects():
            blocked = [one for number in item.blocks if (one := rows.find_to_change(tx, user, number))]
            for one in blocked:
                rows.set_blockers(tx, user, one.number, [*one.blocked_by, task.number])
                _announce(tx, user, one.number)
        _renew_all(tx, blocked)
        blockers.check_circle(tx, user, task.number)
    return task


def _insert(tx: Tx, scope: Scope, draft: TaskDraft, project: int | None, was: TaskDetails | None = None) -> TaskDetails:
    user = scope.owner
    try:
        task = rows.add(tx, user, draft, project, was=was)
    except Violation as violation:  # the project was deleted after we read its number
        raise NotFound("project", str(draft.project), scope) from violation
    _index(tx, task)
    if draft.tags:
        rows.set_tags(tx, user, task.number, draft.tags)
    if was is not None:
        with tx.in_all_projects():
            rows.set_blockers(tx, user, task.number, draft.blocked_by)
        blockers.check_circle(tx, user, task.number)
    elif draft.blocked_by:
        blockers.set_all(tx, scope, task.number, draft.blocked_by)
    if draft.blocked_by or was is not None:
        [details] = rows.details(tx, user, [task.number])
    else:
        details = TaskDetails(
            **asdict(task),
            project=draft.project,
            project_number=project,
            tags=tuple(draft.tags),
            priority=draft.priority,
            due=draft.due,
        )
    record_add(tx, of_task(details))
    tx.changed(StoreChange("task", details.project, user, str(task.number)))
    return details


def _set_lists(tx: Tx, scope: Scope, before: TaskDetails, patch: TaskPatch) -> None:
    """Bring the tags and blockers of a task up to date."""
    if patch.tags is not UNSET:
        tags = rules.clean_tags("task", signed_lists.apply(before.tags, patch.tags))
        rows.set_tags(tx, before.owner, before.number, tags)
    if isinstance(patch.blocked_by, BlockerChange):
        visible = blockers.keep_visible(tx, scope, before.blocked_by)
        kept = [number for number in visible if number not in patch.blocked_by.removed]
        wanted = [*kept, *patch.blocked_by.added]
        rules.check_blockers("task", wanted)
        blockers.set_all(tx, scope, before.number, wanted)
    elif patch.blocked_by is not UNSET:
        blockers.set_all(tx, scope, before.number, patch.blocked_by)


def _own_project(scope: Scope) -> str:
    """The project of what a caller who may enter only some projects adds without naming one."""
    assert scope.projects, "a scope that may enter no project makes no call"
    return scope.project if scope.project in scope.projects else scope.projects[0]


def _find_to_change(tx: Tx, scope: Scope, reference: Reference) -> TaskDetails:
    """A task with everything that is stored about it, which is updated or deleted next.

    Raises:
        NotFound, Forbidden: as `get`.
    """
    number = reference if isinstance(reference, int) else get(tx, scope, reference).number
    is_possible = 0 < number <= _LARGEST_NUMBER
    task = rows.find_to_change(tx, scope.owner, number, scope.projects) if is_possible else None
    if task is None:
        raise NotFound("task", str(reference), scope)
    return task


def _renew_all(tx: Tx, blocked: Sequence[TaskDetails]) -> None:
    """Give tasks whose blockers changed the next version, those too that the caller may not see."""
    if not blocked:
        return
    with tx.in_all_projects():
        for before in blocked:
            rows.update(tx, before.owner, before.id, TaskPatch(), None)
            _record_update(tx, before)


def _record_update(tx: Tx, before: TaskDetails) -> TaskDetails:
    [after] = rows.details(tx, before.owner, [before.number])
    record_update(tx, of_task(before), of_task(after))
    return after


def _index(tx: Tx, task: Task) -> None:
    """Bring the searchable text of a task up to date."""
    description = (task.description or "").casefold()
    rows.set_text(tx, task.owner, task.number, title=task.title.casefold(), description=description)


def _announce(tx: Tx, user: str, number: int, *, with_blocked: bool = False) -> None:
    """Announce that a task changed, and those that it blocks, where they become ready or blocked by the change."""
    with tx.in_all_projects() if with_blocked else nullcontext():
        concerned = [number, *(rows.blocked_tasks(tx, user, number) if with_blocked else ())]
        for one, project in rows.projects_of(tx, user, concerned):
            tx.changed(StoreChange("task", project, user, str(one)))


def _details(tx: Tx, scope: Scope, numbers: Sequence[int]) -> list[TaskDetails]:
    """Some of the user's tasks; of their blockers, only those that the scope may see."""
    return _finish(tx, scope, rows.details(tx, scope.owner, numbers, scope.projects))


def _finish(tx: Tx, scope: Scope, found: list[TaskDetails]) -> list[TaskDetails]:
    """Tasks as the scope may see them, with who holds them."""
    return claims.fill_in(tx, scope.owner, blockers.hide_in(tx, scope, found))


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
