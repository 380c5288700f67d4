"""How texts become words: the same way for what is indexed and for what is asked.

A word is a run of letters and digits, without case and diacritics. Compounds (post-mortem, max_tokens, maxTokens,
store.path) count by their parts and as a whole; scripts without spaces between words count by pairs of characters.
"""

import re
from collections import Counter
from functools import lru_cache

MAX_INDEXED = 256 * 1024  # characters of a text
MAX_WORD = 40  # characters; longer words are not typed

_LETTERS = r"[^\W_]+"
# Compiled at their first use, because that takes 2 ms of a start.
_TOKEN = rf"{_LETTERS}(?:[-_.'’]{_LETTERS})*"
_CAMEL_PART = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_UNSPACED = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]+"
_MOST_PARTS = 4  # of a compound; what has more is a path
# Letters that people type without their mark, although Unicode does not decompose them.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t"}
)


def fold(text: str) -> str:
    """A text without case and diacritics."""
    if text.isascii():
        return text.lower()
    import unicodedata  # most texts need none

    spelled = unicodedata.normalize("NFKD", text.casefold())
    used = set(spelled)  # far fewer than the characters
    plain: dict[int, str | None] = {ord(one): None for one in used if unicodedata.combining(one)}
    plain |= {number: letter for number, letter in _PLAIN.items() if chr(number) in used}
    return spelled.translate(plain) if plain else spelled


def make_key(text: str) -> str:
    """What names and titles have in common that differ in case, diacritics, spaces, hyphens and underscores only."""
    return re.sub(r"[-_\s]+", "", fold(text))[:200]


def split_tokens(text: str) -> list[str]:
    """The runs of letters, digits and joining marks of a text."""
    return re.findall(_TOKEN, _compose(text))


def split(text: str) -> list[str]:
    """The words of a text in their order; a compound is followed by its parts."""
    return [word for token in split_tokens(text) for word in expand(token)]


def count_words(text: str) -> dict[str, int]:
    """How often each word is in a text."""
    counts: dict[str, int] = {}
    for token, count in Counter(split_tokens(text)).items():
        if token.isascii() and token.isalpha() and (token.islower() or token.istitle()):
            word = token[:MAX_WORD].lower()  # as `expand` says, without the way there: most words are such
            counts[word] = counts.get(word, 0) + count
        else:
            for word in expand(token):
                counts[word] = counts.get(word, 0) + count
    return counts


@lru_cache(maxsize=8192)
def expand(token: str) -> tuple[str, ...]:
    """The words of one run of letters, digits and joining marks, the whole first."""
    words = re.findall(_LETTERS, fold(token))  # folding may split a word, as in ½
    if len(words) > 1:
        words = [*(["".join(words)] if len(words) <= _MOST_PARTS else ()), *words]
    if not token.isupper() and not token.islower() and not token.istitle() and token.isascii():
        parts = [part.lower() for part in re.findall(_CAMEL_PART, token)]
        words += parts if 1 < len(parts) <= 2 * _MOST_PARTS else []
    if not token.isascii():
        words = [part for word in words for part in _pair(word)]
    return tuple(word[:MAX_WORD] for word in dict.fromkeys(words) if word)


def _compose(text: str) -> str:
    """A text in which a letter and its marks are one character, so that marks do not end words."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", text)


def _pair(word: str) -> list[str]:
    """The pairs of characters of a word in a script without spaces, or the word."""
    if re.fullmatch(_UNSPACED, word) is None or len(word) < 3:
        return [word]
    return [word[start : start + 2] for start in range(len(word) - 1)]
