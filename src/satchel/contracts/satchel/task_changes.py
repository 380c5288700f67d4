"""The tools that update and complete tasks, and how they tell what came of it."""

from typing import Any

from msgspec import UNSET, UnsetType

from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.task_answers import (
    HIDDEN_BLOCKER,
    describe_holder,
    format_task,
    make_row,
)
from satchel.contracts.satchel.task_lookups import (
    find_numbers,
    find_task,
)
from satchel.contracts.satchel.tools import TASK_FIELDS, CompleteTask, UpdateTask
from satchel.model import BlockerChange, ListChange, TaskDetails, TaskPatch
from satchel.services import signed_lists, task_notes, tasks


def update_task(context: Context, args: UpdateTask) -> Body:
    if args.title is not UNSET:
        answers.check_title("task", args.title)
    before = find_task(context, args.task)
    version = None if args.expected_version is UNSET else args.expected_version
    fence = None if args.fence is UNSET else args.fence
    if all(getattr(args, name) is UNSET for name in TASK_FIELDS):
        tasks.check_unchanged(context.tx, context.scope, before.number, version, fence)
    else:
        patch = TaskPatch(
            title=args.title,
            description=answers.none_if_empty(args.description),
            project=answers.none_if_empty(args.project),
            tags=UNSET if args.tags is UNSET else signed_lists.read("tags", args.tags),
            priority=args.priority,
            due=answers.none_if_empty(args.due),
            blocked_by=_read_blockers(context, args.blocked_by),
            status=args.status,
        )
        tasks.update(context.tx, context.scope, before.number, patch, version, fence)
    _add_note(context, before, args.note)
    closes = args.status in ("completed", "cancelled") and not before.is_completed
    unblocked = _find_unblocked(context, before) if closes else []
    notes = describe_holder(context, before)
    return reply_task("Updated", context, find_task(context, str(before.number)), unblocked, notes)


def complete_task(context: Context, args: CompleteTask) -> Body:
    before = find_task(context, args.task)
    fence = None if args.fence is UNSET else args.fence
    _, was_completed = tasks.complete(context.tx, context.scope, before.number, fence)
    _add_note(context, before, args.note)
    after = find_task(context, str(before.number))
    if was_completed:
        return reply_task("Already completed", context, after, already_completed=True)
    notes = describe_holder(context, before)
    if before.is_cancelled:
        notes.append("It was cancelled.")
    if before.open_blockers or before.waits_elsewhere:
        waiting = [f"#{number}" for number in before.open_blockers]
        waiting += [HIDDEN_BLOCKER] if before.waits_elsewhere else []
        notes.append(f"It was still blocked by {', '.join(waiting)}.")
    unblocked = [] if before.is_completed else _find_unblocked(context, before)
    return reply_task("Completed", context, after, unblocked, notes)


def _read_blockers(context: Context, references: list[str] | UnsetType) -> list[int] | BlockerChange | UnsetType:
    if references is UNSET:
        return UNSET
    given = signed_lists.read("blocked_by", references)
    if not isinstance(given, ListChange):
        return find_numbers(context, references)
    return BlockerChange(
        added=tuple(find_task(context, one).number for one in given.added),
        removed=tuple(find_task(context, one).number for one in given.removed),
    )


def _add_note(context: Context, task: TaskDetails, note: str | UnsetType) -> None:
    if note is not UNSET:
        task_notes.add(context.tx, context.scope, task.number, note)


def _find_unblocked(context: Context, closed: TaskDetails) -> list[TaskDetails]:
    """The tasks that are ready now that a task is closed."""
    return [task for task in tasks.list_blocked(context.tx, context.scope, closed.number) if task.is_ready]


# -- answers ----------------------------------------------------------------------------------------------------


def reply_task(
    done: str,
    context: Context,
    task: TaskDetails,
    unblocked: list[TaskDetails] | None = None,
    notes: list[str] | None = None,
    **facts: Any,
) -> Body:
    """The echo of a change: the row of the task, what became ready by it, and what the caller may not expect."""
    here = task.project or context.scope.project
    structured: dict[str, Any] = {"project": here, "task": make_row(task, here, is_echo=True), **facts}
    text = f"{done} {format_task(task, here)}, version {task.version}"
    if unblocked:
        structured["ready"] = [make_row(one, here) for one in unblocked]
        text = "\n".join([text, "Ready now:", *(format_task(one, here) for one in unblocked)])
    return answers.reply(text, structured, notes=notes or ())
