"""Finds the items that arguments name, of any kind that the caller may change."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from satchel.contracts.contract import Context
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.errors import UnknownName, name_place, suggest
from satchel.contracts.satchel.templates import find_in_libraries
from satchel.errors import NotFound, WrongArgument
from satchel.model import Item, ItemKind, Scope, uri_of
from satchel.services import documents, prompts, references, tasks
from satchel.storage.database import Tx

# By kind: the tool that a caller must be able to use to change it.
CHANGING: dict[ItemKind, str] = {"prompt": "update_prompt", "document": "update_resource", "task": "update_task"}

_LOOK = "Look for it with search or a list tool; restore brings back what was deleted."
_SUGGESTIONS = 3
_NAMED: tuple[tuple[ItemKind, Callable[[Tx, Scope, str], tuple[str, ...]]], ...] = (
    ("prompt", prompts.suggest),
    ("document", documents.suggest),
)


def find_items(context: Context, given: Sequence[str]) -> list[Item]:
    """The items that a call names, each once.

    Raises:
        EntryRefused: one of them cannot be found or changed.
    """
    answers.check_number("items", given)
    found: dict[tuple[ItemKind, int], Item] = {}
    for index, reference in enumerate(given):
        with name_place(f"items[{index}]"):
            item = find_item(context, reference)
        found[item.kind, item.number] = item
    return list(found.values())


def find_item(context: Context, reference: str) -> Item:
    """The prompt, document or task that a reference names.

    Raises:
        UnknownName: there is none that the caller may change.
        WrongArgument: it is a prompt of a library.
        AmbiguousItem: several have this name.
    """
    in_library = find_in_libraries(context, reference)
    if in_library is not None:
        raise WrongArgument("prompt", "readOnly", value=in_library.name)
    try:
        item = references.find(context.tx, context.scope, reference).live
    except NotFound as missing:
        if missing.kind == "project":
            raise
        item = None
    if item is not None and CHANGING.get(item.kind) in context.tools:
        return item
    unknown = NotFound("item", reference, context.scope)

    def look(later: Context, missing: NotFound) -> UnknownName:
        return UnknownName(missing, _suggest(replace(later, scope=context.scope), reference), hint=_LOOK)

    raise suggest(context, unknown, look)


def name_item(item: Item) -> str:
    """What names an item in a call: its name, or the number of a task."""
    return f"#{item.number}" if item.kind == "task" else item.name


def format_item(item: Item) -> str:
    """An item in a few words."""
    if item.kind == "task":
        return f"#{item.number} {' '.join(item.title.split())}"
    return f"{item.kind} {item.name}"


def _suggest(context: Context, reference: str) -> tuple[str, ...]:
    """What a mistyped reference may stand for, of the kinds that the caller may change."""
    near: list[str] = []
    text = reference.strip()
    for kind, find_similar in _NAMED:
        if (
            CHANGING[kind] in context.tools
        ):  # a name like a number is taken for that of a task, so its URI tells it apart
            names = find_similar(context.tx, context.scope, reference)
            near += [uri_of(kind, name) if name == text else name for name in names]
    if CHANGING["task"] in context.tools:
        near += [f"#{number}" for number, _ in tasks.suggest(context.tx, context.scope, reference)]
    return tuple(dict.fromkeys(near))[:_SUGGESTIONS]
