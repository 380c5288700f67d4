"""The tool that shows the user tasks or prompts inside the chat; hosts that show no app get the same in words."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import shared
from satchel.contracts.satchel.chat_app import describe_ui
from satchel.contracts.satchel.prompts import ListPrompts, list_prompts
from satchel.contracts.satchel.tasks import ListTasks, list_tasks


class Show(Struct):
    what: Annotated[Literal["tasks", "prompts"], Meta(extra_json_schema={"enum": ["tasks", "prompts"]})] = "tasks"
    query: Annotated[str, Meta(extra=shared.QUERY)] | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


def show(context: Context, args: Show) -> Body:
    if args.what == "prompts":
        return list_prompts(context, ListPrompts(query=args.query, project=args.project))
    return list_tasks(context, ListTasks(status="pending", query=args.query, project=args.project))


_ANSWER = shared.answer_with(tasks={"type": "array"})
SHOWN = {
    **_ANSWER,
    "properties": {
        **_ANSWER["properties"],
        "prompts": {"type": "array"},
        "next_cursor": shared.STRING,
    },
    "oneOf": [{"required": ["project", "tasks"]}, {"required": ["project", "prompts"]}, {"required": ["error"]}],
}
TOOLS = (
    shared.make_tool(
        "tasks", show, "Show the user their tasks as a board, or prompts to pick", Show, SHOWN, make_meta=describe_ui
    ),
)
