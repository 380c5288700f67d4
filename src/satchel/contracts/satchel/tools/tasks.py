"""What clients see of the tools for tasks."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.satchel.tools import shared
from satchel.contracts.schema import hidden
from satchel.services.rules import MAX_CLAIM_MINUTES

# -- inputs -----------------------------------------------------------------------------------------------------

_TITLE = hidden(is_trimmed=True, max_length=500, is_blank_refused=True)
_REFERENCE = hidden(takes_numbers=True, max_length=500, is_blank_refused=True)
_PRIORITIES = ["low", "normal", "high", "urgent"]

Title = Annotated[str, Meta(extra=_TITLE)]
Reference = Annotated[str, Meta(description="#4, title or URI", extra=_REFERENCE)]
Priority = Annotated[
    Literal["low", "normal", "high", "urgent"],
    Meta(extra_json_schema={"enum": _PRIORITIES}, extra=hidden(ignores_case=True)),  # in this order
]
Blockers = Annotated[list[str], Meta(extra=hidden(max_items=100, takes_numbers=True))]
Day = Annotated[str, Meta(description="YYYY-MM-DD", extra=shared.LINE)]
Fence = Annotated[int, Meta(description="Of your claim", extra=hidden(minimum=1, maximum=2**63 - 1))]
Note = Annotated[str, Meta(extra=shared.LINE)]

_FILTERS = ["ready", "pending", "in_progress", "completed", "cancelled", "all"]
_STATUSES = ["pending", "completed", "cancelled"]
_GRAMMAR = (
    "Title !high due:2026-12-01 +tag @project after:#7,2 - #7 is a task, 2 the second here; indented: description"
)
_MINUTES = hidden(minimum=1, maximum=MAX_CLAIM_MINUTES)
# Of a task, as update_task names them.
FIELDS = ("title", "description", "status", "tags", "priority", "due", "blocked_by", "project")


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
        Literal["ready", "pending", "in_progress", "completed", "cancelled", "all"],
        Meta(
            description="ready: can start now; pending: all open",
            extra_json_schema={"enum": _FILTERS},
        ),
    ] = "ready"
    query: Annotated[str, Meta(description="Text in title or description", extra=shared.QUERY)] | UnsetType = UNSET
    tags: shared.Tags | UnsetType = UNSET
    match: shared.Match = "any"
    limit: shared.Limit = 50
    cursor: shared.Cursor | UnsetType = UNSET
    project: Annotated[str, Meta(description="Default: all", extra=shared.NAME)] | UnsetType = UNSET


class OneTask(Struct):
    task: Reference


class AddTasks(Struct):
    lines: Annotated[list[str], Meta(description=_GRAMMAR, extra=hidden(takes_text=True))]
    project: shared.Project | UnsetType = UNSET
    key: shared.Key | UnsetType = UNSET


class UpdateTask(Struct):
    task: Reference
    title: Title | UnsetType = UNSET
    description: shared.Text | UnsetType = UNSET
    status: (
        Annotated[Literal["pending", "completed", "cancelled"], Meta(extra_json_schema={"enum": _STATUSES})] | UnsetType
    ) = UNSET
    tags: shared.Tags | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    due: Day | UnsetType = UNSET
    blocked_by: Blockers | UnsetType = UNSET
    note: Note | UnsetType = UNSET
    expected_version: shared.Version | UnsetType = UNSET
    fence: Fence | UnsetType = UNSET
    project: Annotated[str, Meta(description="Where to move it", extra=shared.NAME)] | UnsetType = UNSET


class CompleteTask(Struct):
    task: Reference
    note: Note | UnsetType = UNSET
    fence: Fence | UnsetType = UNSET


class ClaimTask(Struct):
    task: Annotated[Reference, Meta(description="Default: the next ready")] | UnsetType = UNSET
    minutes: Annotated[int, Meta(extra=_MINUTES)] = 30
    release: Annotated[bool, Meta(description="Give it back")] = False
    project: shared.Project | UnsetType = UNSET


# -- answers ----------------------------------------------------------------------------------------------------

_TASK = shared.object_with(("number",), number=shared.INTEGER)
_TASKS = shared.array_of(_TASK)
ONE_TASK = shared.answer_with(task=_TASK)
TASKS = shared.answer_with(tasks=_TASKS)
TASK_PAGE = shared.answer_with(tasks=_TASKS, next_cursor=shared.STRING)
DELETED_TASK = shared.answer_with(deleted=shared.INTEGER)


# -- table ------------------------------------------------------------------------------------------------------

TOOLS = (
    shared.make_tool("tasks", "tasks:list_tasks", "List tasks, most urgent first", ListTasks, TASK_PAGE),
    shared.make_tool("tasks", "tasks:get_task", "The whole task, with notes", OneTask, ONE_TASK),
    shared.make_tool(
        "tasks",
        "task_adding:add_tasks",
        "Add tasks, one per line",
        AddTasks,
        TASKS,
        shared.ADDS,
        prepare=shared.find_function("task_adding:read_lines"),
    ),
    shared.make_tool(
        "tasks",
        "task_changes:update_task",
        "Change given fields; empty clears. tags, blocked_by: all replaced, or +x and -x. note is appended",
        UpdateTask,
        ONE_TASK,
        shared.UPDATES,
        at_least_one=(*FIELDS, "note"),
    ),
    shared.make_tool(
        "tasks",
        "task_changes:complete_task",
        "Mark as done; tells what became ready",
        CompleteTask,
        ONE_TASK,
        shared.COMPLETES,
    ),
    shared.make_tool(
        "tasks",
        "task_claims:claim_task",
        "Take a task before working beside others; again renews",
        ClaimTask,
        ONE_TASK,
        shared.ADDS,
    ),
    shared.make_tool(
        "tasks",
        "tasks:add_task",
        "Note something to do, now or later",
        AddTask,
        ONE_TASK,
        shared.ADDS,
        is_listed=False,
    ),
    shared.make_tool(
        "tasks",
        "tasks:delete_task",
        "Delete a task; restore brings it back",
        OneTask,
        DELETED_TASK,
        shared.DELETES,
        is_listed=False,
    ),
)
