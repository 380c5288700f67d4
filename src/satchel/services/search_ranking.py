"""Finds the items of the given spaces that have the words of a query, best ones first.

A query becomes terms, each with alternative spellings. For each word and level of relevance, the index lists the items;
the best of these are then scored exactly, by the words that the index stores. Long lists are cut, so that a common word
costs no more than a rare one.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from msgspec import Struct

from satchel.storage import search as rows
from satchel.storage.database import Tx, WordList
from satchel.storage.search import IndexedItem
from satchel.storage.search_words import IMPACTS, LEVELS, expand, is_correctable, make_key, split_tokens

_MAX_TERMS = 16
_SHORTEST_PREFIX = 3  # letters
_SHORTEST_CORRECTED = 5
_SHORTEST_PART = 3  # letters of each part of a word that is written as two

# The weights of matches other than the word itself.
_PREFIX = 0.6
_JOINED = 0.95
_SPLIT = 0.8
_SINGULAR = 0.75
_CORRECTED = 0.55
_STEM = 0.35
_PLURAL = 0.75
_RESPELLED = 0.9  # for the British or American spelling
_INFLECTED = 0.5

# Stop words; they count only if a query has no other words.
_EMPTY = """
    a about all an and any are as at be been but by can could did do does find for from get give had has have how i if
    in into is it its just let like looking me my need of on one or our please should show so some something stuff tell
    that the their them then there these they thing this to up us use want was we were what when where which who why
    will with would you your
    der die das und ein eine ist für mit von zu le la les de du des et un une pour avec el los y en con para
"""
_EMPTY_WORDS = frozenset(_EMPTY.split())
# Endings of English verbs and their nouns, with the minimum of letters before each.
_ENDINGS = {"ations": 4, "ation": 4, "ions": 5, "ion": 5, "ings": 4, "ing": 4, "ers": 5, "er": 5, "ed": 4}
_SAME_SOUND = r"(?<=..)(?:i[sz](?=(?:e[drs]?|ers|ing|ations?)$)|ou?r(?=s?$))"
_LETTERS = {"latin": "abcdefghijklmnopqrstuvwxyz", "greek": "αβγδεζηθικλμνξοπρστυφχψω"}
_LETTERS["cyrillic"] = "".join(map(chr, range(0x430, 0x450)))

_MOST_LISTED = 600  # items in a list
_MOST_TOGETHER = 200
_HIGH_LEVELS = LEVELS[:5]  # the levels for longer words, if very many items have the word itself
_MOST_RANKED = 250  # items that are scored exactly
_MOST_BYTES = 1_500_000  # bytes of the words of these items
_FEW = 3  # if fewer items have a word, it may be mistyped, or be two words
_MOST_CORRECTIONS = 8  # corrections of a mistyped word
_SHORTEST_STEM, _LONGEST_ENDING = 5, 4  # letters


# -- queries ---------------------------------------------------------------------------------------------------------


class Alternative(Struct):
    """A word by which a term may be found."""

    word: str
    factor: float = 1.0  # its weight
    is_prefix: bool = False  # also match longer words that begin with it
    also: str = ""  # another word that must also match
    is_joined: bool = False  # made of two neighbouring words


class Term(Struct):
    """One word of a query, and its alternatives."""

    word: str
    alternatives: list[Alternative]
    joined: list[str] = []  # the word and a neighbour as one word


class Query(Struct):
    """The terms of a query."""

    key: str  # the whole query in the form of a name or title
    terms: list[Term]


def parse(text: str) -> Query:
    """Parse a query into words; drop stop words unless there are no others."""
    words = [word for token in split_tokens(text) for word in _parts(expand(token))]
    wanted = [word for word in words if word not in _EMPTY_WORDS and (len(word) > 1 or not word.isalpha())]
    chosen = list(dict.fromkeys(wanted or words))[:_MAX_TERMS]
    terms = {word: Term(word, list(_first_alternatives(word))) for word in chosen}
    for first, second in pairwise(words):
        for one in {first, second} & terms.keys():
            terms[one].alternatives.append(Alternative(first + second, _JOINED, is_joined=True))
            terms[one].joined.append(first + second)
    return Query(make_key(text), list(terms.values()))


def list_corrections(word: str) -> list[str]:
    """List the words that are one typing error away from `word`: a letter added, omitted, replaced or swapped."""
    if len(word) < _SHORTEST_CORRECTED or not word.isalpha():
        return []
    letters = next((one for one in _LETTERS.values() if word[0] in one), "")
    cuts = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    found = {start + end[1:] for start, end in cuts if end}
    found |= {start + end[1] + end[0] + end[2:] for start, end in cuts if len(end) > 1}
    found |= {start + letter + end[1:] for start, end in cuts if end for letter in letters}
    found |= {start + letter + end for start, end in cuts for letter in letters}
    return sorted(found - {word})


def split_in_two(word: str) -> Iterator[tuple[str, str]]:
    """Yield every way to split a word into two."""
    for place in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
        yield word[:place], word[place:]


def _parts(words: Sequence[str]) -> Sequence[str]:
    """Return a compound's parts, which also match the whole compound in a text, because neighbours are joined."""
    return words[1:] if len(words) > 1 and words[0] == "".join(words[1:]) else words


