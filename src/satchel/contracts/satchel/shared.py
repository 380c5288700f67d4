"""What the tools of several nouns share: rules about titles, the form of an answer, and pieces of text."""

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import Struct, UnsetType

from satchel import clock
from satchel.contracts.contract import Reply
from satchel.errors import WrongArgument
from satchel.services.hidden_characters import check_shown

Answer = TypeVar("Answer", bound=Struct)

_SHORT = 200  # characters of a description that a list shows


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
