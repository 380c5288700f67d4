"""The tools about prompts: stored ones, and those of libraries where they can be read and rendered."""

from typing import Any

from msgspec import UNSET, UnsetType

from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers, inputs
from satchel.contracts.satchel.answers import PromptAnswer, said
from satchel.contracts.satchel.cursors import cursor, place
from satchel.contracts.satchel.failures import Missed, called
from satchel.contracts.satchel.rendering import START_TASK, key_of, of_library, rendered, stored_or_library, template_of
from satchel.errors import NotFound, WrongArgument
from satchel.library.manifest import LibraryPrompt
from satchel.model import Argument, Prompt, PromptDraft, PromptPatch, PromptQuery, PromptSummary
from satchel.services import projects, prompts


def add_prompt(context: Context, args: inputs.AddPrompt) -> Body:
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
            arguments=declared(args.arguments or []),
        ),
        avoiding=START_TASK,
    )
    text = f"Added prompt '{prompt.name}' to project '{context.scope.project}'."
    return said(text, {"project": context.scope.project, "prompt": answers.saved_prompt(prompt)})


def list_prompts(context: Context, args: inputs.ListPrompts) -> Body:
    context = context.within(args.project)
    last = place(args.cursor, "p", "l")
    query, tags = args.query or None, args.tags or ()
    found, has_more = stored_page(context, args, last)
    items = [answers.listed_prompt(prompt) for prompt in found]
    following = cursor("p", *prompts.position_of(found[-1])) if found else ""
    if not has_more and not tags:  # libraries come after what is stored; their prompts have no tags
        shelf = library_prompts(context, query, behind=last[1] if last and last[0] == "l" else "")
        rest = shelf[: args.limit - len(items)]
        items += rest
        has_more = len(rest) < len(shelf)
        following = cursor("l", rest[-1].name) if rest else following
    structured: dict[str, Any] = {"project": context.scope.project, "prompts": items}
    if has_more:
        structured["next_cursor"] = following
    lines = [f"- {item.name}: {answers.short(item.description or item.title)}" for item in items]
    more = ["More with cursor " + structured["next_cursor"]] if has_more else []
    nothing = answers.none_of(
        "prompts", context.scope.project, is_narrowed=bool(query or tags), is_continued=last is not None
    )
    return said("\n".join([*lines, *more]) or nothing, structured)


def get_prompt(context: Context, args: inputs.GetPrompt) -> Body:
    context = context.within(args.project)
    found = stored_or_library(context, args.prompt)
    if isinstance(found, Prompt):
        answer = answers.whole_prompt(found)
    else:
        answer = from_library(found[0], found[2])
        answer.content = template_of(context, found)
    return said(
        answer.content or "", {"project": context.scope.project, "prompt": answer}, answers.prompt_facts(answer)
    )


def render_prompt(context: Context, args: inputs.RenderPrompt) -> Body:
    context = context.within(args.project)
    found = stored_or_library(context, args.prompt)
    given = {name: value for name, value in (args.arguments or {}).items() if value is not None}  # null is absent
    text = rendered(context, found, given)
    return said(text, {"project": context.scope.project, "name": key_of(found), "text": text})


def update_prompt(context: Context, args: inputs.UpdatePrompt) -> Body:
    context = context.within(args.project)
    seen = stored(context, args.prompt)
    with called(seen.name):
        prompt = prompts.update(
            context.tx,
            context.scope,
            seen.id,
            PromptPatch(
                title=args.title,
                content=args.content,
                description=args.description if args.description is UNSET else args.description or None,
                tags=args.tags,
                arguments=UNSET if args.arguments is UNSET else declared(args.arguments),
            ),
            expected_version=None if args.expected_version is UNSET else args.expected_version,
        )
    text = f"Updated prompt '{prompt.name}' in project '{context.scope.project}' to version {prompt.version}."
    return said(text, {"project": context.scope.project, "prompt": answers.saved_prompt(prompt)})


def delete_prompt(context: Context, args: inputs.DeletePrompt) -> Body:
    context = context.within(args.project)
    prompt = stored(context, args.prompt)
    prompts.delete(context.tx, context.scope, prompt.id)
    text = f"Deleted prompt '{prompt.name}' from project '{context.scope.project}'."
    return said(text, {"project": context.scope.project, "deleted": prompt.name})


def list_tags(context: Context, args: inputs.ListTags) -> Body:
    context = context.within(args.project)
    tags = prompts.list_tags(context.tx, context.scope)
    text = ", ".join(f"{tag.name} ({tag.prompts})" for tag in tags) or f"No tags in project '{context.scope.project}'."
    counted = [{"name": tag.name, "prompts": tag.prompts} for tag in tags]
    return said(text, {"project": context.scope.project, "tags": counted})


# -- shared -----------------------------------------------------------------------------------------------------


def stored(context: Context, reference: str) -> Prompt:
    """The stored prompt that is meant; a near miss is told, and that prompts of libraries cannot be changed here."""
    shelved = of_library(context, reference)
    try:
        prompt = prompts.find(context.tx, context.scope, reference)
    except NotFound as missing:
        if missing.kind != "prompt":
            raise
        if shelved is not None:
            raise WrongArgument("prompt", "readOnly", value=shelved[0]) from None
        raise Missed(missing, prompts.suggest(context.tx, context.scope, reference)) from missing
    if shelved is not None:  # as whoever reads gets that one
        raise WrongArgument("prompt", "readOnly", value=shelved[0], limit=prompt.name)
    return prompt


def stored_page(
    context: Context, args: inputs.ListPrompts, last: tuple[str, ...] | None
) -> tuple[tuple[PromptSummary, ...], bool]:
    """The stored prompts behind the last of the page before, and whether there are more."""
    if last and last[0] == "l":  # behind all of them; the project has to be there nevertheless
        projects.current(context.tx, context.scope)
        return (), False
    return prompts.list_page(
        context.tx,
        context.scope,
        PromptQuery(text=args.query or "", tags=args.tags or (), needs_all_tags=args.match == "all"),
        limit=args.limit,
        after=(last[1], int(last[2])) if last else None,
    )


def library_prompts(context: Context, query: str | None, behind: str) -> list[PromptAnswer]:
    """The prompts of libraries behind a name, in the order of names, with a text in name or description."""
    folded = (query or "").casefold()
    # By name, and not as a library lists them: of one that is gone its name still tells what comes next.
    shelf = sorted(context.libraries.catalog.view, key=lambda one: one[0].partition(":"))
    return [
        from_library(name, prompt)
        for name, prompt in shelf
        if name.partition(":") > behind.partition(":") and folded in f"{name} {prompt.description or ''}".casefold()
    ]


def from_library(name: str, prompt: LibraryPrompt) -> PromptAnswer:
    return PromptAnswer(
        name=name, title=name, description=prompt.description, arguments=answers.declared(prompt.arguments)
    )


def declared(given: list[dict[str, Any]] | UnsetType) -> tuple[Argument, ...]:
    """Arguments as they were declared over the wire."""
    if given is UNSET:
        return ()
    for index, one in enumerate(given):
        if one["name"] is None:
            raise WrongArgument("arguments", "type", limit="object with name", place=f"arguments[{index}]")
    return tuple(
        Argument(one["name"], one.get("description"), bool(one.get("required")), tuple(one.get("values") or ()))
        for one in given
    )
