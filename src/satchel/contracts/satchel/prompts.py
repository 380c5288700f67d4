"""Prompts: the tools for stored prompts and for those of libraries, and how answers describe one."""

from functools import partial
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import shared
from satchel.contracts.satchel.cursors import decode_cursor
from satchel.contracts.satchel.failures import name_in_errors
from satchel.contracts.satchel.rendering import (
    START_TASK,
    LibraryTemplate,
    fill_in,
    find_prompt,
    find_stored,
    read_template,
)
from satchel.contracts.schema import hidden
from satchel.errors import WrongArgument
from satchel.library.manifest import LibraryPrompt
from satchel.model import MAX_CONTENT_BYTES, Argument, Prompt, PromptDraft, PromptPatch, PromptQuery, PromptSummary
from satchel.protocol.cursors import encode_cursor
from satchel.services import projects, prompts
from satchel.services.rules import MAX_TITLE

# -- inputs -----------------------------------------------------------------------------------------------------

_REFERENCE = hidden(max_length=500, is_blank_refused=True)
_ARGUMENT = shared.object_with(
    ("name",),
    name=shared.STRING,
    description=shared.STRING,
    required=shared.BOOLEAN,
    values=shared.array_of(shared.STRING),
)

Title = Annotated[str, Meta(extra=hidden(is_trimmed=True, max_length=MAX_TITLE, is_blank_refused=True))]
Content = Annotated[str, Meta(extra=hidden(max_bytes=MAX_CONTENT_BYTES, is_blank_refused=True))]
Reference = Annotated[str, Meta(description="Name, title or id", extra=_REFERENCE)]
Arguments = Annotated[
    list[dict[str, Any]],
    Meta(
        description="Makes content a Jinja2 template with these variables",
        extra_json_schema={"items": _ARGUMENT},
        extra=hidden(max_items=100),
    ),
]
Values = Annotated[dict[str, str], Meta(description="Values by name", extra=hidden(max_items=100))]


class AddPrompt(Struct):
    title: Title
    content: Content
    name: Annotated[str, Meta(description="Default: from the title", extra=shared.LINE)] | UnsetType = UNSET
    description: shared.Text | UnsetType = UNSET
    tags: shared.Tags | UnsetType = UNSET
    arguments: Arguments | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class ListPrompts(Struct):
    query: Annotated[str, Meta(description="Text in title or content", extra=shared.QUERY)] | UnsetType = UNSET
    tags: shared.Tags | UnsetType = UNSET
    match: shared.Match = "any"
    limit: shared.Limit = 50
    cursor: shared.Cursor | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class OnePrompt(Struct):
    prompt: Reference
    project: shared.Project | UnsetType = UNSET


class RenderPrompt(Struct):
    prompt: Reference
    arguments: Values | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class UpdatePrompt(Struct):
    prompt: Reference
    title: Title | UnsetType = UNSET
    content: Content | UnsetType = UNSET
    description: shared.Text | UnsetType = UNSET
    tags: shared.Tags | UnsetType = UNSET
    arguments: Arguments | UnsetType = UNSET
    expected_version: shared.Version | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class ListTags(Struct):
    project: shared.Project | UnsetType = UNSET


# -- tools ------------------------------------------------------------------------------------------------------


def add_prompt(context: Context, args: AddPrompt) -> Body:
    context = context.within(args.project)
    if args.name == START_TASK:
        raise WrongArgument("name", "not", value=START_TASK, kind="prompt")
    prompt = prompts.add(
        context.tx,
        context.scope,
        PromptDraft(
            title=args.title,
            content=args.content,
            name=args.name or None,
            description=args.description or None,
            tags=args.tags or (),
            arguments=read_arguments(args.arguments or []),
        ),
        avoiding=START_TASK,
    )
    text = f"Added prompt '{prompt.name}' to project '{context.scope.project}'."
    return shared.reply(text, {"project": context.scope.project, "prompt": describe_prompt(prompt)})


