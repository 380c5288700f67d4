"""Keeps the index of words in step with items; `recording` calls it with every change."""

from satchel.model import Item
from satchel.services.states import State
from satchel.storage import search
from satchel.storage.database import Tx
from satchel.storage.search import Place
from satchel.storage.search_words import ItemText


def index_item(tx: Tx, after: Item, before: Item | None = None) -> None:
    """Index an item that was added, or changed from what it was before. Projects are not indexed."""
    if after.kind == "project":
        return
    place, text = _place(after), _text(after)
    known = None if before is None else (_place(before), _text(before))
    if known != (place, text):
        search.put(tx, place, after.number, text, known)


def forget_item(tx: Tx, item: Item) -> None:
    """Forget the words of an item that was deleted."""
    if item.kind != "project":
        search.forget(tx, _place(item), _text(item))


def _place(item: Item) -> Place:
    return Place(item.kind, item.project, item.owner)


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