def _first_alternatives(word: str) -> Iterable[Alternative]:
    yield Alternative(word)
    if len(word) >= _SHORTEST_PREFIX:
        yield Alternative(word, _PREFIX, is_prefix=True)
        yield Alternative(f"{word}s", _PLURAL)
        if word.endswith(("s", "x", "z", "ch", "sh")):
            yield Alternative(f"{word}es", _PLURAL)
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        yield Alternative(word[:-1], _SINGULAR)
        if len(word) > 4 and word.endswith("ies"):
            yield Alternative(f"{word[:-3]}y", _SINGULAR)
        elif len(word) > 4 and word.endswith("es"):
            yield Alternative(word[:-2], _SINGULAR)
    stem = _cut_ending(word)
    if stem != word:
        yield Alternative(stem, _INFLECTED, is_prefix=True)
    if len(word) > 4 and (other := _respell(word)) != word:
        yield Alternative(other, _RESPELLED)


def _cut_ending(word: str) -> str:
    """Strip the ending of a verb or of its noun; delete, deleted, deleting and deletion share a stem."""
    for ending, fewest in _ENDINGS.items():
        stem = word.removesuffix(ending)
        if fewest <= len(stem) < len(word):
            is_doubled = len(stem) > 4 and stem[-1] == stem[-2] and stem[-1] not in "aeiouls"
            return stem[:-1] if is_doubled else stem
    return word


def _respell(word: str) -> str:
    """Return the other spelling of a word, British or American: summarise, summarize; colour, color."""
    other = {"is": "iz", "iz": "is", "or": "our", "our": "or"}
    return re.sub(_SAME_SOUND, lambda match: other[match[0]], word, count=1)


# -- ranking ----------------------------------------------------------------------------------------------------------


class RankedItem(Struct, frozen=True):
    """An item and its score."""

    score: float
    item: IndexedItem


class Found(Struct):
    """The best items, and the words that found them."""

    items: list[RankedItem]
    terms: list[Term]
    absent: tuple[str, ...]  # the words of the query that no item has


class _List(Struct):
    """The items that contain an alternative of a term, at one level of relevance."""

    place: int  # the index of the term
    alternative: Alternative
    level: str
    numbers: list[int]
    total: int


def rank(
    tx: Tx,
    spaces: Sequence[int],
    text: str,
    others: Sequence[IndexedItem] = (),
    last: frozenset[int] = frozenset(),
) -> Found:
    """Rank the items of the given spaces, and others from outside the store, by the words of a query.

    Items of the `last` spaces come after others with the same score.
    """
    query = parse(text)
    _drop_unknown(tx, spaces, query, others)
    lists = _read_lists(tx, spaces, query)
    totals = _count_all(query, lists, others)
    weak = [place for place, total in enumerate(totals) if total < _FEW]
    if weak:
        lists += _correct_terms(tx, spaces, query, weak, others)
        totals = _count_all(query, lists, others)
    count = max(rows.count_items(tx, spaces) + len(others), *totals, 1)
    # The inverse document frequency of each term.
    weights = [math.log(1 + (count - total + 0.5) / (total + 0.5)) if total else 0.0 for total in totals]
    first = [space for space in spaces if space not in last]
    preferred = _complete_lists(tx, first, lists) if last else set()
    candidates = _choose(tx, spaces, query, lists, weights, preferred)
    items = [*_read(tx, spaces, candidates), *others]
    scored = [RankedItem(score_item(query, weights, item), item) for item in items]
    best = [one for one in scored if one.score > 0]
    best.sort(key=lambda one: (-one.score, one.item.space in last, -one.item.number))
    absent = tuple(term.word for term, total in zip(query.terms, totals, strict=True) if not total)
    return Found(best[:_MOST_RANKED], query.terms, absent)