def list_prompts(context: Context, args: ListPrompts) -> Body:
    context = context.within(args.project)
    last = decode_cursor(args.cursor, "p", "l")
    query, tags = args.query or None, args.tags or ()
    found, has_more = _list_stored(context, args, last)
    items = [summarize_prompt(prompt) for prompt in found]
    next_cursor = encode_cursor("p", *prompts.position_of(found[-1])) if found else None
    if not has_more and not tags:  # libraries come after stored prompts; their prompts have no tags
        rest = _list_libraries(context, query, behind=last[1] if last and last[0] == "l" else "")
        taken = rest[: args.limit - len(items)]
        items += taken
        has_more = len(taken) < len(rest)
        next_cursor = encode_cursor("l", taken[-1].name) if taken else next_cursor
    return shared.reply_page(
        "prompts",
        context.scope.project,
        [f"- {item.name}: {shared.shorten(item.description or item.title)}" for item in items],
        {"project": context.scope.project, "prompts": items},
        next_cursor=next_cursor if has_more else None,
        is_narrowed=bool(query or tags),
        is_continued=last is not None,
    )


def get_prompt(context: Context, args: OnePrompt) -> Body:
    context = context.within(args.project)
    found = find_prompt(context, args.prompt)
    if isinstance(found, LibraryTemplate):
        answer = describe_library_prompt(found.name, found.prompt)
    else:
        answer = describe_prompt(found)
    answer.content = read_template(context, found)
    return shared.reply(answer.content, {"project": context.scope.project, "prompt": answer}, format_facts(answer))


def render_prompt(context: Context, args: RenderPrompt) -> Body:
    context = context.within(args.project)
    found = find_prompt(context, args.prompt)
    given = {name: value for name, value in (args.arguments or {}).items() if value is not None}  # null is absent
    text = fill_in(context, found, given)
    return shared.reply(text, {"project": context.scope.project, "name": found.name, "text": text})


def update_prompt(context: Context, args: UpdatePrompt) -> Body:
    context = context.within(args.project)
    seen = find_stored(context, args.prompt)
    with name_in_errors(seen.name):
        prompt = prompts.update(
            context.tx,
            context.scope,
            seen.id,
            PromptPatch(
                title=args.title,
                content=args.content,
                description=shared.none_if_empty(args.description),
                tags=args.tags,
                arguments=UNSET if args.arguments is UNSET else read_arguments(args.arguments),
            ),
            expected_version=None if args.expected_version is UNSET else args.expected_version,
        )
    text = f"Updated prompt '{prompt.name}' in project '{context.scope.project}' to version {prompt.version}."
    return shared.reply(text, {"project": context.scope.project, "prompt": describe_prompt(prompt)})


def delete_prompt(context: Context, args: OnePrompt) -> Body:
    context = context.within(args.project)
    prompt = find_stored(context, args.prompt)
    prompts.delete(context.tx, context.scope, prompt.id)
    text = f"Deleted prompt '{prompt.name}' from project '{context.scope.project}'."
    return shared.reply(text, {"project": context.scope.project, "deleted": prompt.name})


def list_tags(context: Context, args: ListTags) -> Body:
    context = context.within(args.project)
    tags = prompts.list_tags(context.tx, context.scope)
    text = ", ".join(f"{tag.name} ({tag.prompts})" for tag in tags) or f"No tags in project '{context.scope.project}'."
    entries = [{"name": tag.name, "prompts": tag.prompts} for tag in tags]
    return shared.reply(text, {"project": context.scope.project, "tags": entries})


# -- parts of tools ----------------------------------------------------------------------------------------------------


def _list_stored(
    context: Context, args: ListPrompts, last: tuple[str, ...] | None
) -> tuple[tuple[PromptSummary, ...], bool]:
    """The stored prompts of a page, and whether there are more."""
    if last and last[0] == "l":  # the page begins behind all stored prompts, but the project must exist
        projects.current(context.tx, context.scope)
        return (), False
    return prompts.list_page(
        context.tx,
        context.scope,
        PromptQuery(text=args.query or "", tags=args.tags or (), needs_all_tags=args.match == "all"),
        limit=args.limit,
        after=(last[1], int(last[2])) if last else None,
    )


def _list_libraries(context: Context, query: str | None, behind: str) -> list["PromptAnswer"]:
    """The prompts of libraries behind a name, in the order of names, with a text in name or description."""
    folded = (query or "").casefold()
    # Sorted by name, not as the library lists them: the cursor stays good when its prompt has been deleted.
    templates = sorted(context.libraries.catalog.view, key=lambda one: one[0].partition(":"))
    return [
        describe_library_prompt(name, prompt)
        for name, prompt in templates
        if name.partition(":") > behind.partition(":") and folded in f"{name} {prompt.description or ''}".casefold()
    ]


