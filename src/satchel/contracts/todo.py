"""The `todo` contract: five tools for the tasks of the user that each call names."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, structs

from satchel import clock
from satchel.contracts.content import collect, format_count
from satchel.contracts.contract import Body, Context, Contract, Tool
from satchel.contracts.schema import UNSTORABLE, Schema, hidden
from satchel.errors import AnswerTooLarge, Forbidden, NotFound, QuotaExceeded, WrongArgument
from satchel.model import Scope, Task, TaskDraft, TaskPatch, Timestamp
from satchel.services import tasks

# -- inputs -----------------------------------------------------------------------------------------------------

_UUID = {"format": "uuid"}
_TITLE = hidden(is_trimmed=True)


def _describe(description: str, **keywords: object) -> Meta:
    """Return a `Meta` with the keywords first and the description last, as the contract's document prints them."""
    return Meta(extra_json_schema={**keywords, "description": description})


User = Annotated[str, _describe("The ID of the user", **_UUID)]


class AddTask(Struct):
    user_id: Annotated[str, _describe("The ID of the user creating the task", **_UUID)]
    title: Annotated[str, Meta(min_length=1, max_length=500, description="The task title/description", extra=_TITLE)]


class ListTasks(Struct):
    user_id: User
    include_completed: Annotated[bool, _describe("Whether to include completed tasks", default=True)] = True


class CompleteTask(Struct):
    user_id: User
    task_id: Annotated[str, _describe("The ID of the task to complete", **_UUID)]


class DeleteTask(Struct):
    user_id: User
    task_id: Annotated[str, _describe("The ID of the task to delete", **_UUID)]


class UpdateTask(Struct):
    user_id: User
    task_id: Annotated[str, _describe("The ID of the task to update", **_UUID)]
    title: Annotated[str, Meta(min_length=1, max_length=500, description="The new task title", extra=_TITLE)]


# -- outputs ----------------------------------------------------------------------------------------------------
# The output schemas as the document prints them, with null where a failure answers null.

_STATE: Schema = {"id": {"type": "string", **_UUID}, "title": {"type": "string"}, "completed": {"type": "boolean"}}
_TIME: Schema = {"type": "string", "format": "date-time"}


def _answer(**members: Schema) -> Schema:
    properties = {"success": {"type": "boolean"}, **members, "message": {"type": "string"}}
    return {"type": "object", "properties": properties}


def _answer_task(**times: Schema) -> Schema:
    return _answer(task={"type": ["object", "null"], "properties": {**_STATE, **times}})


# -- tools ------------------------------------------------------------------------------------------------------


def add_task(context: Context, args: AddTask) -> Body:
    task = tasks.add(context.tx, context.scope, TaskDraft(title=args.title))
    created = describe_task(task, created_at=task.created_at)
    return {"success": True, "task": created, "message": f"Task '{task.title}' created successfully"}


def list_tasks(context: Context, args: ListTasks) -> Body:
    status: Literal["pending"] | None = None if args.include_completed else "pending"
    batches = tasks.iterate_all(context.tx, context.scope, status)
    found = collect(batches, lambda task: 2 * len(task.title), "list_tasks", "include_completed")  # twice
    listed = [describe_task(task, created_at=task.created_at) for task in found]
    message = f"Found {format_count(len(found), 'task')}"
    return {"success": True, "tasks": listed, "count": len(found), "message": message}


def complete_task(context: Context, args: CompleteTask) -> Body:
    task, _ = tasks.complete(context.tx, context.scope, args.task_id.lower(), keeps_cancelled=True)
    return {"success": True, "task": describe_task(task), "message": f"Task '{task.title}' marked as complete"}


def delete_task(context: Context, args: DeleteTask) -> Body:
    task = tasks.delete(context.tx, context.scope, args.task_id.lower(), permanently=True)
    return {"success": True, "deleted_task_id": task.id, "message": "Task deleted successfully"}


def update_task(context: Context, args: UpdateTask) -> Body:
    patch = TaskPatch(title=args.title)
    task = tasks.update(context.tx, context.scope, args.task_id.lower(), patch, renews_time=True)
    updated = describe_task(task, updated_at=task.updated_at)
    return {"success": True, "task": updated, "message": f"Task updated to '{task.title}'"}


