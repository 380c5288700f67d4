"""What the tools take. Short on purpose: every client reads all of it before the first question is asked."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.schema import hidden
from satchel.model import MAX_CONTENT_BYTES

_CONTENT = hidden(max_bytes=MAX_CONTENT_BYTES)
_PROMPT_CONTENT = hidden(max_bytes=MAX_CONTENT_BYTES, is_blank_refused=True)
_TITLE = hidden(is_trimmed=True, max_length=500, is_blank_refused=True)
_LINE = hidden(is_trimmed=True, max_length=10_000)
_NUMBERED = hidden(takes_numbers=True, max_length=500)
_ARGUMENT = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "description": {"type": "string"},
        "required": {"type": "boolean"},
        "values": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name"],
}

Text = Annotated[str, Meta(extra=_LINE)]
Project = Annotated[str, Meta(description="Default: the current one", extra=_LINE)]
Title = Annotated[str, Meta(extra=_TITLE)]
Tags = Annotated[list[str], Meta(extra=hidden(max_items=100))]
Match = Annotated[Literal["any", "all"], Meta(extra_json_schema={"enum": ["any", "all"]})]
Priority = Annotated[
    Literal["low", "normal", "high", "urgent"],
    Meta(extra_json_schema={"enum": ["low", "normal", "high", "urgent"]}),  # in this order
]
Query = Annotated[str, Meta(extra=hidden(max_length=1000))]
Limit = Annotated[int, Meta(extra=hidden(minimum=1, maximum=200))]
Cursor = Annotated[str, Meta(extra=hidden(max_length=200))]
Version = Annotated[int, Meta(description="Refuse if it has another by now", extra=hidden(minimum=1))]
PromptReference = Annotated[str, Meta(description="Name, title or id", extra=hidden(max_length=500))]
ResourceReference = Annotated[str, Meta(description="Name or URI", extra=hidden(max_length=2000))]
TaskReference = Annotated[str, Meta(description="Number or UUID", extra=_NUMBERED)]
Declared = Annotated[
    list[dict[str, Any]],
    Meta(
        description="Makes the content a Jinja2 template",
        extra_json_schema={"items": _ARGUMENT},
        extra=hidden(max_items=100),
    ),
]
Values = Annotated[dict[str, str], Meta(extra=hidden(max_items=100))]
Blockers = Annotated[
    list[str],
    Meta(description="Tasks to be done first", extra=hidden(max_items=100, takes_numbers=True)),
]
Day = Annotated[str, Meta(description="YYYY-MM-DD", extra=_LINE)]


class AddPrompt(Struct):
    title: Title
    content: Annotated[str, Meta(extra=_PROMPT_CONTENT)]
    name: Annotated[str, Meta(description="Default: from the title", extra=_LINE)] | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    arguments: Declared | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class ListPrompts(Struct):
    query: Annotated[str, Meta(description="Text in title or content", extra=hidden(max_length=1000))] | UnsetType = (
        UNSET
    )
    tags: Tags | UnsetType = UNSET
    match: Match = "any"
    limit: Limit = 50
    cursor: Cursor | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class GetPrompt(Struct):
    prompt: PromptReference
    project: Project | UnsetType = UNSET


class RenderPrompt(Struct):
    prompt: PromptReference
    arguments: Values | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class UpdatePrompt(Struct):
    prompt: PromptReference
    title: Title | UnsetType = UNSET
    content: Annotated[str, Meta(extra=_PROMPT_CONTENT)] | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    arguments: Declared | UnsetType = UNSET
    expected_version: Version | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class DeletePrompt(Struct):
    prompt: PromptReference
    project: Project | UnsetType = UNSET


class ListTags(Struct):
    project: Project | UnsetType = UNSET


class AddResource(Struct):
    name: Annotated[str, Meta(description="Letters, digits, - _ .", extra=_LINE)]
    content: Annotated[str, Meta(description="Text; base64 for binary types", extra=hidden())]
    uri: Annotated[str, Meta(description="Default: satchel://resource/NAME", extra=_LINE)] | UnsetType = UNSET
    mime_type: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class ListResources(Struct):
    query: Query | UnsetType = UNSET
    limit: Limit = 50
    cursor: Cursor | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class ReadResource(Struct):
    resource: ResourceReference
    project: Project | UnsetType = UNSET


class UpdateResource(Struct):
    resource: ResourceReference
    content: str | UnsetType = UNSET
    mime_type: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    expected_version: Version | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class DeleteResource(Struct):
    resource: ResourceReference
    project: Project | UnsetType = UNSET


class AddTask(Struct):
    title: Title
    description: Text | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    priority: Priority = "normal"
    due: Day | UnsetType = UNSET
    blocked_by: Blockers | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class ListTasks(Struct):
    status: Annotated[
        Literal["ready", "pending", "completed", "all"],
        Meta(
            description="ready: open and not blocked",
            extra_json_schema={"enum": ["ready", "pending", "completed", "all"]},
        ),
    ] = "ready"
    query: Query | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    match: Match = "any"
    limit: Limit = 50
    cursor: Cursor | UnsetType = UNSET
    project: Annotated[str, Meta(description="Default: all", extra=_LINE)] | UnsetType = UNSET


class UpdateTask(Struct):
    task: TaskReference
    title: Title | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    status: Literal["pending", "completed"] | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    due: Day | UnsetType = UNSET
    blocked_by: Blockers | UnsetType = UNSET
    expected_version: Version | UnsetType = UNSET
    project: Text | UnsetType = UNSET


class CompleteTask(Struct):
    task: TaskReference


class DeleteTask(Struct):
    task: TaskReference


class ListProjects(Struct):
    pass
