"""What clients see of the tool that finds items by words."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.satchel.tools import shared
from satchel.contracts.schema import hidden

# -- inputs -----------------------------------------------------------------------------------------------------

Words = Annotated[str, Meta(description='In "quotes": literally', extra=hidden(max_length=1000, is_blank_refused=True))]
Kind = Annotated[
    Literal["prompt", "document", "task"], Meta(extra=hidden(enum=("prompt", "document", "task", "resource")))
]


class Search(Struct):
    query: Words
    kind: Kind | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET
    limit: Annotated[int, Meta(le=50, extra=hidden(minimum=1))] = 10
    cursor: shared.Cursor | UnsetType = UNSET


# -- answers ----------------------------------------------------------------------------------------------------

HITS = shared.answer_with(
    hits=shared.array_of(
        shared.object_with(("kind", "reference"), kind=shared.STRING, reference=shared.STRING, line=shared.INTEGER)
    ),
    next_cursor=shared.STRING,
)


# -- table ------------------------------------------------------------------------------------------------------

TOOLS = (
    shared.make_tool(
        "",
        "search:search",
        "Find prompts, documents and tasks by words, best first",
        Search,
        HITS,
    ),
)
