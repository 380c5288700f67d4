"""What a query asks for: its words, and how else each of them may be written in an item."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from satchel.storage.search_text import expand, make_key, split_tokens

MAX_TERMS: Final = 16
_SHORTEST_PREFIX = 3  # letters
_SHORTEST_MENDED = 5
_SHORTEST_PART = 3  # of a word that is written as two

# How much a match counts that is not the word itself.
PREFIX: Final = 0.6
JOINED: Final = 0.95
SPLIT: Final = 0.8
SINGULAR: Final = 0.75
MENDED: Final = 0.55
STEM: Final = 0.35

# Words that say nothing about what is wanted; they count only where a query has no others.
_EMPTY = """
    a about all an and any are as at be been but by can could did do does for from get had has have how i if in into is
    it its just let like me my need of on one or our please should show so some something stuff that the their them then
    there these they thing this to up us use want was we were what when where which who why will with would you your
    der die das und ein eine ist für mit von zu le la les de du des et un une pour avec el los y en con para
"""
_EMPTY_WORDS = frozenset(_EMPTY.split())
_LETTERS = {"latin": "abcdefghijklmnopqrstuvwxyz", "greek": "αβγδεζηθικλμνξοπρστυφχψω"}
_LETTERS["cyrillic"] = "".join(map(chr, range(0x430, 0x450)))


class Alternative(Struct, frozen=True):
    """A word by which a term may be found."""

    word: str
    factor: float = 1.0  # how much it counts
    is_prefix: bool = False  # longer words that begin so count
    also: str = ""  # another word that must be there too


class Term(Struct):
    """One word of a query, and its alternatives."""

    word: str
    alternatives: list[Alternative]


class Query(Struct):
    """The terms of a query."""

    key: str  # of the whole, as names and titles have one
    terms: list[Term]


def parse(text: str) -> Query:
    """The words of a query, without those that say nothing if there are others."""
    words = [word for token in split_tokens(text) for word in _parts(expand(token))]
    wanted = [word for word in words if word not in _EMPTY_WORDS and (len(word) > 1 or not word.isalpha())]
    chosen = list(dict.fromkeys(wanted or words))[:MAX_TERMS]
    terms = {word: Term(word, list(_first_alternatives(word))) for word in chosen}
    for first, second in pairwise(words):
        for one in {first, second} & terms.keys():
            terms[one].alternatives.append(Alternative(first + second, JOINED))
    return Query(make_key(text), list(terms.values()))


def mend(word: str) -> list[str]:
    """What a word may have been before one letter was added, left out, replaced or swapped with the next."""
    if len(word) < _SHORTEST_MENDED or not word.isalpha():
        return []
    letters = next((one for one in _LETTERS.values() if word[0] in one), "")
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    found = {start + end[1:] for start, end in cuts if end}
    found |= {start + end[1] + end[0] + end[2:] for start, end in cuts if len(end) > 1}
    found |= {start + letter + end[1:] for start, end in cuts if end for letter in letters}
    found |= {start + letter + end for start, end in cuts for letter in letters}
    return sorted(found - {word})


def split_in_two(word: str) -> Iterator[tuple[str, str]]:
    """The pairs of words that a word may be written as."""
    for place in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
        yield word[:place], word[place:]


def _parts(words: Sequence[str]) -> Sequence[str]:
    """The parts of a compound; they find it too, because neighbours are joined."""
    return words[1:] if len(words) > 1 and words[0] == "".join(words[1:]) else words


def _first_alternatives(word: str) -> Iterable[Alternative]:
    yield Alternative(word)
    if len(word) >= _SHORTEST_PREFIX:
        yield Alternative(word, PREFIX, is_prefix=True)
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        yield Alternative(word[:-1], SINGULAR)
        if len(word) > 4 and word.endswith("ies"):
            yield Alternative(f"{word[:-3]}y", SINGULAR)
        elif len(word) > 4 and word.endswith("es"):
            yield Alternative(word[:-2], SINGULAR)
