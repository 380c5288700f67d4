"""The `tasks` contract: five tools for the tasks of the connection's user; all answers have one envelope."""

from functools import partial
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.clock import to_second
from satchel.contracts.content import collect
from satchel.contracts.contract import Body, Context, Contract, Tool
from satchel.contracts.schema import UNSTORABLE, Schema, Time, Yes, hidden, strict_object
from satchel.errors import AnswerTooLarge, Forbidden, NotFound, QuotaExceeded, StoreError, WrongArgument
from satchel.model import Task, TaskDraft, TaskPatch
from satchel.services import tasks

# -- inputs -----------------------------------------------------------------------------------------------------

_TRIMMED = hidden(is_trimmed=True)

Title = Annotated[str, Meta(min_length=1, max_length=255, description="Task title", extra=_TRIMMED)]
Description = Annotated[str, Meta(max_length=1000, description="Task description", extra=_TRIMMED)]
TaskId = Annotated[int, Meta(ge=1, description="ID of the task")]
# This repeats the values because msgspec does not keep their order.
Status = Annotated[Literal["pending", "completed"], Meta(extra_json_schema={"enum": ["pending", "completed"]})]
StatusFilter = Annotated[
    Literal["pending", "completed"],
    Meta(description="Only tasks with this status", extra_json_schema={"enum": ["pending", "completed", None]}),
]


class AddTask(Struct):
    title: Title
    description: Description | None = None


class ListTasks(Struct):
    status: StatusFilter | None = None


class UpdateTask(Struct):
    task_id: TaskId
    title: Title | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET


class TaskReference(Struct):
    task_id: TaskId


# -- outputs ----------------------------------------------------------------------------------------------------


class TaskData(Struct):
    id: int
    title: str
    description: str | None
    status: Status
    created_at: Time
    completed_at: Time | None


class Deletion(Struct):
    task_id: int
    deleted: Yes


class OneTask(Struct):
    success: Yes
    data: TaskData
    message: str


class ManyTasks(Struct):
    success: Yes
    data: list[TaskData]
    message: str


class DeletedTask(Struct):
    success: Yes
    data: Deletion
    message: str


# -- tools ------------------------------------------------------------------------------------------------------


def add_task(context: Context, args: AddTask) -> Body:
    draft = TaskDraft(title=args.title, description=args.description or None)
    task = tasks.add(context.tx, context.scope, draft)
    return OneTask(True, describe_task(task), "Task created successfully")


def list_tasks(context: Context, args: ListTasks) -> Body:
    batches = tasks.iterate_all(context.tx, context.scope, args.status)
    # An answer contains a task twice: as text and as structured content.
    found = collect(batches, lambda one: 2 * (len(one.title) + len(one.description or "")), "list_tasks", "status")
    return ManyTasks(True, [describe_task(task) for task in found], format_count(len(found), args.status))


def update_task(context: Context, args: UpdateTask) -> Body:
    description = args.description if args.description is UNSET else args.description or None
    patch = TaskPatch(title=args.title, description=description)
    task = tasks.update(context.tx, context.scope, args.task_id, patch)
    return OneTask(True, describe_task(task), "Task updated successfully")


def complete_task(context: Context, args: TaskReference) -> Body:
    task, was_completed = tasks.complete(context.tx, context.scope, args.task_id, keeps_cancelled=True)
    message = "Task is already completed" if was_completed else "Task marked as completed"
    return OneTask(True, describe_task(task), message)


def delete_task(context: Context, args: TaskReference) -> Body:
    task = tasks.delete(context.tx, context.scope, args.task_id)
    return DeletedTask(True, Deletion(task.number, True), "Task deleted successfully")


def describe_task(task: Task) -> TaskData:
    status: Literal["pending", "completed"] = "completed" if task.is_completed else "pending"
    completed_at = None if task.completed_at is None else to_second(task.completed_at)
    return TaskData(task.number, task.title, task.description, status, to_second(task.created_at), completed_at)


def format_count(count: int, status: str | None) -> str:
    if not count:
        return "No tasks found"
    kind = f"{status} " if status else ""
    return f"Found {count} {kind}{'task' if count == 1 else 'tasks'}"


# -- failures ---------------------------------------------------------------------------------------------------


