"""The `prompt-store` contract: eight tools for the prompts of one project."""

from functools import partial
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.clock import parse_id, to_second
from satchel.contracts.contract import Body, Context, Contract, Tool
from satchel.contracts.schema import UNSTORABLE, Id, Schema, Time, Yes, hidden, strict_object
from satchel.errors import AnswerTooLarge, NotFound, QuotaExceeded, Taken, WrongArgument
from satchel.model import MAX_CONTENT_BYTES, Excerpt, PromptDraft, PromptPatch, PromptQuery, PromptSummary, Scope
from satchel.services import prompts
from satchel.services.rules import MAX_QUERY, MAX_TAGS

# -- inputs -----------------------------------------------------------------------------------------------------

_TITLE = hidden(is_trimmed=True)
_CONTENT = hidden(is_blank_refused=True, max_bytes=MAX_CONTENT_BYTES)
_TAGS = hidden(max_items=MAX_TAGS)

Tag = Annotated[str, Meta(min_length=1, max_length=50, pattern="^[a-zA-Z0-9_-]+$")]
Limit = Annotated[int, Meta(ge=1, le=100)]
Offset = Annotated[int, Meta(ge=0)]


class AddPrompt(Struct):
    title: Annotated[str, Meta(min_length=1, max_length=200, description="Unique title for the prompt", extra=_TITLE)]
    content: Annotated[str, Meta(min_length=1, description="Full prompt content", extra=_CONTENT)]
    tags: Annotated[list[Tag], Meta(description="Optional array of tag names", extra=_TAGS)] = []


class ListPrompts(Struct):
    # The keywords are in the printed order.
    limit: Annotated[
        int, Meta(ge=1, le=100, extra_json_schema={"default": 10, "description": "Maximum number of prompts to return"})
    ] = 10
    offset: Annotated[int, Meta(ge=0, extra_json_schema={"default": 0, "description": "Number of prompts to skip"})] = 0


class GetPrompt(Struct):
    id: Annotated[str, Meta(description="Prompt UUID")]


class UpdatePrompt(Struct):
    id: Annotated[str, Meta(description="Prompt UUID to update")]
    title: Annotated[str, Meta(min_length=1, max_length=200, description="New title for the prompt", extra=_TITLE)]
    content: Annotated[str, Meta(min_length=1, description="New prompt content", extra=_CONTENT)]
    tags: (
        Annotated[list[Tag], Meta(description="New array of tag names (replaces existing tags)", extra=_TAGS)]
        | UnsetType
    ) = UNSET


class DeletePrompt(Struct):
    id: Annotated[str, Meta(description="Prompt UUID to delete")]


class SearchPrompts(Struct):
    query: Annotated[
        str, Meta(description="Search term (case-insensitive partial match)", extra=hidden(max_length=MAX_QUERY))
    ]
    limit: Limit = 10
    offset: Offset = 0


class FilterByTags(Struct):
    tags: Annotated[list[str], Meta(min_length=1, description="Array of tag names to filter by", extra=_TAGS)]
    limit: Limit = 10
    offset: Offset = 0


class ListTags(Struct):
    pass


# -- outputs ----------------------------------------------------------------------------------------------------


class AddedPrompt(Struct):
    id: Id
    title: str
    created_at: Time


class Entry(Struct):
    id: Id
    title: str
    snippet: str
    tags: tuple[str, ...]
    created_at: Time
    updated_at: Time


class PromptList(Struct):
    prompts: list[Entry]
    total: int
    limit: int
    offset: int
    has_more: bool


class Found(Struct):
    prompts: list[Entry]
    total: int
    query: str
    limit: int
    offset: int
    has_more: bool


class Tagged(Struct):
    prompts: list[Entry]
    total: int
    matched_tags: list[str]
    limit: int
    offset: int
    has_more: bool


class WholePrompt(Struct):
    id: Id
    title: str
    content: str
    tags: tuple[str, ...]
    created_at: Time
    updated_at: Time


class UpdatedPrompt(Struct):
    id: Id
    title: str
    updated_at: Time


class DeletedPrompt(Struct):
    deleted: Yes
    id: Id


class TagEntry(Struct):
    name: str
    prompt_count: int


class TagList(Struct):
    tags: list[TagEntry]
    total: int


# -- tools ------------------------------------------------------------------------------------------------------


def add_prompt(context: Context, args: AddPrompt) -> Body:
    prompt = prompts.add(context.tx, context.scope, PromptDraft(title=args.title, content=args.content, tags=args.tags))
    return AddedPrompt(prompt.id, prompt.title, to_second(prompt.created_at))


def list_prompts(context: Context, args: ListPrompts) -> Body:
    return PromptList(**list_page(context, PromptQuery(), args))


def get_prompt(context: Context, args: GetPrompt) -> Body:
    prompt = prompts.get(context.tx, context.scope, parse_prompt_id(args.id, context.scope))
    created_at, updated_at = to_second(prompt.created_at), to_second(prompt.updated_at)
    return WholePrompt(prompt.id, prompt.title, prompt.content, prompt.tags, created_at, updated_at)


def update_prompt(context: Context, args: UpdatePrompt) -> Body:
    id = parse_prompt_id(args.id, context.scope)
    patch = PromptPatch(title=args.title, content=args.content, tags=args.tags)
    prompt = prompts.update(context.tx, context.scope, id, patch, renews_time=True)
    return UpdatedPrompt(prompt.id, prompt.title, to_second(prompt.updated_at))


def delete_prompt(context: Context, args: DeletePrompt) -> Body:
    id = parse_prompt_id(args.id, context.scope)
    prompts.delete(context.tx, context.scope, id, permanently=True)
    return DeletedPrompt(True, id)


