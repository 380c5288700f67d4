"""The two searches on each engine: by words, and for a literal text in prompts.

The word index is FTS5 on SQLite, and GIN over tsvectors on PostgreSQL, both without positions. Every indexed word
begins with the number of its space, so that a search reads nothing from other spaces. Literal texts are found by their
trigrams.
"""

import re
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from satchel.model import PromptPosition, PromptQuery
from satchel.storage.database import NEWEST
from satchel.storage.search_words import LEVELS, MOST_COUNTED

if TYPE_CHECKING:
    from satchel.storage.database import Tx, WordList
    from satchel.storage.postgres_tx import PostgresTx
    from satchel.storage.sqlite import SqliteTx

Position = tuple[int, str]  # a space, and a word in it

# -- words on SQLite --------------------------------------------------------------------------------------------

_FIND = "select rowid from search_index where search_index match :words order by rowid desc limit :most"
# The count ends at the same limit as the count of all items; beyond it, a word is common anyway.
_COUNT = """
    select count(*) from (select 1 from search_index where search_index match :words limit :bound) as counted
"""
# This is one statement, because an item has hundreds of words. Words consist of letters, and need no escapes in JSON.
_ADD = """
    insert into search_words (space, word)
    select :space, value from json_each('["' || replace(:words, ' ', '","') || '"]') where :words <> ''
    on conflict do nothing
"""
_COMMON_FIRST = "ghfedcba"  # levels, in the order of their frequency in texts
_MOST_CLEANED = 200  # words per step, which blocks other writers
_AT_LEVEL = """
    exists (select 1 from search_index where search_index match '"' || space || '.{}.' || word || '"')
"""
_IS_USED = " or ".join(_AT_LEVEL.format(level) for level in _COMMON_FIRST)
_CLEAN = f"""
    delete from search_words where (space, word) > (:space, :word) and (space, word) <= (:last_space, :last_word)
        and not ({_IS_USED})
"""
# Each word of a search is looked up in every segment of the index, and small writes leave up to 16 segments. A merge
# writes at most 500 pages, which takes up to 30 ms; the next one goes on.
_MERGE = "insert into search_index (search_index, rank) values ('merge', -500)"
_FORGET = f"delete from search_words where space = :space and word in :words and not ({_IS_USED})"


def find_in_sqlite(
    tx: "Tx", spaces: Sequence[int], lists: Sequence["WordList"], most: int
) -> list[tuple[list[int], int]]:
    """Return, for each list, up to `most` of its items, newest first, and the number of all its items."""
    return [_find_list(tx, spaces, one, most) for one in lists]


def find_together_in_sqlite(tx: "Tx", spaces: Sequence[int], words: Sequence[tuple[str, bool]], most: int) -> list[int]:
    """Return up to `most` items that have all the words, newest first."""
    if not spaces or not words:
        return []
    each = (f"({_write_match(spaces, LEVELS, word, is_prefix)})" for word, is_prefix in words)
    return [number for (number,) in tx.all(_FIND, words=" AND ".join(each), most=most)]


def add_words_in_sqlite(tx: "Tx", space: int, words: Sequence[str]) -> None:
    """Store words to which mistyped ones can be corrected."""
    tx.run(_ADD, space=space, words=" ".join(words))


def clean_words_in_sqlite(tx: "Tx", after: Position) -> Position | None:
    """Delete a batch of unused words after the position `after`; return the position of the next batch, if any.

    The last batch also merges segments of the index.
    """
    sql = """
        select space, word from search_words where (space, word) > (:space, :word)
        order by space, word limit 1 offset :most
    """
    space, word = after
    last = tx.one(sql, space=space, word=word, most=_MOST_CLEANED - 1)
    last_space, last_word = last or (2**62, "")
    tx.run(_CLEAN, space=space, word=word, last_space=last_space, last_word=last_word)
    if last is None:
        tx.run(_MERGE)
    return (last_space, last_word) if last else None


def forget_words_in_sqlite(tx: "Tx", space: int, words: Sequence[str]) -> None:
    """Delete from a space those of the words that no item has any more."""
    tx.run(_FORGET, space=space, words=list(words))


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
    """Write the FTS5 expression that finds a word at some levels in some spaces."""
    end = '" *' if is_prefix else '"'
    return " OR ".join(f'"{space}.{level}.{word}{end}' for space in spaces for level in levels)


# -- literal texts on SQLite ------------------------------------------------------------------------------------

