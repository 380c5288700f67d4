"""Prompts: the tools that read, add, change and delete them, and how answers describe one."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from satchel.contracts.content import count_fitting, format_count, format_minute, join_lines
from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers, texts, tools
from satchel.contracts.satchel.answers import decode_cursor, read_tags
from satchel.contracts.satchel.errors import WrongValue
from satchel.contracts.satchel.methods import MARKDOWN, quote_prompt_uri
from satchel.contracts.satchel.templates import (
    START_TASK,
    FoundPrompt,
    check_templates,
    describe_settled,
    fill_in,
    fill_text,
    find_prompt,
    find_stored,
    read_template,
    record_use,
    settle_update,
)
from satchel.contracts.satchel.texts import Reading
from satchel.contracts.satchel.tools import PromptRow, VersionLabel, WholePrompt
from satchel.errors import WrongArgument
from satchel.model import Argument, Prompt, PromptDraft, PromptPatch, PromptPosition, PromptQuery, PromptSummary, uri_of
from satchel.protocol.cursors import encode_cursor
from satchel.services import layers, links, projects, prompts, rules, templates
from satchel.services.prompts import make_name


def list_prompts(context: Context, args: tools.ListPrompts) -> Body:
    own, personal, everywhere = ("u", "w", "x") if args.sort == "used" else ("p", "q", "g")
    where = answers.list_everywhere(context, args.project)
    last = decode_cursor(args.cursor, *((own, personal) if where is None else (everywhere,)), "l")
    query, tags = args.query or None, read_tags(args.tags)
    found, has_more = _list_stored(context, args, tags, last, where)
    items = [make_row(prompt) for prompt in found]
    items, found, has_more = answers.fit_page(items, found, has_more=has_more)
    next_cursor = None
    if found:
        at = prompts.position_of(found[-1])
        uses = [at.uses] if args.sort == "used" else []
        name = everywhere if where is not None else personal if found[-1].layer else own
        next_cursor = encode_cursor(name, at.moment, at.number, *uses)
    if not has_more and not tags:  # libraries come after stored prompts; their prompts have no tags
        rest = _list_libraries(context, query, behind=last[1] if last and last[0] == "l" else "")
        taken = rest[: args.limit - len(items)]
        taken = taken[: count_fitting([*items, *taken]) - len(items)]
        items += taken
        has_more = len(taken) < len(rest)
        next_cursor = encode_cursor("l", taken[-1].name) if taken else next_cursor
    return answers.reply_page(
        context,
        "prompts",
        [format_row(item) for item in items],
        where=context.scope.project if where is None else None,
        next_cursor=next_cursor if has_more else None,
        is_narrowed=bool(query or tags),
        is_continued=last is not None,
        notes=_describe_list(context, tags, found, where) if last is None else (),
        prompts=items,
    )


def get_prompt(context: Context, args: tools.GetPrompt) -> Body:
    if args.arguments is not UNSET:
        if args.lines or args.heading:
            raise WrongArgument("arguments", "not", value="lines" if args.lines else "heading")
        return _render(context, args.prompt, args.arguments)
    there, reference = answers.follow(context, args.prompt)
    with there.read() as opened:
        found = find_prompt(opened, reference)
        content = read_template(opened, found)
        read = texts.read_part(content, args.lines, args.heading, is_whole=args.whole is True)
        answer = _describe(opened, found, read)
        name = f"{found.name}@{answer.label}" if answer.label else found.name
        uri = quote_prompt_uri(name)
        if isinstance(found, Prompt) and (args.project or there is not context):
            uri = uri_of("prompt", name, found.layer or opened.scope.project)
        link = texts.make_link(uri, name, MARKDOWN, len(content.encode()))
        reply = texts.reply_text(opened, read, _format_facts(answer, read), link, prompt=answer)
    record_use(there, found)
    return reply


def render_prompt(context: Context, args: tools.RenderPrompt) -> Body:
    return _render(context, args.prompt, args.arguments or {})


def list_tags(context: Context, _args: tools.InProject) -> Body:
    tags = layers.list_tags(context.tx, context.scope)
    text = ", ".join(f"{tag.name} ({tag.prompts})" for tag in tags) or f"No tags in project '{context.scope.project}'."
    entries = [{"name": tag.name, "prompts": tag.prompts} for tag in tags]
    return answers.reply(context, text, tags=entries)


def _render(context: Context, reference: str, given: dict[str, str]) -> Body:
    context, reference = answers.follow(context, reference)
    values = {name: value for name, value in given.items() if value is not None}  # null means absent
    found, text, notes = fill_in(context, reference, values, fill_text)
    more: dict[str, Any] = {"from": found.layer} if isinstance(found, Prompt) and found.layer else {}
    if isinstance(found, Prompt) and found.label:
        more |= {"version": found.version, "label": found.label}
    return answers.make_reply(context, text, notes=notes, name=found.name, **more, text=text)


def _describe_list(
    context: Context, tags: Sequence[str], found: Sequence[PromptSummary], where: answers.Everywhere
) -> list[str]:
    """Return notes on tags that no prompt has, and on projects that were left out."""
    notes = answers.describe_everywhere(where)
    seen = {tag for prompt in found for tag in prompt.tags}
    if all(rules.fold_tag(tag) in seen for tag in tags):
        return notes
    if where is not None:
        known = prompts.list_tags_everywhere(context.tx, where)
    else:
        known = [tag.name for tag in layers.list_tags(context.tx, context.scope)]
    from satchel.contracts.satchel import guesses  # needed only after such a mistake

    return notes + guesses.describe_tags([tag for tag in tags if rules.fold_tag(tag) not in known], "prompt", known)


def _list_stored(
    context: Context,
    args: tools.ListPrompts,
    tags: Sequence[str],
    last: tuple[str, ...] | None,
    where: answers.Everywhere,
) -> tuple[tuple[PromptSummary, ...], bool]:
    if last and last[0] == "l":  # the page begins after all stored prompts, but the project must exist
        if where is None:
            projects.current(context.tx, context.scope)
        return (), False
    by_use = args.sort == "used"
    query = PromptQuery(text=args.query or "", tags=tags, needs_all_tags=args.match == "all", by_use=by_use)
    at = PromptPosition(last[1], *map(int, last[2:])) if last else None
    if where is not None:
        return prompts.list_everywhere(context.tx, where, query, limit=args.limit, after=at)
    after = layers.Position(at, is_personal=last is not None and last[0] in ("q", "w"))
    return layers.list_prompts(context.tx, context.scope, query, limit=args.limit, after=after)


def _list_libraries(context: Context, query: str | None, behind: str) -> list[PromptRow]:
    """Return the library prompts that sort after `behind` and have the query in name or description, sorted by name."""
    folded = rules.fold(query or "")
    # Sort by name, not by the library's order, so that a cursor stays valid after its prompt is deleted.
    templates = sorted(context.libraries.catalog.view, key=lambda one: one[0].partition(":"))
    return [
        PromptRow(
            name=name,
            description=answers.shorten(prompt.description) if prompt.description else None,
            arguments=_name_arguments(prompt.arguments),
        )
        for name, prompt in templates
        if name.partition(":") > behind.partition(":") and folded in rules.fold(f"{name} {prompt.description or ''}")
    ]


# -- tools that write -----------------------------------------------------------------------------------------------


def add_prompts(context: Context, args: tools.AddPrompts) -> Body:
    named = [(_choose_name(one), one.content) for one in args.prompts if one.arguments != []]
    checked = check_templates(context, named, are_new=True)

    def add(entry: tools.NewPrompt) -> tuple[PromptRow, str, list[str]]:
        prompt, notes = _add(opened, entry, checked)
        row = make_row(prompt, is_echo=True)
        return row, format_row(row), [f"{prompt.name}: {note}" for note in notes]

    with context.write() as opened:
        reply = answers.add_all(opened, "prompts", args.prompts, args.key, add)
        return answers.add_notes(reply, texts.describe_new_links(opened, [one.content for one in args.prompts]))


def add_prompt(context: Context, args: tools.AddPrompt) -> Body:
    named = [] if args.arguments == [] else [(_choose_name(args), args.content)]
    checked = check_templates(context, named, are_new=True)
    with context.write() as opened:
        prompt, notes = _add(opened, args, checked)
        row, notes = make_row(prompt, is_echo=True), notes + texts.describe_new_links(opened, [args.content])
        return answers.reply_echo(opened, "Added to", format_row(row), notes, prompt=row)


def update_prompt(context: Context, args: tools.UpdatePrompt) -> Body:
    if args.version is not UNSET and (not args.label or args.label.startswith("-")):
        hint = "Give label too. An old version becomes the newest with restore."
        raise WrongValue("version says which version gets a label.", hint, "version")
    context, reference = answers.follow(context, args.prompt)
    declared = _read_arguments(args.arguments)
    if args.title is not UNSET:
        answers.check_title("prompt", args.title)
    changed = []  # the new content, or the stored one if it gets arguments; then the content from before
    if args.content is not UNSET or declared:
        with context.read() as opened:
            stored = find_stored(opened, reference)
        changed = [(stored.name, stored.content if args.content is UNSET else args.content)]
        changed += [] if stored.is_template or declared is not None else [("", stored.content)]
    checked = check_templates(context, changed)
    with context.write() as opened:
        seen = find_stored(opened, reference)
        fields, notes = settle_update(checked, seen, args.content, declared)
        successor = answers.none_if_empty(args.replaced_by)
        patch = PromptPatch(
            title=args.title,
            content=args.content,
            description=answers.none_if_empty(args.description),
            tags=UNSET if args.tags is UNSET else rules.read_changes("tags", args.tags),
            expires=answers.none_if_empty(args.expires),
            replaced_by=layers.find_replacement(opened.tx, opened.scope, seen, successor),
            **fields,
        )
        prompt = prompts.update(opened.tx, opened.scope, seen.id, patch, args.expected_version or None)
        row, is_same = make_row(prompt, is_echo=True), prompt.version == seen.version
        if args.label:
            said = _set_label(opened, prompt, args.label, args.version or None)
            notes, is_same = [*notes, *said], is_same and not said
            row = replace(row, labels=_list_labels(opened, prompt))
        notes += texts.describe_missing(opened, [(opened.scope.project, prompt.content, seen.content)])
        return answers.reply_echo(
            opened, "Unchanged in" if is_same else "Updated in", format_row(row), notes, prompt=row
        )


def _set_label(context: Context, prompt: Prompt, label: str, version: int | None) -> list[str]:
    """Give a version a label, or remove a label written as -LABEL; return a note unless nothing changed."""
    if label.startswith("-"):
        before = prompts.remove_label(context.tx, context.scope, prompt, label[1:])
        return [f"The label {label[1:]} was removed from version {before}."]
    wanted = version or prompt.version
    was = prompts.set_label(context.tx, context.scope, prompt, label, wanted)
    if was == wanted:
        return []
    return [f"The label {label} is on version {wanted}{f', before on version {was}' if was else ''}."]


def _choose_name(new: tools.NewPrompt | tools.AddPrompt) -> str:
    return (new.name or "").strip() or make_name(new.title)


def _add(
    context: Context, new: tools.NewPrompt | tools.AddPrompt, checked: templates.Checked
) -> tuple[Prompt, list[str]]:
    """Add a prompt with a checked template; return it, and notes about the template."""
    name = (new.name or "").strip() or None
    if name == START_TASK:
        raise WrongArgument("name", "not", value=START_TASK, kind="prompt")
    answers.check_title("prompt", new.title)
    settled = templates.settle(checked, new.content, _read_arguments(new.arguments))
    draft = PromptDraft(
        title=new.title,
        content=new.content,
        name=name,
        description=new.description or None,
        tags=new.tags or (),
        arguments=settled.arguments,
        is_constant=settled.is_constant,
    )
    return prompts.add(context.tx, context.scope, draft, avoiding=START_TASK), describe_settled(settled)


def _read_arguments(given: Sequence[tools.DeclaredArgument] | UnsetType) -> tuple[Argument, ...] | None:
    """Return the arguments that a call declares for a prompt; None if the call does not mention arguments."""
    if isinstance(given, UnsetType):
        return None
    return tuple(
        # Answers print an optional argument as x?
        Argument(one.name.removesuffix("?"), one.description or None, one.required, tuple(one.values), one.open)
        for one in given
    )


# -- answers in words ----------------------------------------------------------------------------------------------


def make_row(prompt: Prompt | PromptSummary, *, is_echo: bool = False) -> PromptRow:
    """Return the row that describes a stored prompt in a list or an echo of a change."""
    return PromptRow(
        name=prompt.name,
        layer=prompt.layer,
        title=None if prompt.title == prompt.name else prompt.title,
        version=prompt.version if is_echo else None,
        description=answers.shorten(prompt.description) if prompt.description and not is_echo else None,
        tags=prompt.tags,
        arguments=_name_arguments(prompt.arguments),
        expires=prompt.expires,
        replaced_by=prompt.replaced_by,
        project=prompt.project if isinstance(prompt, PromptSummary) else "",
        **({} if is_echo else _describe_uses(prompt)),
    )


def format_row(row: PromptRow) -> str:
    """Return a row as a line."""
    title = row.title if row.title and make_name(row.title) != row.name else None  # otherwise, the name says as much
    about = " - ".join(join_lines(one) for one in (title, row.description) if one)
    facts = (
        f"[{', '.join(row.tags)}]" if row.tags else "",
        f"({', '.join(row.arguments)})" if row.arguments else "",
        f"version {row.version}" if row.version else "",
        f"labels {_format_labels(row.labels)}" if row.labels else "",
        f"from {row.layer}" if row.layer else "",
        f"@{row.project}" if row.project else "",
        f"used {format_count(row.uses, 'time')}" if row.uses else "",
        ", ".join(answers.describe_age(row, tells_future=row.version is not None)),
    )
    return " ".join([f"- {row.name}{': ' if about else ''}{about}", *filter(None, facts)])


def _name_arguments(arguments: tuple[Argument, ...]) -> tuple[str, ...]:
    return tuple(one.name if one.is_required else f"{one.name}?" for one in arguments)


def _describe(context: Context, found: FoundPrompt, read: Reading) -> WholePrompt:
    """Describe a prompt of the store or of a library, with the requested part of its content."""
    members: dict[str, Any] = {"name": found.name, "content": read.text, **read.members}
    if isinstance(found, Prompt):
        members |= {"layer": found.layer, "version": found.version, "label": found.label}
        members |= {"expires": found.expires, "replaced_by": found.replaced_by}
    if read.is_part:
        return WholePrompt(**members)
    if isinstance(found, Prompt):
        if not found.label:  # otherwise, the links of the newest version may differ
            members["links"], members["linked_from"] = texts.find_links(context, "prompt", found)
        members["labels"] = _list_labels(context, found)
        members |= {"title": found.title, "tags": found.tags, "includes": tuple(links.list_included(found))}
        members |= _describe_uses(found)
        members |= {"created": format_minute(found.created_at), "updated": format_minute(found.updated_at)}
    arguments = tuple(
        tools.DeclaredArgument(one.name, one.description or "", one.is_required, list(one.values), one.is_open)
        for one in found.arguments
    )
    return WholePrompt(**members, description=found.description, arguments=arguments)


def _describe_uses(prompt: Prompt | PromptSummary) -> dict[str, Any]:
    return {"uses": prompt.uses, "last_used": format_minute(prompt.last_used)} if prompt.last_used else {}


def _format_facts(prompt: WholePrompt, read: Reading) -> str:
    lines = []
    if prompt.title is not None and make_name(prompt.title) != prompt.name:
        lines.append(f"title: {join_lines(prompt.title)}")
    if prompt.description:
        lines.append(f"description: {prompt.description}")
    if prompt.tags:
        lines.append(f"tags: {', '.join(prompt.tags)}")
    if prompt.arguments:
        lines.append(f"arguments: {'; '.join(map(_format_argument, prompt.arguments))}")
    if prompt.labels:
        lines.append(f"labels: {_format_labels(prompt.labels)}")
    if prompt.uses:
        lines.append(f"used {format_count(prompt.uses, 'time')}, last {prompt.last_used}")
    if prompt.includes:
        lines.append(f"includes: {', '.join(prompt.includes)}")
    return texts.format_facts("prompt", prompt, read, lines)


def _list_labels(context: Context, prompt: Prompt) -> tuple[VersionLabel, ...]:
    return tuple(VersionLabel(label, version) for label, version in prompts.list_labels(context.tx, prompt).items())


def _format_labels(labels: Sequence[VersionLabel]) -> str:
    return ", ".join(f"{one.label} (version {one.version})" for one in labels)


def _format_argument(one: tools.DeclaredArgument) -> str:
    name = one.name if one.required else f"{one.name}?"
    values = f" = {' | '.join([*one.values, *(['...'] if one.open else [])])}" if one.values else ""
    return f"{name}{values}{f' ({join_lines(one.description)})' if one.description else ''}"
