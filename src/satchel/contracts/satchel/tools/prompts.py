"""What clients see of the tools for prompts."""

from functools import partial
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.satchel.tools import shared
from satchel.contracts.schema import hidden
from satchel.model import MAX_CONTENT_BYTES
from satchel.services.rules import MAX_TITLE

# -- inputs -----------------------------------------------------------------------------------------------------

_ARGUMENT = shared.object_with(
    ("name",),
    name=shared.STRING,
    description=shared.STRING,
    required=shared.BOOLEAN,
    values=shared.array_of(shared.STRING),
    open=shared.BOOLEAN,
)
ARGUMENTS = shared.array_of(_ARGUMENT)
_NEW_PROMPT = shared.object_with(
    ("title", "content"),
    title=shared.STRING,
    content=shared.STRING,
    name=shared.STRING,
    description=shared.STRING,
    tags=shared.array_of(shared.STRING),
    arguments=ARGUMENTS,
)

Reference = Annotated[str, Meta(description="Name, title or id", extra=hidden(max_length=500, is_blank_refused=True))]
Title = Annotated[str, Meta(extra=hidden(is_trimmed=True, max_length=MAX_TITLE, is_blank_refused=True))]
Content = Annotated[str, Meta(extra=hidden(max_bytes=MAX_CONTENT_BYTES, is_blank_refused=True))]
Arguments = Annotated[
    list[dict[str, Any]],
    Meta(
        description="[]: plain text",
        extra_json_schema={"items": _ARGUMENT},
        extra=hidden(max_items=100),
    ),
]

# As in add_prompts, whose schema a model has seen.
ChangedArguments = Annotated[
    list[dict[str, Any]],
    Meta(
        description="As in add_prompts; [] for plain text",
        extra_json_schema={"items": {"type": "object"}},
        extra=hidden(max_items=100),
    ),
]

Values = Annotated[dict[str, str], Meta(extra=hidden(max_items=100))]


class AddPrompts(Struct):
    prompts: Annotated[
        list[dict[str, Any]],
        Meta(
            description="{{ x }} in content makes a Jinja2 template",
            extra_json_schema={"items": _NEW_PROMPT},
            extra=hidden(max_items=shared.MOST_ENTRIES),
        ),
    ]
    key: shared.Key | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class AddPrompt(Struct):
    title: Title
    content: Content
    name: Annotated[str, Meta(description="Default: from the title", extra=shared.LINE)] | UnsetType = UNSET
    description: shared.Text | UnsetType = UNSET
    tags: shared.Tags | UnsetType = UNSET
    arguments: Arguments | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class OnePrompt(Struct):
    prompt: Reference
    project: shared.Project | UnsetType = UNSET


class UpdatePrompt(Struct):
    prompt: Reference
    title: Title | UnsetType = UNSET
    content: Content | UnsetType = UNSET
    description: shared.Text | UnsetType = UNSET
    tags: shared.ChangedTags | UnsetType = UNSET
    arguments: ChangedArguments | UnsetType = UNSET
    expected_version: shared.Version | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class ListPrompts(Struct):
    query: Annotated[str, Meta(description="Text in title or content", extra=shared.QUERY)] | UnsetType = UNSET
    tags: shared.Tags | UnsetType = UNSET
    match: shared.Match = "any"
    limit: shared.Limit = 50
    cursor: shared.Cursor | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class GetPrompt(Struct):
    prompt: Reference
    arguments: Values | UnsetType = UNSET
    lines: shared.Lines | UnsetType = UNSET
    heading: shared.Heading | UnsetType = UNSET
    whole: shared.Whole | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class RenderPrompt(Struct):
    prompt: Reference
    arguments: Values | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class ListTags(Struct):
    project: shared.Project | UnsetType = UNSET


# -- table -----------------------------------------------------------------------------------------------------

_ROW = shared.object_with(("name",), name=shared.STRING)
ONE_PROMPT = shared.answer_with(prompt=_ROW)
ADDED_PROMPTS = shared.answer_with(prompts={"type": "array"})
PROMPT_PAGE = shared.answer_with(prompts=shared.array_of(_ROW), next_cursor=shared.STRING)
WHOLE_PROMPT = shared.answer_with_one(prompt=_ROW, text=shared.STRING)
RENDERED_PROMPT = shared.answer_with(name=shared.STRING, text=shared.STRING)
DELETED_PROMPT = shared.answer_with(deleted=shared.STRING)
TAG_LIST = shared.answer_with(tags=shared.array_of(shared.COUNTED))

_tool = partial(shared.make_tool, "prompts")

TOOLS = (
    _tool(
        "prompts:list_prompts",
        "Find saved and library prompts, newest first, without their content",
        ListPrompts,
        PROMPT_PAGE,
    ),
    _tool("prompts:get_prompt", "Read a prompt; with arguments filled in, to follow it", GetPrompt, WHOLE_PROMPT),
    _tool(
        "prompt_changes:add_prompts",
        "Save prompts, all or none",
        AddPrompts,
        ADDED_PROMPTS,
        shared.ADDS,
        prepare=shared.find_function("prompt_changes:prove_added"),
    ),
    _tool(
        "prompt_changes:update_prompt",
        "Change the given fields of a prompt; empty clears",
        UpdatePrompt,
        ONE_PROMPT,
        shared.UPDATES,
        at_least_one=("title", "content", "description", "tags", "arguments"),
        look=shared.find_function("prompt_changes:look_at_updated"),
        prepare=shared.find_function("prompt_changes:prove_looked_at"),
    ),
    _tool(
        "prompt_changes:add_prompt",
        "Save a prompt for later use",
        AddPrompt,
        ONE_PROMPT,
        shared.ADDS,
        prepare=shared.find_function("prompt_changes:prove_content"),
        is_listed=False,
    ),
    _tool("prompts:render_prompt", "Fill in a prompt", RenderPrompt, RENDERED_PROMPT, is_listed=False),
    _tool(
        "prompt_changes:delete_prompt",
        "Delete a prompt; restore brings it back",
        OnePrompt,
        DELETED_PROMPT,
        shared.DELETES,
        is_listed=False,
    ),
    _tool("prompts:list_tags", "Tags of prompts with counts", ListTags, TAG_LIST, is_listed=False),
)
