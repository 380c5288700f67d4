"""The line of a text that shows best why it was found."""

import re
from collections.abc import Iterable, Sequence

from satchel.services.search_query import Term
from satchel.storage.search_text import fold

WIDTH = 160  # characters of a line that a hit shows
_BEFORE = 50  # of these, before the first match
_JOINING = "[-_.'’]?"  # between the letters of a word that is written as a compound


def find_line(text: str, terms: Sequence[Term]) -> tuple[int, str] | None:
    """The number, from 1, and the part around the match of the line with most of the terms; None where none has any."""
    if not text or not terms:
        return None
    lines = text.split("\n")
    best: tuple[int, int] | None = None
    patterns = [_write_pattern(term) for term in terms]
    folded = [fold(line) for line in lines] if not text.isascii() else text.lower().split("\n")
    whole = "\n".join(folded)
    counts: dict[int, int] = {}
    for pattern in patterns:
        for number in _lines_with(pattern, whole):
            counts[number] = counts.get(number, 0) + 1
    for number, count in counts.items():
        if best is None or (-count, number) < best:
            best = (-count, number)
    if best is None:
        return None
    line, match = lines[best[1]], None
    for pattern in patterns:
        match = match or pattern.search(folded[best[1]])
    return best[1] + 1, _cut(line, match.start() if match else 0)


def find_literal_line(text: str, folded: str) -> tuple[int, str] | None:
    """The first line of a text that has a folded text, or in which it begins."""
    start = text.casefold().find(folded)
    if start < 0:
        return None
    number = text.casefold().count("\n", 0, start)
    line = text.split("\n")[number]
    return number + 1, _cut(line, max(0, line.casefold().find(folded.partition("\n")[0])))


def show_start(text: str) -> str:
    """The beginning of the first line that is not blank."""
    return _cut(next((line for line in text[:2000].split("\n") if line.strip()), ""), 0)


def _lines_with(pattern: re.Pattern[str], text: str) -> Iterable[int]:
    """The numbers, from 0, of the lines in which a pattern matches."""
    number, counted = 0, 0
    found: dict[int, None] = {}
    for match in pattern.finditer(text):
        number += text.count("\n", counted, match.start())
        counted = match.start()
        found[number] = None
    return found


def _write_pattern(term: Term) -> re.Pattern[str]:
    words = [
        _JOINING.join(re.escape(letter) for letter in one.word) + ("" if one.is_prefix else r"(?![^\W_])")
        for one in term.alternatives
    ]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(words)})")


def _cut(line: str, place: int) -> str:
    """A part of a line, with the place in it that matters."""
    line = line.rstrip()
    if len(line.strip()) <= WIDTH:
        return line.strip()
    start = 0 if place <= WIDTH - _BEFORE else place - _BEFORE
    part = line[start : start + WIDTH].strip()
    return f"{'…' if start else ''}{part}{'…' if start + WIDTH < len(line) else ''}"