def search_prompts(context: Context, args: SearchPrompts) -> Body:
    return Found(**list_page(context, PromptQuery(text=args.query), args), query=args.query)


def filter_by_tags(context: Context, args: FilterByTags) -> Body:
    matched = prompts.list_matched_tags(context.tx, context.scope, args.tags)
    return Tagged(**list_page(context, PromptQuery(tags=args.tags), args), matched_tags=matched)


def list_tags(context: Context, _: ListTags) -> Body:
    tags = prompts.list_tags(context.tx, context.scope)
    return TagList([TagEntry(tag.name, tag.prompts) for tag in tags], len(tags))


def parse_prompt_id(text: str, scope: Scope) -> str:
    id = parse_id(text)
    if id is None:
        raise NotFound("prompt", text, scope)
    return id


def list_page(context: Context, query: PromptQuery, args: ListPrompts | SearchPrompts | FilterByTags) -> dict[str, Any]:
    page = prompts.list_counted(context.tx, context.scope, query, limit=args.limit, offset=args.offset)
    return {
        "prompts": [describe_prompt(prompt) for prompt in page.items],
        "total": page.total,
        "limit": args.limit,
        "offset": args.offset,
        "has_more": args.offset + len(page.items) < page.total,
    }


def describe_prompt(prompt: PromptSummary) -> Entry:
    text = format_snippet(prompt.excerpt)
    created_at, updated_at = to_second(prompt.created_at), to_second(prompt.updated_at)
    return Entry(prompt.id, prompt.title, text, prompt.tags, created_at, updated_at)


def format_snippet(excerpt: Excerpt) -> str:
    before = "..." if excerpt.is_cut_before else ""
    behind = "..." if excerpt.is_cut_behind else ""
    return before + excerpt.text + behind


# -- failures ---------------------------------------------------------------------------------------------------


def error(code: str, message: str) -> Body:
    return {"error": {"code": code, "message": message}}


def failure_schema(tool: Tool) -> Schema:
    takes_title = "title" in tool.input.__struct_fields__
    of_titles = ["DUPLICATE_TITLE", "INVALID_TITLE", "INVALID_TAG"] if takes_title else []
    codes = ["NOT_FOUND", *of_titles, "INVALID_INPUT", "INTERNAL_ERROR"]
    return strict_object(error=strict_object(code={"type": "string", "enum": codes}, message={"type": "string"}))


def explain_not_found(missing: NotFound) -> Body:
    if missing.kind == "project":
        return error("NOT_FOUND", f"Project '{missing.key}' does not exist")
    return error("NOT_FOUND", "Prompt not found")


def explain_wrong_argument(wrong: WrongArgument) -> Body:
    if wrong.field == "title" and wrong.rule in ("minLength", "maxLength"):
        return error("INVALID_TITLE", "Title must be 1-200 characters")
    if wrong.field == "tags" and wrong.rule == "pattern":
        text = "contains invalid characters. Use only letters, numbers, dash, and underscore."
        return error("INVALID_TAG", f"Tag '{wrong.value}' {text}")
    if wrong.field == "tags" and wrong.rule in ("minLength", "maxLength"):
        return error("INVALID_TAG", f"Tag '{wrong.value}' must be 1-50 characters")
    complaint = UNSTORABLE if wrong.is_unstorable else COMPLAINTS[wrong.rule].format(wrong.limit)
    return error("INVALID_INPUT", f"Invalid {wrong.place}: {complaint}")


def explain_too_large(large: AnswerTooLarge) -> Body:
    field = large.argument or "arguments"
    return error("INVALID_INPUT", f"Invalid {field}: the answer has more than {large.limit} bytes, ask for less")


COMPLAINTS = {
    "required": "it is required",
    "type": "must be of type {}",
    "minLength": "must not be empty",
    "maxLength": "must be at most {} characters",
    "maxBytes": "must be at most {} bytes",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "minItems": "must have at least {} item",
    "maxItems": "must have at most {} items",
}

_page = partial(Tool, size_argument="limit")
_write = partial(Tool, transaction="write")

CONTRACT = Contract(
    name="prompt-store",
    server_name="prompt-store",
    capabilities={"tools": {"listChanged": False}},
    tools=(
        _write("add_prompt", "Store a new AI prompt with optional tags", AddPrompt, add_prompt, AddedPrompt),
        _page("list_prompts", "List stored prompts with pagination", ListPrompts, list_prompts, PromptList),
        Tool("get_prompt", "Retrieve full prompt content by ID", GetPrompt, get_prompt, WholePrompt),
        _write(
            "update_prompt",
            "Update an existing prompt's title, content, and tags",
            UpdatePrompt,
            update_prompt,
            UpdatedPrompt,
        ),
        _write("delete_prompt", "Permanently remove a prompt", DeletePrompt, delete_prompt, DeletedPrompt),
        _page("search_prompts", "Search prompts by keyword in title or content", SearchPrompts, search_prompts, Found),
        _page("filter_by_tags", "Filter prompts by one or more tags (OR logic)", FilterByTags, filter_by_tags, Tagged),
        Tool("list_tags", "List all available tags with prompt counts", ListTags, list_tags, TagList),
    ),
    failures={
        WrongArgument: explain_wrong_argument,
        NotFound: explain_not_found,
        AnswerTooLarge: explain_too_large,
        QuotaExceeded: lambda full: error("INVALID_INPUT", full.explanation),
        Taken: lambda _: error("DUPLICATE_TITLE", "A prompt with this title already exists"),
        Exception: lambda _: error("INTERNAL_ERROR", "Unable to complete request. Please try again."),
    },
    failure_schema=failure_schema,
)