# With fewer hits, sorting them is cheaper than walking through all prompts in order.
_FEW = 300

# `glob` takes half the time of `instr` for a short text, but the product of both lengths for a long one: on 4 MiB of
# one letter it took 5 s, during which SQLite cannot be interrupted.
_SHORT = 8  # the maximum length of a text for `glob`
_WITH_SHORT = "select prompt from prompt_texts where (title glob :pattern or content glob :pattern)"
_WITH_LONG = "select prompt from prompt_texts where (instr(title, :text) > 0 or instr(content, :text) > 0)"
_OF_PROJECT = "and prompt in (select number from prompts where project = :project and deleted_at is null)"
_WITH_TRIGRAMS = """
    select rowid from prompt_index where prompt_index match :phrase
    union
    select prompt from prompt_texts where is_indexed = 0 and instr(content, :text) > 0
"""
_LAST_UPDATED = "(updated_at, number) < (:moment, :last) order by updated_at desc, number desc"


def find_prompts_in_sqlite(
    tx: "SqliteTx",
    project: int,
    query: PromptQuery,
    limit: int,
    *,
    offset: int = 0,
    after: PromptPosition | None = None,
) -> tuple[list[int], int]:
    """Return a page of the numbers of prompts that contain a folded text, last updated first, and the total."""
    hits = _find_text(tx, query.text, project)
    if hits and query.tags:
        tagged = _find_tagged(tx, project, query)
        hits = [number for number in hits if number in tagged]
    elif hits and tx.scope.projects is None and _has_other_projects(tx, project):
        sql = "select number from prompts where project = :project and deleted_at is null"
        own = {number for (number,) in tx.all(sql, project=project)}
        hits = [number for number in hits if number in own]
    after = after or NEWEST
    if len(hits) <= _FEW:
        sql = f"select number from prompts where number in :numbers and {_LAST_UPDATED}"
        found = [number for (number,) in tx.all(sql, numbers=hits, moment=after.moment, last=after.number)]
        return found[offset : offset + limit], len(hits)
    sql = f"select number from prompts where project = :project and deleted_at is null and {_LAST_UPDATED}"
    wanted, walked = set(hits), tx.walk(sql, project=project, moment=after.moment, last=after.number)
    page = islice((number for (number,) in walked if number in wanted), offset, offset + limit)
    return list(page) if offset < len(hits) else [], len(hits)


def _find_text(tx: "SqliteTx", folded: str, project: int) -> list[int]:
    """Return the numbers of prompts that have a text in their title or content, in no particular order.

    The prompts may belong to any project. For a caller limited to some projects, only the given project is read: the
    index has the texts of all projects, so its response time would reveal the others.
    """
    is_short, is_confined = len(folded) <= _SHORT, tx.scope.projects is not None
    # Scan if the text is too short for trigrams, or has one of three characters that FTS5 confuses.
    is_scanned = len(folded) < 3 or any("\ufffd" <= character <= "\uffff" for character in folded)
    sql = _WITH_TRIGRAMS
    if is_confined:
        sql = f"{_WITH_SHORT} {_OF_PROJECT}" if is_short else f"{_WITH_LONG} {_OF_PROJECT}"
    elif is_scanned:
        sql = _WITH_SHORT if is_short else _WITH_LONG
    pattern = "".join(f"[{character}]" if character in "*?[" else character for character in folded)
    # In double quotes, the query is literal, even if it looks like operators of FTS5.
    phrase = '"' + folded.replace('"', '""') + '"'
    return [number for (number,) in tx.all(sql, project=project, text=folded, pattern=f"*{pattern}*", phrase=phrase)]


def _find_tagged(tx: "SqliteTx", project: int, query: PromptQuery) -> set[int]:
    """Return the numbers of a project's prompts with one of the query's tags, or with all of them."""
    sql = "select prompt from prompt_tags where project = :project and tag = :tag"
    sets = [{number for (number,) in tx.all(sql, project=project, tag=tag)} for tag in query.tags]
    return set.intersection(*sets) if query.needs_all_tags else set.union(*sets)


def _has_other_projects(tx: "SqliteTx", project: int) -> bool:
    sql = """
        select exists (select 1 from prompts where project < :project)
            or exists (select 1 from prompts where project > :project)
    """
    return tx.one(sql, project=project) == (1,)


