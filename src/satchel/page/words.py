"""Error messages for the page, and the HTTP status of each error."""

from collections.abc import Callable, Sequence
from typing import Any

from satchel.errors import (
    AmbiguousItem,
    EntryRefused,
    Forbidden,
    LabelMissing,
    NotFound,
    OutcomeUnknown,
    SatchelError,
    StoreError,
    Taken,
    TaskHeld,
    UnknownAuthor,
    VersionConflict,
    VersionMissing,
)
from satchel.library.render import RenderFailed
from satchel.services import wording
from satchel.services.links import Link

_STATUSES: dict[type[SatchelError], int] = {
    NotFound: 404,
    Forbidden: 403,
    VersionMissing: 404,
    UnknownAuthor: 404,
    LabelMissing: 404,
    Taken: 409,
    VersionConflict: 409,
    TaskHeld: 409,
    StoreError: 503,
}
_GONE = "It may have been renamed or deleted: look in the trash."
_ADVICE: dict[type[SatchelError], Callable[[Any], str]] = {
    NotFound: lambda _: _GONE,
    Forbidden: lambda _: _GONE,
    Taken: lambda error: f"Choose another {error.field}.",
    VersionMissing: lambda _: "It may have been pruned from the history.",
    UnknownAuthor: lambda error: f"Authors of changes here: {'; '.join(error.authors) or 'none'}.",
    AmbiguousItem: lambda _: "Open the one you mean.",
}
_VOICE = wording.Voice(quote=lambda text: f"“{text}”", advice=_ADVICE)


def find_status(error: SatchelError | RenderFailed) -> int:
    """Return the HTTP status of an error."""
    return next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 422)


def explain(error: SatchelError | RenderFailed) -> str:
    """Describe an error and the next step, in one or two sentences."""
    if isinstance(error, RenderFailed):
        where = "" if error.line is None else f" in line {error.line}"
        return f"The text is not a valid template: {error.what}{where}."
    if isinstance(error, EntryRefused):
        line = "".join(filter(str.isdigit, error.place))
        return f"Line {int(line) + 1}: {explain(error.cause)}" if line else explain(error.cause)
    if isinstance(error, Forbidden) and error.kind == "change":
        return "Your access is read-only, so nothing can be changed here."
    if isinstance(error, VersionConflict):
        return "It was changed meanwhile. Nothing of yours was lost: compare, then save again."
    if isinstance(error, OutcomeUnknown):
        return "The connection to the store was lost. Check whether this was done before you repeat it."
    if isinstance(error, StoreError):
        return "The store cannot be reached at the moment. Try again."
    what = wording.explain(error, _VOICE)
    return f"{what[:1].upper()}{what[1:]}"


def describe_deleted(name: str, referrers: Sequence[Link]) -> str:
    """Say that a prompt or document was deleted, and which templates include it."""
    by = ", ".join(f"“{one.title or one.key}”" for one in referrers if one.is_include)
    lost = f" These prompts include it and cannot be filled in without it: {by}." if by else ""
    return f"“{name}” is in the trash.{lost}"
