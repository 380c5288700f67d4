"""Parts of texts: reading a part of a prompt or document, and editing one, or the description of a task."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from satchel.contracts.content import format_count, join_lines
from satchel.contracts.contract import Body, Context, Reply
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.answers import with_place
from satchel.contracts.satchel.errors import WrongValue, describe
from satchel.contracts.satchel.templates import check_templates, find_item, settle_update
from satchel.contracts.satchel.tools import EditText
from satchel.errors import MissingPart, StoreConflict, VersionConflict, WrongArgument
from satchel.model import DocumentPatch, Item, ItemKind, PromptPatch, TaskPatch
from satchel.services import documents, layers, links, lookup, prompts, tasks, texts
from satchel.services.links import Linked
from satchel.services.templates import Checked
from satchel.services.texts import Edit, EditedText

# -- editing ------------------------------------------------------------------------------------------------------

_CORRECTING = {  # by the rule that the edited text breaks
    "template": "Correct the edit; update_prompt with arguments: [] makes it plain text.",
    "minLength": "Leave some text, or delete it.",
}


def edit_text(context: Context, args: EditText) -> Body:
    context = context.within(args.project)
    with context.read() as opened:
        item, edited = _edit(opened, args)
    checked = check_templates(context, [edited.text] if item.kind == "prompt" else [])
    with context.write() as opened:
        return with_place(opened, _edit_and_save(opened, args, checked))


def _edit(context: Context, args: EditText) -> tuple[Item, EditedText]:
    """Find the item and apply the edits to its text.

    Raises:
        UnknownName, AmbiguousItem: as `find_item`.
        WrongArgument: it is a prompt of a library, or a document of bytes.
        VersionConflict: it has another version than expected.
        WrongEdit: as `texts.apply_edits`.
    """
    item = find_item(context, args.item)
    if isinstance(item.content, bytes):
        raise WrongArgument("item", "contentEncoding", value=item.name)
    if args.expected_version is not UNSET and args.expected_version != item.version:
        raise VersionConflict(item.kind, lookup.name_item(item), expected=args.expected_version, actual=item.version)
    edits = [Edit(one.old, one.new, one.all) for one in args.edits or []]
    if not edits and not args.append and not args.prepend:
        raise WrongArgument("edits", "anyOf", limit=("edits", "append", "prepend"))
    return item, texts.apply_edits(item.content, edits, prepend=args.prepend or "", append=args.append or "")


def _edit_and_save(context: Context, args: EditText, checked: Checked) -> Body:
    item, edited = _edit(context, args)
    key = lookup.name_item(item)
    try:
        version, notes = _save(context, item, edited.text, checked)
    except VersionConflict as clash:  # changed since this call read it, which only PostgreSQL allows
        raise StoreConflict(f"{key} was changed while it was edited") from clash
    except WrongArgument as wrong:  # about a field that this tool does not take
        message, hint = describe(wrong)
        message = f"With these edits, {message} Nothing was changed."
        raise WrongValue(message, _CORRECTING.get(wrong.rule, hint), "edits" if args.edits else "append") from wrong
    changed = [{"line": one.line, "text": one.text} for one in edited.changed]
    structured: dict[str, Any] = {"project": context.scope.project, "item": key, "version": version, "changed": changed}
    lines = [f"{one.line}: {one.text}" for one in edited.changed]
    if edited.more:
        structured["more"] = edited.more
        lines.append(f"and {format_count(edited.more, 'more line')}")
    return answers.reply("\n".join([f"Edited {key}, version {version}:", *lines]), structured, notes=notes)


def _save(context: Context, item: Item, text: str, checked: Checked) -> tuple[int, list[str]]:
    """Store the new text of an item; return the new version, and notes about the text."""
    tx, scope, version = context.tx, context.scope, item.version
    if item.kind == "task":
        return tasks.update(tx, scope, item.number, TaskPatch(description=text or None), version).version, []
    if item.kind == "document":
        return documents.update(tx, scope, item.name, DocumentPatch(content=text), version).version, []
    arguments, notes = settle_update(checked, prompts.get(tx, scope, item.id), text, None)
    return prompts.update(tx, scope, item.id, PromptPatch(content=text, arguments=arguments), version).version, notes


# -- reading ------------------------------------------------------------------------------------------------------


class Reading(Struct, frozen=True, kw_only=True):
    """The part of a text that is read."""

    text: str
    lines: str = ""  # its range; empty for all of the text
    of: int = 0  # lines of the whole text, if this is a part
    outline: tuple[str, ...] = ()  # headings with their lines, if the text is too long to be read whole
    notes: tuple[str, ...] = ()
    is_shortened: bool = False  # because it is too long

    @property
    def is_part(self) -> bool:
        """Whether the call asked for a part: such a caller has seen the rest of the item."""
        return bool(self.lines) and not self.is_shortened

    @property
    def members(self) -> dict[str, Any]:
        """Return the members of an answer beside the text."""
        return {"lines": self.lines, "of": self.of, "outline": self.outline}

    @property
    def facts(self) -> list[str]:
        """Return the same in lines, for clients that show a model only the texts."""
        part = [f"lines {self.lines} of {self.of}"] if self.lines else []
        return [*part, *(["outline:", *self.outline] if self.outline else []), *self.notes]


def read_part(
    text: str,
    lines: str | UnsetType,
    heading: str | UnsetType,
    *,
    is_whole: bool = False,
    has_headings: bool = True,
) -> Reading:
    """Return the part of a text that a call asks for; by default all of a short text, or the beginning of a long one.

    Raises:
        WrongArgument: lines is no range, or both lines and a heading are given.
        MissingPart: there is no such heading.
    """
    if lines and heading:
        raise WrongArgument("heading", "not", value="lines")
    if lines:
        return _show(texts.take_lines(text, lines))
    if heading:
        if not has_headings:
            raise MissingPart(heading, ())
        part, others = texts.take_section(text, heading)
        also = ", ".join(map(str, others))
        return _show(part, (f"Other headings of this text: in lines {also}.",) if others else ())
    if is_whole or len(text) <= texts.LONGEST_WHOLE:
        return Reading(text=text)
    return _show_beginning(text, has_headings=has_headings)


def can_have_headings(mime_type: str) -> bool:
    """Return whether # at the beginning of a line makes a heading, not a comment."""
    return mime_type.partition(";")[0].strip().lower() in ("text/plain", "text/markdown")


