"""The line of a text that shows best why it was found."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from satchel.services.excerpts import unfolded_offset
from satchel.services.search_query import Alternative, Term
from satchel.storage.search_text import MAX_INDEXED, fold

WIDTH = 160  # characters of a line that a hit shows
_BEFORE = 50  # of these, before the first match
_JOINING = "[-_.'’]?"  # between the letters of a word that is written as a compound
_SHORTEST_COMPOUND = 6  # letters
_MOST_PLACES = 200  # of a word that are looked at
_MOST_TERMS = 32  # of a query that a line is chosen by
_MOST_COMPOUNDS = 4  # of them, those that are looked for as compounds: that takes a hundred times as long


def find_line(text: str, terms: Sequence[Term]) -> tuple[int, str] | None:
    """The number, from 1, and the part around the match of the line with most of the terms; None where none has any.

    Only the part of the text that is indexed is read. The thread would hold up all others for too long with the rest.
    """
    text = text[:MAX_INDEXED]
    lines = text.split("\n")
    # Line by line: most lines of a text that is not ASCII are, and their folding costs nothing.
    whole = text.lower() if text.isascii() else "\n".join([fold(line) for line in lines])
    counts: dict[int, int] = {}
    places: dict[int, int] = {}
    compounds = 0
    for term in terms[:_MOST_TERMS]:
        found = _find_term(term, whole)
        if not found and len(term.word) >= _SHORTEST_COMPOUND and compounds < _MOST_COMPOUNDS:
            compounds += 1
            found = _find_compound(term, whole)
        for number, place in found.items():
            counts[number] = counts.get(number, 0) + 1
            places[number] = min(place, places.get(number, place))
    if not counts:
        return None
    best = min(counts, key=lambda number: (-counts[number], number))
    return best + 1, _cut(lines[best], places[best])


def find_literal_line(text: str, folded: str) -> tuple[int, str] | None:
    """The first line of a text that has a folded text, or in which it begins."""
    whole = text.casefold()
    start = whole.find(folded)
    if start < 0:
        return None
    number = whole.count("\n", 0, start)
    place = start if len(whole) == len(text) else unfolded_offset(text, start)
    end = text.find("\n", place)
    line = text[text.rfind("\n", 0, place) + 1 : len(text) if end < 0 else end]
    return number + 1, _cut(line, max(0, line.casefold().find(folded.partition("\n")[0])))


def show_start(text: str) -> str:
    """The beginning of the first line that is not blank."""
    return _cut(next((line for line in text[:2000].split("\n") if line.strip()), ""), 0)


def _find_term(term: Term, text: str) -> dict[int, int]:
    """The lines of a folded text, from 0, in which a term is, each with the place in it."""
    roots = {one.word for one in term.alternatives if one.is_prefix}
    sought = [one for one in term.alternatives if one.is_prefix or not one.word.startswith(tuple(roots))]
    return _find_lines([place for one in sought for place in _find_places(text, one)], text)


def _find_compound(term: Term, text: str) -> dict[int, int]:
    """As `_find_term`, for a word that is written as a compound."""
    pattern = re.compile(_JOINING.join(map(re.escape, term.word)))
    return _find_lines([match.start() for match in islice(pattern.finditer(text), _MOST_PLACES)], text)


def _find_lines(places: list[int], text: str) -> dict[int, int]:
    """The lines of some places of a text, from 0, each with the first place in it."""
    found: dict[int, int] = {}
    number, start = 0, 0  # of the line that was counted last
    for place in sorted(places):
        number += text.count("\n", start, place)
        start = max(start, place)
        found.setdefault(number, place - text.rfind("\n", 0, place) - 1)
    return found


def _find_places(text: str, wanted: Alternative) -> Iterator[int]:
    """The first places of a text that have a word, at the beginning of a word."""
    place = text.find(wanted.word)
    for _ in range(_MOST_PLACES):
        if place == -1:
            return
        end = place + len(wanted.word)
        is_start = place == 0 or not text[place - 1].isalnum()
        if is_start and (wanted.is_prefix or not text[end : end + 1].isalnum()):
            yield place
        place = text.find(wanted.word, end)


def _cut(line: str, place: int) -> str:
    """A part of a line, with the place in it that matters."""
    line = line.rstrip()
    if len(line.strip()) <= WIDTH:
        return line.strip()
    start = 0 if place <= WIDTH - _BEFORE else place - _BEFORE
    part = line[start : start + WIDTH].strip()
    return f"{'…' if start else ''}{part}{'…' if start + WIDTH < len(line) else ''}"
