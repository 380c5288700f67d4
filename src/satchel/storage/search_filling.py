"""Indexes every item of a store, for a migration, or after a load of items that did not come through services."""

from collections.abc import Callable

from satchel.storage import search
from satchel.storage.database import Row, Tx
from satchel.storage.search import Place
from satchel.storage.search_text import MAX_INDEXED
from satchel.storage.search_words import ItemText

_BATCH = 200  # items; a transaction of a migration holds up changes of as many
_LARGEST = 2**63 - 1  # number
_PROMPTS = """
    select number, project, title, name, (select string_agg(tag, ' ') from prompt_tags where prompt = number),
        description, substr(content, 1, :longest)
    from prompts where number > :after and number <= :last order by number limit :batch
"""
_DOCUMENTS = """
    select number, project, name, name, null, description, substr(content, 1, :longest)
    from documents where number > :after and number <= :last order by number limit :batch
"""
_TASKS = """
    select number, project, title, owner, (select string_agg(tag, ' ') from task_tags where task = number), null,
        description
    from tasks where number > :after and number <= :last order by number limit :batch
"""


def index_all(tx: Tx) -> None:
    """Index every item."""
    for index in (index_prompts, index_documents, index_tasks):
        after: int | None = 0
        while after is not None:
            after = index(tx, after, _LARGEST)


def index_prompts(tx: Tx, after: int, last: int) -> int | None:
    """Index some prompts with numbers greater than one, up to another; the last of them, or None without any."""
    return _index(tx, tx.all(_PROMPTS, after=after, last=last, batch=_BATCH, longest=MAX_INDEXED), _of_prompt)


def index_documents(tx: Tx, after: int, last: int) -> int | None:
    """The same for documents."""
    return _index(tx, tx.all(_DOCUMENTS, after=after, last=last, batch=_BATCH, longest=MAX_INDEXED), _of_document)


def index_tasks(tx: Tx, after: int, last: int) -> int | None:
    """The same for tasks."""
    return _index(tx, tx.all(_TASKS, after=after, last=last, batch=_BATCH), _of_task)


def _index(tx: Tx, rows: list[Row], place_of: Callable[[Row], tuple[Place, ItemText]]) -> int | None:
    by_place: dict[Place, list[tuple[int, ItemText]]] = {}
    for row in rows:
        place, text = place_of(row)
        by_place.setdefault(place, []).append((row[0], text))
    for place, items in by_place.items():
        search.put_many(tx, place, items)
    return rows[-1][0] if rows else None


def _of_prompt(row: Row) -> tuple[Place, ItemText]:
    return Place("prompt", row[1]), _text(row, row[3])


def _of_document(row: Row) -> tuple[Place, ItemText]:
    return Place("document", row[1]), _text(row, row[3])


def _of_task(row: Row) -> tuple[Place, ItemText]:
    return Place("task", row[1], row[3]), _text(row, "")


# kind, the statement that reads its items after a number, and what makes the place and the text of a row
KINDS = (("prompt", _PROMPTS, _of_prompt), ("document", _DOCUMENTS, _of_document), ("task", _TASKS, _of_task))


def _text(row: Row, name: str) -> ItemText:
    _, _, title, _, tags, description, text = row
    return ItemText(title=title, name=name, tags=(tags or "").split(), description=description or "", text=text or "")
