"""What clients see of the tools that change or delete several items of any kind."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.satchel.tools import shared
from satchel.contracts.schema import hidden

# -- inputs -----------------------------------------------------------------------------------------------------

Items = Annotated[
    list[str],
    Meta(description="#4, name, URI", extra=hidden(max_items=shared.MOST_ENTRIES, takes_numbers=True)),
]
_STATUSES = ["pending", "completed", "cancelled"]


class Delete(Struct):
    items: Items
    project: shared.Project | UnsetType = UNSET


class UpdateItems(Struct):
    items: Items
    tags: shared.Tags | UnsetType = UNSET
    status: (
        Annotated[Literal["pending", "completed", "cancelled"], Meta(extra_json_schema={"enum": _STATUSES})] | UnsetType
    ) = UNSET
    to: Annotated[str, Meta(description="Project to move to", extra=shared.NAME)] | UnsetType = UNSET
    copy: Annotated[bool, Meta(description="Copy there instead")] | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


# -- table -----------------------------------------------------------------------------------------------------

_ROWS = {"type": "array"}

TOOLS = (
    shared.make_tool(
        "",
        "items:update_items",
        "Tag (+x, -x), close, reopen, move or copy items, all or none",
        UpdateItems,
        shared.answer_with(items=_ROWS),
        shared.UPDATES,
        at_least_one=("tags", "status", "to"),
    ),
    shared.make_tool(
        "",
        "items:delete",
        "Delete items; restore brings them back",
        Delete,
        shared.answer_with(deleted=_ROWS),
        shared.DELETES,
    ),
)
