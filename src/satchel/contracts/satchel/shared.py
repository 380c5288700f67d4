"""What the tools of several nouns share: types of arguments, the form of an answer, pieces of text and of schemas."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct, UnsetType

from satchel import clock
from satchel.contracts.contract import Body, Context, Reply, Tool
from satchel.contracts.satchel.deleted_items import with_explanations
from satchel.contracts.satchel.place import with_place
from satchel.contracts.schema import Schema, hidden
from satchel.errors import WrongArgument
from satchel.services.hidden_characters import check_shown
from satchel.services.rules import MAX_NAME

Answer = TypeVar("Answer", bound=Struct)

_SHORT = 200  # characters of a description that a list shows

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


def check_title(kind: str, title: str) -> None:
    """Check what titles have to be in this contract only: they are read by people, and are references.

    Raises:
        WrongArgument: a character does not show, or the title is an id.
    """
    check_shown("title", title.strip(), kind)
    if clock.parse_id(title.strip()) is not None:
        raise WrongArgument("title", "reserved", value=title.strip(), kind=kind)


def none_if_empty(text: str | UnsetType) -> str | UnsetType | None:
    """A text of an update: an empty one clears the field."""
    return text if isinstance(text, UnsetType) else text or None


# -- answers ----------------------------------------------------------------------------------------------------


def reply(text: str, structured: dict[str, Any], facts: str = "", *, notes: Sequence[str] = ()) -> Reply:
    """An answer as a text for people and a value for programs.

    Some clients show a model only the texts, so `facts` repeats in a second text what the next call needs. `notes` are
    sentences about what the caller may not expect.
    """
    if notes:
        text, structured = "\n".join([text, *notes]), {**structured, "notes": list(notes)}
    return Reply([{"type": "text", "text": one} for one in (text, facts) if one or one is text], structured)


def copy_members(value: Struct, answer: type[Answer], **others: Any) -> Answer:
    """An answer with the members that a value has under the same names, and with others."""
    names = [name for name in answer.__struct_fields__ if name not in others and hasattr(value, name)]
    return answer(**{name: getattr(value, name) for name in names}, **others)


def reply_page(
    what: str,
    project: str | None,
    lines: list[str],
    structured: dict[str, Any],
    *,
    next_cursor: str | None,
    is_narrowed: bool,
    is_continued: bool,
    notes: Sequence[str] = (),
) -> Reply:
    """One page of a list; an empty one says whether there are none, none match, or the pages before were all."""
    if next_cursor is not None:
        structured["next_cursor"] = next_cursor
        lines.append(f"More with cursor {next_cursor}")
    if not lines and is_continued:
        lines = [f"No more {what}."]
    elif not lines:
        where = f" in project '{project}'" if project else ""
        lines = [f"No {what}{where}{' match' if is_narrowed else ''}."]
    return reply("\n".join(lines), structured, notes=notes)


def shorten(text: str) -> str:
    """The beginning of a text, in one line."""
    plain = " ".join(text[: 2 * _SHORT].split())
    return plain if len(plain) <= _SHORT and len(text) <= 2 * _SHORT else f"{plain[:_SHORT]}..."


def mark_layer(description: str | None, layer: str) -> str | None:
    """What a client shows of an item in a list of MCP, with the personal project if it is from there."""
    return f"{description} ({layer})" if description and layer else description or layer or None


def format_count(count: int, what: str) -> str:
    """A number of things, as in `1 byte` and `2 bytes`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


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


def make_tool(
    toolset: str,
    run: Callable[[Context, Any], Body],
    description: str,
    input: type[Struct],
    output_schema: Schema,
    annotations: dict[str, bool] = READS,
    at_least_one: tuple[str, ...] = (),
    **more: Any,
) -> Tool:
    """A row of a table of tools; the tool has the name of its function, and a title made from it.

    `more` are further members of the row.
    """
    return Tool(
        run.__name__,
        description,
        input,
        with_explanations(with_place(run)),
        title=run.__name__.replace("_", " ").capitalize(),
        writes=not annotations["readOnlyHint"],
        size_argument="limit" if "limit" in input.__struct_fields__ else None,
        toolset=toolset,
        at_least_one=at_least_one,
        output_schema=output_schema,
        annotations=annotations,
        **more,
    )
