"""The full-text index on each engine: FTS5 on SQLite, GIN over tsvectors on PostgreSQL, both without positions.

Every indexed word begins with the number of its space, so that a search reads nothing of other spaces.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.storage.search_words import LEVELS, MOST_COUNTED

if TYPE_CHECKING:
    from satchel.storage.database import Tx, WordList

Position = tuple[int, str]  # a space, and a word in it

# -- SQLite -----------------------------------------------------------------------------------------------------

_FIND = "select rowid from search_index where search_index match :words order by rowid desc limit :most"
# Up to the same bound as all items are counted, beyond which a word is common anyway.
_COUNT = """
    select count(*) from (select 1 from search_index where search_index match :words limit :bound) as counted
"""
# One statement, because an item has hundreds of words; each has letters only, so that they need no escapes in JSON.
_ADD = """
    insert into search_words (space, word)
    select :space, value from json_each('["' || replace(:words, ' ', '","') || '"]') where :words <> ''
    on conflict do nothing
"""
_COMMON_FIRST = "ghfedcba"  # levels, those of most words of a text first
_MOST_CLEANED = 200  # words in one step, which holds up other writers meanwhile
_AT_LEVEL = """
    exists (select 1 from search_index where search_index match '"' || space || '.{}.' || word || '"')
"""
_IS_USED = " or ".join(_AT_LEVEL.format(level) for level in _COMMON_FIRST)
_CLEAN = f"""
    delete from search_words where (space, word) > (:space, :word) and (space, word) <= (:last_space, :last_word)
        and not ({_IS_USED})
"""


def find_in_sqlite(
    tx: "Tx", spaces: Sequence[int], lists: Sequence["WordList"], most: int
) -> list[tuple[list[int], int]]:
    """Return for each list its items, the newest first, at most so many, and how many there are."""
    return [_find_list(tx, spaces, one, most) for one in lists]


def find_together_in_sqlite(tx: "Tx", spaces: Sequence[int], words: Sequence[tuple[str, bool]], most: int) -> list[int]:
    """Return the items with all of some words, the newest first, at most so many."""
    if not spaces or not words:
        return []
    each = (f"({_write_match(spaces, LEVELS, word, is_prefix)})" for word, is_prefix in words)
    return [number for (number,) in tx.all(_FIND, words=" AND ".join(each), most=most)]


def add_words_in_sqlite(tx: "Tx", space: int, words: Sequence[str]) -> None:
    """Store words for correcting mistyped ones."""
    tx.run(_ADD, space=space, words=" ".join(words))


def clean_words_in_sqlite(tx: "Tx", after: Position) -> Position | None:
    """Delete the words after a position that no item has, in one step; return the position it came to, if any."""
    sql = """
        select space, word from search_words where (space, word) > (:space, :word)
        order by space, word limit 1 offset :most
    """
    space, word = after
    last = tx.one(sql, space=space, word=word, most=_MOST_CLEANED - 1)
    last_space, last_word = last or (2**62, "")
    tx.run(_CLEAN, space=space, word=word, last_space=last_space, last_word=last_word)
    return (last_space, last_word) if last else None


def _find_list(tx: "Tx", spaces: Sequence[int], wanted: "WordList", most: int) -> tuple[list[int], int]:
    level, word, is_prefix = wanted
    words = _write_match(spaces, level, word, is_prefix)
    if not words:
        return [], 0
    numbers = [number for (number,) in tx.all(_FIND, words=words, most=most)]
    if len(numbers) < most:
        return numbers, len(numbers)
    [[total]] = tx.all(_COUNT, words=words, bound=MOST_COUNTED)
    return numbers, total


def _write_match(spaces: Sequence[int], levels: str, word: str, is_prefix: bool) -> str:
    """Write a word at one of some levels in one of some spaces in the language of FTS5."""
    end = '" *' if is_prefix else '"'
    return " OR ".join(f'"{space}.{level}.{word}{end}' for space in spaces for level in levels)


# -- PostgreSQL, whose functions are in schema/search.py --------------------------------------------------------

_FIND_LISTS = """
    select place, numbers, total
    from satchel_find_words(:spaces::bigint[], :levels::text[], :words::text[], :prefixes::boolean[], :most)
"""
_FIND_TOGETHER = """
    select satchel_find_together(:spaces::bigint[], :levels::text[], :words::text[], :prefixes::boolean[], :most)
"""
_ADD_ALL = """
    insert into search_words (space, word)
    select number, word from search_spaces s, unnest(:words::text[]) as word where number = :space for key share of s
    on conflict do nothing
"""


def find_in_postgres(
    tx: "Tx", spaces: Sequence[int], lists: Sequence["WordList"], most: int
) -> list[tuple[list[int], int]]:
    """Return for each list its items, at most so many, and about how many there are."""
    found: list[tuple[list[int], int]] = [([], 0)] * len(lists)
    levels, words, prefixes = ([one[part] for one in lists] for part in range(3))
    values = {"spaces": list(spaces), "levels": levels, "words": words, "prefixes": prefixes, "most": most}
    for place, numbers, total in tx.execute(_FIND_LISTS, values):
        found[place - 1] = (numbers, total)
    return found


def find_together_in_postgres(
    tx: "Tx", spaces: Sequence[int], words: Sequence[tuple[str, bool]], most: int
) -> list[int]:
    """Return the items with all of some words, at most so many."""
    values = {"spaces": list(spaces), "levels": list(LEVELS), "most": most}
    values |= {"words": [word for word, _ in words], "prefixes": [is_prefix for _, is_prefix in words]}
    [[numbers]] = tx.execute(_FIND_TOGETHER, values)
    return list(numbers)


def add_words_in_postgres(tx: "Tx", space: int, words: Sequence[str]) -> None:
    """Store words for correcting mistyped ones."""
    tx.run(_ADD_ALL, space=space, words=list(words))


def clean_words_in_postgres(tx: "Tx", after: Position) -> Position | None:
    """Delete the words that no item has from the first space after a position; return the next position, if any."""
    [[space]] = tx.all("select satchel_clean_words(:space, :levels::text[])", space=after[0], levels=list(LEVELS))
    return None if space is None else (space, "")
