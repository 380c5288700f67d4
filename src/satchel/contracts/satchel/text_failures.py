"""Errors about texts: values that a prompt does not take, edits that do not fit, parts that are not there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from satchel.contracts.contract import Body
from satchel.contracts.satchel import failures
from satchel.contracts.satchel.failures import FAILURES, error
from satchel.errors import EntryRefused, MissingPart, Refused, WrongArgument, WrongEdit
from satchel.protocol import ProtocolError, invalid_params


class WrongValue(Refused):
    """A prompt, or another item, does not take what it was given, or lacks something."""

    def __init__(self, message: str, hint: str, argument: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.argument = argument  # its name
        self.near = near  # names, or values, that it may have


class MissingValue(WrongValue):
    """A prompt needs a value that it was not given."""


@contextmanager
def name_place(place: str) -> Iterator[None]:
    """Make errors about one of several things say which."""
    try:
        yield
    except Refused as error:
        within = f".{error.place}" if isinstance(error, WrongArgument) else ""
        raise EntryRefused(f"{place}{within}", error) from error


# -- words ------------------------------------------------------------------------------------------------------


def explain_wrong_value(wrong: WrongValue) -> Body:
    near = {"near": list(wrong.near)} if wrong.near else {}
    return error("invalid_argument", wrong.message, wrong.hint, argument=wrong.argument, **near)


def explain_wrong_edit(wrong: WrongEdit) -> Body:
    place = f"edits[{wrong.index}]"
    if wrong.reason == "empty":
        return error(
            "invalid_argument", f"{place}.old is empty.", "Use append or prepend to add text.", argument="edits"
        )
    if wrong.reason == "same":
        hint = "The text may be as you want it already: read it."
        return error("invalid_argument", "Nothing would change.", hint, argument="edits")
    if wrong.reason == "repeated":
        where = f"line{'s' if wrong.lines[1:] else ''} {', '.join(map(str, wrong.lines))}"
        message = f"{place}.old occurs {wrong.count} times, first in {where}. Nothing was changed."
        hint = "Give more of the text around it, or all: true."
        return error("invalid_argument", message, hint, argument="edits", count=wrong.count, lines=list(wrong.lines))
    message = f"{place}.old does not occur in the text. Nothing was changed."
    if wrong.near is None:
        return error("invalid_argument", message, "Read the text again and copy from it.", argument="edits")
    line, text = wrong.near
    near = {"line": line, "text": text}
    return error("invalid_argument", message, f"Line {line} is the nearest: {text}.", argument="edits", near=near)


def explain_missing_part(missing: MissingPart) -> Body:
    message = f"The text has no heading '{missing.heading}'."
    if not missing.near:
        return error("not_found", message, "It has no headings: ask for lines.", argument="heading")
    hint = f"Did you mean {' or '.join(missing.near)}?"
    return error("not_found", message, hint, argument="heading", near=list(missing.near))


TEXT_FAILURES: dict[type[Exception], Callable[[Any], Body]] = {
    **FAILURES,
    WrongValue: explain_wrong_value,
    WrongEdit: explain_wrong_edit,
    MissingPart: explain_missing_part,
}

# MCP has no hint in an error of prompts/get, and many clients show no more than its message.
METHOD_FAILURES: dict[type[Exception], Callable[[Any], ProtocolError]] = {
    **failures.METHOD_FAILURES,
    WrongValue: lambda wrong: invalid_params(f"{wrong.message} {wrong.hint}"),
}