# -- words on PostgreSQL, whose functions are in schema/search.py -----------------------------------------------

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
    """Return, for each list, up to `most` of its items, and an estimate of the number of all its items."""
    found: list[tuple[list[int], int]] = [([], 0)] * len(lists)
    levels, words, prefixes = ([one[part] for one in lists] for part in range(3))
    values = {"spaces": list(spaces), "levels": levels, "words": words, "prefixes": prefixes, "most": most}
    for place, numbers, total in tx.execute(_FIND_LISTS, values):
        found[place - 1] = (numbers, total)
    return found


def find_together_in_postgres(
    tx: "Tx", spaces: Sequence[int], words: Sequence[tuple[str, bool]], most: int
) -> list[int]:
    """Return up to `most` items that have all the words."""
    values = {"spaces": list(spaces), "levels": list(LEVELS), "most": most}
    values |= {"words": [word for word, _ in words], "prefixes": [is_prefix for _, is_prefix in words]}
    [[numbers]] = tx.execute(_FIND_TOGETHER, values)
    return list(numbers)


def add_words_in_postgres(tx: "Tx", space: int, words: Sequence[str]) -> None:
    """Store words to which mistyped ones can be corrected."""
    tx.run(_ADD_ALL, space=space, words=list(words))


def clean_words_in_postgres(tx: "Tx", after: Position) -> Position | None:
    """Delete the unused words of the first space after a position; return the next position, if any."""
    [[space]] = tx.all("select satchel_clean_words(:space, :levels::text[])", space=after[0], levels=list(LEVELS))
    return None if space is None else (space, "")


def forget_words_in_postgres(tx: "Tx", space: int, words: Sequence[str]) -> None:
    """Delete from a space those of the words that no item has any more."""
    sql = "select satchel_forget_words(:space, :words::text[], :levels::text[])"
    tx.run(sql, space=space, words=list(words), levels=list(LEVELS))


# -- literal texts on PostgreSQL --------------------------------------------------------------------------------

_SEARCH_PROMPTS = """
    with hits as materialized (select p.number, p.updated_at from {} {})
    select (select count(*) from hits),
        array(
            select number from hits where (updated_at collate "C", number) < (:moment, :last)
            order by updated_at collate "C" desc, number desc limit :limit offset :offset
        )
"""
_HITS = "prompt_texts t join prompts p on p.number = t.prompt where p.project = :project and ({})"
# For callers limited to some projects: the index has the texts of all projects, so its response time would reveal
# the others. `offset 0` makes the planner start with the prompts of the project.
_HITS_WITHIN = """
    prompts p, lateral (
        select from prompt_texts t where t.prompt = p.number
        and (strpos(t.title, :text) > 0 or strpos(t.content, :text) > 0) offset 0
    ) as t where p.project = :project
"""
# Row-level security would keep the planner from the trigram index; a function of the owner uses it instead.
_HITS_BY_FUNCTION = "satchel_prompts_containing(:project, :text) p where true"
_LIKE = r"t.title like :pattern escape '\' or t.content like :pattern escape '\'"
_POSITION = "strpos(t.title, :text) > 0 or strpos(t.content, :text) > 0"
_WITH_TAGS = """
    and (select count(*) from prompt_tags g where g.prompt = p.number and g.tag = any (:tags)) >= :needed
"""
_LARGEST = 2**63 - 1


def find_prompts_in_postgres(
    tx: "PostgresTx",
    project: int,
    query: PromptQuery,
    limit: int,
    *,
    offset: int = 0,
    after: PromptPosition | None = None,
) -> tuple[list[int], int]:
    """Return a page of the numbers of prompts that contain a folded text, last updated first, and the total."""
    # `like` uses the trigram index; for a text too short for trigrams, `strpos` is faster.
    hits = _HITS.format(_LIKE if len(query.text) >= 3 else _POSITION)
    if tx.is_guarded:
        hits = _HITS_BY_FUNCTION
    elif tx.scope.projects is not None:
        hits = _HITS_WITHIN
    after = after or NEWEST
    values = {
        "project": project,
        "text": query.text,
        "pattern": "%" + re.sub(r"([\\%_])", r"\\\1", query.text) + "%",
        "tags": list(query.tags),
        "needed": query.needed_tags,
        "moment": after.moment,
        "last": after.number,
        "limit": limit,
        "offset": min(offset, _LARGEST),
    }
    # The statement is not prepared, because the plan depends on how common the text is.
    sql = _SEARCH_PROMPTS.format(hits, _WITH_TAGS if query.tags else "")
    [[total, numbers]] = tx.execute(sql, values, prepare=False)
    return numbers, total
