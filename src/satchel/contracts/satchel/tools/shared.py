"""What the definitions of several nouns share: types of arguments, pieces of schemas, and how a row is made."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from satchel.contracts.contract import Body, Context, Tool
from satchel.contracts.first_call import FirstCall
from satchel.contracts.schema import Schema, hidden
from satchel.services.rules import MAX_NAME

MOST_ENTRIES = 200  # of one call

# -- arguments --------------------------------------------------------------------------------------------------
# Short on purpose: a client gives a model all descriptions before the first question.

LINE = hidden(is_trimmed=True, max_length=10_000)
NAME = hidden(is_trimmed=True, max_length=MAX_NAME)
QUERY = hidden(max_length=1000)

Text = Annotated[str, Meta(extra=LINE)]
Project = Annotated[str, Meta(extra=NAME)]  # the current one, if it is left out
Tags = Annotated[list[str], Meta(extra=hidden(max_items=100))]
ChangedTags = Annotated[list[str], Meta(description="All, or +x and -x", extra=hidden(max_items=100))]
Match = Annotated[Literal["any", "all"], Meta(extra_json_schema={"enum": ["any", "all"]})]
Limit = Annotated[int, Meta(le=200, extra=hidden(minimum=1))]
Key = Annotated[str, Meta(description="Makes a retry safe", extra=hidden(max_length=200))]
Cursor = Annotated[str, Meta(extra=hidden(max_length=2000))]
Version = Annotated[
    int,
    Meta(extra=hidden(minimum=1, maximum=2**63 - 1)),
]
Lines = Annotated[
    str, Meta(description="Like 10-40", extra=hidden(takes_numbers=True, is_trimmed=True, max_length=100))
]
Heading = Annotated[str, Meta(extra=hidden(is_trimmed=True, max_length=1000))]
Whole = Annotated[bool, Meta(extra=hidden())]


# -- schemas ----------------------------------------------------------------------------------------------------

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
COUNTED: Schema = {"type": "object", "required": ["name"]}  # with how much there is of it
BOOLEAN: Schema = {"type": "boolean"}


def object_with(required: tuple[str, ...], /, **members: Schema) -> Schema:
    """The schema of an object with these members, and perhaps others."""
    return {"type": "object", "properties": members, "required": list(required)}


_ERROR = object_with(("code",), code=STRING)  # and a message, and a hint; to say so costs a kilobyte in tools/list


def answer_with(**members: Schema) -> Schema:
    """The schema of what a tool answers: the project and these members, or an error."""
    members = {"project": STRING, **members}
    required = [name for name in members if name != "next_cursor"]
    return {
        "type": "object",
        "properties": {**members, "error": _ERROR},
        "oneOf": [{"required": required}, {"required": ["error"]}],
    }


def answer_with_one(**members: Schema) -> Schema:
    """The schema of what a tool with several answers gives: the project and one of these members, or an error."""
    answers = [{"required": ["project", name]} for name in members]
    properties = {"project": STRING, **members, "error": _ERROR}
    return {"type": "object", "properties": properties, "oneOf": [*answers, {"required": ["error"]}]}


def array_of(items: Schema) -> Schema:
    """The schema of a list."""
    return {"type": "array", "items": items}


# -- tools ------------------------------------------------------------------------------------------------------

# What a tool does to the store, as annotations tell it to clients.
READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
ADDS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
UPDATES = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}
EDITS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False}
COMPLETES = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
DELETES = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False}


def find_function(path: str) -> FirstCall:
    """The function `module:name`, of a module of this contract, that the first call imports."""
    return FirstCall(f"satchel.contracts.satchel.{path}")


def make_tool(
    toolset: str,
    path: str,
    description: str,
    input: type[Struct],
    output_schema: Schema,
    annotations: dict[str, bool] = READS,
    at_least_one: tuple[str, ...] = (),
    **more: Any,
) -> Tool:
    """A row of a table of tools, from the `module:name` of its function; the tool has the name of the function.

    `more` are further members of the row.
    """
    name = path.partition(":")[2]
    return Tool(
        name,
        description,
        input,
        FirstCall(f"satchel.contracts.satchel.{path}", _wrap),
        title=name.replace("_", " ").capitalize(),
        writes=not annotations["readOnlyHint"],
        size_argument="limit" if "limit" in input.__struct_fields__ else None,
        toolset=toolset,
        at_least_one=at_least_one,
        output_schema=output_schema,
        annotations=annotations,
        **more,
    )


def _wrap(run: Callable[[Context, Any], Body]) -> Callable[[Context, Any], Body]:
    """A tool that tells more about names that it does not find, and about a project that did not exist."""
    from satchel.contracts.satchel.deleted_items import with_explanations  # with what tools do, at the first call
    from satchel.contracts.satchel.place import with_place

    return with_explanations(with_place(run))