def score_item(query: Query, weights: Sequence[float], item: IndexedItem) -> float:
    """Score how well an item matches a query by its words; 0 without a match."""
    matched = [match(term, item.words) for term in query.terms]
    score = sum(weight * found for weight, found in zip(weights, matched, strict=True))
    known = sum(weights)
    if not score or not known:
        return 0.0
    coverage = sum(weight for weight, found in zip(weights, matched, strict=True) if found) / known
    score *= 0.2 + 0.8 * coverage * coverage
    if query.key and query.key in (item.name_key, item.title_key):
        return score * 4
    return score * (1.25 if query.key in item.title_key else 1)


def match(term: Term, words: str) -> float:
    """Return the weight of the best alternative of a term that is one of an item's words."""
    best = 0.0
    for one in term.alternatives:
        impact = _find_impact(words, one.word, is_prefix=one.is_prefix)
        if impact and one.also:
            impact = min(impact, _find_impact(words, one.also))
        best = max(best, one.factor * impact)
    return best


def match_all(terms: Iterable[Term], words: str) -> bool:
    """Return whether an item has all terms."""
    return all(match(term, words) for term in terms)


def _find_impact(words: str, wanted: str, *, is_prefix: bool = False) -> float:
    """Return the impact of a word in an item; for a prefix, the highest of the words that begin with it; else 0."""
    best, place = 0.0, words.find(f".{wanted}" if is_prefix else f".{wanted} ")
    while place != -1:
        best = max(best, IMPACTS[words[place - 1]])
        place = words.find(f".{wanted}", place + 1) if is_prefix else -1
    return best


def _drop_unknown(tx: Tx, spaces: Sequence[int], query: Query, others: Sequence[IndexedItem]) -> None:
    """Drop alternatives that no item has, if the index can tell, because each costs a lookup at every level."""
    words = {one.word for term in query.terms for one in term.alternatives if not one.is_prefix}
    checked = [word for word in words if is_correctable(word)]
    unknown = set(checked) - set(_keep_known(tx, spaces, checked, others))
    for term in query.terms:
        term.alternatives = [one for one in term.alternatives if one.is_prefix or one.word not in unknown]


def _read_lists(tx: Tx, spaces: Sequence[int], query: Query) -> list[_List]:
    """Read the lists of the alternatives of all terms."""
    alternatives = [(place, one) for place, term in enumerate(query.terms) for one in _without_covered(term)]
    plain = [(place, one, level) for place, one in alternatives if not one.is_prefix for level in LEVELS]
    lists = _read_these(tx, spaces, plain)
    common = {one.place for one in lists if one.total >= _MOST_LISTED}
    longer = [
        (place, one, level)
        for place, one in alternatives
        if one.is_prefix
        for level in (_HIGH_LEVELS if place in common else LEVELS)
    ]
    return [*lists, *_read_these(tx, spaces, longer)]


def _without_covered(term: Term) -> list[Alternative]:
    """Return the alternatives of a term, except those that a shorter prefix among them also finds."""
    prefixes = {one.word for one in term.alternatives if one.is_prefix}
    roots = tuple(word for word in prefixes if not any(word != other and word.startswith(other) for other in prefixes))
    return [
        one
        for one in term.alternatives
        if (one.is_prefix and one.word in roots)
        or (
            not one.is_prefix and (one.word == term.word or one.is_joined or one.also or not one.word.startswith(roots))
        )
    ]


def _read_these(tx: Tx, spaces: Sequence[int], wanted: Sequence[tuple[int, Alternative, str]]) -> list[_List]:
    asked: list[WordList] = [(level, one.word, one.is_prefix) for _, one, level in wanted]
    found = tx.find_words(spaces, asked, _MOST_LISTED) if spaces and asked else []
    return [_List(*one, *answer) for one, answer in zip(wanted, found, strict=False)]


def _count_all(query: Query, lists: Iterable[_List], others: Sequence[IndexedItem]) -> list[int]:
    """Count, for each term, the items that have the word itself or, if there are none, its alternatives."""
    exact, all_of_them = [0] * len(query.terms), [0] * len(query.terms)
    for one in lists:
        all_of_them[one.place] += one.total
        if one.alternative == Alternative(query.terms[one.place].word):
            exact[one.place] += one.total
    for place, term in enumerate(query.terms if others else ()):
        matched = sum(1 for item in others if match(term, item.words))
        exact[place] += matched
        all_of_them[place] += matched
    return [one or other for one, other in zip(exact, all_of_them, strict=True)]


