"""What clients see of the tool that shows tasks or prompts inside the chat."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.satchel.tools import shared


class Show(Struct):
    what: Annotated[Literal["tasks", "prompts"], Meta(extra_json_schema={"enum": ["tasks", "prompts"]})] = "tasks"
    query: Annotated[str, Meta(extra=shared.QUERY)] | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


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
        "tasks",
        "show:show",
        "Show the user their tasks as a board, or prompts to pick",
        Show,
        SHOWN,
        make_meta=shared.find_function("chat_app:describe_ui"),
    ),
)
