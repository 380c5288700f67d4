"""What a query asks for: its words, and how else each of them may be written in an item."""

import re
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
PLURAL: Final = 0.75
RESPELLED: Final = 0.9  # as in British or American English
INFLECTED: Final = 0.5

# Words that say nothing about what is wanted; they count only where a query has no others.
_EMPTY = """
    a about all an and any are as at be been but by can could did do does find for from get give had has have how i if
    in into is it its just let like looking me my need of on one or our please should show so some something stuff tell
    that the their them then there these they thing this to up us use want was we were what when where which who why
    will with would you your
    der die das und ein eine ist für mit von zu le la les de du des et un une pour avec el los y en con para
"""
_EMPTY_WORDS = frozenset(_EMPTY.split())
# Endings that English verbs and their nouns have, and the fewest letters before each.
_ENDINGS = {"ations": 4, "ation": 4, "ions": 5, "ion": 5, "ings": 4, "ing": 4, "ers": 5, "er": 5, "ed": 4}
_SAME_SOUND = r"(?<=..)(?:i[sz](?=(?:e[drs]?|ers|ing|ations?)$)|ou?r(?=s?$))"
_LETTERS = {"latin": "abcdefghijklmnopqrstuvwxyz", "greek": "αβγδεζηθικλμνξοπρστυφχψω"}
_LETTERS["cyrillic"] = "".join(map(chr, range(0x430, 0x450)))


class Alternative(Struct):
    """A word by which a term may be found."""

    word: str
    factor: float = 1.0  # how much it counts
    is_prefix: bool = False  # longer words that begin so count
    also: str = ""  # another word that must be there too
    is_joined: bool = False  # of two neighbours


class Term(Struct):
    """One word of a query, and its alternatives."""

    word: str
    alternatives: list[Alternative]
    joined: list[str] = []  # it and a neighbour as one word


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
            terms[one].alternatives.append(Alternative(first + second, JOINED, is_joined=True))
            terms[one].joined.append(first + second)
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
        yield from (Alternative(one, PLURAL) for one in _plurals(word))
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        yield Alternative(word[:-1], SINGULAR)
        if len(word) > 4 and word.endswith("ies"):
            yield Alternative(f"{word[:-3]}y", SINGULAR)
        elif len(word) > 4 and word.endswith("es"):
            yield Alternative(word[:-2], SINGULAR)
    stem = _cut_ending(word)
    if stem != word:
        yield Alternative(stem, INFLECTED, is_prefix=True)
    if len(word) > 4 and (other := _respell(word)) != word:
        yield Alternative(other, RESPELLED)


def _plurals(word: str) -> Iterable[str]:
    yield f"{word}s"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        yield f"{word}es"


def _cut_ending(word: str) -> str:
    """A word without the ending of a verb or its noun: what delete, deleted, deleting and deletion begin with."""
    for ending, fewest in _ENDINGS.items():
        stem = word.removesuffix(ending)
        if fewest <= len(stem) < len(word):
            is_doubled = len(stem) > 4 and stem[-1] == stem[-2] and stem[-1] not in "aeiouls"
            return stem[:-1] if is_doubled else stem
    return word


def _respell(word: str) -> str:
    """A word as it is written on the other side of the Atlantic: summarise, summarize; colour, color."""
    other = {"is": "iz", "iz": "is", "or": "our", "our": "or"}
    return re.sub(_SAME_SOUND, lambda match: other[match[0]], word, count=1)
