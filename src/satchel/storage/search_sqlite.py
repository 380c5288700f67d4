"""The index of words on SQLite: FTS5 without positions, whose every word begins with the number of its space."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.storage.search_words import LEVELS, MOST_COUNTED

if TYPE_CHECKING:
    from satchel.storage.database import Tx, WordList

_FIND = "select rowid from search_index where search_index match :words order by rowid desc limit :most"
# Up to the same bound as all items are, beyond which a word is common anyway.
_COUNT = """
    select count(*) from (select 1 from search_index where search_index match :words limit :bound) as counted
"""
# One statement, because an item has hundreds of words; each has letters only, so that they need no escapes in JSON.
_ADD = """
    insert into search_words (space, word)
    select :space, value from json_each('["' || replace(:words, ' ', '","') || '"]') where :words <> ''
    on conflict do nothing
"""
_COMMON_FIRST = "ghfedcba"  # levels, in the order of how many words of a text have them
_MOST_ASKED = 1000  # words in one statement, which holds up other writers meanwhile
_AT_LEVEL = """
    exists (select 1 from search_index where search_index match '"' || :space || '.{}.' || value || '"')
"""
_IS_USED = " or ".join(_AT_LEVEL.format(level) for level in _COMMON_FIRST)
_OF_NONE = f"""
    select value from json_each('["' || replace(:words, ' ', '","') || '"]') where not ({_IS_USED})
"""


def find_list(tx: "Tx", spaces: Sequence[int], wanted: "WordList", most: int) -> tuple[list[int], int]:
    """The items with a word at a level, the newest first, at most so many, and how many there are."""
    level, word, is_prefix = wanted
    words = _write(spaces, level, word, is_prefix)
    if not words:
        return [], 0
    numbers = [number for (number,) in tx.all(_FIND, words=words, most=most)]
    if len(numbers) < most:
        return numbers, len(numbers)
    [[total]] = tx.all(_COUNT, words=words, bound=MOST_COUNTED)
    return numbers, total


def find_together(tx: "Tx", spaces: Sequence[int], words: Sequence[tuple[str, bool]], most: int) -> list[int]:
    """The items with all of some words, the newest first, at most so many."""
    if not spaces or not words:
        return []
    each = (f"({_write(spaces, LEVELS, word, is_prefix)})" for word, is_prefix in words)
    return [number for (number,) in tx.all(_FIND, words=" AND ".join(each), most=most)]


def add_words(tx: "Tx", space: int, words: Sequence[str]) -> None:
    """Keep words for the mending of mistyped ones."""
    tx.run(_ADD, space=space, words=" ".join(words))


def words_of_none(tx: "Tx", space: int, words: Sequence[str]) -> list[str]:
    """Those of some words that no item of a space has."""
    gone: list[str] = []
    for start in range(0, len(words), _MOST_ASKED):
        part = " ".join(words[start : start + _MOST_ASKED])
        gone += [word for (word,) in tx.all(_OF_NONE, space=space, words=part)]
    return gone


def _write(spaces: Sequence[int], levels: str, word: str, is_prefix: bool) -> str:
    """A word at one of some levels in one of some spaces, in the language of FTS5."""
    end = '" *' if is_prefix else '"'
    return " OR ".join(f'"{space}.{level}.{word}{end}' for space in spaces for level in levels)