def read_arguments(given: list[dict[str, Any]]) -> tuple[Argument, ...]:
    """The arguments that a call declares for a prompt."""
    for index, one in enumerate(given):
        if one["name"] is None:
            raise WrongArgument("arguments", "type", limit="object with name", place=f"arguments[{index}]")
    return tuple(
        Argument(one["name"], one.get("description"), bool(one.get("required")), tuple(one.get("values") or ()))
        for one in given
    )


# -- answers ----------------------------------------------------------------------------------------------------

PROMPT = shared.object_with(
    ("name", "title"),
    name=shared.STRING,
    title=shared.STRING,
    version=shared.INTEGER,
    content=shared.STRING,
    tags=shared.array_of(shared.STRING),
)
ONE_PROMPT = shared.answer_with(prompt=PROMPT)
PROMPT_PAGE = shared.answer_with(prompts=shared.array_of(PROMPT), next_cursor=shared.STRING)
RENDERED_PROMPT = shared.answer_with(name=shared.STRING, text=shared.STRING)
DELETED_PROMPT = shared.answer_with(deleted=shared.STRING)
TAG_LIST = shared.answer_with(tags=shared.array_of(shared.COUNTED))


class ArgumentAnswer(Struct, omit_defaults=True):
    """An argument of a prompt in an answer."""

    name: str
    description: str | None = None
    required: bool = False
    values: tuple[str, ...] = ()


class PromptAnswer(Struct, omit_defaults=True):
    """A prompt in an answer; empty members are left out."""

    name: str
    title: str
    version: int | None = None  # library prompts have none: they change on disk
    id: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    arguments: tuple[ArgumentAnswer, ...] = ()
    excerpt: str | None = None
    content: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


def describe_prompt(prompt: Prompt) -> PromptAnswer:
    """A stored prompt without its content, which a caller who has just written it knows."""
    return shared.copy_members(prompt, PromptAnswer, arguments=_describe_arguments(prompt.arguments), content=None)


def summarize_prompt(prompt: PromptSummary) -> PromptAnswer:
    """A stored prompt in a list."""
    excerpt = f"{prompt.excerpt.text}..." if prompt.excerpt.is_cut_behind else prompt.excerpt.text
    arguments = _describe_arguments(prompt.arguments)
    return shared.copy_members(prompt, PromptAnswer, arguments=arguments, excerpt=excerpt, created_at=None)


def describe_library_prompt(name: str, prompt: LibraryPrompt) -> PromptAnswer:
    """A prompt of a library, whose only title is its name."""
    arguments = _describe_arguments(prompt.arguments)
    return PromptAnswer(name=name, title=name, description=prompt.description, arguments=arguments)


def format_facts(prompt: PromptAnswer) -> str:
    """What the content of a prompt does not say about it."""
    version = "" if prompt.version is None else f", version {prompt.version}"
    arguments = [one.name if one.required else f"{one.name} (optional)" for one in prompt.arguments]
    return f"[prompt {prompt.name}{version}{'; arguments: ' if arguments else ''}{', '.join(arguments)}]"


def _describe_arguments(arguments: tuple[Argument, ...]) -> tuple[ArgumentAnswer, ...]:
    return tuple(ArgumentAnswer(one.name, one.description, one.is_required, one.values) for one in arguments)


# -- table -----------------------------------------------------------------------------------------------------

_tool = partial(shared.make_tool, "prompts")

TOOLS = (
    _tool(add_prompt, "Save a prompt for later use", AddPrompt, ONE_PROMPT, shared.ADDS),
    _tool(
        list_prompts, "Find saved and library prompts, newest first, without their content", ListPrompts, PROMPT_PAGE
    ),
    _tool(get_prompt, "Read a prompt as saved, with the arguments it takes", OnePrompt, ONE_PROMPT),
    _tool(render_prompt, "Fill in a saved or library prompt and get the text to follow", RenderPrompt, RENDERED_PROMPT),
    _tool(
        update_prompt,
        "Change the given fields of a prompt; empty clears",
        UpdatePrompt,
        ONE_PROMPT,
        shared.UPDATES,
        at_least_one=("title", "content", "description", "tags", "arguments"),
    ),
    _tool(delete_prompt, "Delete a prompt; restore brings it back", OnePrompt, DELETED_PROMPT, shared.DELETES),
    _tool(list_tags, "Tags of prompts with counts", ListTags, TAG_LIST),
)
