"""Several items of any kind at once: the tools that tag, complete, cancel, reopen, move, copy and delete them."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, Struct, to_builtins

from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers, task_answers
from satchel.contracts.satchel import documents as document_tools
from satchel.contracts.satchel import prompts as prompt_tools
from satchel.contracts.satchel.answers import format_item
from satchel.contracts.satchel.deleting import confirm, delete_all, format_referred, with_referred
from satchel.contracts.satchel.errors import WrongValue, name_place
from satchel.contracts.satchel.templates import find_items
from satchel.contracts.satchel.tools import Delete, UpdateItems
from satchel.errors import WrongArgument
from satchel.model import Document, Item, Prompt, PromptPatch, Task, TaskPatch
from satchel.services import copying, documents, lookup, projects, prompts, rules, tasks
from satchel.services.copying import Copyable


def delete(context: Context, args: Delete) -> Body:
    context = context.within(args.project)
    found = find_items(context, args.items)
    referred, notes = delete_all(context, found)
    rows = [
        {"kind": item.kind, "item": lookup.name_item(item), **({"title": item.title} if item.kind == "task" else {})}
        for item in found
    ]
    lines = [f"Deleted {format_item(item)}" for item in found]
    structured = with_referred({"project": context.scope.project, "deleted": rows}, referred)
    return answers.reply("\n".join([*lines, *format_referred(referred)]), structured, notes=notes)


def update_items(context: Context, args: UpdateItems) -> Body:
    context = context.within(args.project)
    if args.copy and not args.to:
        raise WrongArgument("to", "required")
    if args.tags is not UNSET:  # this and the project before the first item, which is not to blame
        rules.clean_tag_changes("item", rules.read_changes("tags", args.tags))
    if args.to:
        projects.get(context.tx, context.scope, args.to)
    found = find_items(context, args.items)
    for index, item in enumerate(found):
        with name_place(f"items[{index}]"):
            _check_change(context, item, args)
    if args.status == "cancelled":
        confirm(context, "Cancel", found)
    elif args.to and not args.copy:
        confirm(context, "Move", found, f" to project '{args.to}'")
    changed, notes = _Changed([], []), []
    for index, item in enumerate(found):
        with name_place(f"items[{index}]"):
            notes += _change(context, item, args, changed)
        answers.report_progress(context, index + 1, len(found))
    return _reply_changes(context, args, changed, notes)


# -- parts of update_items --------------------------------------------------------------------------------------


class _Changed(Struct):
    """The changes of a call so far."""

    items: list[Copyable | int]  # tasks by number, because a later change may unblock them
    closed: list[int]  # tasks that were open


def _check_change(context: Context, item: Item, args: UpdateItems) -> None:
    """Check that a change fits the kind of an item.

    Raises:
        WrongValue: it does not.
    """
    what = format_item(item)
    if args.status is not UNSET and item.kind != "task":
        raise WrongValue(f"{what} has no status.", "Leave it out, or leave out status.", "status")
    if args.tags is not UNSET and item.kind == "document":
        raise WrongValue(f"{what} cannot have tags.", "Leave it out, or leave out tags.", "tags")
    if args.copy and item.kind == "task":
        raise WrongValue(f"{what} cannot be copied.", "Move it, or add a new one with add_tasks.", "copy")
    if args.copy and args.tags is not UNSET:
        raise WrongValue("A copy keeps its tags.", "Copy first, then tag the copies.", "tags")
    if args.to == context.scope.project and item.kind != "task" and not args.copy:
        raise WrongValue(f"{what} is in project '{args.to}' already.", "Name another project in to.", "to")


def _change(context: Context, item: Item, args: UpdateItems, changed: _Changed) -> list[str]:
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


def _change_task(context: Context, item: Item, args: UpdateItems, changed: _Changed) -> list[str]:
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


# -- answers ----------------------------------------------------------------------------------------------------


def _reply_changes(context: Context, args: UpdateItems, changed: _Changed, notes: list[str]) -> Body:
    here = context.scope.project
    there = args.to or here
    after = _find_tasks(context, [one for one in changed.items if isinstance(one, int)])
    rows, lines = [], []
    for one in changed.items:
        row, line = _show(after[one] if isinstance(one, int) else one, here, there)
        rows.append(row)
        lines.append(line)
    done = "Updated" if not args.to else f"{'Copied' if args.copy else 'Moved'} to project '{args.to}'"
    structured: dict[str, Any] = {"project": here, "items": rows}
    text = [f"{done}:", *lines]
    if args.status == "completed":
        notes = [*notes, *(_tell_blockers(after[number]) for number in changed.closed if after[number].open_blockers)]
    if unblocked := _find_unblocked(context, changed.closed):
        structured["ready"] = [task_answers.make_row(task, here) for task in unblocked]
        text += ["Ready now:", *(task_answers.format_task(task, here) for task in unblocked)]
    if args.to and not args.copy and any(not isinstance(one, int) for one in changed.items):
        notes = [*notes, f"The originals of prompts and documents are in the trash of project '{here}'."]
    return answers.reply("\n".join(text), structured, notes=notes)


def _show(one: Prompt | Document | Task, here: str, there: str) -> tuple[dict[str, Any], str]:
    """Describe a changed item in a row and in a line."""
    if isinstance(one, Task):
        row = to_builtins(task_answers.make_row(one, here, is_echo=True))
        return row, f"{task_answers.format_task(one, here)}, version {one.version}"
    elsewhere = {} if there == here else {"project": there}
    if isinstance(one, Prompt):
        prompt = prompt_tools.echo_prompt(one)
        return {"kind": "prompt", **to_builtins(prompt), **elsewhere}, prompt_tools.format_row(prompt)
    document = document_tools.make_row(one, is_echo=True)
    return {"kind": "document", **to_builtins(document), **elsewhere}, document_tools.format_row(document)


def _tell_blockers(task: Task) -> str:
    return f"#{task.number} was still blocked by {', '.join(task_answers.list_blockers(task))}."


def _find_tasks(context: Context, numbers: Sequence[int]) -> dict[int, Task]:
    return {task.number: task for task in tasks.list_some(context.tx, context.scope, numbers)}


def _find_unblocked(context: Context, closed: Sequence[int]) -> list[Task]:
    """List the tasks that became ready because others were closed, each once."""
    found = {
        task.number: task
        for number in closed
        for task in tasks.list_blocked(context.tx, context.scope, number)
        if task.is_ready
    }
    return [found[number] for number in sorted(found)]