def error(code: str, message: str, details: dict[str, Any] | None = None) -> Body:
    body: dict[str, Any] = {"success": False, "error": message, "code": code}
    return body if details is None else {**body, "details": details}


def explain_wrong_argument(wrong: WrongArgument) -> Body:
    rule = "required" if wrong.rule == "anyOf" else wrong.rule
    complaint = UNSTORABLE_TEXT if wrong.is_unstorable else COMPLAINTS.get(wrong.rule, "Invalid {field}")
    details: dict[str, Any] = {"field": wrong.field, "constraint": rule}
    if rule in ("minLength", "maxLength", "minimum"):
        details["limit"] = wrong.limit
    elif rule == "enum":
        details["allowed_values"] = STATUSES
    return error("VALIDATION_ERROR", complaint.format(field=wrong.field, limit=wrong.limit), details)


STATUSES = ["pending", "completed"]

COMPLAINTS = {
    "required": "Missing required field: {field}",
    "anyOf": "Nothing to update: give title or description",
    "type": "Invalid {field}: must be of type {limit}",
    "minLength": "Invalid {field}: must have at least {limit} character",
    "maxLength": "Invalid {field}: must have at most {limit} characters",
    "minimum": "Invalid {field}: must be at least {limit}",
    "enum": "Invalid {field}: must be pending or completed",
    "additionalProperties": "Unknown field: {field}",
}
UNSTORABLE_TEXT = f"Invalid {{field}}: {UNSTORABLE}"


def failure_schema(tool: Tool) -> Schema:
    not_found = ["NOT_FOUND"] if "task_id" in tool.input.__struct_fields__ else []
    members: dict[str, Schema] = {
        "success": {"type": "boolean", "const": False},
        "error": {"type": "string"},
        "code": {"type": "string", "enum": ["VALIDATION_ERROR", *not_found, "DATABASE_ERROR", "INTERNAL_ERROR"]},
        "details": {"type": "object"},
    }
    return {**strict_object(**members), "required": ["success", "error", "code"]}


def explain_not_found(missing: NotFound | Forbidden) -> Body:
    if missing.kind == "project":  # a token limited to projects adds tasks to a project, which may be gone
        details = {"field": "project", "constraint": "required"}
        return error("VALIDATION_ERROR", f"Project '{missing.key}' does not exist", details)
    # This contract treats another user's task as one that does not exist.
    return error("NOT_FOUND", "Task not found", {"task_id": int(missing.key)})


def explain_too_large(large: AnswerTooLarge) -> Body:
    field = large.argument or "arguments"
    details = {"field": field, "constraint": "maxLength", "limit": large.limit}
    return error(
        "VALIDATION_ERROR", f"The answer has more than {large.limit} bytes: ask for less with {field}", details
    )


def explain_quota(full: QuotaExceeded) -> Body:
    details = {"field": full.what, "constraint": "maximum", "limit": full.limit}
    return error("VALIDATION_ERROR", full.explanation, details)


UNABLE = "Unable to complete request. Please try again."

_write = partial(Tool, transaction="write")

CONTRACT = Contract(
    name="tasks",
    server_name="task-manager",
    capabilities={"tools": {"listChanged": False}},
    uses_project=False,
    acts_as_user=True,
    is_strict=True,
    tools=(
        _write("add_task", "Create new task", AddTask, add_task, OneTask),
        Tool("list_tasks", "Query tasks", ListTasks, list_tasks, ManyTasks, size_argument="status"),
        _write("update_task", "Modify task", UpdateTask, update_task, OneTask, at_least_one=("title", "description")),
        _write("complete_task", "Mark complete", TaskReference, complete_task, OneTask),
        _write("delete_task", "Remove task", TaskReference, delete_task, DeletedTask),
    ),
    failures={
        WrongArgument: explain_wrong_argument,
        NotFound: explain_not_found,
        Forbidden: explain_not_found,
        AnswerTooLarge: explain_too_large,
        QuotaExceeded: explain_quota,
        StoreError: lambda _: error("DATABASE_ERROR", UNABLE),
        Exception: lambda _: error("INTERNAL_ERROR", UNABLE),
    },
    failure_schema=failure_schema,
    lists_output_schemas=True,
)
