"""Errors of the tools that claim tasks, and of those that take several things at once."""

from collections.abc import Callable
from typing import Any

from satchel.contracts.contract import Body, Reply, find_row
from satchel.contracts.satchel.failures import error
from satchel.contracts.satchel.shared import format_count
from satchel.contracts.satchel.text_failures import TEXT_FAILURES
from satchel.errors import EntryRefused, NothingReady, StaleFence, TaskClosed, TaskHeld


def explain_held(held: TaskHeld) -> Body:
    until = f"{held.claim.until[:16]}Z"
    message = f"Task #{held.number} is held by {held.claim.holder} until {until}."
    hint = "Take another, or wait until then. If that agent is gone, free it: claim_task with release: true."
    return error("conflict", message, hint, holder=held.claim.holder, until=until)


def explain_closed(closed: TaskClosed) -> Body:
    message = f"Task #{closed.number} is {closed.status}."
    return error("conflict", message, "Reopen it with update_task and status pending, or take another.")


def explain_stale_fence(stale: StaleFence) -> Body:
    if stale.claim is None:
        return error("conflict", f"Task #{stale.number} was never claimed.", "Leave fence out, or claim it first.")
    if stale.fence > stale.claim.fence:
        message = f"Fence {stale.fence} was never given out for task #{stale.number}."
        return error("conflict", message, "Give the fence that claim_task answered, or leave it out.")
    message = f"The fence of task #{stale.number} is {stale.claim.fence}, not {stale.fence}: it was claimed again."
    hint = "Look at it with get_task: another agent may have gone on with it."
    return error("conflict", message, hint, fence=stale.claim.fence, holder=stale.claim.holder)


def explain_nothing_ready(nothing: NothingReady) -> Body:
    where = f" in project '{nothing.project}'" if nothing.project else ""
    blocked, held = format_count(nothing.blocked, "task"), format_count(nothing.held, "task")
    message = f"Nothing is ready{where}: {blocked} blocked, {held} held."
    hint = "See list_tasks with status pending, or try again later." if nothing.blocked or nothing.held else _NO_TASKS
    return error("not_found", message, hint, blocked=nothing.blocked, held=nothing.held)


_NO_TASKS = "Look into other projects with list_tasks, or add tasks with add_tasks."


def explain_entry(refused: EntryRefused) -> Body:
    """The error of one entry, which says which; nothing of the call was done."""
    explain = find_row(ALL_FAILURES, refused.cause)
    assert explain is not None, "the table is total"
    body = explain(refused.cause)
    assert isinstance(body, Reply) and isinstance(body.structured, dict), "every failure is such a reply"
    inner = dict(body.structured["error"])
    code, message, hint = (inner.pop(name) for name in ("code", "message", "hint"))
    argument = refused.place.partition("[")[0]
    return error(code, f"{refused.place}: {message}", hint, **{**inner, "argument": argument})


ALL_FAILURES: dict[type[Exception], Callable[[Any], Body]] = {
    **TEXT_FAILURES,
    TaskHeld: explain_held,
    TaskClosed: explain_closed,
    StaleFence: explain_stale_fence,
    NothingReady: explain_nothing_ready,
    EntryRefused: explain_entry,
}
