"""Deletes items of any kind, and tells what referred to them."""

from collections.abc import Sequence
from typing import Any

from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.answers import format_item
from satchel.contracts.satchel.task_answers import describe_holder
from satchel.model import Document, Item, Prompt, Task
from satchel.services import documents, links, lookup, prompts, states, tasks

MOST_UNASKED = 10  # items that one call may delete, cancel or move before the user is asked

Referred = dict[str, Any]  # what was deleted, and the references of what referred to it


def delete_all(context: Context, items: Sequence[Item]) -> tuple[list[Referred], list[str]]:
    """Delete items; those that others refer to, with who they are, and notes about those that other agents hold."""
    confirm(context, "Delete", items)
    going = {(item.kind, str(item.number) if item.kind == "task" else item.name) for item in items}
    referred = []
    for item in items:
        others = [one.reference for one in _find_referrers(context, item) if (one.kind, one.key) not in going]
        if others:
            referred.append({"item": lookup.name_item(item), "by": others})
    going_tasks = tasks.list_some(context.tx, context.scope, [item.number for item in items if item.kind == "task"])
    notes = [note for task in going_tasks for note in describe_holder(context, task, f"#{task.number}")]
    for index, item in enumerate(items):
        if item.kind == "task":
            tasks.delete(context.tx, context.scope, item.number)
        elif item.kind == "document":
            documents.delete(context.tx, context.scope, item.name)
        else:
            prompts.delete(context.tx, context.scope, item.id)
        answers.report_progress(context, index + 1, len(items))
    return referred, notes


def delete_one(context: Context, found: Prompt | Document | Task, project: str, deleted: str | int, text: str) -> Body:
    """Delete one item and answer; `deleted` names it, and `text` says what was done."""
    referred, notes = delete_all(context, [_as_item(found)])
    structured: dict[str, Any] = with_referred({"project": project, "deleted": deleted}, referred)
    return answers.reply("\n".join([text, *format_referred(referred)]), structured, notes=notes)


def confirm(context: Context, what: str, items: Sequence[Item], where: str = "") -> None:
    """Ask the user before many items are deleted, cancelled or moved."""
    if len(items) <= MOST_UNASKED:
        return
    named = ", ".join(format_item(item)[:_NAMED] for item in items[:MOST_UNASKED])
    context.confirm(f"{what} {len(items)} items{where}? {named}, and {len(items) - MOST_UNASKED} more.")


_NAMED = 60  # characters of an item in a question


def with_referred(structured: dict[str, Any], referred: list[Referred]) -> dict[str, Any]:
    """Add to an answer what referred to the deleted items, if anything did."""
    return {**structured, "referred": referred} if referred else structured


def format_referred(referred: list[Referred]) -> list[str]:
    """Format what referred to the deleted items, in lines."""
    return [f"{one['item']} was referred to by {', '.join(one['by'])}." for one in referred]


def _find_referrers(context: Context, item: Item) -> list[links.Link]:
    """Find the tasks that an item blocks, and the items that link to it."""
    found = links.referrers(context.tx, context.scope, item.kind, item)
    if item.kind == "task":
        blocked = tasks.list_blocked(context.tx, context.scope, item.number)
        found = [*(links.Link(kind="task", key=str(one.number), title=one.title) for one in blocked), *found]
    return list({one.reference: one for one in found}.values())


def _as_item(found: Prompt | Document | Task) -> Item:
    if isinstance(found, Prompt):
        return states.of_prompt(found)
    return states.of_document(found) if isinstance(found, Document) else states.of_task(found)
