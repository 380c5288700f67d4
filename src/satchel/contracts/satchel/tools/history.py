"""What clients see of the tools that read what changed and what was, and that restore it."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.satchel.tools import shared
from satchel.contracts.schema import hidden

# -- inputs -----------------------------------------------------------------------------------------------------

_REFERENCE = hidden(takes_numbers=True, is_trimmed=True, max_length=2000, is_blank_refused=True)
_NUMBER = hidden(minimum=1, maximum=2**63 - 1)

Item = Annotated[str, Meta(extra=_REFERENCE)]


class History(Struct):
    item: Item | UnsetType = UNSET
    since: Annotated[str, Meta(description="Time, 2h, 3d or marker", extra=shared.LINE)] | UnsetType = UNSET
    version: Annotated[int, Meta(extra=_NUMBER)] | UnsetType = UNSET
    against: Annotated[int, Meta(description="Diff from it", extra=_NUMBER)] | UnsetType = UNSET
    by: Annotated[str, Meta(extra=shared.LINE)] | UnsetType = UNSET
    cursor: shared.Cursor | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


class Restore(Struct):
    item: Item
    version: Annotated[int, Meta(description="Default: before the last change", extra=_NUMBER)] | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


# -- answers ----------------------------------------------------------------------------------------------------

_ROWS = {"type": "array"}
HISTORY = shared.answer_with_one(changes=_ROWS, versions=_ROWS, text=shared.STRING, diff=shared.STRING)
RESTORED = shared.answer_with(
    restored=shared.object_with(("kind", "item", "version", "changed"), item=shared.STRING, version=shared.INTEGER)
)


# -- table -----------------------------------------------------------------------------------------------------

TOOLS = (
    shared.make_tool(
        "",
        "history:history",
        "What changed in the project; with item its versions, one of them, or a diff",
        History,
        HISTORY,
    ),
    shared.make_tool(
        "", "history:restore", "Bring back an old version or a deleted item", Restore, RESTORED, shared.UPDATES
    ),
)
