"""Errors in sentences for people who look at the page, and the status of their response."""

from satchel.errors import (
    AmbiguousItem,
    EntryRefused,
    Forbidden,
    MissingBlocker,
    NotFound,
    SatchelError,
    StoreError,
    Taken,
    VersionConflict,
    VersionMissing,
)
from satchel.library.render import RenderFailed
from satchel.services.explaining import Voice, describe

_STATUSES: dict[type[SatchelError], int] = {
    NotFound: 404,
    Forbidden: 403,
    VersionMissing: 404,
    Taken: 409,
    VersionConflict: 409,
    StoreError: 503,
}
_VOICE = Voice(
    quote=lambda text: f"“{text}”",
    names={"resource": "document", "item": "thing"},
    taken="another {kind} has the {field} {key}",
)
_NEXT: dict[type[SatchelError], str] = {
    NotFound: "It may have been renamed or deleted: look in the trash.",
    Forbidden: "It may have been renamed or deleted: look in the trash.",
    Taken: "Choose another.",
    VersionMissing: "History no longer has it.",
    MissingBlocker: "Restore that one first.",
    AmbiguousItem: "Open the one you mean.",
}


def find_status(error: SatchelError | RenderFailed) -> int:
    """The HTTP status of an error."""
    return next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 422)


def explain(error: SatchelError | RenderFailed) -> str:
    """An error in a sentence or two: what is wrong, and what to do next."""
    if isinstance(error, RenderFailed):
        where = "" if error.line is None else f" in line {error.line}"
        return f"The text is no valid template: {error.what}{where}."
    if isinstance(error, EntryRefused):
        line = "".join(filter(str.isdigit, error.place))
        return f"Line {int(line) + 1}: {explain(error.cause)}" if line else explain(error.cause)
    if isinstance(error, Forbidden) and error.kind == "change":
        return "Your access is read-only, so nothing can be changed here."
    if isinstance(error, VersionConflict):
        return "It was changed meanwhile. Nothing of yours was lost: compare, then save again."
    if isinstance(error, StoreError):
        return "The store cannot be reached at the moment. Try again."
    what = describe(error, _VOICE)
    next_ = next((_NEXT[kind] for kind in type(error).__mro__ if kind in _NEXT), "")
    return f"{what[:1].upper()}{what[1:]}. {next_}".rstrip()
