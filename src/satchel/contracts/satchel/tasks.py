"""The tools about tasks: what a user means to do, and what can be done now."""

from typing import Any

from msgspec import UNSET, UnsetType

from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers, inputs
from satchel.contracts.satchel.answers import one_line, said, task_line
from satchel.contracts.satchel.cursors import List, cursor, place
from satchel.contracts.satchel.failures import Missed, Several
from satchel.errors import NotFound, WrongArgument
from satchel.model import Scope, TaskDetails, TaskDraft, TaskFilter, TaskPatch, TaskPosition, TaskQuery
from satchel.services import tasks


def add_task(context: Context, args: inputs.AddTask) -> Body:
    task = tasks.add(
        context.tx,
        context.scope,
        TaskDraft(
            title=args.title,
            description=args.description or None,
            project=args.project or context.scope.project,
            tags=args.tags or (),
            priority=args.priority,
            due=args.due or None,
            blocked_by=numbers(context, args.blocked_by) or (),
        ),
    )
    return shown("Added", context.scope, task)


def list_tasks(context: Context, args: inputs.ListTasks) -> Body:
    last = place(args.cursor, LISTS[args.status])
    found, has_more = tasks.list_page(
        context.tx,
        context.scope,
        TaskQuery(
            filter=args.status,
            project=args.project or None,
            text=args.query or "",
            tags=args.tags or (),
            needs_all_tags=args.match == "all",
        ),
        limit=args.limit,
        after=behind(last),
    )
    structured: dict[str, Any] = {
        "project": args.project or context.scope.project,
        "tasks": [*map(answers.shown_task, found)],
    }
    lines = [answers.task_entry(task) for task in found]
    if has_more:
        at = tasks.position_of(args.status, found[-1])
        structured["next_cursor"] = cursor(LISTS[args.status], at.moment, at.number, at.priority, at.due or "")
        lines.append("More with cursor " + structured["next_cursor"])
    nothing = answers.none_of(
        "tasks" if args.status == "all" else f"{args.status} tasks",
        args.project or None,
        is_narrowed=bool(args.query or args.tags),
        is_continued=last is not None,
    )
    return said("\n".join(lines) or nothing, structured)


def update_task(context: Context, args: inputs.UpdateTask) -> Body:
    task = tasks.update(
        context.tx,
        context.scope,
        meant(context, args.task).number,
        TaskPatch(
            title=args.title,
            description=emptied(args.description),
            project=emptied(args.project),
            tags=args.tags,
            priority=args.priority,
            due=emptied(args.due),
            blocked_by=numbers(context, args.blocked_by),
            status=args.status,
        ),
        expected_version=None if args.expected_version is UNSET else args.expected_version,
    )
    return shown("Updated", context.scope, task)


def complete_task(context: Context, args: inputs.CompleteTask) -> Body:
    number = meant(context, args.task).number
    _, was_completed = tasks.complete(context.tx, context.scope, number, renews=False)
    return shown("Already completed" if was_completed else "Completed", context.scope, meant(context, str(number)))


def delete_task(context: Context, args: inputs.DeleteTask) -> Body:
    task = meant(context, args.task)
    tasks.delete(context.tx, context.scope, task.number)
    return said(
        f"Deleted #{task.number} {one_line(task.title)}",
        {"project": task.project or context.scope.project, "deleted": task.number},
    )


# -- shared -----------------------------------------------------------------------------------------------------

LISTS: dict[TaskFilter, List] = {"ready": "o", "pending": "o", "completed": "d", "all": "a"}


def behind(last: tuple[str, ...] | None) -> TaskPosition | None:
    """The place that a cursor tells."""
    if last is None:
        return None
    _, moment, number, priority, due = last
    return TaskPosition(moment, int(number), int(priority), due or None)


def meant(context: Context, reference: str) -> TaskDetails:
    """The task that is meant, by number, UUID or title; a near miss is told."""
    try:
        return tasks.find(context.tx, context.scope, reference)
    except NotFound as missing:
        if missing.kind != "task":
            raise
        same, has_more = tasks.find_by_title(context.tx, context.scope, reference)
        if same:
            raise Several(missing, tuple(f"#{number}" for number in same), has_more=has_more) from missing
        near = tasks.suggest(context.tx, context.scope, reference)
        numbers, titles = tuple(f"#{number}" for number, _ in near), tuple(title for _, title in near)
        raise Missed(missing, numbers, titles) from missing


def numbers(context: Context, references: list[str] | UnsetType) -> list[int] | UnsetType:
    """The numbers of tasks that are meant."""
    if references is UNSET:
        return UNSET
    for index, reference in enumerate(references):
        if not reference.strip():
            raise WrongArgument("blocked_by", "minLength", place=f"blocked_by[{index}]")
    return [meant(context, reference).number for reference in references]


def emptied(text: str | UnsetType) -> str | UnsetType | None:
    """A text as it is to be kept: an empty one takes away what was there."""
    return text if text is UNSET else text or None


def shown(done: str, scope: Scope, task: TaskDetails) -> Body:
    structured = {"project": task.project or scope.project, "task": answers.shown_task(task)}
    return said(f"{done} {task_line(task)}, version {task.version}", structured)
