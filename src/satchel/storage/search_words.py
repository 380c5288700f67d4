"""Turns texts into the words of the index, for items and queries alike.

A word is a run of letters and digits, without case and diacritics. Compounds (post-mortem, max_tokens, maxTokens,
store.path) count by their parts and as a whole; scripts without spaces between words count by pairs of characters.

The index stores each word of an item with a level of relevance. The level is the BM25F part of a
score that depends only on the item (the place of the word, its frequency, the length of the text), so it is computed
once, when the item is written. Lengths are compared with usual ones, not with the average of a project.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

MAX_INDEXED = 256 * 1024  # characters of a text
MAX_WORD = 40  # characters; nobody types longer words
LEVELS = "abcdefgh"  # the first is the highest
MOST_COUNTED = 20_000  # items; at this number, the frequency of rare words is precise enough

_LETTERS = r"[^\W_]+"
# This is compiled on first use, because compiling takes 2 ms of a start.
_TOKEN = rf"{_LETTERS}(?:[-_.'’]{_LETTERS})*"
_CAMEL_PART = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_UNSPACED = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]+"
_MOST_PARTS = 4  # parts of a compound; a word with more is a path
# Letters that people type without their mark, although Unicode does not decompose them.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t"}
)

_BOUNDS = (-12.0, -8.5, -6.0, -4.0, -2.6, -1.6, -0.9)  # the minimum weight of each level but the last, negated
_SATURATION = 3.0  # the k1 of BM25, for these weights
# The score that a word of each level adds to an item, for an inverse document frequency of 1.
IMPACTS = {
    level: weight * (_SATURATION + 1) / (weight + _SATURATION)
    for level, weight in zip(LEVELS, (14.0, 10.0, 7.0, 4.8, 3.2, 2.1, 1.2, 0.6), strict=True)
}
_TITLE, _TAG, _DESCRIPTION, _TEXT = 9.0, 6.0, 3.0, 4.0
_USUAL_TITLE, _USUAL_DESCRIPTION, _USUAL_TEXT = 4, 25, 400  # words
_HALF_TEXT = 2.2  # occurrences in a text of usual length that weigh half as much as infinitely many

_MANY = 5000  # words; the least important are omitted if they do not fit
_MAX_BYTES = 400_000  # bytes of all words of an item: a tsvector takes 1 MiB
_FEW = _MAX_BYTES // (4 * MAX_WORD + 12)  # this many words always fit
_SHORTEST_CORRECTED, _LONGEST_CORRECTED = 4, 24  # letters of words that can correct mistyped ones


class ItemText(Struct, frozen=True, kw_only=True):
    """The searchable fields of an item."""

    title: str
    name: str = ""
    tags: Sequence[str] = ()
    description: str = ""
    text: str = ""


# -- from texts to words ----------------------------------------------------------------------------------------


def fold(text: str) -> str:
    """Return a text without case and diacritics."""
    if text.isascii():
        return text.lower()
    spelled = unicodedata.normalize("NFKD", text.casefold())
    used = set(spelled)  # far fewer characters than in the text
    plain: dict[int, str | None] = {ord(one): None for one in used if unicodedata.combining(one)}
    plain |= {number: letter for number, letter in _PLAIN.items() if chr(number) in used}
    return spelled.translate(plain) if plain else spelled


def make_key(text: str) -> str:
    """Return a key for a name or title, without its case, diacritics, spaces, hyphens and underscores."""
    return re.sub(r"[-_\s]+", "", fold(text))[:200]


def split_tokens(text: str) -> list[str]:
    """Return the runs of letters, digits and joining marks in a text."""
    return re.findall(_TOKEN, unicodedata.normalize("NFC", text))  # otherwise, combining marks would end words


def split(text: str) -> list[str]:
    """Return the words of a text in order; a compound is followed by its parts."""
    return [word for token in split_tokens(text) for word in expand(token)]


def count_words(text: str) -> dict[str, int]:
    """Count each word of a text."""
    counts: dict[str, int] = {}
    for token, count in Counter(split_tokens(text)).items():
        if token.isascii() and token.isalpha() and (token.islower() or token.istitle()):
            word = token[:MAX_WORD].lower()  # like `expand`, but faster for most words
            counts[word] = counts.get(word, 0) + count
        else:
            for word in expand(token):
                counts[word] = counts.get(word, 0) + count
    return counts


@lru_cache(maxsize=8192)
def expand(token: str) -> tuple[str, ...]:
    """Return the words in one run of letters, digits and joining marks; the first is the whole run."""
    words = re.findall(_LETTERS, fold(token))  # folding may split a word, as in ½
    if len(words) > 1:
        words = [*(["".join(words)] if len(words) <= _MOST_PARTS else ()), *words]
    if not token.isupper() and not token.islower() and not token.istitle() and token.isascii():
        parts = [part.lower() for part in re.findall(_CAMEL_PART, token)]
        words += parts if 1 < len(parts) <= 2 * _MOST_PARTS else []
    if not token.isascii():
        words = [part for word in words for part in _pair(word)]
    return tuple(word[:MAX_WORD] for word in dict.fromkeys(words) if word)


def _pair(word: str) -> list[str]:
    """Split a word into pairs of characters if its script has no spaces; return any other word alone."""
    if re.fullmatch(_UNSPACED, word) is None or len(word) < 3:
        return [word]
    return [word[start : start + 2] for start in range(len(word) - 1)]


# -- the words of an item ---------------------------------------------------------------------------------------


def make_words(item: ItemText) -> str:
    """Return the words of an item as ` LEVEL.WORD ...`, with a space at the end; empty if there are none."""
    weights = _weigh(item)
    found: Iterable[tuple[str, float]] = weights.items()
    if len(weights) > _MANY:
        found = sorted(found, key=lambda one: (-one[1], one[0]))
    words = []
    size = 0
    for word, weight in found:
        if len(weights) > _FEW:
            size += len(word.encode()) + 12
            if size > _MAX_BYTES:
                break
        words.append(f"{LEVELS[bisect_left(_BOUNDS, -weight)]}.{word}")
    return f" {' '.join(words)} " if words else ""


def list_correctable(words: str) -> list[str]:
    """Return, sorted, the words of an item to which mistyped words can be corrected."""
    least, most = _SHORTEST_CORRECTED + 2, _LONGEST_CORRECTED + 2  # including level and dot
    return sorted([one[2:] for one in words.split() if least <= len(one) <= most and one[2:].isalpha()])


def is_correctable(word: str) -> bool:
    """Return whether mistyped words can be corrected to this word."""
    return _SHORTEST_CORRECTED <= len(word) <= _LONGEST_CORRECTED and word.isalpha()


def _weigh(item: ItemText) -> dict[str, float]:
    """Compute the weight of each word of an item: name and title count most, then tags, description and text."""
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
