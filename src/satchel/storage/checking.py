"""Checks of a store for its operator: is the file sound, and does the search index agree with the items."""

import os
from collections.abc import Iterator
from contextlib import closing
from itertools import islice

from msgspec import Struct

from satchel.errors import StoreUnusable
from satchel.storage import search_filling
from satchel.storage.database import Row, Tx
from satchel.storage.search_text import MAX_INDEXED
from satchel.storage.search_words import make_words

_MOST_PROBLEMS = 10
_MOST_COMPARED = 1_000  # newest items of each kind; comparing all of a large store would take minutes
_MOST_FOUND = 20  # items that are looked up in the full-text index itself

_UNINDEXED = """
    select
        (select count(*) from prompts where number not in (select prompt from search_items where prompt is not null)),
        (select count(*) from resources
            where number not in (select resource from search_items where resource is not null)),
        (select count(*) from tasks where number not in (select task from search_items where task is not null))
"""
_INDEXED = {
    "prompt": "select number, space, words from search_items where prompt = :item",
    "resource": "select number, space, words from search_items where resource = :item",
    "task": "select number, space, words from search_items where task = :item",
}
_STARTS = {
    "prompt": "select coalesce(max(number), 0) from prompts",
    "resource": "select coalesce(max(number), 0) from resources",
    "task": "select coalesce(max(number), 0) from tasks",
}


class IndexState(Struct, frozen=True):
    """How the search index differs from the items."""

    compared: int  # items whose words were computed again and compared
    missing: int  # items that are not in the index
    stale: int  # compared items that are there with other words, or are not found by them

    @property
    def is_in_step(self) -> bool:
        """Tell whether nothing is missing or stale."""
        return not self.missing and not self.stale


def check_file(path: str) -> list[str]:
    """List what is wrong with a SQLite file, without changing it.

    Raises:
        StoreUnusable: it cannot be read.
    """
    import apsw

    try:
        with closing(apsw.Connection(os.path.realpath(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.set_busy_timeout(5000)
            found = [str(row[0]) for row in connection.execute("pragma integrity_check(10)")]
            orphans = list(islice(connection.execute("pragma foreign_key_check"), _MOST_PROBLEMS))
    except apsw.Error as error:
        raise StoreUnusable(f"cannot check {path}: {error}.") from error
    return [line for line in found if line != "ok"] + [f"{row[0]}: row {row[1]} refers to nothing" for row in orphans]


def compare_index(tx: Tx) -> IndexState:
    """Compare the search index with the items, in a transaction that sees all of them."""
    row = tx.one(_UNINDEXED)
    missing = sum(row) if row else 0
    compared = stale = 0
    for kind, item, words in _newest(tx):
        compared += 1
        sql = _INDEXED[kind]
        found = tx.one(sql, item=item)
        if found is not None and (set(found[2].split()) != set(words.split()) or not _is_found(tx, found, compared)):
            stale += 1
    return IndexState(compared, missing, stale)


def _newest(tx: Tx) -> Iterator[tuple[str, int, str]]:
    """Yield the kind, the number and the words of the newest items of each kind."""
    for kind, sql, place_of in search_filling.KINDS:
        newest = _STARTS[kind]
        row = tx.one(newest)
        after, last = max(0, (row[0] if row else 0) - _MOST_COMPARED), row[0] if row else 0
        for item in tx.all(sql, after=after, last=last, batch=_MOST_COMPARED, longest=MAX_INDEXED):
            yield kind, item[0], make_words(place_of(item)[1])


def _is_found(tx: Tx, indexed: Row, position: int) -> bool:
    """Tell whether the full-text index finds an item by its first word; looks only for the first items."""
    number, space, words = indexed
    if position > _MOST_FOUND or not words.split():
        return True
    level, _, word = words.split()[0].partition(".")
    [(numbers, _)] = tx.find_words([space], [(level, word, False)], 2**31)
    return number in numbers


def rebuild_index(tx: Tx) -> None:
    """Build the search index again from all items."""
    tx.clear_search()
    search_filling.index_all(tx)
