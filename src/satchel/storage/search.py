"""The index of words: what it keeps of items, and which items have a word.

`put` and `forget` keep it in step with the items; deleting the row of an item deletes its words by itself.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from satchel.model import ItemKind
from satchel.storage.database import Tx, explain_damage
from satchel.storage.search_text import make_key
from satchel.storage.search_words import MOST_COUNTED, ItemText, list_mendable, make_words

FoundKind = Literal["prompt", "document", "task"]

# Each kind has a column of its own for its numbers, so that deleting an item deletes its words.
_PUT = """
    insert into search_items (space, {0}, name_key, title_key, words)
    values (:space, :item, :name_key, :title_key, :words)
    on conflict ({0}) do update
    set space = excluded.space, name_key = excluded.name_key, title_key = excluded.title_key, words = excluded.words
"""
_BY_NAME = "select {0} from search_items where space in :spaces and name_key = :key order by number limit 4"
_BY_TITLE = "select {0} from search_items where space in :spaces and title_key = :key order by number limit 4"


class IndexedItem(Struct, frozen=True):
    """An item as the index knows it."""

    number: int  # in the index
    kind: FoundKind
    item: int  # its own number
    name_key: str
    title_key: str
    words: str
    space: int = 0  # where it is; 0 for what is not in the store


class Place(Struct, frozen=True):
    """Where an item is, which decides who may find it."""

    kind: ItemKind
    project: int | None
    owner: str | None = None  # of a task


def put(tx: Tx, place: Place, item: int, text: ItemText, before: tuple[Place, ItemText] | None = None) -> None:
    """Index an item that was added or changed; `before` is how it was indexed."""
    space = make_space(tx, place)
    words = make_words(text)
    values = {"name_key": make_key(text.name), "title_key": make_key(text.title), "words": words}
    sql = _PUT.format(place.kind)
    tx.put(sql, space=space, item=item, **values)
    mendable = list_mendable(words)
    if before is not None and before[0] != place:
        forget(tx, *before)
    elif before is not None:
        gone, kept = set(list_mendable(make_words(before[1]))), set(mendable)
        _forget_words(tx, space, sorted(gone - kept))
        mendable = sorted(kept - gone)
    tx.put_words(space, mendable)


def put_many(tx: Tx, place: Place, items: Sequence[tuple[int, ItemText]]) -> None:
    """Index items of one place whose texts did not change since they were indexed, if they were."""
    space = make_space(tx, place)
    sql = _PUT.format(place.kind)
    rows, mendable = [], set()
    for item, text in items:
        words = make_words(text)
        mendable.update(list_mendable(words))
        keys = {"name_key": make_key(text.name), "title_key": make_key(text.title)}
        rows.append({"space": space, "item": item, "words": words, **keys})
    tx.many(sql, rows)
    tx.add_words(space, sorted(mendable))


def forget(tx: Tx, place: Place, text: ItemText) -> None:
    """Forget those words of an item that was deleted, or moved, which no other item of its space has."""
    words = list_mendable(make_words(text))
    for space in _find_spaces(tx, place):
        _forget_words(tx, space, words)


def make_space(tx: Tx, place: Place) -> int:
    """The number of the space of a place."""
    found = find_space(tx, place)
    if found is not None:
        return found
    sql = """
        insert into search_spaces (kind, project, owner, within) values (:kind, :project, :owner, :within)
        on conflict do nothing
    """
    is_task = place.kind == "task"
    project, within = (None, place.project or 0) if is_task else (place.project, None)
    tx.run(sql, kind=place.kind, project=project, owner=place.owner, within=within)
    made = find_space(tx, place)
    assert made is not None, "a space that was just added, or that another call has added"
    return made


def find_space(tx: Tx, place: Place) -> int | None:
    """The number of the space of a place, where anything was ever put there."""
    sql = "select number from search_spaces where project = :project and kind = :kind"
    if place.kind == "task":
        sql = "select number from search_spaces where owner = :owner and within = :project"
    row = tx.one(sql, project=place.project or 0, kind=place.kind, owner=place.owner)
    return row[0] if row else None


def task_spaces(tx: Tx, owner: str, allowed: tuple[str, ...] | None) -> list[int]:
    """The spaces of an owner's tasks in the allowed projects; with None of all, those in no project too."""
    sql = """
        select number from search_spaces where owner = :owner
            and (not :is_confined or within in (select number from projects where name in :allowed)) order by number
    """
    rows = tx.all(sql, owner=owner, is_confined=allowed is not None, allowed=allowed or ())
    return [number for (number,) in rows]


def count_items(tx: Tx, spaces: Sequence[int]) -> int:
    """How many items some spaces have, counted up to a bound."""
    sql = """
        select count(*) from (select 1 from search_items where space in :spaces limit :most) as counted
    """
    row = tx.one(sql, spaces=list(spaces), most=MOST_COUNTED)
    return row[0] if row else 0


def read_items(tx: Tx, spaces: Sequence[int], numbers: Sequence[int]) -> list[IndexedItem]:
    """Some items of the index, those of them that are in some spaces."""
    sql = """
        select number, prompt, document, task, name_key, title_key, words, space from search_items
        where number in :numbers
    """
    found = []
    for number, prompt, document, task, name_key, title_key, words, space in tx.all(sql, numbers=list(numbers)):
        kind: FoundKind = "prompt" if prompt else "document" if document else "task"
        item = prompt or document or task
        if item is None:
            raise explain_damage("a row of the index of words", ValueError("it is of no item"))
        if space in spaces:
            found.append(IndexedItem(number, kind, item, name_key, title_key, words, space))
    return found


def keep_known(tx: Tx, spaces: Sequence[int], words: Sequence[str]) -> list[str]:
    """Those of some words that items of some spaces have."""
    sql = "select distinct word from search_words where space in :spaces and word in :words"
    return [word for (word,) in tx.all(sql, spaces=list(spaces), words=list(words))]


def find_alike(tx: Tx, spaces: Sequence[int], kind: FoundKind, reference: str) -> list[int]:
    """The first items whose name, or else title, is a reference but for what `make_key` leaves out."""
    key = make_key(reference)
    if not key or not spaces:
        return []
    by_name, by_title = _BY_NAME.format(kind), _BY_TITLE.format(kind)
    named = tx.all(by_name, spaces=list(spaces), key=key) if kind != "task" else []
    found = named or tx.all(by_title, spaces=list(spaces), key=key)
    return [number for (number,) in found if number is not None]


def _find_spaces(tx: Tx, place: Place) -> list[int]:
    """The spaces where an item of a place may be: tasks of a project that was removed for good are in its space yet."""
    if place.kind != "task":
        found = find_space(tx, place)
        return [] if found is None else [found]
    sql = """
        select number from search_spaces where owner = :owner and (
            within = :within
            or (:within = 0 and not exists (select 1 from projects where projects.number = within))
        )
    """
    return [number for (number,) in tx.all(sql, owner=place.owner, within=place.project or 0)]


def _forget_words(tx: Tx, space: int, words: Sequence[str]) -> None:
    if not words:
        return
    gone = tx.words_of_none(space, words)
    if gone:
        tx.run("delete from search_words where space = :space and word in :gone", space=space, gone=gone)
