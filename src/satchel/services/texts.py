"""Texts: exact edits of a part, ranges of lines, sections below headings, excerpts for lists, and similar names.

Lines end with a line feed only, and the first has the number 1.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import islice, takewhile

from msgspec import Struct

from satchel.errors import MissingPart, WrongArgument, WrongEdit
from satchel.model import Excerpt
from satchel.services.rules import fold

# -- edits ----------------------------------------------------------------------------------------------------

_SHORT = 200  # characters of a line in an answer
_MOST_LINES = 20  # lines in an answer
_MOST_PLACES = 10  # places in an error
_MOST_SPANS = 1_000  # spans to follow through later edits
_LOOKED_AT = 400_000  # characters to search for the line most similar to a missing text

Span = tuple[int, int]  # start and end of a text that an edit inserted


class Edit(Struct, frozen=True):
    """One text to replace by another."""

    old: str
    new: str
    is_everywhere: bool = False  # otherwise, `old` must occur once


class ChangedLine(Struct, frozen=True):
    """A line of an edited text, shortened around its change."""

    line: int
    text: str


class EditedText(Struct, frozen=True):
    """A text after its edits."""

    text: str
    changed: tuple[ChangedLine, ...]
    more: int = 0  # changed lines that are not shown


def apply_edits(text: str, edits: Sequence[Edit], *, prepend: str = "", append: str = "") -> EditedText:
    """Apply edits to a text in order, then add lines before and after it.

    Raises:
        WrongEdit: the text to replace is empty, missing or repeated, or nothing would change.
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
    """Give an edit the line endings of the text, because callers rarely send CRLF."""
    if "\n" not in edit.old:
        return Edit(edit.old, _with_ends_of(text, edit.new), edit.is_everywhere)
    if edit.old in text or "\r\n" not in text:
        return edit
    return Edit(_with_ends_of("\r\n", edit.old), _with_ends_of("\r\n", edit.new), edit.is_everywhere)


def _with_ends_of(text: str, part: str) -> str:
    """Return a part with the line endings of the text into which it will be inserted."""
    return re.sub(r"\r?\n", "\r\n", part) if _line_end(text) == "\r\n" else part


def _line_end(text: str) -> str:
    """Return the line end of the first line of a text."""
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
    places = [found.start() for found in re.finditer(re.escape(edit.old), text)]
    second = text.find(edit.old, first + 1)  # it may overlap the first
    if second >= 0 and not edit.is_everywhere:
        starts = _line_starts(text)
        known = places if len(places) > 1 else [first, second]
        lines = {bisect_right(starts, place): None for place in known[:_MOST_PLACES]}
        raise WrongEdit("repeated", index=index, count=len(known), lines=tuple(lines))
    growth = len(edit.new) - len(edit.old)
    added = [
        (place + done * growth, place + done * growth + len(edit.new))
        for done, place in enumerate(places[:_MOST_SPANS])
    ]
    followed = [_follow(span, places, len(edit.old), growth) for span in spans]
    return text.replace(edit.old, edit.new), sorted([*followed, *added])[:_MOST_SPANS]


def _follow(span: Span, places: Sequence[int], length: int, growth: int) -> Span:
    """Return where a span is after replacements; a span that overlaps a replacement grows to include it."""
    start, end = span
    before = bisect_right(places, start)  # replacements that begin at or before its start
    first = start + before * growth
    if before and start < places[before - 1] + length:
        first = places[before - 1] + (before - 1) * growth
    inside = bisect_left(places, end)  # replacements that begin before its end
    last = end + inside * growth
    if inside and end < places[inside - 1] + length:
        last = places[inside - 1] + length + inside * growth
    return first, max(first, last)


def _line_starts(text: str) -> list[int]:
    """Return the offsets at which the lines begin."""
    return [0, *(found.end() for found in re.finditer("\n", text))]


def _describe(text: str, spans: Sequence[Span]) -> tuple[tuple[ChangedLine, ...], int]:
    """Return the first lines that the spans touch, and the number of other lines that they touch."""
    starts = _line_starts(text)
    lines: dict[int, int] = {}  # line number to the offset at which the change begins
    for start, end in spans:
        first, last = bisect_right(starts, start), bisect_right(starts, max(start, end - 1))
        for number in range(first, last + 1):
            lines.setdefault(number, max(start - starts[number - 1], 0))
    if len(lines) > 1 and starts[-1] == len(text):
        lines.pop(len(starts), None)  # no line begins after the last line end
    shown = []
    for number in sorted(lines)[:_MOST_LINES]:
        end = starts[number] - 1 if number < len(starts) else len(text)
        shown.append(ChangedLine(number, shorten_around(text[starts[number - 1] : end].rstrip("\r"), lines[number])))
    return tuple(shown), max(0, len(lines) - _MOST_LINES)


