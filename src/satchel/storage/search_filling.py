"""Indexes every item of a store, for a migration, or after a load of items that did not come through services."""

from collections.abc import Iterator

from satchel.storage import search
from satchel.storage.database import Row, Tx
from satchel.storage.search import Place
from satchel.storage.search_text import MAX_INDEXED
from satchel.storage.search_words import ItemText

_BATCH = 500
_PROMPTS = """
    select number, project, title, name, (select string_agg(tag, ' ') from prompt_tags where prompt = number),
        description, substr(content, 1, :longest)
    from prompts where number > :after order by number limit :batch
"""
_RESOURCES = """
    select number, project, name, name, null, description, substr(content, 1, :longest)
    from resources where number > :after order by number limit :batch
"""
_TASKS = """
    select number, project, title, owner, (select string_agg(tag, ' ') from task_tags where task = number), null,
        description
    from tasks where number > :after order by number limit :batch
"""


def index_all(tx: Tx) -> None:
    """Index every item."""
    for sql, place_of in ((_PROMPTS, _of_prompt), (_RESOURCES, _of_resource), (_TASKS, _of_task)):
        for row in _read(tx, sql):
            place, text = place_of(row)
            search.put(tx, place, row[0], text)


def _of_prompt(row: Row) -> tuple[Place, ItemText]:
    return Place("prompt", row[1]), _text(row, row[3])


def _of_resource(row: Row) -> tuple[Place, ItemText]:
    return Place("resource", row[1]), _text(row, row[3])


def _of_task(row: Row) -> tuple[Place, ItemText]:
    return Place("task", row[1], row[3]), _text(row, "")


# kind, the statement that reads its items after a number, and what makes the place and the text of a row
KINDS = (("prompt", _PROMPTS, _of_prompt), ("resource", _RESOURCES, _of_resource), ("task", _TASKS, _of_task))


def _text(row: Row, name: str) -> ItemText:
    _, _, title, _, tags, description, text = row
    return ItemText(title=title, name=name, tags=(tags or "").split(), description=description or "", text=text or "")


def _read(tx: Tx, sql: str) -> Iterator[Row]:
    after = 0
    while rows := tx.all(sql, after=after, batch=_BATCH, longest=MAX_INDEXED):
        yield from rows
        after = rows[-1][0]