def _show(part: texts.TextPart, notes: tuple[str, ...] = ()) -> Reading:
    if part.is_whole:
        return Reading(text=part.text, notes=notes)
    lines = str(part.first) if part.first == part.last else f"{part.first}-{part.last}"
    return Reading(text=part.text, lines=lines, of=part.total, notes=notes)


def _show_beginning(text: str, *, has_headings: bool) -> Reading:
    part = texts.take_beginning(text)
    outline, left_out = texts.make_outline(text) if has_headings else ((), 0)
    headings = tuple(f"{one.line} {'#' * one.level} {one.text[:200]}" for one in outline)
    more = f" Its outline leaves out {left_out} headings." if left_out else ""
    if part.last == 1 and len(part.text.rstrip("\n")) < len(text.partition("\n")[0]):
        more += " Line 1 is longer than what is shown."
    ways = 'lines (like "40-90"), a heading, or ' if headings else 'lines (like "40-90") or ' if part.total > 1 else ""
    size = f"{len(text)} characters in {format_count(part.total, 'line')}"
    note = f"It has {size}.{more} Read on with {ways}whole: true."
    lines = "1" if part.last == 1 else f"1-{part.last}"
    return Reading(text=part.text, lines=lines, of=part.total, outline=headings, notes=(note,), is_shortened=True)


# -- answers ----------------------------------------------------------------------------------------------------


def reply_text(reading: Reading, structured: dict[str, Any], facts: str, link: dict[str, Any]) -> Reply:
    """Return an answer with a text, what the text does not say, and for a long one a link to all of it."""
    content = [{"type": "text", "text": reading.text}, {"type": "text", "text": facts}]
    if reading.notes:
        structured = {**structured, "notes": list(reading.notes)}
    return Reply([*content, link] if reading.is_shortened else content, structured)


def make_link(uri: str, name: str, mime_type: str, size: int) -> dict[str, Any]:
    """Return a link by which clients read a text with resources/read; revisions without links do not get it."""
    return {"type": "resource_link", "uri": uri, "name": name, "mimeType": mime_type, "size": size}


def format_time(time: str) -> str:
    """Return a time to the minute."""
    return f"{time[:16]}Z"


def find_links(context: Context, kind: ItemKind, item: Linked) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what an item links to, and what links to it, each as a reference and a title."""
    to, back = links.of(context.tx, context.scope, kind, item)
    missing = [one for one in to if one.is_missing and not _is_elsewhere(context, one)]
    told = [f"{_format_link(one)} (not found)" if one in missing else _format_link(one) for one in to]
    return tuple(told), tuple(map(_format_link, back))


def _is_elsewhere(context: Context, link: links.Link) -> bool:
    """Return whether a link names something in a library or in the personal project."""
    if link.kind == "prompt" and context.libraries.find(link.key) is not None:
        return True
    return link.kind in ("prompt", "document") and layers.has_personal(context.tx, context.scope, link.kind, link.key)


def _format_link(link: links.Link) -> str:
    return " ".join(filter(None, [link.reference, join_lines(link.title), f"@{link.project}" if link.project else ""]))


def format_links(linked: Sequence[str], linked_from: Sequence[str]) -> list[str]:
    """Return the links of an item, from both sides, in lines."""
    lines = [f"links: {', '.join(linked)}"] if linked else []
    return [*lines, f"linked from: {', '.join(linked_from)}"] if linked_from else lines
