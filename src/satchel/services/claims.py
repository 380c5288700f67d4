"""Claims: who works on a task, and until when. A claim runs out by itself, and its fence tells old holders from new.

Every claim locks the row of its task first, as every change of the task does, so that a claim and a change that names a
fence never overlap. Claims are no versions of a task, and are not in history.
"""

from binascii import crc32

from msgspec.structs import replace

from satchel import clock
from satchel.errors import NotFound, NothingReady, StaleFence, TaskClosed, TaskHeld, WrongArgument
from satchel.model import Claim, Holder, Scope, StoreChange, TaskDetails, TaskQuery
from satchel.services import projects, rules
from satchel.storage import task_claims as rows
from satchel.storage import task_pages as pages
from satchel.storage import tasks as task_rows
from satchel.storage.database import Tx

_LONGEST_NAME = 60  # characters of a client's name


def make_holder(client: str, session: str, scope: Scope) -> Holder:
    """Who a caller is: its client's name, and what tells it from others of that name, its session, token or user."""
    name = " ".join(client.split())[:_LONGEST_NAME] if rules.is_storable(client) else ""
    apart = session or scope.author.token or scope.owner
    key = f"{name} {apart if rules.is_storable(apart) else ''}"
    return Holder(f"{name or 'client'} {crc32(key.encode()) & 0xFFFF:04x}", key, bool(session))


def take(tx: Tx, scope: Scope, number: int, holder: Holder, minutes: int) -> Claim:
    """Claim a task for some minutes from now, or renew the claim that the holder has.

    A renewal keeps its fence where the holder is known by its session; else it may be another agent that looks alike.

    Raises:
        NotFound: the user has no such task.
        TaskHeld: another agent has claimed it.
        TaskClosed: it is completed or cancelled.
        WrongArgument: the minutes are out of bounds.
    """
    _check_minutes(minutes)
    task = _lock(tx, scope, number)
    if task.is_completed:
        raise TaskClosed(number, task.status)
    held = _find_active(tx, task)
    if held is not None and held.holder_key != holder.key:
        raise TaskHeld(number, held)
    if held is None or not holder.has_session:
        return _put(tx, task, holder, minutes)
    _announce(tx, task)
    return rows.renew(tx, task.owner, number, clock.minutes_after(tx.now, minutes))


def take_next(tx: Tx, scope: Scope, project: str | None, holder: Holder, minutes: int) -> tuple[int, Claim]:
    """Claim the most urgent task that is ready and that is not held; its number, and the claim.

    Raises:
        NotFound, Forbidden: as `projects.get`, about the project.
        NothingReady: there is none.
        WrongArgument: the minutes are out of bounds.
    """
    _check_minutes(minutes)
    if project is not None:
        projects.get(tx, scope, project)
    user = scope.owner
    tx.lock(f"claims of {user}")  # or all who ask at once would wait for the same row, and all but one in vain
    wanted = TaskQuery(filter="ready", project=project, holder_key="")
    while numbers := pages.numbers(tx, user, wanted, scope.projects, 1):
        # A call that names its task may be faster than this one.
        task = task_rows.find_to_change(tx, user, numbers[0], scope.projects)
        if task is not None and task.is_ready and _find_active(tx, task) is None:
            return task.number, _put(tx, task, holder, minutes)
    blocked = pages.count_blocked(tx, user, wanted, scope.projects)
    held = pages.count_held(tx, user, wanted, scope.projects)
    raise NothingReady(project, blocked=blocked, held=held)


def release(tx: Tx, scope: Scope, number: int) -> Claim | None:
    """End the claim of a task by any holder, because that agent may be gone; the claim, if there was one.

    Raises:
        NotFound: the user has no such task.
    """
    task = _lock(tx, scope, number)
    held = _find_active(tx, task)
    if held is not None:
        end(tx, task.owner, number)
        _announce(tx, task)
    return held


def end(tx: Tx, user: str, number: int) -> None:
    """End the claim of a task that is closed or deleted."""
    rows.end(tx, user, number)


def check_fence(tx: Tx, user: str, number: int, fence: int | None) -> None:
    """Check that a fence, where one is given, is that of the newest claim of a task, which is locked.

    Raises:
        StaleFence: it is not.
    """
    if fence is None:
        return
    newest = rows.find(tx, user, number)
    if newest is None or newest.fence != fence:
        raise StaleFence(number, fence, newest)


def fill_in(tx: Tx, user: str, found: list[TaskDetails]) -> list[TaskDetails]:
    """Tasks with the claims that they have now."""
    is_open = [task.number for task in found if not task.is_completed]
    active = rows.active(tx, user, is_open) if is_open else {}
    return [replace(task, claim=active[task.number]) if task.number in active else task for task in found]


def _check_minutes(minutes: int) -> None:
    if minutes < 1:
        raise WrongArgument("minutes", "minimum", limit=1, value=minutes, kind="task")
    if minutes > rules.MAX_CLAIM_MINUTES:
        raise WrongArgument("minutes", "maximum", limit=rules.MAX_CLAIM_MINUTES, value=minutes, kind="task")


def _lock(tx: Tx, scope: Scope, number: int) -> TaskDetails:
    task = task_rows.find_to_change(tx, scope.owner, number, scope.projects)
    if task is None:
        raise NotFound("task", str(number), scope)
    return task


def _find_active(tx: Tx, task: TaskDetails) -> Claim | None:
    return rows.active(tx, task.owner, [task.number]).get(task.number)


def _put(tx: Tx, task: TaskDetails, holder: Holder, minutes: int) -> Claim:
    claim = rows.put(tx, task.owner, task.number, holder, clock.minutes_after(tx.now, minutes))
    _announce(tx, task)
    return claim


def _announce(tx: Tx, task: TaskDetails) -> None:
    # The caller may see the task, so its project is not hidden.
    tx.changed(StoreChange("task", task.project, task.owner, str(task.number)))