def shorten_around(line: str, place: int, longest: int = _SHORT) -> str:
    """Cut a long line to the part around a position."""
    if len(line) <= longest:
        return line
    start = min(max(0, place - longest // 4), len(line) - longest)
    end = start + longest
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def _find_nearest(text: str, old: str) -> tuple[int, str] | None:
    """Find the line that has most words of a missing text's longest line, and at least half of these words."""
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


# -- parts ----------------------------------------------------------------------------------------------------

LONGEST_WHOLE = 8_000  # characters of a text that is read whole by default
_BEGINNING = 1_500  # characters of a longer text to show below its outline
_MOST_HEADINGS = 60  # headings in an outline
_MOST_KNOWN = 10_000  # headings to look at; a text can have two million

_RANGE = r"\s*(\d{1,9})\s*(?:(-)\s*(\d{1,9})?)?\s*"
_HEADING = r" {0,3}(#{1,6})[ \t]+(.*)"
_FENCE = r" {0,3}(```+|~~~+)"
_NUMBER = r"((?:[a-z]\.)?[0-9]+(?:\.[0-9]+)*)[.):]?(?:\s+(.*))?"  # at the beginning of a folded heading
_MOST_ALIKE = 10  # headings that an error names


class TextPart(Struct, frozen=True):
    """Some lines of a text."""

    text: str
    first: int  # the number of its first line; 0 if it has no lines
    last: int
    total: int  # the number of lines in the whole text

    @property
    def is_whole(self) -> bool:
        """Whether this is the whole text."""
        return self.last - self.first + 1 >= self.total


class Heading(Struct, frozen=True):
    """A heading of Markdown."""

    line: int
    level: int
    text: str


def count_lines(text: str) -> int:
    """Count the lines of a text; a line feed at its end starts no new line."""
    return text.count("\n") + (text[-1:] not in ("", "\n"))


def take_lines(text: str, wanted: str) -> TextPart:
    """Take the lines of a range such as `10-40`, `10-` or `25`.

    Raises:
        WrongArgument: this is not a range, or it begins after the last line.
    """
    found, total = re.fullmatch(_RANGE, wanted), count_lines(text)
    if found is None:
        raise WrongArgument("lines", "format", value=wanted)
    first = int(found[1])
    last = int(found[3]) if found[3] else total if found[2] else first
    if first < 1 or (found[3] and last < first):
        raise WrongArgument("lines", "format", value=wanted)
    if first > total:
        raise WrongArgument("lines", "maximum", limit=total, value=wanted)
    return _take(text, first, min(last, total))


def take_section(text: str, heading: str) -> tuple[TextPart, tuple[int, ...]]:
    """Return a section, up to the next heading of its level or above, and the lines of all headings with that text.

    If no heading has the text, a heading with this number, or with this text after its number, is taken.

    Raises:
        MissingPart: there is no such heading, or several have the number; the error names them, or similar ones.
    """
    headings = list(islice(find_headings(text), _MOST_KNOWN))
    level, name = _read_heading(heading) or (0, heading)
    wanted = _fold(name)
    known = [one for one in headings if level in (0, one.level)]
    same = [one for one in known if _fold(one.text) == wanted]
    if not same:
        same = _find_numbered(known, wanted)
        if len(same) > 1:
            raise MissingPart(heading, tuple(one.text for one in same[:_MOST_ALIKE]), is_ambiguous=True)
    if not same:
        below = [one.text for one in known if _fold(one.text).startswith(f"{wanted}.")]
        names = [one.text for one in headings]
        near = closest_names(heading.strip("# "), names) or _find_near_numbers(known, wanted) or names
        raise MissingPart(heading, tuple(below[:3] or near[:3]))
    start = same[0]
    end = next((one.line - 1 for one in headings if one.line > start.line and one.level <= start.level), None)
    return _take(text, start.line, end or count_lines(text)), tuple(one.line for one in same[1:])


def _find_numbered(headings: Sequence[Heading], wanted: str) -> list[Heading]:
    """Return the headings with a number such as 7.2, or with a text after their number."""
    number = re.fullmatch(_NUMBER, wanted)
    wanted = number[1] if number and not number[2] else wanted
    return [one for one in headings if (found := re.fullmatch(_NUMBER, _fold(one.text))) and wanted in found.groups()]


def _find_near_numbers(headings: Sequence[Heading], wanted: str) -> list[str]:
    """Return the headings of the same chapter, those first whose numbers begin most like the wanted number."""
    number = re.fullmatch(_NUMBER, wanted)
    if number is None:
        return []
    found = [(numbered[1], one.text) for one in headings if (numbered := re.fullmatch(_NUMBER, _fold(one.text)))]
    chapter = number[1].split(".")[0]
    same = [(other, text) for other, text in found if other.split(".")[0] == chapter]
    alike = [len([*takewhile(lambda two: two[0] == two[1], zip(other, number[1], strict=False))]) for other, _ in same]
    return [same[index][1] for index in sorted(range(len(same)), key=lambda index: -alike[index])]


def take_beginning(text: str) -> TextPart:
    """Take the first lines of a long text, or the beginning of a first line that is too long."""
    end = text.rfind("\n", 0, _BEGINNING) + 1
    part = text[:end] if end else text[:_BEGINNING]
    return TextPart(part, 1, count_lines(part), count_lines(text))


def make_outline(text: str) -> tuple[tuple[Heading, ...], tuple[Heading, ...]]:
    """Return the headings that an outline shows, upper levels and first lines first, and the others, by line."""
    ranked = sorted(islice(find_headings(text), _MOST_KNOWN), key=lambda one: one.level)
    shown, others = ranked[:_MOST_HEADINGS], ranked[_MOST_HEADINGS:]
    return tuple(sorted(shown, key=lambda one: one.line)), tuple(sorted(others, key=lambda one: one.line))


def find_headings(text: str) -> Iterator[Heading]:
    """Find the headings that begin with `#`, outside fenced code and front matter."""
    start = _end_of_front_matter(text.split("\n", 200))
    for number, line in _read_prose(text, start):
        found = _read_heading(line.rstrip("\r\n")) if "#" in line[:4] else None
        if found and found[1]:
            yield Heading(number, *found)


def _read_heading(line: str) -> tuple[int, str] | None:
    """Return the level and the text of a heading, without closing marks; None if the line is no heading."""
    found = re.fullmatch(_HEADING, line)
    if found is None:
        return None
    # One regular expression for the closing marks would take quadratic time on a line with much white space.
    text = found[2].rstrip(" \t")
    inner = text.rstrip("#")
    return len(found[1]), inner.rstrip(" \t") if inner.endswith((" ", "\t")) else text


def find_boxes(text: str) -> list[str]:
    """Return the texts of the unticked boxes of a text: lines that begin with `- [ ] `, outside fenced code."""
    if "- [ ]" not in text:
        return []
    found = (re.match(r"\s*- \[ \]\s(.*)", line) for _, line in _read_prose(text))
    return [box[1].strip() for box in found if box and box[1].strip()]


def _read_prose(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the lines outside fenced code after the first `start` ones, with their numbers from 1."""
    fence = ""
    for number, line in enumerate(islice(StringIO(text, newline="\n"), start, None), start + 1):
        mark = re.match(_FENCE, line) if "`" in line or "~" in line else None
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = ""
        elif not fence:
            yield number, line


def _end_of_front_matter(lines: list[str]) -> int:
    """Return the number of lines of front matter."""
    if lines[0].rstrip() != "---":
        return 0
    return next((number for number, line in enumerate(lines[1:200], 2) if line.rstrip() == "---"), 0)


def _fold(heading: str) -> str:
    """Fold the case of a heading, and drop emphasis and code marks."""
    return " ".join(re.sub(r"[*_`]", "", heading).casefold().split())


def _take(text: str, first: int, last: int) -> TextPart:
    return TextPart(text[_find_line(text, first) : _find_line(text, last + 1)], first, last, count_lines(text))


def _find_line(text: str, number: int) -> int:
    """Find the offset of a line, or the end of the text, without a list of all lines, which could take 200 MB."""
    if number == 1:
        return 0
    end = next(islice(re.finditer("\n", text), number - 2, None), None)
    return len(text) if end is None else end.end()


# -- excerpts -------------------------------------------------------------------------------------------------

WIDTH = 200
_REACH = 20  # characters by which an end may move, to the next space
_STRIDE = 4096


def excerpt_beginning(text: str, *, is_whole: bool) -> Excerpt | None:
    """Return the first words within WIDTH characters, with runs of white space as one space.

    Return None if the text is only the start of a longer one, and too short to decide.
    """
    plain = _collapsed(text)
    if not is_whole and len(plain) <= WIDTH:
        return None
    last = _end_of_word(plain, WIDTH, least=0)
    return Excerpt(plain[:last], is_cut_before=False, is_cut_behind=len(plain) > WIDTH)


def excerpt_around(text: str, start: int, end: int, *, has_start: bool, has_end: bool) -> Excerpt | None:
    """Return the words within WIDTH characters around the hit text[start:end], with runs of white space as one space.

    The text may be a part of the whole; return None if the part is too short to decide.
    """
    plain = _collapsed(text)
    left = _collapsed_offset(text, start)
    hit = len(_collapsed(text[start:end]))
    first = left - max(0, WIDTH - hit) // 2
    if first <= 0:
        if not has_start:
            return None
        first = 0
    if first + WIDTH >= len(plain):
        if not has_end:
            return None
        first = len(plain) - WIDTH
        if first <= 0 and not has_start:
            return None
        first = max(0, first)
    last = _end_of_word(plain, first + WIDTH, least=left + hit if hit <= WIDTH else left)
    first = _start_of_word(plain, first, most=left)
    return Excerpt(
        plain[first:last],
        is_cut_before=first > 0 or not has_start,
        is_cut_behind=last < len(plain) or not has_end,
    )


def _end_of_word(plain: str, offset: int, least: int) -> int:
    """Return where to end a text, at or before an offset: at the last space, if that is near."""
    if offset >= len(plain) or " " in plain[offset - 1 : offset + 1]:
        return offset
    space = plain.rfind(" ", max(least, offset - _REACH), offset)
    return space if space > 0 else offset


def _start_of_word(plain: str, offset: int, most: int) -> int:
    """Return where to begin a text, at or after an offset: after the next space, if that is near."""
    if offset <= 0 or " " in plain[offset - 1 : offset + 1]:
        return offset
    space = plain.find(" ", offset, min(most, offset + _REACH))
    return space + 1 if space > 0 else offset


def unfold_offset(text: str, folded_offset: int) -> tuple[int, int]:
    """Return where the characters that became a folded character begin and end in the original text.

    The folded form is longer where ß became ss, and shorter where a letter was composed with its marks.
    """
    start, folded = 0, 0
    for step in (_STRIDE, 1):  # strides first, because single steps would be slow
        while start < len(text):
            end = _end_of_letter(text, start + step)
            size = len(fold(text[start:end]))
            if folded + size > folded_offset:
                if step == 1:
                    return start, end
                break
            start, folded = end, folded + size
    return len(text), len(text)


def _end_of_letter(text: str, offset: int) -> int:
    """Return the first offset, at or after `offset`, whose character does not compose with the one before it."""
    while offset < len(text) and not text[offset].isascii() and _is_composed(text[offset - 1], text[offset]):
        offset += 1
    return min(offset, len(text))


def _is_composed(before: str, character: str) -> bool:
    """Return whether a character is a mark, or otherwise composes with the one before it, as parts of Hangul do."""
    if unicodedata.combining(character) or "\u1160" <= character <= "\u11ff":
        return True
    return len(unicodedata.normalize("NFC", before + character)) < 2


def _collapsed(text: str) -> str:
    inner = " ".join(text.split())
    if not inner:
        return " " if text else ""
    return (" " if text[0].isspace() else "") + inner + (" " if text[-1].isspace() else "")


def _collapsed_offset(text: str, offset: int) -> int:
    is_inside_run = 0 < offset < len(text) and text[offset - 1].isspace() and text[offset].isspace()
    return len(_collapsed(text[:offset])) - is_inside_run


# -- names like a mistyped one ---------------------------------------------------------------------------------------

_MOST_NAMES = 2000  # names to compare, which takes about 10 ms
_LONGEST_NAME = 200  # characters of names to compare
_ALIKE = 0.5  # the minimum similarity of similar names


def closest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name most similar to a typed one, ignoring case; None if none is similar."""
    return next(iter(closest_names(name, names, 1)), None)


def closest_entries(text: str, known: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return up to three names: those of the entries whose name, title or URI is most similar to a text."""
    entries = list(known)
    names = {other: name for name, other in entries} | {name: name for name, _ in entries}
    return tuple(dict.fromkeys(names[one] for one in closest_names(text, names, 6)))[:3]


def closest_names(name: str, names: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """Return the names most similar to a typed one, ignoring case, best first; of too many, compare only the first."""
    if len(name) > _LONGEST_NAME:
        return ()
    wanted, letters = _pairs(name.casefold()), sorted(name.casefold())
    alike = []
    for known in dict.fromkeys(islice(names, _MOST_NAMES)):
        if len(known) <= _LONGEST_NAME:
            pairs = _pairs(known.casefold())
            likeness = 2 * len(wanted & pairs) / (len(wanted) + len(pairs))
            if letters == sorted(known.casefold()):  # reordered letters, which the pairs of short names miss
                likeness = max(likeness, _ALIKE)
            if likeness >= _ALIKE:
                alike.append((-likeness, known))
    return tuple(known for _, known in sorted(alike)[:count])


def _pairs(name: str) -> set[str]:
    """Return the pairs of letters that are adjacent or one letter apart; some of them survive a swap.

    Comparing them takes a few microseconds for any names; the ratio of difflib took up to a millisecond.
    """
    bounded = f"^{name}$"
    pairs = {bounded[place : place + 2] for place in range(len(bounded) - 1)}
    return pairs | {f"{first} {second}" for first, second in zip(bounded, bounded[2:], strict=False)}
