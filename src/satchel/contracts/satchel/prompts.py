"""Prompts: the tools that read stored ones and those of libraries."""

from collections.abc import Sequence

from msgspec import UNSET

from satchel.contracts.contract import Body, Context
from satchel.contracts.runner import count_fitting
from satchel.contracts.satchel import answers, prompt_answers, reading
from satchel.contracts.satchel.answers import decode_cursor, with_place
from satchel.contracts.satchel.pages import MARKDOWN, quote_prompt_uri
from satchel.contracts.satchel.prompt_answers import PromptRow
from satchel.contracts.satchel.rendering import (
    fill_in,
    fill_text,
    find_prompt,
    read_template,
)
from satchel.contracts.satchel.tag_filters import describe_missing, read_tags
from satchel.contracts.satchel.tools import GetPrompt, ListPrompts, ListTags, RenderPrompt
from satchel.errors import WrongArgument
from satchel.model import PromptQuery, PromptSummary
from satchel.protocol.cursors import encode_cursor
from satchel.services import layers, projects, prompts


def list_prompts(context: Context, args: ListPrompts) -> Body:
    context = context.within(args.project)
    last = decode_cursor(args.cursor, "p", "q", "l")
    query, tags = args.query or None, read_tags(args.tags)
    found, has_more = _list_stored(context, args, tags, last)
    items = [prompt_answers.list_prompt(prompt) for prompt in found]
    fitting = count_fitting(items)
    items, found, has_more = items[:fitting], found[:fitting], has_more or fitting < len(found)
    next_cursor = _encode_position(found[-1]) if found else None
    if not has_more and not tags:  # libraries come after stored prompts; their prompts have no tags
        rest = _list_libraries(context, query, behind=last[1] if last and last[0] == "l" else "")
        taken = rest[: args.limit - len(items)]
        taken = taken[: count_fitting([*items, *taken]) - len(items)]
        items += taken
        has_more = len(taken) < len(rest)
        next_cursor = encode_cursor("l", taken[-1].name) if taken else next_cursor
    return answers.reply_page(
        "prompts",
        context.scope.project,
        [prompt_answers.format_row(item) for item in items],
        {"project": context.scope.project, "prompts": items},
        next_cursor=next_cursor if has_more else None,
        is_narrowed=bool(query or tags),
        is_continued=last is not None,
        notes=_describe_missing_tags(context, tags, found) if last is None else (),
    )


def get_prompt(context: Context, args: GetPrompt) -> Body:
    context = context.within(args.project)
    if args.arguments is not UNSET:
        if args.lines or args.heading:
            raise WrongArgument("arguments", "not", value="lines" if args.lines else "heading")
        return _render(context, args.prompt, args.arguments)
    with context.read() as opened:
        found = find_prompt(opened, args.prompt)
        content = read_template(opened, found)
        read = reading.read_part(content, args.lines, args.heading, is_whole=args.whole is True)
        answer = prompt_answers.describe_prompt(opened, found, read)
        structured = {"project": context.scope.project, "prompt": answer}
        link = reading.make_link(quote_prompt_uri(found.name), found.name, MARKDOWN, len(content.encode()))
        body = reading.reply_text(read, structured, prompt_answers.format_facts(answer, read), link)
        return with_place(opened, body)


def render_prompt(context: Context, args: RenderPrompt) -> Body:
    return _render(context.within(args.project), args.prompt, args.arguments or {})


def list_tags(context: Context, args: ListTags) -> Body:
    context = context.within(args.project)
    tags = layers.list_tags(context.tx, context.scope)
    text = ", ".join(f"{tag.name} ({tag.prompts})" for tag in tags) or f"No tags in project '{context.scope.project}'."
    entries = [{"name": tag.name, "prompts": tag.prompts} for tag in tags]
    return answers.reply(text, {"project": context.scope.project, "tags": entries})


# -- parts of tools ----------------------------------------------------------------------------------------------------


def _render(context: Context, reference: str, given: dict[str, str]) -> Body:
    values = {name: value for name, value in given.items() if value is not None}  # null is absent
    found, text, notes = fill_in(context, reference, values, fill_text)
    structured = {"project": context.scope.project, **prompt_answers.name_rendered(found), "text": text}
    return answers.reply(text, structured, notes=notes)


def _describe_missing_tags(context: Context, tags: Sequence[str], found: Sequence[PromptSummary]) -> list[str]:
    seen = {tag for prompt in found for tag in prompt.tags}
    if all(tag.lower() in seen for tag in tags):
        return []
    known = [tag.name for tag in layers.list_tags(context.tx, context.scope)]
    return describe_missing([tag for tag in tags if tag.lower() not in known], "prompt", known)


def _list_stored(
    context: Context, args: ListPrompts, tags: Sequence[str], last: tuple[str, ...] | None
) -> tuple[tuple[PromptSummary, ...], bool]:
    """The stored prompts of a page, those of the personal project last, and whether there are more."""
    if last and last[0] == "l":  # the page begins behind all stored prompts, but the project must exist
        projects.current(context.tx, context.scope)
        return (), False
    query = PromptQuery(text=args.query or "", tags=tags, needs_all_tags=args.match == "all")
    after = layers.Position((last[1], int(last[2])), last[0] == "q") if last else layers.Position()
    return layers.list_prompts(context.tx, context.scope, query, limit=args.limit, after=after)


def _encode_position(prompt: PromptSummary) -> str:
    return encode_cursor("q" if prompt.layer else "p", *prompts.position_of(prompt))


def _list_libraries(context: Context, query: str | None, behind: str) -> list[PromptRow]:
    """The prompts of libraries behind a name, in the order of names, with a text in name or description."""
    folded = (query or "").casefold()
    # Sorted by name, not as the library lists them: the cursor stays good when its prompt has been deleted.
    templates = sorted(context.libraries.catalog.view, key=lambda one: one[0].partition(":"))
    return [
        prompt_answers.list_library_prompt(name, prompt)
        for name, prompt in templates
        if name.partition(":") > behind.partition(":") and folded in f"{name} {prompt.description or ''}".casefold()
    ]
