"""Prompts: the tools that add, change and delete stored ones. Their templates are proved before they are saved."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from satchel.contracts.contract import Body, Context, Reply
from satchel.contracts.satchel import answers, prompt_answers, proofs
from satchel.contracts.satchel.answers import answer_once, with_place
from satchel.contracts.satchel.deleting import delete_one
from satchel.contracts.satchel.errors import name_in_errors, name_place
from satchel.contracts.satchel.rendering import START_TASK, find_stored
from satchel.contracts.satchel.tools import ARGUMENTS, AddPrompt, AddPrompts, OnePrompt, UpdatePrompt
from satchel.contracts.schema import check_member
from satchel.errors import WrongArgument
from satchel.model import Argument, Prompt, PromptDraft, PromptPatch
from satchel.services import projects, prompts, signed_lists


def add_prompts(context: Context, args: AddPrompts) -> Body:
    context = context.within(args.project)
    contents = (entry["content"] for entry in args.prompts if entry.get("arguments") != [])
    proved = proofs.prove(context, (content for content in contents if isinstance(content, str)))

    def add_all(context: Context) -> Reply:
        answers.check_number("prompts", args.prompts)
        projects.current(context.tx, context.scope)  # before the first prompt: no place is to blame
        rows, notes = [], []
        for index, entry in enumerate(args.prompts):
            with name_place(f"prompts[{index}]"):
                prompt, about = _add(context, _read_draft(entry), _read_declared(entry.get("arguments")), proved)
            rows.append(prompt_answers.echo_prompt(prompt))
            notes += [f"{prompt.name}: {note}" for note in about]
            answers.report_progress(context, index + 1, len(args.prompts))
        text = f"Added to project '{context.scope.project}':\n" + "\n".join(map(prompt_answers.format_row, rows))
        return answers.reply(text, {"project": context.scope.project, "prompts": rows}, notes=notes)

    with context.write() as opened:
        reply = answer_once(opened, "add_prompts", args.key, {"prompts": args.prompts}, lambda: add_all(opened))
        return with_place(opened, reply)


def add_prompt(context: Context, args: AddPrompt) -> Body:
    context = context.within(args.project)
    draft = PromptDraft(
        title=args.title,
        content=args.content,
        name=args.name or None,
        description=args.description or None,
        tags=args.tags or (),
    )
    proved = proofs.prove(context, [] if args.arguments == [] else [args.content])
    with context.write() as opened:
        prompt, notes = _add(opened, draft, _read_declared(args.arguments), proved)
        return with_place(opened, _reply_echo("Added to", opened, prompt, notes))


def update_prompt(context: Context, args: UpdatePrompt) -> Body:
    context = context.within(args.project)
    given = args.arguments
    declared = None if given is UNSET else _read_declared(check_member(ARGUMENTS, given, "arguments"))
    if args.title is not UNSET:
        answers.check_title("prompt", args.title)
    changed = []  # the content that becomes a template: the new one, or the stored one where arguments are given
    if args.content is not UNSET:
        changed = [args.content]
    elif given:
        with context.read() as opened:
            changed = [find_stored(opened, args.prompt).content]
    proved = proofs.prove(context, changed)
    with context.write() as opened:
        seen = find_stored(opened, args.prompt)
        arguments, notes = settle_update(proved, seen, args.content, declared)
        patch = PromptPatch(
            title=args.title,
            content=args.content,
            description=answers.none_if_empty(args.description),
            tags=UNSET if args.tags is UNSET else signed_lists.read("tags", args.tags),
            arguments=arguments,
        )
        version = None if args.expected_version is UNSET else args.expected_version
        with name_in_errors(seen.name):
            prompt = prompts.update(opened.tx, opened.scope, seen.id, patch, expected_version=version)
        return with_place(opened, _reply_echo("Updated in", opened, prompt, notes))


def settle_update(
    proved: proofs.Proofs, seen: Prompt, content: str | UnsetType, declared: Sequence[Argument] | None
) -> tuple[Sequence[Argument] | UnsetType, list[str]]:
    """The arguments that an update gives a prompt, and notes about its template; see `proofs.settle`."""
    if content is UNSET and declared is None:
        return UNSET, []
    if content is UNSET:
        content = seen.content
    kept = declared if declared is not None else seen.arguments or None
    # What was plain text with braces in it stays so.
    is_plain = not seen.arguments and proofs.is_template_like(seen.content)
    settled, notes = proofs.settle(proved, content, kept, is_plain=is_plain)
    return UNSET if declared is None and settled == seen.arguments else settled, notes


def delete_prompt(context: Context, args: OnePrompt) -> Body:
    context = context.within(args.project)
    prompt = find_stored(context, args.prompt)
    text = f"Deleted prompt '{prompt.name}' from project '{context.scope.project}'."
    return delete_one(context, prompt, context.scope.project, prompt.name, text)


# -- parts of tools ---------------------------------------------------------------------------------------------


def _add(
    context: Context, draft: PromptDraft, declared: Sequence[Argument] | None, proved: proofs.Proofs
) -> tuple[Prompt, list[str]]:
    """Add a prompt whose template was proved, and notes about it."""
    if draft.name == START_TASK:
        raise WrongArgument("name", "not", value=START_TASK, kind="prompt")
    answers.check_title("prompt", str(draft.title))
    arguments, notes = proofs.settle(proved, draft.content, declared)
    draft = replace(draft, arguments=arguments)
    return prompts.add(context.tx, context.scope, draft, avoiding=START_TASK), notes


def _read_draft(entry: dict[str, Any]) -> PromptDraft:
    for field in ("title", "content"):
        if entry[field] is None:
            raise WrongArgument(field, "required")
    return PromptDraft(
        title=entry["title"],
        content=entry["content"],
        name=(entry.get("name") or "").strip() or None,
        description=entry.get("description") or None,
        tags=entry.get("tags") or (),
    )


def _read_declared(given: list[dict[str, Any]] | UnsetType | None) -> tuple[Argument, ...] | None:
    """The arguments that a call declares for a prompt; None where it says nothing about them."""
    if given is UNSET or given is None:
        return None
    for index, one in enumerate(given):
        if one["name"] is None:
            raise WrongArgument("arguments", "type", limit="object with name", place=f"arguments[{index}]")
    return tuple(
        Argument(
            one["name"],
            one.get("description"),
            bool(one.get("required")),
            tuple(one.get("values") or ()),
            bool(one.get("open")),
        )
        for one in given
    )


def _reply_echo(done: str, context: Context, prompt: Prompt, notes: list[str]) -> Body:
    row = prompt_answers.echo_prompt(prompt)
    text = f"{done} project '{context.scope.project}':\n{prompt_answers.format_row(row)}"
    return answers.reply(text, {"project": context.scope.project, "prompt": row}, notes=notes)
