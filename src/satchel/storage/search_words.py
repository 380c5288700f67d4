"""What the index keeps of an item: its words, each with a level that says how much the item is about it.

The level is the BM25F part of a score that depends on the item alone (where the word is, how often, and how long the
text is), so that it is computed once, when the item is written. Lengths are compared with usual ones, not with the
average of a project: an item's level never depends on other items.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from msgspec import Struct

from satchel.storage.search_text import MAX_INDEXED, MAX_WORD, count_words, expand, split

LEVELS = "abcdefgh"  # the first is the highest
MOST_COUNTED = 20_000  # items; rarer words are told apart by then
_BOUNDS = (-12.0, -8.5, -6.0, -4.0, -2.6, -1.6, -0.9)  # the least weight of each level but the last, negative
_SATURATION = 3.0  # the k1 of BM25, for these weights
# What a word of each level adds to the score of an item, for an inverse document frequency of 1.
IMPACTS = {
    level: weight * (_SATURATION + 1) / (weight + _SATURATION)
    for level, weight in zip(LEVELS, (14.0, 10.0, 7.0, 4.8, 3.2, 2.1, 1.2, 0.6), strict=True)
}

_TITLE, _TAG, _DESCRIPTION, _TEXT = 9.0, 6.0, 3.0, 4.0
_USUAL_TITLE, _USUAL_DESCRIPTION, _USUAL_TEXT = 4, 25, 400  # words
_HALF_TEXT = 2.2  # so many occurrences in a usual text weigh half of what any number does

_MANY = 5000  # words, of which the least important are left out where they do not fit
_MAX_BYTES = 400_000  # of all words of an item: a tsvector takes 1 MiB
_FEW = _MAX_BYTES // (4 * MAX_WORD + 12)  # words that fit, however long they are
_SHORTEST_MENDED, _LONGEST_MENDED = 4, 24  # letters of words that mistyped ones are compared with


class ItemText(Struct, frozen=True, kw_only=True):
    """The fields by which an item is found."""

    title: str
    name: str = ""
    tags: Sequence[str] = ()
    description: str = ""
    text: str = ""


def make_words(item: ItemText) -> str:
    """The words of an item with their levels, each as ` LEVEL.WORD`, and a space at the end; empty without words."""
    weights = _weigh(item)
    found: Iterable[tuple[str, float]] = weights.items()
    if len(weights) > _MANY:
        found = sorted(found, key=lambda one: (-one[1], one[0]))
    if len(weights) <= _FEW:
        words = [f"{LEVELS[bisect_left(_BOUNDS, -weight)]}.{word}" for word, weight in found]
        return f" {' '.join(words)} " if words else ""
    words = []
    size = 0
    for word, weight in found:
        size += len(word.encode()) + 12
        if size > _MAX_BYTES:
            break
        words.append(f"{LEVELS[bisect_left(_BOUNDS, -weight)]}.{word}")
    return f" {' '.join(words)} " if words else ""


def list_mendable(words: str) -> list[str]:
    """Those of the words of an item that a mistyped word may have meant, sorted."""
    least, most = _SHORTEST_MENDED + 2, _LONGEST_MENDED + 2  # with level and dot
    return sorted([one[2:] for one in words.split() if least <= len(one) <= most and one[2:].isalpha()])


def can_be_mended(word: str) -> bool:
    """Whether a word is kept for the mending of mistyped ones."""
    return _SHORTEST_MENDED <= len(word) <= _LONGEST_MENDED and word.isalpha()


def _weigh(item: ItemText) -> dict[str, float]:
    """How much an item is about each of its words: name and title count most, then tags, description and text."""
    text = count_words(item.text[:MAX_INDEXED])
    half = _HALF_TEXT * (0.4 + 0.6 * min(sum(text.values()) / _USUAL_TEXT, 8))
    weights = {word: _TEXT * count / (count + half) for word, count in text.items()}
    title, description = split(item.title), split(item.description)
    fields = (
        ({*title, *split(item.name)}, _TITLE / (0.7 + 0.3 * len(title) / _USUAL_TITLE)),
        ({part for tag in item.tags for part in expand(tag)}, _TAG),
        ({*description}, _DESCRIPTION / (0.6 + 0.4 * min(len(description) / _USUAL_DESCRIPTION, 4))),
    )
    for words, weight in fields:
        for word in words:
            weights[word] = weights.get(word, 0.0) + weight
    return weights
