"""Exact replacement in a text: all edits of a call or none, and which lines they changed."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from msgspec import Struct

from satchel.errors import WrongEdit

_SHORT = 200  # characters of a line that an answer shows
_MOST_LINES = 20  # that an answer shows
_MOST_PLACES = 10  # that an error names
_MOST_SPANS = 1_000  # that are followed through later edits
_LOOKED_AT = 400_000  # characters in which the line nearest to a missing text is looked for

Span = tuple[int, int]  # what an edit put into a text: where it begins and ends


class Edit(Struct, frozen=True):
    """A replacement of one text by another."""

    old: str
    new: str
    is_everywhere: bool = False  # else `old` must occur once


class ChangedLine(Struct, frozen=True):
    """A line of an edited text, shortened around what changed in it."""

    line: int
    text: str


class EditedText(Struct, frozen=True):
    """A text after its edits."""

    text: str
    changed: tuple[ChangedLine, ...]
    more: int = 0  # changed lines that are not shown


def apply(text: str, edits: Sequence[Edit], *, prepend: str = "", append: str = "") -> EditedText:
    """A text with edits applied in order, then with lines before and after it.

    Raises:
        WrongEdit: the text to be replaced is empty, not there, there more than once, or nothing would change.
    """
    edited, spans = text, list[Span]()
    for index, edit in enumerate(edits):
        edited, spans = _replace(edited, spans, _fit_line_ends(edited, edit), index)
    prepend, append = (_with_ends_of(text, one) for one in (prepend, append))
    if prepend:
        before = prepend if prepend.endswith("\n") or not edited else f"{prepend}{_line_end(text)}"
        edited = before + edited
        spans = [(0, len(before)), *((start + len(before), end + len(before)) for start, end in spans)]
    if append:
        behind = append if edited.endswith("\n") or not edited else f"{_line_end(text)}{append}"
        start = len(edited) + len(behind) - len(append)
        edited = edited + behind
        spans.append((start, len(edited)))
    if edited == text:
        raise WrongEdit("same", index=len(edits) - 1 if edits else 0)
    changed, more = _describe(edited, spans)
    return EditedText(edited, changed, more)


def _fit_line_ends(text: str, edit: Edit) -> Edit:
    """An edit with the line ends of a text that has those of Windows, where callers rarely write them."""
    if "\n" not in edit.old:
        return Edit(edit.old, _with_ends_of(text, edit.new), edit.is_everywhere)
    if edit.old in text or "\r\n" not in text:
        return edit
    return Edit(_with_ends_of("\r\n", edit.old), _with_ends_of("\r\n", edit.new), edit.is_everywhere)


def _with_ends_of(text: str, part: str) -> str:
    """A part with the line ends of the text that it is put into."""
    return re.sub(r"\r?\n", "\r\n", part) if _line_end(text) == "\r\n" else part


def _line_end(text: str) -> str:
    """The line end of a text, which is that of its first line."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _replace(text: str, spans: list[Span], edit: Edit, index: int) -> tuple[str, list[Span]]:
    if not edit.old:
        raise WrongEdit("empty", index=index)
    if edit.old == edit.new:
        raise WrongEdit("same", index=index)
    first = text.find(edit.old)
    if first < 0:
        raise WrongEdit("absent", index=index, near=_find_nearest(text, edit.old))
    places = list(_places(text, edit.old))
    second = text.find(edit.old, first + 1)  # it may overlap the first
    if second >= 0 and not edit.is_everywhere:
        starts = _line_starts(text)
        known = places if len(places) > 1 else [first, second]
        lines = {_line_at(starts, place): None for place in known[:_MOST_PLACES]}
        raise WrongEdit("repeated", index=index, count=len(known), lines=tuple(lines))
    growth = len(edit.new) - len(edit.old)
    added = [
        (place + done * growth, place + done * growth + len(edit.new))
        for done, place in enumerate(places[:_MOST_SPANS])
    ]
    followed = [_follow(span, places, len(edit.old), growth) for span in spans]
    return text.replace(edit.old, edit.new), sorted([*followed, *added])[:_MOST_SPANS]


def _places(text: str, part: str) -> Iterator[int]:
    """The offsets at which a part occurs, from the first on, without overlaps."""
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + len(part))


def _follow(span: Span, places: Sequence[int], length: int, growth: int) -> Span:
    """A span after replacements: it moves, and one that overlaps a replacement has all of it."""
    start, end = span
    before = bisect_right(places, start)  # replacements that begin before it, or with it
    first = start + before * growth
    if before and start < places[before - 1] + length:
        first = places[before - 1] + (before - 1) * growth
    inside = bisect_left(places, end)  # replacements that begin before its end
    last = end + inside * growth
    if inside and end < places[inside - 1] + length:
        last = places[inside - 1] + length + inside * growth
    return first, max(first, last)


# -- lines ------------------------------------------------------------------------------------------------------


def _line_starts(text: str) -> list[int]:
    """The offset of every line."""
    return [0, *(found.end() for found in re.finditer("\n", text))]


def _line_at(starts: Sequence[int], place: int) -> int:
    """The number of the line that an offset is in."""
    return bisect_right(starts, place)


def _describe(text: str, spans: Sequence[Span]) -> tuple[tuple[ChangedLine, ...], int]:
    """The lines in which spans are, the first of them shown, and how many others there are."""
    starts = _line_starts(text)
    lines: dict[int, int] = {}  # by number, where the change begins in it
    for start, end in spans:
        first, last = _line_at(starts, start), _line_at(starts, max(start, end - 1))
        for number in range(first, last + 1):
            lines.setdefault(number, max(start - starts[number - 1], 0))
    if len(lines) > 1 and starts[-1] == len(text):
        lines.pop(len(starts), None)  # no line begins behind the last end of line
    shown = []
    for number in sorted(lines)[:_MOST_LINES]:
        end = starts[number] - 1 if number < len(starts) else len(text)
        shown.append(ChangedLine(number, shorten_around(text[starts[number - 1] : end].rstrip("\r"), lines[number])))
    return tuple(shown), max(0, len(lines) - _MOST_LINES)


def shorten_around(line: str, place: int) -> str:
    """A line, or of a long one what is around a place in it."""
    if len(line) <= _SHORT:
        return line
    start = min(max(0, place - _SHORT // 4), len(line) - _SHORT)
    end = start + _SHORT
    return f"{'...' if start else ''}{line[start:end]}{'...' if end < len(line) else ''}"


def _find_nearest(text: str, old: str) -> tuple[int, str] | None:
    """The line that has most words of a missing text's longest line, if it has half of them."""
    wanted = set(_words(max(old[:2_000].split("\n"), key=len)))
    best, most = None, (len(wanted) + 1) // 2 - 1
    for number, line in enumerate(text[:_LOOKED_AT].split("\n"), 1):
        shared = len(wanted.intersection(_words(line)))
        if shared > most:
            best, most = (number, line), shared
    if best is None or not wanted:
        return None
    place = min((found for word in wanted if (found := best[1].casefold().find(word)) >= 0), default=0)
    return best[0], shorten_around(best[1].rstrip("\r"), place)


def _words(line: str) -> list[str]:
    return re.findall(r"\w+", line.casefold())
