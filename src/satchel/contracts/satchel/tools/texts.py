"""What clients see of the tool that edits a part of a text."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.satchel.tools import shared
from satchel.contracts.schema import hidden
from satchel.model import MAX_CONTENT_BYTES

# -- inputs -----------------------------------------------------------------------------------------------------

_REFERENCE = hidden(takes_numbers=True, is_trimmed=True, max_length=2000, is_blank_refused=True)
_EDIT = shared.object_with(("old", "new"), old=shared.STRING, new=shared.STRING, all=shared.BOOLEAN)

Item_ = Annotated[str, Meta(description="Name, #4 or URI", extra=_REFERENCE)]
Edits = Annotated[
    list[dict[str, Any]],
    Meta(
        description="old must occur once, unless all",
        extra_json_schema={"items": _EDIT},
        extra=hidden(max_items=100),
    ),
]
Added = Annotated[str, Meta(extra=hidden(max_bytes=MAX_CONTENT_BYTES))]


class EditText(Struct):
    item: Item_
    edits: Edits | UnsetType = UNSET
    append: Added | UnsetType = UNSET
    prepend: Added | UnsetType = UNSET
    expected_version: shared.Version | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


# -- table -----------------------------------------------------------------------------------------------------

EDITED = shared.answer_with(item=shared.STRING, version=shared.INTEGER, changed={"type": "array"})

TOOLS = (
    shared.make_tool(
        "",
        "texts:edit_text",
        "Change parts of a prompt, document or task description, all or none",
        EditText,
        EDITED,
        shared.EDITS,
        at_least_one=("edits", "append", "prepend"),
        look=shared.find_function("texts:look_at_edited"),
        prepare=shared.find_function("prompt_changes:prove_looked_at"),
    ),
)
