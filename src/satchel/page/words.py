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
    TaskClosed,
    TaskHeld,
    VersionConflict,
    VersionMissing,
    WrongArgument,
)
from satchel.library.render import RenderFailed

_STATUSES: dict[type[SatchelError], int] = {
    NotFound: 404,
    Forbidden: 403,
    VersionMissing: 404,
    Taken: 409,
    VersionConflict: 409,
    StoreError: 503,
}
_NAMES = {"resource": "document", "item": "thing"}


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
    if isinstance(error, NotFound | Forbidden):
        kind = _NAMES.get(error.kind, error.kind)
        where = f" in project {error.scope.project}" if error.kind in ("prompt", "resource") else ""
        return f"There is no {kind} “{error.key}”{where}. It may have been renamed or deleted: look in the trash."
    if isinstance(error, Taken):
        return f"Another {_NAMES.get(error.kind, error.kind)} has the {error.field} “{error.key}”. Choose another."
    if isinstance(error, VersionConflict):
        return "It was changed meanwhile. Nothing of yours was lost: compare, then save again."
    if isinstance(error, VersionMissing):
        return f"History no longer has version {error.version}."
    if isinstance(error, MissingBlocker):
        return f"It was blocked by task {error.number}, “{error.title}”, which is in the trash: restore that one first."
    if isinstance(error, AmbiguousItem):
        return f"Several things are called “{error.key}”."
    if isinstance(error, TaskHeld):
        return f"{error.claim.holder} is working on task {error.number}."
    if isinstance(error, TaskClosed):
        return f"Task {error.number} is {error.status} already."
    if isinstance(error, WrongArgument):
        return f"{_explain_wrong(error)}."
    if isinstance(error, StoreError):
        return "The store cannot be reached at the moment. Try again."
    return f"{error}."


def _explain_wrong(error: WrongArgument) -> str:
    field = f"The {error.field}"
    words = {
        ("name", "pattern"): f"“{error.value}” cannot be a name: use letters, digits, “-”, “_” and “.”",
        ("tag", "pattern"): f"“{error.value}” cannot be a tag: use up to 50 letters, digits, “-” and “_”",
        ("uri", "format"): f"“{error.value}” is no URI: it needs a scheme, as in file:///docs/api.md, and no spaces",
        ("mime_type", "format"): f"“{error.value}” is no MIME type; one looks like text/markdown",
        ("due", "format"): f"“{error.value}” is no day; one looks like 2026-12-31",
        ("content", "template"): f"The text is no valid template: {error.value}",
        ("", "hidden"): f"{field} has a character that does not show: {error.value}. Leave it out",
        ("", "minLength"): f"{field} must not be empty",
        ("", "maxLength"): f"{field} has at most {error.limit} characters",
        ("", "maxBytes"): f"{field} has at most {error.limit} bytes",
        ("", "maxItems"): f"There are at most {error.limit} {error.field}",
        ("", "required"): f"{field} is missing",
    }
    return words.get((error.field, error.rule)) or words.get(("", error.rule)) or f"{field} cannot be that"
