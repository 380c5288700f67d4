"""Editing a part of a text: of a prompt, of a document, of the description of a task."""

from typing import Any

from msgspec import UNSET

from satchel.contracts.content import format_count
from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.answers import with_place
from satchel.contracts.satchel.errors import WrongValue
from satchel.contracts.satchel.item_lookups import find_item
from satchel.contracts.satchel.prompts import settle_update
from satchel.contracts.satchel.templates import check_templates
from satchel.contracts.satchel.tools import EditText
from satchel.errors import StoreConflict, VersionConflict, WrongArgument
from satchel.model import DocumentPatch, Item, PromptPatch, TaskPatch
from satchel.services import documents, prompts, tasks, text_edits
from satchel.services.templates import Checked
from satchel.services.text_edits import Edit, EditedText


def edit_text(context: Context, args: EditText) -> Body:
    context = context.within(args.project)
    with context.read() as opened:
        item, edited = _edit(opened, args)
    checked = check_templates(context, [edited.text] if item.kind == "prompt" else [])
    with context.write() as opened:
        return with_place(opened, _edit_and_save(opened, args, checked))


def _edit_and_save(context: Context, args: EditText, checked: Checked) -> Body:
    item, edited = _edit(context, args)
    key = _key_of(item)
    try:
        version, notes = _save(context, item, edited.text, checked)
    except VersionConflict as clash:  # changed since this call read it, which only PostgreSQL allows
        raise StoreConflict(f"{key} was changed while it was edited") from clash
    except WrongArgument as wrong:  # about a field that this tool does not take
        from satchel.contracts.satchel import errors  # only after a mistake

        message, hint = errors.describe(wrong)
        message = f"With these edits, {message} Nothing was changed."
        raise WrongValue(message, _MENDING.get(wrong.rule, hint), "edits" if args.edits else "append") from wrong
    changed = [{"line": one.line, "text": one.text} for one in edited.changed]
    structured: dict[str, Any] = {"project": context.scope.project, "item": key, "version": version, "changed": changed}
    lines = [f"{one.line}: {one.text}" for one in edited.changed]
    if edited.more:
        structured["more"] = edited.more
        lines.append(f"and {format_count(edited.more, 'more line')}")
    return answers.reply("\n".join([f"Edited {key}, version {version}:", *lines]), structured, notes=notes)


_MENDING = {  # by the rule that the edited text breaks
    "template": "Mend the edit; update_prompt with arguments: [] makes it plain text.",
    "minLength": "Leave some text, or delete it.",
}


# -- parts of the tool ------------------------------------------------------------------------------------------


def _edit(context: Context, args: EditText) -> tuple[Item, EditedText]:
    """Return the item whose text is edited, and its new text."""
    item = _find(context, args.item)
    if args.expected_version is not UNSET and args.expected_version != item.version:
        raise VersionConflict(item.kind, _key_of(item), expected=args.expected_version, actual=item.version)
    return item, _apply(item, args)


def _key_of(item: Item) -> str:
    return f"#{item.number}" if item.kind == "task" else item.name


def _find(context: Context, reference: str) -> Item:
    """The item whose text is edited.

    Raises:
        UnknownName, AmbiguousItem: as `find_item`.
        WrongArgument: it is a prompt of a library, or a document that is no text.
    """
    item = find_item(context, reference)
    if isinstance(item.content, bytes):
        raise WrongArgument("item", "contentEncoding", value=item.name)
    return item


def _apply(item: Item, args: EditText) -> EditedText:
    edits = [Edit(one.old, one.new, one.all) for one in args.edits or []]
    if not edits and not args.append and not args.prepend:
        raise WrongArgument("edits", "anyOf", limit=("edits", "append", "prepend"))
    assert isinstance(item.content, str), "bytes are refused before"
    return text_edits.apply(item.content, edits, prepend=args.prepend or "", append=args.append or "")


def _save(context: Context, item: Item, text: str, checked: Checked) -> tuple[int, list[str]]:
    """Store a new text; its version, and notes about it."""
    tx, scope, version = context.tx, context.scope, item.version
    if item.kind == "task":
        return tasks.update(tx, scope, item.number, TaskPatch(description=text or None), version).version, []
    if item.kind == "document":
        return documents.update(tx, scope, item.name, DocumentPatch(content=text), version).version, []
    arguments, notes = settle_update(checked, prompts.get(tx, scope, item.id), text, None)
    return prompts.update(tx, scope, item.id, PromptPatch(content=text, arguments=arguments), version).version, notes
