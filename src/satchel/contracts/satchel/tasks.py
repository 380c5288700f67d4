"""Tasks: the tools that list, read, add and delete them.

The others are in `task_adding`, `task_changes` and `task_claims`.
"""

from collections.abc import Sequence
from typing import Any

from satchel.contracts.content import join_lines
from satchel.contracts.contract import Body, Context
from satchel.contracts.runner import count_fitting
from satchel.contracts.satchel import answers, task_changes
from satchel.contracts.satchel.answers import List, decode_cursor
from satchel.contracts.satchel.deleting import delete_one
from satchel.contracts.satchel.tag_filters import describe_missing, read_tags
from satchel.contracts.satchel.task_answers import HIDDEN_BLOCKER as HIDDEN_BLOCKER
from satchel.contracts.satchel.task_answers import (
    describe_whole,
    find_holder,
    format_whole,
    look_around,
    make_row,
)
from satchel.contracts.satchel.task_answers import format_task as format_task
from satchel.contracts.satchel.task_answers import list_blockers as list_blockers
from satchel.contracts.satchel.task_lookups import find_numbers
from satchel.contracts.satchel.task_lookups import find_task as find_task
from satchel.contracts.satchel.tools import AddTask, ListTasks, OneTask
from satchel.model import TaskDetails, TaskDraft, TaskFilter, TaskPosition, TaskQuery
from satchel.protocol.cursors import encode_cursor
from satchel.services import tasks


def list_tasks(context: Context, args: ListTasks) -> Body:
    last = decode_cursor(args.cursor, LISTS[args.status])
    here = args.project or context.scope.project
    query = TaskQuery(
        filter=args.status,
        project=args.project or None,
        text=args.query or "",
        tags=read_tags(args.tags),
        needs_all_tags=args.match == "all",
        holder_key=find_holder(context).key if args.status == "ready" else None,
    )
    found, has_more = tasks.list_page(context.tx, context.scope, query, limit=args.limit, after=_decode_position(last))
    rows = [make_row(task, here) for task in found]
    fitting = count_fitting(rows)
    rows, found, has_more = rows[:fitting], found[:fitting], has_more or fitting < len(found)
    next_cursor = None
    if has_more:
        at = tasks.position_of(args.status, found[-1])
        next_cursor = encode_cursor(LISTS[args.status], at.moment, at.number, at.priority, at.due or "")
    lines = [format_task(task, here) for task in found]
    structured: dict[str, Any] = {"project": here, "tasks": rows}
    if args.status == "ready" and last is None and (held := tasks.count_held(context.tx, context.scope, query)):
        structured["held"] = held
        lines.append(f"{held} more {'is' if held == 1 else 'are'} held by others.")
    return answers.reply_page(
        "tasks" if args.status == "all" else f"{args.status.replace('_', ' ')} tasks",
        args.project or None,
        lines,
        structured,
        next_cursor=next_cursor,
        is_narrowed=bool(args.query or args.tags),
        is_continued=last is not None,
        notes=_describe_missing_tags(context, query, found) if last is None else (),
    )


def _describe_missing_tags(context: Context, query: TaskQuery, found: Sequence[TaskDetails]) -> list[str]:
    seen = {tag for task in found for tag in task.tags}
    missing = [
        tag
        for tag in query.tags
        if tag.lower() not in seen and not tasks.has_tag(context.tx, context.scope, tag, query.project)
    ]
    known = tasks.list_tags(context.tx, context.scope, query.project) if missing else []
    return describe_missing(missing, "task", known)


def get_task(context: Context, args: OneTask) -> Body:
    task = find_task(context, args.task)
    around, here = look_around(context, task), task.project or context.scope.project
    return answers.reply(format_whole(task, around), {"project": here, "task": describe_whole(task, around, here)})


def add_task(context: Context, args: AddTask) -> Body:
    answers.check_title("task", args.title)
    draft = TaskDraft(
        title=args.title,
        description=args.description or None,
        project=args.project or context.scope.project,
        tags=args.tags or (),
        priority=args.priority,
        due=args.due or None,
        blocked_by=find_numbers(context, args.blocked_by) or (),
    )
    return task_changes.reply_task("Added", context, tasks.add(context.tx, context.scope, draft))


def delete_task(context: Context, args: OneTask) -> Body:
    task = find_task(context, args.task)
    text = f"Deleted #{task.number} {join_lines(task.title)}"
    return delete_one(context, task, task.project or context.scope.project, task.number, text)


# -- pages ------------------------------------------------------------------------------------------------------

LISTS: dict[TaskFilter, List] = {
    "ready": "o",
    "pending": "o",
    "in_progress": "o",
    "completed": "d",
    "cancelled": "d",
    "all": "a",
}


def _decode_position(last: tuple[str, ...] | None) -> TaskPosition | None:
    if last is None:
        return None
    _, moment, number, priority, due = last
    return TaskPosition(moment, int(number), int(priority), due or None)
