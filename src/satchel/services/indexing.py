"""Keeps the index of words in step with items; `recording` calls it with every change."""

from satchel.model import Item
from satchel.services.states import State
from satchel.storage import search
from satchel.storage.database import Tx
from satchel.storage.search import Space
from satchel.storage.search_words import ItemText


def index_item(tx: Tx, after: Item, before: Item | None = None) -> None:
    """Index an item that was added, or changed from what it was before. Projects are not indexed."""
    if after.kind == "project":
        return
    space, text = _space(after), _text(after)
    if before is None or (_space(before), _text(before)) != (space, text):
        tx.gather(search.put, space, (after.number, text))


def _space(item: Item) -> Space:
    return Space(item.kind, item.project, item.owner)


def _text(item: Item) -> ItemText:
    fields = item.fields
    assert isinstance(fields, State)
    return ItemText(
        title=item.title,
        name=item.name,
        tags=fields.tags,
        description=fields.description or "",
        text=item.content if isinstance(item.content, str) else "",
    )