def resolve_scope(scope: Scope, arguments: dict[str, Any]) -> Scope:
    """Return the scope of the user that a call names. If the connection has a user, the call must name that user.

    This is checked before everything else.
    """
    given = arguments.get("user_id")
    user = clock.parse_id(given) if isinstance(given, str) else None
    if user is None:
        return scope  # the validation of the arguments refuses the call
    if scope.user not in (None, user):
        raise Forbidden("user", user, scope)
    return structs.replace(scope, user=user)


def write_instructions(_tools: Sequence[Tool], user: str | None) -> str | None:
    return None if user is None else f"Tasks of user {user}. Pass this as user_id."


def describe_task(task: Task, **times: Timestamp) -> dict[str, Any]:
    seconds = {name: clock.to_second(time) for name, time in times.items()}
    return {"id": task.id, "title": task.title, "completed": task.is_completed, **seconds}


# -- failures ---------------------------------------------------------------------------------------------------

NOT_YOURS = "You don't have permission to modify this task"


# The member that replaces the result in a failure, for tools whose result is not called `task`.
NO_RESULT: dict[str, dict[str, Any]] = {
    "list_tasks": {"tasks": [], "count": 0},
    "delete_task": {"deleted_task_id": None},
}


def shape_failure(tool: Tool, message: Body) -> Body:
    return {"success": False, **NO_RESULT.get(tool.name, {"task": None}), "message": message}


def explain_wrong_argument(wrong: WrongArgument) -> str:
    if wrong.rule == "required":
        return f"Missing required field: {wrong.field}"
    if wrong.field == "title" and wrong.rule == "minLength":
        return "Task title cannot be empty"
    if wrong.field == "title" and wrong.rule == "maxLength":
        return "Task title must be at most 500 characters"
    if wrong.is_unstorable:
        return f"Invalid {wrong.field}: {UNSTORABLE}"
    kinds = {"title": "a string", "include_completed": "a boolean"}
    return f"Invalid {wrong.field}: must be {kinds.get(wrong.field, 'a UUID')}"


def explain_not_found(missing: NotFound) -> str:
    # Only a token limited to projects adds tasks to a project, which may have been deleted.
    return f"Project '{missing.key}' does not exist" if missing.kind == "project" else "Task not found"


def explain_too_large(large: AnswerTooLarge) -> str:
    less = "" if large.argument is None else f": ask for less with {large.argument}"
    return f"The answer has more than {large.limit} bytes{less}"


UNABLE = "Unable to complete request. Please try again."

_write = partial(Tool, transaction="write")

CONTRACT = Contract(
    name="todo",
    server_name="todo",
    capabilities={"tools": {"listChanged": False}},
    uses_project=False,
    resolve_scope=resolve_scope,
    instructions=write_instructions,
    tools=(
        _write(
            "add_task", "Create a new task for a user.", AddTask, add_task, output_schema=_answer_task(created_at=_TIME)
        ),
        Tool(
            "list_tasks",
            "Retrieve all tasks for a user.",
            ListTasks,
            list_tasks,
            size_argument="include_completed",
            output_schema=_answer(
                tasks={"type": "array", "items": {"type": "object", "properties": {**_STATE, "created_at": _TIME}}},
                count={"type": "integer"},
            ),
        ),
        _write("complete_task", "Mark a task as completed.", CompleteTask, complete_task, output_schema=_answer_task()),
        _write(
            "delete_task",
            "Remove a task permanently.",
            DeleteTask,
            delete_task,
            output_schema=_answer(deleted_task_id={"type": ["string", "null"], **_UUID}),
        ),
        _write(
            "update_task",
            "Modify an existing task's title.",
            UpdateTask,
            update_task,
            output_schema=_answer_task(updated_at=_TIME),
        ),
    ),
    failures={
        WrongArgument: explain_wrong_argument,
        Forbidden: lambda _: NOT_YOURS,
        NotFound: explain_not_found,
        AnswerTooLarge: explain_too_large,
        QuotaExceeded: lambda full: full.explanation,
        Exception: lambda _: UNABLE,
    },
    shape_failure=shape_failure,
)
