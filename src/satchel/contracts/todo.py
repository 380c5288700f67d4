"""The `todo` contract: five tools over the tasks of the user that each call names."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from satchel import clock
from satchel.contracts.contract import Body, Context, Contract, Schema, Tool
from satchel.contracts.schema import hidden
from satchel.errors import Forbidden, NotFound, SatchelError, WrongArgument
from satchel.model import Scope, Task, TaskDraft, TaskPatch
from satchel.services import tasks

# -- inputs -----------------------------------------------------------------------------------------------------

_UUID = {"format": "uuid"}
_TITLE = hidden(is_trimmed=True)

User = Annotated[str, Meta(description="The ID of the user", extra_json_schema=_UUID)]


class AddTask(Struct):
    user_id: Annotated[str, Meta(description="The ID of the user creating the task", extra_json_schema=_UUID)]
    title: Annotated[str, Meta(min_length=1, max_length=500, description="The task title/description", extra=_TITLE)]


class ListTasks(Struct):
    user_id: User
    include_completed: Annotated[bool, Meta(description="Whether to include completed tasks")] = True


class CompleteTask(Struct):
    user_id: User
    task_id: Annotated[str, Meta(description="The ID of the task to complete", extra_json_schema=_UUID)]


class DeleteTask(Struct):
    user_id: User
    task_id: Annotated[str, Meta(description="The ID of the task to delete", extra_json_schema=_UUID)]


class UpdateTask(Struct):
    user_id: User
    task_id: Annotated[str, Meta(description="The ID of the task to update", extra_json_schema=_UUID)]
    title: Annotated[str, Meta(min_length=1, max_length=500, description="The new task title", extra=_TITLE)]


# -- outputs ----------------------------------------------------------------------------------------------------

Id = Annotated[str, Meta(extra_json_schema=_UUID)]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Yes = Annotated[bool, Meta(extra_json_schema={"const": True})]


class Listed(Struct):
    id: Id
    title: str
    completed: bool
    created_at: Time


class Completed(Struct):
    id: Id
    title: str
    completed: bool


class Updated(Struct):
    id: Id
    title: str
    completed: bool
    updated_at: Time


class AddedTask(Struct):
    success: Yes
    task: Listed
    message: str


class TaskList(Struct):
    success: Yes
    tasks: list[Listed]
    count: int
    message: str


class CompletedTask(Struct):
    success: Yes
    task: Completed
    message: str


class DeletedTask(Struct):
    success: Yes
    deleted_task_id: Id
    message: str


class UpdatedTask(Struct):
    success: Yes
    task: Updated
    message: str


# -- tools ------------------------------------------------------------------------------------------------------


def add_task(context: Context, args: AddTask) -> Body:
    task = tasks.add(context.tx, context.scope, TaskDraft(title=args.title))
    return AddedTask(True, listed(task), f"Task '{task.title}' created successfully")


def list_tasks(context: Context, args: ListTasks) -> Body:
    status: Literal["pending"] | None = None if args.include_completed else "pending"
    found = tasks.list_all(context.tx, context.scope, status)
    return TaskList(True, [listed(task) for task in found], len(found), counted(len(found)))


def complete_task(context: Context, args: CompleteTask) -> Body:
    task, _ = tasks.complete(context.tx, context.scope, args.task_id.lower(), renews=False)
    message = f"Task '{task.title}' marked as complete"
    return CompletedTask(True, Completed(task.id, task.title, task.is_completed), message)


def delete_task(context: Context, args: DeleteTask) -> Body:
    task = tasks.delete(context.tx, context.scope, args.task_id.lower())
    return DeletedTask(True, task.id, "Task deleted successfully")


def update_task(context: Context, args: UpdateTask) -> Body:
    task = tasks.update(context.tx, context.scope, args.task_id.lower(), TaskPatch(title=args.title))
    updated = Updated(task.id, task.title, task.is_completed, task.updated_at)
    return UpdatedTask(True, updated, f"Task updated to '{task.title}'")


# -- shapes -----------------------------------------------------------------------------------------------------


def acting_as(scope: Scope, arguments: Any) -> Scope:
    return msgspec.structs.replace(scope, user=arguments.user_id.lower())


def listed(task: Task) -> Listed:
    return Listed(task.id, task.title, task.is_completed, task.created_at)


def counted(count: int) -> str:
    return "Found 1 task" if count == 1 else f"Found {count} tasks"


# -- failures ---------------------------------------------------------------------------------------------------

NOT_YOURS = "You don't have permission to modify this task"


def admit(scope: Scope, arguments: dict[str, Any]) -> None:
    """Where the connection has a user, no call is for another, whatever else is wrong with it."""
    given = arguments.get("user_id")
    user = clock.parse_id(given) if isinstance(given, str) else None
    if scope.user is not None and user is not None and user != scope.user:
        raise Forbidden("user", user, scope)


# What a failure has in place of the answer, for the tools whose answer is not called `task`.
INSTEAD: dict[str, dict[str, Any]] = {"list_tasks": {"tasks": [], "count": 0}, "delete_task": {"deleted_task_id": None}}


def shaped(tool: Tool, message: Body) -> Body:
    return {"success": False, **INSTEAD.get(tool.name, {"task": None}), "message": message}


def refusal(tool: Tool) -> Schema:
    members = {
        "success": {"type": "boolean", "const": False},
        **{name: {"const": value} for name, value in INSTEAD.get(tool.name, {"task": None}).items()},
        "message": {"type": "string"},
    }
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


def wrong_argument(wrong: WrongArgument) -> str:
    if wrong.rule == "required":
        return f"Missing required field: {wrong.field}"
    if wrong.field == "title" and wrong.rule == "minLength":
        return "Task title cannot be empty"
    if wrong.field == "title" and wrong.rule == "maxLength":
        return "Task title must be at most 500 characters"
    kinds = {"title": "a string", "include_completed": "a boolean"}
    return f"Invalid {wrong.field}: must be {kinds.get(wrong.field, 'a UUID')}"


UNABLE = "Unable to complete request. Please try again."

CONTRACT = Contract(
    name="todo",
    server_name="todo",
    capabilities={"tools": {"listChanged": False}},
    uses_project=False,
    acting=acting_as,
    tools=(
        Tool(
            name="add_task",
            description="Create a new task for a user.",
            input=AddTask,
            output=AddedTask,
            run=add_task,
            writes=True,
        ),
        Tool(
            name="list_tasks",
            description="Retrieve all tasks for a user.",
            input=ListTasks,
            output=TaskList,
            run=list_tasks,
        ),
        Tool(
            name="complete_task",
            description="Mark a task as completed.",
            input=CompleteTask,
            output=CompletedTask,
            run=complete_task,
            writes=True,
        ),
        Tool(
            name="delete_task",
            description="Remove a task permanently.",
            input=DeleteTask,
            output=DeletedTask,
            run=delete_task,
            writes=True,
        ),
        Tool(
            name="update_task",
            description="Modify an existing task's title.",
            input=UpdateTask,
            output=UpdatedTask,
            run=update_task,
            writes=True,
        ),
    ),
    admit=admit,
    failures={
        WrongArgument: wrong_argument,
        Forbidden: lambda _: NOT_YOURS,
        NotFound: lambda _: "Task not found",
        SatchelError: lambda _: UNABLE,
    },
    shaped=shaped,
    refusal=refusal,
    apology=UNABLE,
)
