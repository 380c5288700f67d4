"""Parts of a text: ranges of lines, sections of Markdown below a heading, and the outline of a long text.

Lines end with a line feed only, and the first has the number 1; `text_edits` counts in the same way.
"""

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from satchel.errors import MissingPart, WrongArgument
from satchel.services.suggestions import closest_names

LONGEST_WHOLE = 8_000  # characters of a text that is read whole without being asked for
_BEGINNING = 1_500  # characters of a longer one that stand below its outline
_MOST_HEADINGS = 60  # of an outline
_MOST_KNOWN = 10_000  # headings of a text that are looked at; a text can have two million

_BLOCK = 64 * 1024  # characters that are looked at in one step

_RANGE = r"\s*(\d{1,9})\s*(?:(-)\s*(\d{1,9})?)?\s*"
_HEADING = r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*"
_FENCE = r" {0,3}(```+|~~~+)"


class TextPart(Struct, frozen=True):
    """Some lines of a text."""

    text: str
    first: int  # the number of its first line; 0 for no line
    last: int
    total: int  # lines of the whole text

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the text."""
        return self.last - self.first + 1 >= self.total


class Heading(Struct, frozen=True):
    """A heading of Markdown."""

    line: int
    level: int
    text: str


class Outline(Struct, frozen=True):
    """The headings of a text, and how many others it has."""

    headings: tuple[Heading, ...]
    more: int = 0


def count_lines(text: str) -> int:
    """How many lines a text has; an end of line at its end begins no further one."""
    return text.count("\n") + (text[-1:] not in ("", "\n"))


def take_whole(text: str) -> TextPart:
    """All of a text."""
    total = count_lines(text)
    return TextPart(text, min(1, total), total, total)


def take_lines(text: str, wanted: str) -> TextPart:
    """The lines that a range such as `10-40`, `10-` or `25` names.

    Raises:
        WrongArgument: it is no range, or begins behind the last line.
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
    """The part from a heading to the next of the same or a higher level, and the lines of others with the same text.

    Raises:
        MissingPart: there is no such heading; it has similar ones.
    """
    headings = list(islice(find_headings(text), _MOST_KNOWN))
    marked = re.fullmatch(_HEADING, heading)
    wanted, level = (_fold(marked[2]), len(marked[1])) if marked else (_fold(heading), 0)
    same = [one for one in headings if _fold(one.text) == wanted and level in (0, one.level)]
    if not same:
        names = [one.text for one in headings]
        raise MissingPart(heading, closest_names(heading.strip("# "), names) or tuple(names[:3]))
    start = same[0]
    end = next((one.line - 1 for one in headings if one.line > start.line and one.level <= start.level), None)
    return _take(text, start.line, end or count_lines(text)), tuple(one.line for one in same[1:])


def take_beginning(text: str) -> TextPart:
    """The first lines of a long text; where the first line alone is too long, the beginning of it."""
    end = text.rfind("\n", 0, _BEGINNING) + 1
    part = text[:end] if end else text[:_BEGINNING]
    return TextPart(part, 1, count_lines(part), count_lines(text))


def make_outline(text: str) -> Outline:
    """The headings of a text; where they are many, those of the upper levels, or else the first."""
    headings = tuple(islice(find_headings(text), _MOST_KNOWN))
    for level in range(6, 0, -1):
        kept = tuple(one for one in headings if one.level <= level)
        if len(kept) <= _MOST_HEADINGS and (kept or not headings):
            return Outline(kept, len(headings) - len(kept))
    return Outline(headings[:_MOST_HEADINGS], len(headings) - _MOST_HEADINGS)


def find_headings(text: str) -> Iterator[Heading]:
    """The headings that begin with `#`, except those in fenced code and in what precedes a text between `---`."""
    fence, start = "", _end_of_front_matter(text.split("\n", 200))
    for number, line in enumerate(islice(_split_lines(text), start, None), start + 1):
        mark = re.match(_FENCE, line) if "`" in line or "~" in line else None
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = ""
        elif not fence and "#" in line[:4]:
            found = re.fullmatch(_HEADING, line.rstrip("\r"))
            if found and found[2]:
                yield Heading(number, len(found[1]), found[2])


def _end_of_front_matter(lines: list[str]) -> int:
    """The number of lines before the text proper."""
    if lines[0].rstrip() != "---":
        return 0
    return next((number for number, line in enumerate(lines[1:200], 2) if line.rstrip() == "---"), 0)


def _fold(heading: str) -> str:
    """A heading as it is compared: in any case, without marks of emphasis and code."""
    return " ".join(re.sub(r"[*_`]", "", heading).casefold().split())


def _take(text: str, first: int, last: int) -> TextPart:
    return TextPart(text[_find_line(text, first) : _find_line(text, last + 1)], first, last, count_lines(text))


def _find_line(text: str, number: int) -> int:
    """Where a line begins; behind the last line, the end of the text. A list of all lines may take 200 MB."""
    place, before = 0, number - 1
    while place < len(text):
        count = text.count("\n", place, place + _BLOCK)
        if count >= before:
            for _ in range(before):
                place = text.index("\n", place) + 1
            return place
        place, before = place + _BLOCK, before - count
    return len(text)


def _split_lines(text: str) -> Iterator[str]:
    """The lines of a text, without a list of all."""
    start = 0
    while start >= 0:
        end = text.find("\n", start + _BLOCK)
        yield from (text[start:end] if end >= 0 else text[start:]).split("\n")
        start = end + 1 if end >= 0 else -1