def _correct_terms(
    tx: Tx, spaces: Sequence[int], query: Query, weak: Sequence[int], others: Sequence[IndexedItem]
) -> list[_List]:
    """Add corrections to terms that few items have, and read their lists."""
    lists: list[_List] = []
    for place in weak:
        term = query.terms[place]
        more: list[Alternative] = []
        corrections = _keep_known(tx, spaces, list_corrections(term.word), others)
        more += (Alternative(word, _CORRECTED) for word in corrections[:_MOST_CORRECTIONS])
        halves = list(split_in_two(term.word))
        known = set(_keep_known(tx, spaces, sorted({half for pair in halves for half in pair}), others))
        more += (Alternative(first, _SPLIT, also=second) for first, second in halves if {first, second} <= known)
        if not more:
            pairs = [one for joined in term.joined for one in _keep_known(tx, spaces, list_corrections(joined), others)]
            more += (Alternative(word, _CORRECTED) for word in pairs[:_MOST_CORRECTIONS])
        stem = term.word[: max(_SHORTEST_STEM, len(term.word) - _LONGEST_ENDING)]
        if len(stem) < len(term.word):
            more.append(Alternative(stem, _STEM, is_prefix=True))
        term.alternatives += more
        part = Query(query.key, [Term(term.word, more)])
        for one in _read_lists(tx, spaces, part):
            one.place = place
            lists.append(one)
    return lists


def _keep_known(tx: Tx, spaces: Sequence[int], words: list[str], others: Sequence[IndexedItem]) -> list[str]:
    """Return the words that occur in the index."""
    if not words:
        return []
    known = set(rows.keep_known(tx, spaces, words)) if spaces else set()
    if others:
        in_others = {word[2:] for item in others for word in item.words.split()}
        known |= in_others & set(words)
    return [word for word in words if word in known]


def _complete_lists(tx: Tx, spaces: Sequence[int], lists: Sequence[_List]) -> set[int]:
    """Add to each truncated list the items of `spaces` that others may have crowded out; return their numbers."""
    cut = [one for one in lists if one.total > len(one.numbers)]
    if not cut or not spaces:
        return set()
    found = tx.find_words(
        spaces, [(one.level, one.alternative.word, one.alternative.is_prefix) for one in cut], _MOST_LISTED
    )
    for one, (numbers, _) in zip(cut, found, strict=True):
        one.numbers = list(dict.fromkeys((*numbers, *one.numbers)))
    return {number for numbers, _ in found for number in numbers}


def _choose(
    tx: Tx,
    spaces: Sequence[int],
    query: Query,
    lists: Sequence[_List],
    weights: Sequence[float],
    preferred: set[int],
) -> list[int]:
    """Choose the items to score exactly, the most promising first; of equal ones, the preferred first."""
    best: list[dict[int, float]] = [{} for _ in query.terms]
    valued = [(weights[one.place] * one.alternative.factor * IMPACTS[one.level], one) for one in lists]
    for value, one in sorted(valued, key=lambda pair: pair[0]):
        best[one.place].update(dict.fromkeys(one.numbers, value))  # the highest value comes last and stays
    scores: dict[int, float] = {}
    for known in best:
        for number, value in known.items():
            scores[number] = scores.get(number, 0.0) + value
    newest = sorted(scores, key=lambda number: (number in preferred, number), reverse=True)
    promising = sorted(newest, key=scores.__getitem__, reverse=True)[:_MOST_RANKED]
    if len(query.terms) > 1 and any(one.total > len(one.numbers) for one in lists):
        together = _find_together(tx, spaces, query, weights)
        together.sort(key=lambda number: -scores.get(number, 0.0))
        listed = set(together)
        promising = [*together, *(number for number in promising if number not in listed)]
    return promising


def _find_together(tx: Tx, spaces: Sequence[int], query: Query, weights: Sequence[float]) -> list[int]:
    """Find items that have all terms; if they are few, add items that have the rarest term and any other."""
    terms = [(term, weight) for term, weight in zip(query.terms, weights, strict=True) if weight]
    terms.sort(key=lambda pair: -pair[1])
    words = [(term.word, False) for term, _ in terms]
    found = tx.find_together(spaces, words, _MOST_TOGETHER) if len(words) > 1 else []
    for other in words[1:] if len(words) > 2 and len(found) < _FEW else ():
        found += tx.find_together(spaces, [words[0], other], _MOST_TOGETHER // 4)
    return list(dict.fromkeys(found))


def _read(tx: Tx, spaces: Sequence[int], numbers: Sequence[int]) -> list[IndexedItem]:
    """Read as many items of the index as can be scored in time."""
    items: list[IndexedItem] = []
    size = 0
    rest = iter(numbers)
    while (batch := list(islice(rest, 100))) and size < _MOST_BYTES:
        items += rows.read_items(tx, spaces, batch)
        size = sum(len(item.words) for item in items)
    return items
