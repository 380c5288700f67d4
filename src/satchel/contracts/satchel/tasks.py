"""Tasks: the tools to add, list, update, complete and delete them, and how answers describe one."""

from functools import partial
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.content import join_lines
from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import shared
from satchel.contracts.satchel.cursors import List, decode_cursor
from satchel.contracts.satchel.failures import AmbiguousTitle, UnknownName
from satchel.contracts.schema import hidden
from satchel.errors import NotFound, WrongArgument
from satchel.model import Scope, TaskDetails, TaskDraft, TaskFilter, TaskPatch, TaskPosition, TaskQuery
from satchel.protocol.cursors import encode_cursor
from satchel.services import tasks

HIDDEN_BLOCKER = "a task of a project that is not open here"

# -- inputs -----------------------------------------------------------------------------------------------------

_TITLE = hidden(is_trimmed=True, max_length=500, is_blank_refused=True)
_REFERENCE = hidden(takes_numbers=True, max_length=500, is_blank_refused=True)

Title = Annotated[str, Meta(extra=_TITLE)]
Reference = Annotated[str, Meta(description="Number or UUID", extra=_REFERENCE)]
Priority = Annotated[
    Literal["low", "normal", "high", "urgent"],
    Meta(extra_json_schema={"enum": ["low", "normal", "high", "urgent"]}),  # in this order
]
Blockers = Annotated[
    list[str], Meta(description="Tasks to be done first", extra=hidden(max_items=100, takes_numbers=True))
]
Day = Annotated[str, Meta(description="YYYY-MM-DD", extra=shared.LINE)]


class AddTask(Struct):
    title: Title
    description: shared.Text | UnsetType = UNSET
    tags: shared.Tags | UnsetType = UNSET
    priority: Priority = "normal"
    due: Day | UnsetType = UNSET
    blocked_by: Blockers | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class ListTasks(Struct):
    status: Annotated[
        Literal["ready", "pending", "completed", "all"],
        Meta(
            description="ready: open and not blocked",
            extra_json_schema={"enum": ["ready", "pending", "completed", "all"]},
        ),
    ] = "ready"
    query: Annotated[str, Meta(description="Text in title or description", extra=shared.QUERY)] | UnsetType = UNSET
    tags: shared.Tags | UnsetType = UNSET
    match: shared.Match = "any"
    limit: shared.Limit = 50
    cursor: shared.Cursor | UnsetType = UNSET
    project: Annotated[str, Meta(description="Default: all", extra=shared.NAME)] | UnsetType = UNSET


class UpdateTask(Struct):
    task: Reference
    title: Title | UnsetType = UNSET
    description: shared.Text | UnsetType = UNSET
    status: Literal["pending", "completed"] | UnsetType = UNSET
    tags: shared.Tags | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    due: Day | UnsetType = UNSET
    blocked_by: Blockers | UnsetType = UNSET
    expected_version: shared.Version | UnsetType = UNSET
    project: Annotated[str, Meta(description="Where to move it", extra=shared.NAME)] | UnsetType = UNSET


class OneTask(Struct):
    task: Reference


# -- tools ------------------------------------------------------------------------------------------------------


def add_task(context: Context, args: AddTask) -> Body:
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
            blocked_by=find_numbers(context, args.blocked_by) or (),
        ),
    )
    return _reply_task("Added", context.scope, task)


def list_tasks(context: Context, args: ListTasks) -> Body:
    last = decode_cursor(args.cursor, LISTS[args.status])
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
        after=_decode_position(last),
    )
    next_cursor = None
    if has_more:
        at = tasks.position_of(args.status, found[-1])
        next_cursor = encode_cursor(LISTS[args.status], at.moment, at.number, at.priority, at.due or "")
    return shared.reply_page(
        "tasks" if args.status == "all" else f"{args.status} tasks",
        args.project or None,
        [format_entry(task) for task in found],
        {"project": args.project or context.scope.project, "tasks": [describe_task(task) for task in found]},
        next_cursor=next_cursor,
        is_narrowed=bool(args.query or args.tags),
        is_continued=last is not None,
    )


def update_task(context: Context, args: UpdateTask) -> Body:
    task = tasks.update(
        context.tx,
        context.scope,
        find_task(context, args.task).number,
        TaskPatch(
            title=args.title,
            description=shared.none_if_empty(args.description),
            project=shared.none_if_empty(args.project),
            tags=args.tags,
            priority=args.priority,
            due=shared.none_if_empty(args.due),
            blocked_by=find_numbers(context, args.blocked_by),
            status=args.status,
        ),
        expected_version=None if args.expected_version is UNSET else args.expected_version,
    )
    return _reply_task("Updated", context.scope, task)


def complete_task(context: Context, args: OneTask) -> Body:
    number = find_task(context, args.task).number
    _, was_completed = tasks.complete(context.tx, context.scope, number)
    done = "Already completed" if was_completed else "Completed"
    return _reply_task(done, context.scope, find_task(context, str(number)))


