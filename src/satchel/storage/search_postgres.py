"""The index of words on PostgreSQL: GIN over tsvectors without positions, as on SQLite. Its functions are in step 5."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.storage.search_words import LEVELS

if TYPE_CHECKING:
    from satchel.storage.database import Tx, WordList

_FIND = """
    select place, numbers, total
    from satchel_find_words(:spaces::bigint[], :levels::text[], :words::text[], :prefixes::boolean[], :most)
"""
_TOGETHER = """
    select satchel_find_together(:spaces::bigint[], :levels::text[], :words::text[], :prefixes::boolean[], :most)
"""
_ADD_WORDS = """
    insert into search_words (space, word) select :space, word from unnest(:words::text[]) as word
    on conflict do nothing
"""


def find_words(tx: "Tx", spaces: Sequence[int], lists: Sequence["WordList"], most: int) -> list[tuple[list[int], int]]:
    """For each list, its items, at most so many, and about how many there are."""
    found: list[tuple[list[int], int]] = [([], 0)] * len(lists)
    levels, words, prefixes = ([one[part] for one in lists] for part in range(3))
    values = {"spaces": list(spaces), "levels": levels, "words": words, "prefixes": prefixes, "most": most}
    for place, numbers, total in tx.execute(_FIND, values):
        found[place - 1] = (numbers, total)
    return found


def find_together(tx: "Tx", spaces: Sequence[int], words: Sequence[tuple[str, bool]], most: int) -> list[int]:
    """The items with all of some words, at most so many."""
    values = {"spaces": list(spaces), "levels": list(LEVELS), "most": most}
    values |= {"words": [word for word, _ in words], "prefixes": [is_prefix for _, is_prefix in words]}
    [[numbers]] = tx.execute(_TOGETHER, values)
    return list(numbers)


def add_words(tx: "Tx", space: int, words: Sequence[str]) -> None:
    """Keep words for the mending of mistyped ones."""
    tx.run(_ADD_WORDS, space=space, words=list(words))


def words_of_none(tx: "Tx", space: int, words: Sequence[str]) -> list[str]:
    """Those of some words that no item of a space has."""
    sql = "select satchel_words_of_none(:space, :levels::text[], :words::text[])"
    [[gone]] = tx.execute(sql, {"space": space, "levels": list(LEVELS), "words": list(words)})
    return list(gone)
