"""Items of any kind: the tools that tag, complete, cancel, reopen, move, copy, edit and delete them."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, Struct, to_builtins

from satchel.contracts.content import format_count
from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers, task_answers, tools
from satchel.contracts.satchel import documents as document_tools
from satchel.contracts.satchel import prompts as prompt_tools
from satchel.contracts.satchel import tasks as task_tools
from satchel.contracts.satchel.answers import format_item
from satchel.contracts.satchel.errors import WrongValue, describe, name_place
from satchel.contracts.satchel.templates import check_templates, find_in_libraries, settle_update
from satchel.errors import NotFound, StoreConflict, VersionConflict, WrongArgument
from satchel.model import Document, DocumentPatch, Item, ItemKind, Prompt, PromptPatch, Task, TaskPatch
from satchel.services import (
    copying,
    documents,
    links,
    lookup,
    projects,
    prompts,
    rules,
    tasks,
    texts,
)
from satchel.services.copying import Copyable
from satchel.services.templates import Checked
from satchel.services.texts import Edit, EditedText

_MOST_UNASKED = 10  # one call may delete, cancel or move more items only after asking the user
_NAMED = 60  # characters of an item in a question
# For each kind, the tool that the caller must be allowed to use for a change.
_CHANGING: dict[ItemKind, str] = {"prompt": "update_prompt", "document": "update_resource", "task": "update_task"}


def _find_items(context: Context, given: Sequence[str]) -> list[Item]:
    """Return the items that a call names, each once and without its content."""
    answers.check_number("items", given)
    found: dict[tuple[ItemKind, int], Item] = {}
    exact = lookup.find_all(context.tx, context.scope, given)
    for index, (reference, item) in enumerate(zip(given, exact, strict=True)):
        with name_place(f"items[{index}]"):
            item = _check_found(context, reference, item)
        found[item.kind, item.number] = item
    return list(found.values())


def _check_found(context: Context, reference: str, item: Item | None = None) -> Item:
    """Return `item`, or else the item that a reference names, if the caller may change it."""
    in_library = find_in_libraries(context, reference)
    if in_library is not None:
        raise WrongArgument("prompt", "readOnly", value=in_library.name)
    try:
        item = item or lookup.find(context.tx, context.scope, reference)
    except NotFound as missing:
        if missing.kind == "project":
            raise
    if item is not None and item.kind == "project" and not item.is_deleted:
        hint = "Only a person can do this: with satchel project rename or satchel project delete NAME, or on the page."
        raise WrongValue(f"'{item.name}' is a project.", hint, "item")
    if item is None or item.is_deleted or _CHANGING.get(item.kind) not in context.tools:
        raise NotFound("item", reference, context.scope)
    return item


def _confirm(context: Context, what: str, items: Sequence[Item], where: str = "") -> None:
    """Ask the user before many items are deleted, cancelled or moved."""
    if len(items) <= _MOST_UNASKED:
        return
    named = ", ".join(format_item(item)[:_NAMED] for item in items[:_MOST_UNASKED])
    context.confirm(f"{what} {len(items)} items{where}? {named}, and {len(items) - _MOST_UNASKED} more.")


# -- delete -----------------------------------------------------------------------------------------------------


def delete(context: Context, args: tools.Delete) -> Body:
    items = _find_items(context, args.items)
    _confirm(context, "Delete", items)
    going = {(item.kind, str(item.number) if item.kind == "task" else item.name) for item in items}
    referred = []
    for item in items:
        others = [one.reference for one in _find_referrers(context, item) if (one.kind, one.key) not in going]
        if others:
            referred.append({"item": item.key, "by": others})
    going_tasks = tasks.list_some(context.tx, context.scope, [item.number for item in items if item.kind == "task"])
    notes = [note for task in going_tasks for note in task_answers.describe_holder(context, task, f"#{task.number}")]
    if ids := [item.id for item in items if item.kind == "prompt"]:
        prompts.delete(context.tx, context.scope, *ids)
    for item in items:
        if item.kind == "task":
            tasks.delete(context.tx, context.scope, item.number)
        elif item.kind == "document":
            documents.delete(context.tx, context.scope, item.name)
    lines = [f"Deleted {format_item(item)}" for item in items]
    lines += [f"{one['item']} was referred to by {', '.join(one['by'])}." for one in referred]
    deleted = [
        {"kind": item.kind, "item": item.key, **({"title": item.title} if item.kind == "task" else {})}
        for item in items
    ]
    members = {"referred": referred} if referred else {}
    return answers.reply(context, "\n".join(lines), notes=notes, deleted=deleted, **members)


def _find_referrers(context: Context, item: Item) -> list[links.Link]:
    """Find the tasks that an item blocks, and the items that link to it."""
    found = links.referrers(context.tx, context.scope, item.kind, item)
    if item.kind == "task":
        blocked = tasks.list_blocked(context.tx, context.scope, item.number)
        found = [*(links.Link(kind="task", key=str(one.number), title=one.title) for one in blocked), *found]
    return list({one.reference: one for one in found}.values())


# -- edit_text --------------------------------------------------------------------------------------------------

_CORRECTING = {  # by the rule that the edited text would break
    "template": "Correct the edit, or make the prompt plain text: update_prompt with arguments: [].",
    "minLength": "Leave some text, or delete the item.",
}


def edit_text(context: Context, args: tools.EditText) -> Body:
    with context.read() as opened:
        item, edited = _edit(opened, args)
    checked = check_templates(context, [edited.text] if item.kind == "prompt" else [])
    with context.write() as opened:
        return _edit_and_save(opened, args, checked)


def _edit(context: Context, args: tools.EditText) -> tuple[Item, EditedText]:
    """Find the item and apply the edits to its text."""
    item = _check_found(context, args.item)
    if isinstance(item.content, bytes):
        raise WrongArgument("item", "contentEncoding", value=item.name)
    if args.expected_version is not UNSET and args.expected_version != item.version:
        raise VersionConflict(item.kind, item.key, expected=args.expected_version, actual=item.version)
    edits = [Edit(one.old, one.new, one.all) for one in args.edits or []]
    if not edits and not args.append and not args.prepend:
        raise WrongArgument("edits", "anyOf", limit=("edits", "append", "prepend"))
    return item, texts.apply_edits(item.content, edits, prepend=args.prepend or "", append=args.append or "")


def _edit_and_save(context: Context, args: tools.EditText, checked: Checked) -> Body:
    item, edited = _edit(context, args)
    key = item.key
    try:
        version, notes = _save(context, item, edited.text, checked)
    except VersionConflict as clash:  # another call changed it after the read, which only PostgreSQL allows
        raise StoreConflict(f"{key} was changed while it was edited") from clash
    except WrongArgument as wrong:  # the field of the error is not an argument of this tool
        message, hint = describe(wrong)
        message = f"With these edits, {message} Nothing was changed."
        raise WrongValue(message, _CORRECTING.get(wrong.rule, hint), "edits" if args.edits else "append") from wrong
    members: dict[str, Any] = {"changed": [{"line": one.line, "text": one.text} for one in edited.changed]}
    lines = [f"Edited {key}, version {version}:", *(f"{one.line}: {one.text}" for one in edited.changed)]
    if edited.more:
        members["more"] = edited.more
        lines.append(f"and {format_count(edited.more, 'more line')}")
    return answers.reply(context, "\n".join(lines), notes=notes, item=key, version=version, **members)


def _save(context: Context, item: Item, text: str, checked: Checked) -> tuple[int, list[str]]:
    """Store the new text of an item; return the new version, and notes about the text."""
    tx, scope, version = context.tx, context.scope, item.version
    if item.kind == "task":
        return tasks.update(tx, scope, item.number, TaskPatch(description=text or None), version).version, []
    if item.kind == "document":
        return documents.update(tx, scope, item.name, DocumentPatch(content=text), version).version, []
    arguments, notes = settle_update(checked, prompts.get(tx, scope, item.id), text, None)
    return prompts.update(tx, scope, item.id, PromptPatch(content=text, arguments=arguments), version).version, notes


# -- update_items -----------------------------------------------------------------------------------------------


class _Changed(Struct):
    """The changes of a call so far."""

    items: list[Copyable | int]  # a task is a number, because a later change may unblock it
    closed: list[int]  # tasks that were open before


def update_items(context: Context, args: tools.UpdateItems) -> Body:
    if args.copy and not args.to:
        raise WrongArgument("to", "required")
    if args.tags is not UNSET:  # checked before the first item, so that the error names no item
        rules.clean_tag_changes("item", rules.read_changes("tags", args.tags))
    if args.to:
        projects.get(context.tx, context.scope, args.to)
    found = _find_items(context, args.items)
    for index, item in enumerate(found):
        with name_place(f"items[{index}]"):
            _check_change(context, item, args)
    if args.status == "cancelled":
        _confirm(context, "Cancel", found)
    elif args.to and not args.copy:
        _confirm(context, "Move", found, f" to project '{args.to}'")
    changed, notes = _Changed([], []), []
    for index, item in enumerate(found):
        with name_place(f"items[{index}]"):
            notes += _change(context, item, args, changed)
        answers.report_progress(context, index + 1, len(found))
    return _reply_changes(context, args, [item.version for item in found], changed, notes)


def _check_change(context: Context, item: Item, args: tools.UpdateItems) -> None:
    """Check that a change fits the kind of an item."""
    what = format_item(item)
    if args.status is not UNSET and item.kind != "task":
        raise WrongValue(f"{what} has no status.", "Leave out this item or status.", "status")
    if args.tags is not UNSET and item.kind == "document":
        raise WrongValue(f"{what} cannot have tags.", "Leave out this item or tags.", "tags")
    if args.copy and item.kind == "task":
        raise WrongValue(f"{what} cannot be copied.", "Move the task, or add a new one with add_tasks.", "copy")
    if args.copy and args.tags is not UNSET:
        raise WrongValue("A copy keeps its tags.", "Copy first, then tag the copies.", "tags")
    if args.to == context.scope.project and item.kind != "task" and not args.copy:
        raise WrongValue(f"{what} is in project '{args.to}' already.", "Give another project as to.", "to")


def _change(context: Context, item: Item, args: tools.UpdateItems, changed: _Changed) -> list[str]:
    """Change one item; return notes about it."""
    if item.kind == "task":
        return _change_task(context, item, args, changed)
    tx, scope = context.tx, context.scope
    found: Copyable
    if item.kind == "document":
        found = documents.get_by_name(tx, scope, item.name)
    elif args.tags is UNSET:
        found = prompts.get(tx, scope, item.id)
    else:
        found = prompts.update(tx, scope, item.id, PromptPatch(tags=rules.read_changes("tags", args.tags)))
    notes: Sequence[str] = ()
    if args.to:
        found, notes = (copying.copy if args.copy else copying.move)(tx, scope, found, str(args.to))
    changed.items.append(found)
    return [f"{item.name}: {note}" for note in notes]


def _change_task(context: Context, item: Item, args: tools.UpdateItems, changed: _Changed) -> list[str]:
    before = tasks.find(context.tx, context.scope, item.number)
    changed.items.append(before.number)
    is_there = not args.to or before.project == args.to
    is_so = args.status is UNSET or args.status == before.status
    is_so = is_so or (args.status == "pending" and not before.is_completed)
    if is_there and is_so and args.tags is UNSET:
        return [f"#{before.number} was {before.status} already."] if args.status is not UNSET else []
    patch = TaskPatch(
        status=UNSET if is_so else args.status,
        tags=UNSET if args.tags is UNSET else rules.read_changes("tags", args.tags),
        project=UNSET if is_there else args.to,
    )
    tasks.update(context.tx, context.scope, before.number, patch)
    if is_so or args.status == "pending" or before.is_completed:
        return []
    changed.closed.append(before.number)
    return task_answers.describe_holder(context, before, f"#{before.number}")


def _reply_changes(
    context: Context, args: tools.UpdateItems, versions: list[int], changed: _Changed, notes: list[str]
) -> Body:
    """Answer with the changed items; `versions` are the versions that they had before."""
    here = context.scope.project
    there = args.to or here
    numbers = [one for one in changed.items if isinstance(one, int)]
    after = {task.number: task for task in tasks.list_some(context.tx, context.scope, numbers)}
    items = [after[one] if isinstance(one, int) else one for one in changed.items]
    shown = [_show(one, here, there) for one in items]
    done = "Unchanged" if [one.version for one in items] == versions else "Updated"
    if args.to:
        done = f"{'Copied' if args.copy else 'Moved'} to project '{args.to}'"
    if args.status == "completed":
        for task in (after[number] for number in changed.closed):
            if blockers := task_answers.list_blockers(task):
                notes.append(f"#{task.number} was still blocked by {', '.join(blockers)}.")
    if args.to and not args.copy and len(numbers) < len(changed.items):
        notes.append(f"The originals of prompts and documents are in the trash of project '{here}'.")
    ready, lines = task_answers.show_ready(task_answers.find_unblocked(context, changed.closed), here)
    text = "\n".join([f"{done}:", *(line for _, line in shown), *lines])
    return answers.reply(context, text, notes=notes, items=[row for row, _ in shown], **ready)


def _show(one: Prompt | Document | Task, here: str, there: str) -> tuple[dict[str, Any], str]:
    """Describe a changed item, as a row and as a line."""
    if isinstance(one, Task):
        line = f"{task_answers.format_task(one, here)}, version {one.version}"
        return to_builtins(task_answers.make_row(one, here, is_echo=True)), line
    elsewhere = {} if there == here else {"project": there}
    if isinstance(one, Prompt):
        prompt = prompt_tools.make_row(one, is_echo=True)
        return {"kind": "prompt", **to_builtins(prompt), **elsewhere}, prompt_tools.format_row(prompt)
    document = document_tools.make_row(one, is_echo=True)
    return {"kind": "document", **to_builtins(document), **elsewhere}, document_tools.format_row(document)


def show(context: Context, args: tools.Show) -> Body:
    """Show tasks or prompts; hosts without apps get a text."""
    if args.what == "prompts":
        return prompt_tools.list_prompts(context, tools.ListPrompts(query=args.query, project=args.project))
    wanted = tools.ListTasks(status="pending", query=args.query, project=args.project)
    return task_tools.list_tasks(context, wanted)