def delete_task(context: Context, args: OneTask) -> Body:
    task = find_task(context, args.task)
    tasks.delete(context.tx, context.scope, task.number)
    structured = {"project": task.project or context.scope.project, "deleted": task.number}
    return shared.reply(f"Deleted #{task.number} {join_lines(task.title)}", structured)


# -- lookups ----------------------------------------------------------------------------------------------------

LISTS: dict[TaskFilter, List] = {"ready": "o", "pending": "o", "completed": "d", "all": "a"}


def find_task(context: Context, reference: str) -> TaskDetails:
    """The task with a number, UUID or title.

    Raises:
        AmbiguousTitle: several tasks have that title.
        UnknownName: there is none; it suggests tasks with similar titles.
    """
    try:
        return tasks.find(context.tx, context.scope, reference)
    except NotFound as missing:
        if missing.kind != "task":
            raise
        same, has_more = tasks.find_by_title(context.tx, context.scope, reference)
        if same:
            raise AmbiguousTitle(missing, tuple(f"#{number}" for number in same), has_more=has_more) from missing
        near = tasks.suggest(context.tx, context.scope, reference)
        numbers, titles = tuple(f"#{number}" for number, _ in near), tuple(title for _, title in near)
        raise UnknownName(missing, numbers, titles) from missing


def find_numbers(context: Context, references: list[str] | UnsetType) -> list[int] | UnsetType:
    """The numbers of several tasks."""
    if references is UNSET:
        return UNSET
    for index, reference in enumerate(references):
        if not reference.strip():
            raise WrongArgument("blocked_by", "minLength", place=f"blocked_by[{index}]")
    return [find_task(context, reference).number for reference in references]


def _decode_position(last: tuple[str, ...] | None) -> TaskPosition | None:
    if last is None:
        return None
    _, moment, number, priority, due = last
    return TaskPosition(moment, int(number), int(priority), due or None)


# -- answers ----------------------------------------------------------------------------------------------------

TASK = shared.object_with(
    ("number", "id", "title", "status", "ready", "priority", "version"),
    number=shared.INTEGER,
    title=shared.STRING,
    status=shared.STRING,
    ready=shared.BOOLEAN,
    version=shared.INTEGER,
)
ONE_TASK = shared.answer_with(task=TASK)
TASK_PAGE = shared.answer_with(tasks=shared.array_of(TASK), next_cursor=shared.STRING)
DELETED_TASK = shared.answer_with(deleted=shared.INTEGER)


class TaskAnswer(Struct, omit_defaults=True):
    """A task in an answer; empty members are left out."""

    number: int
    id: str
    title: str
    status: str
    ready: bool
    priority: str
    version: int
    created_at: str
    updated_at: str
    description: str | None = None
    project: str | None = None
    tags: tuple[str, ...] = ()
    due: str | None = None
    blocked_by: tuple[int, ...] = ()
    completed_at: str | None = None


def _reply_task(done: str, scope: Scope, task: TaskDetails) -> Body:
    structured = {"project": task.project or scope.project, "task": describe_task(task)}
    return shared.reply(f"{done} {format_task(task)}, version {task.version}", structured)


def describe_task(task: TaskDetails) -> TaskAnswer:
    status = "completed" if task.is_completed else "pending"
    return shared.copy_members(task, TaskAnswer, status=status, ready=task.is_ready)


def format_entry(task: TaskDetails) -> str:
    """A task in a list: its line, and the beginning of its description."""
    return (
        format_task(task) if task.description is None else f"{format_task(task)}\n   {shared.shorten(task.description)}"
    )


def format_task(task: TaskDetails) -> str:
    """A task in one line."""
    facts = (
        "(done)" if task.is_completed else "",
        f"!{task.priority}" if task.priority != "normal" else "",
        f"due {task.due}" if task.due else "",
        f"@{task.project}" if task.project else "",
        f"[{', '.join(task.tags)}]" if task.tags else "",
        f"blocked by {', '.join(list_blockers(task))}" if list_blockers(task) else "",
    )
    return " ".join([f"#{task.number}", join_lines(task.title), *filter(None, facts)])


def list_blockers(task: TaskDetails) -> list[str]:
    """The open tasks that block a task."""
    numbers = [f"#{number}" for number in task.open_blockers]
    return [*numbers, HIDDEN_BLOCKER] if task.waits_elsewhere else numbers


# -- table -----------------------------------------------------------------------------------------------------

_tool = partial(shared.make_tool, "tasks")

TOOLS = (
    _tool(add_task, "Note something to do, now or later", AddTask, ONE_TASK, shared.ADDS),
    _tool(list_tasks, "Find tasks; by default what can be done now, most urgent first", ListTasks, TASK_PAGE),
    _tool(
        update_task,
        "Change the given fields of a task; empty clears",
        UpdateTask,
        ONE_TASK,
        shared.UPDATES,
        at_least_one=("title", "description", "status", "tags", "priority", "due", "blocked_by", "project"),
    ),
    _tool(complete_task, "Mark a task as done", OneTask, ONE_TASK, shared.COMPLETES),
    _tool(delete_task, "Delete a task for good", OneTask, DELETED_TASK, shared.DELETES),
)
