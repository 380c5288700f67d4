"""What the tools take. Short on purpose: every client reads all of it before the first question is asked."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.schema import hidden
from satchel.model import MAX_CONTENT_BYTES
from satchel.services.rules import MAX_NAME, MAX_TITLE

_PROMPT_CONTENT = hidden(max_bytes=MAX_CONTENT_BYTES, is_blank_refused=True)
_TITLE = hidden(is_trimmed=True, max_length=MAX_TITLE, is_blank_refused=True)
_TASK_TITLE = hidden(is_trimmed=True, max_length=500, is_blank_refused=True)
_LINE = hidden(is_trimmed=True, max_length=10_000)
_NAME = hidden(is_trimmed=True, max_length=MAX_NAME)
_NUMBERED = hidden(takes_numbers=True, max_length=500, is_blank_refused=True)
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
Project = Annotated[str, Meta(description="Default: the current one", extra=_NAME)]
Title = Annotated[str, Meta(extra=_TITLE)]
TaskTitle = Annotated[str, Meta(extra=_TASK_TITLE)]
Tags = Annotated[list[str], Meta(extra=hidden(max_items=100))]
Match = Annotated[Literal["any", "all"], Meta(extra_json_schema={"enum": ["any", "all"]})]
Priority = Annotated[
    Literal["low", "normal", "high", "urgent"],
    Meta(extra_json_schema={"enum": ["low", "normal", "high", "urgent"]}),  # in this order
]
_QUERY = hidden(max_length=1000)
Limit = Annotated[int, Meta(le=200, extra=hidden(minimum=1))]
Cursor = Annotated[str, Meta(description="next_cursor of the page before", extra=hidden(max_length=2000))]
Version = Annotated[
    int,
    Meta(description="As you read it; refused if it has another by now", extra=hidden(minimum=1, maximum=2**63 - 1)),
]
_PROMPT = hidden(max_length=500, is_blank_refused=True)
_RESOURCE = hidden(max_length=2000, is_blank_refused=True)
PromptReference = Annotated[str, Meta(description="Name, title or id", extra=_PROMPT)]
ResourceReference = Annotated[str, Meta(description="Name or URI", extra=_RESOURCE)]
TaskReference = Annotated[str, Meta(description="Number or UUID", extra=_NUMBERED)]
Declared = Annotated[
    list[dict[str, Any]],
    Meta(
        description="Makes content a Jinja2 template with these variables",
        extra_json_schema={"items": _ARGUMENT},
        extra=hidden(max_items=100),
    ),
]
Values = Annotated[dict[str, str], Meta(description="Values by name", extra=hidden(max_items=100))]
Content = Annotated[str, Meta(description="Text; base64 for binary types", extra=hidden())]
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
    query: Annotated[str, Meta(description="Text in title or content", extra=_QUERY)] | UnsetType = UNSET
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
    content: Content
    uri: Annotated[str, Meta(description="Default: satchel://resource/NAME", extra=_LINE)] | UnsetType = UNSET
    mime_type: Annotated[str, Meta(description="Default: text/plain", extra=_LINE)] | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class ListResources(Struct):
    query: Annotated[str, Meta(description="Text in name, URI or description", extra=_QUERY)] | UnsetType = UNSET
    limit: Limit = 50
    cursor: Cursor | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class ReadResource(Struct):
    resource: ResourceReference
    project: Project | UnsetType = UNSET


class UpdateResource(Struct):
    resource: ResourceReference
    content: Content | UnsetType = UNSET
    mime_type: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    expected_version: Version | UnsetType = UNSET
    project: Project | UnsetType = UNSET


class DeleteResource(Struct):
    resource: ResourceReference
    project: Project | UnsetType = UNSET


class AddTask(Struct):
    title: TaskTitle
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
    query: Annotated[str, Meta(description="Text in title or description", extra=_QUERY)] | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    match: Match = "any"
    limit: Limit = 50
    cursor: Cursor | UnsetType = UNSET
    project: Annotated[str, Meta(description="Default: all", extra=_NAME)] | UnsetType = UNSET


class UpdateTask(Struct):
    task: TaskReference
    title: TaskTitle | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    status: Literal["pending", "completed"] | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    due: Day | UnsetType = UNSET
    blocked_by: Blockers | UnsetType = UNSET
    expected_version: Version | UnsetType = UNSET
    project: Annotated[str, Meta(description="Where to move it", extra=_NAME)] | UnsetType = UNSET


class CompleteTask(Struct):
    task: TaskReference


class DeleteTask(Struct):
    task: TaskReference


class ListProjects(Struct):
    pass
