"""Texts in answers: a part of a prompt or document, its outline, its links from and to other items."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from satchel.contracts.content import format_count, join_lines
from satchel.contracts.contract import Context, Reply
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.tools import DocumentAnswer, WholePrompt
from satchel.errors import MissingPart, WrongArgument
from satchel.model import ItemKind
from satchel.services import layers, links, texts
from satchel.services.links import Linked

_MOST_MISSING = 10  # links in a note


class Reading(Struct, frozen=True, kw_only=True):
    """The requested part of a text."""

    text: str
    lines: str = ""  # the range of the part; empty for the whole text
    of: int = 0  # the number of lines in the whole text, if this is a part
    outline: tuple[str, ...] = ()  # headings with their lines, if the text is too long to show whole
    notes: tuple[str, ...] = ()
    is_shortened: bool = False  # the text was too long

    @property
    def is_part(self) -> bool:
        """Whether the call asked for a part; if so, the caller has already seen the rest of the item."""
        return bool(self.lines) and not self.is_shortened

    @property
    def members(self) -> dict[str, Any]:
        """Return the members of an answer that describe the part."""
        return {"lines": self.lines, "of": self.of, "outline": self.outline}

    @property
    def facts(self) -> list[str]:
        """Return what `members` says as lines, for clients that show a model only the texts."""
        part = [f"lines {self.lines} of {self.of}"] if self.lines else []
        return [*part, *(["outline:", *self.outline] if self.outline else [])]


def read_part(
    text: str,
    lines: str | UnsetType,
    heading: str | UnsetType = UNSET,
    *,
    is_whole: bool = False,
    has_headings: bool = True,
    takes_whole: bool = True,
) -> Reading:
    """Return the requested part of a text; by default, all of a short text, or the beginning of a long one.

    Unless it `takes_whole`, the tool has no argument `whole` for the rest of a long text.

    Raises:
        WrongArgument: `lines` is not a range, or both lines and a heading are given.
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
        return _show(part, (f"The same heading is also in lines {also}.",) if others else ())
    if is_whole or len(text) <= texts.LONGEST_WHOLE:
        return Reading(text=text)
    return _show_beginning(text, has_headings=has_headings, takes_whole=takes_whole)


def can_have_headings(mime_type: str) -> bool:
    """Return whether a # at the beginning of a line makes a heading, not a comment."""
    return mime_type.partition(";")[0].strip().lower() in ("text/plain", "text/markdown")


def _show(part: texts.TextPart, notes: tuple[str, ...] = ()) -> Reading:
    if part.is_whole:
        return Reading(text=part.text, notes=notes)
    lines = str(part.first) if part.first == part.last else f"{part.first}-{part.last}"
    return Reading(text=part.text, lines=lines, of=part.total, notes=notes)


def _show_beginning(text: str, *, has_headings: bool, takes_whole: bool) -> Reading:
    part = texts.take_beginning(text)
    outline, others = texts.make_outline(text) if has_headings else ((), ())
    headings = tuple(f"{one.line} {'#' * one.level} {one.text[:200]}" for one in outline)
    more = ""
    if others:
        more = f" Its outline leaves out {format_count(len(others), 'heading')}, the first in line {others[0].line}."
    if part.last == 1 and len(part.text.rstrip("\n")) < len(text.partition("\n")[0]):
        more += " Line 1 is longer than what is shown."
    ways = ['lines (like "40-90")'] if part.total > 1 or not takes_whole else []
    ways += [*(["a heading"] if headings else []), *(["whole: true"] if takes_whole else [])]
    how = f"{', '.join(ways[:-1])}{',' if len(ways) > 2 else ''} or {ways[-1]}" if ways[1:] else ways[0]
    size = f"{len(text)} characters in {format_count(part.total, 'line')}"
    note = f"It has {size}.{more} Read on with {how}."
    lines = "1" if part.last == 1 else f"1-{part.last}"
    return Reading(text=part.text, lines=lines, of=part.total, outline=headings, notes=(note,), is_shortened=True)


def reply_text(context: Context, reading: Reading, facts: str, link: dict[str, Any], **members: Any) -> Reply:
    """Return an answer with a text, facts about it, and a link to the whole text if it is long."""
    reply = answers.reply(context, reading.text, facts, notes=reading.notes, **members)
    return Reply([*reply.content, link], reply.structured) if reading.is_shortened else reply


def make_link(uri: str, name: str, mime_type: str, size: int) -> dict[str, Any]:
    """Return a link at which clients read a text with resources/read; None if the revision has no links."""
    return {"type": "resource_link", "uri": uri, "name": name, "mimeType": mime_type, "size": size}


def find_links(context: Context, kind: ItemKind, item: Linked) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the links from and to an item, each as a reference and a title."""
    to, back = links.of(context.tx, context.scope, kind, item, context.here)
    missing = [one for one in to if one.is_missing and not _is_elsewhere(context, one)]
    told = [f"{_format_link(one)} (not found)" if one in missing else _format_link(one) for one in to]
    return tuple(told), tuple(map(_format_link, back))


def describe_new_links(context: Context, contents: Iterable[str]) -> list[str]:
    """Return a note on the links in new texts of the current project that lead to nothing."""
    return describe_missing(context, [(context.scope.project, one, "") for one in contents])


def describe_missing(context: Context, texts: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return a note on new links that lead to nothing; each text comes with its project, and with the old text."""
    missing: dict[str, None] = {}
    for project, new, old in texts:
        there = context.within(project)
        found = links.find_missing(there.tx, there.scope, new, old, context.here)
        missing |= dict.fromkeys(one.reference for one in found if not _is_elsewhere(there, one))
    if not missing:
        return []
    more = [f"{len(missing) - _MOST_MISSING} more"] if len(missing) > _MOST_MISSING else []
    *most, last = [*missing][:_MOST_MISSING] + more
    return [f"{', '.join(most)} and {last} lead to nothing yet." if most else f"{last} leads to nothing yet."]


def _is_elsewhere(context: Context, link: links.Link) -> bool:
    """Return whether a link points to a library or the personal project."""
    if link.kind == "prompt" and context.libraries.find(link.key) is not None:
        return True
    scope = context.within(link.project or context.here).scope
    return link.kind in ("prompt", "document") and layers.has_personal(context.tx, scope, link.kind, link.key)


def _format_link(link: links.Link) -> str:
    where = f"@{link.project}" if link.kind == "task" and link.project else ""
    return " ".join(filter(None, [link.reference, join_lines(link.title), where]))


def format_facts(
    kind: str, answer: WholePrompt | DocumentAnswer, read: Reading | None, lines: Sequence[str], size: str = ""
) -> str:
    """Format what an item's text does not say about it; `lines` are the lines that only its kind of item has."""
    head = [
        f"{kind} {answer.name}",
        f"from {answer.layer}" if answer.layer else "",
        f"version {answer.version}" if answer.version else "",
        size,
        f"updated {answer.updated}, created {answer.created}" if answer.updated else "",
    ]
    age = answers.describe_age(answer, tells_future=True)
    lines = [f"[{', '.join(filter(None, head))}]", *([", ".join(age)] if age else []), *lines]
    lines += [f"links: {', '.join(answer.links)}"] if answer.links else []
    lines += [f"linked from: {', '.join(answer.linked_from)}"] if answer.linked_from else []
    return "\n".join([*lines, *(read.facts if read else [])])
