"""Errors in sentences for people: what is wrong and what to do next, in the voice of the page or the command line."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from satchel.errors import (
    AmbiguousItem,
    AnswerTooLarge,
    EntryRefused,
    Forbidden,
    MissingBlocker,
    MissingPart,
    NotFound,
    NothingReady,
    SatchelError,
    StaleFence,
    Taken,
    TaskClosed,
    TaskHeld,
    VersionConflict,
    VersionMissing,
    WrongArgument,
    WrongEdit,
)

_SCOPED = ("prompt", "document")  # kinds whose names are those of a project


class Voice(Struct, frozen=True, kw_only=True):
    """How the page or the command line words errors."""

    quote: Callable[[object], str]
    taken: str  # that another thing has a name
    advice: Mapping[type[SatchelError], Callable[[Any], str]]  # what to do next; the most specific type counts

    def name(self, kind: str) -> str:
        """Return what people call a kind."""
        return "thing" if kind == "item" else kind

    def name_item(self, kind: str, key: str) -> str:
        """Return a task by its number, anything else by its name in quotes."""
        is_number = kind == "task" and key.lstrip("#").isdigit()
        return f"{self.name(kind)} {key if is_number else self.quote(key)}"


def explain(error: SatchelError, voice: Voice) -> str:
    """Return what is wrong and what to do next; the first letter is small."""
    if isinstance(error, EntryRefused):
        return explain(error.cause, voice)
    advice = next((voice.advice[kind] for kind in type(error).__mro__ if kind in voice.advice), None)
    return f"{describe(error, voice)}. {advice(error) if advice else ''}".rstrip()


def describe(error: SatchelError, voice: Voice) -> str:
    """Return what is wrong in one sentence that begins with a small letter and has no full stop."""
    quote = voice.quote
    if isinstance(error, EntryRefused):
        return describe(error.cause, voice)
    if isinstance(error, WrongArgument):
        return _describe_wrong(error, voice)
    if isinstance(error, NotFound | Forbidden):
        where = f" in project {quote(error.scope.project)}" if error.kind in _SCOPED else ""
        return f"there is no {voice.name_item(error.kind, error.key)}{where}"
    if isinstance(error, Taken):
        where = "" if error.kind == "project" else f" in project {quote(error.scope.project)}"
        holder = f" ({voice.name_item('document', error.holder)})" if error.holder else ""
        facts = {"kind": voice.name(error.kind), "field": error.field, "key": quote(error.key)}
        return voice.taken.format(**facts, where=where, holder=holder)
    if isinstance(error, VersionConflict):
        return f"{voice.name_item(error.kind, error.key)} has version {error.actual} by now, not {error.expected}"
    if isinstance(error, VersionMissing):
        return f"{voice.name_item(error.kind, error.key)} has no version {error.version}"
    if isinstance(error, AmbiguousItem):
        return f"several things are called {quote(error.key)}"
    if found := _describe_task(error, voice):
        return found
    text = str(error).removesuffix(".")
    return f"{text[:1].lower()}{text[1:]}"


def _describe_task(error: SatchelError, voice: Voice) -> str | None:
    """Return what is wrong about a task or a text; None for other errors."""
    quote = voice.quote
    if isinstance(error, MissingBlocker):
        return f"it was blocked by task {error.number}, {quote(error.title)}, which is in the trash"
    if isinstance(error, TaskHeld):
        return f"{error.claim.holder} is working on task {error.number}, until {error.claim.until[11:16]} UTC"
    if isinstance(error, TaskClosed):
        return f"task {error.number} is {error.status} already"
    if isinstance(error, StaleFence):
        newest = f"is {error.claim.fence}, not {error.fence}" if error.claim else "is none: it was never claimed"
        return f"the fence of task {error.number} {newest}"
    if isinstance(error, NothingReady):
        where = f" in project {quote(error.project)}" if error.project else ""
        return f"no task is ready{where}: {error.blocked} blocked, {error.held} held by others"
    if isinstance(error, AnswerTooLarge):
        return f"the answer would have more than {error.limit} bytes"
    if isinstance(error, MissingPart):
        return f"the text has no heading {quote(error.heading)}"
    if isinstance(error, WrongEdit):
        reasons = {
            "empty": "there is no text to replace",
            "absent": "the text to replace does not occur",
            "repeated": f"the text to replace occurs {error.count} times",
            "same": "nothing would change",
        }
        return reasons[error.reason]
    return None


def _describe_wrong(error: WrongArgument, voice: Voice) -> str:
    field, kind = error.field.replace("_", " "), error.kind or ""
    what = f"the {field} of a {voice.name(kind)}" if kind and kind != "argument" else f"the {field}"
    value = voice.quote(error.value)
    words: dict[tuple[str, str], str] = {
        ("name", "pattern"): f"{value} cannot be a {voice.name(kind)} name: use letters, digits, '-', '_' and '.'",
        ("tag", "pattern"): f"{value} cannot be a tag: use up to 50 letters, digits, '-' and '_'",
        ("name", "reserved"): f"{value} cannot be a {voice.name(kind)} name, because it is an id: use words",
        ("title", "reserved"): f"{value} cannot be a title, because it is an id: use words",
        ("name", "not"): f"{value} is the name of a prompt that the server has itself: choose another",
        ("uri", "reserved"): f"{value} is a URI of Satchel's own: give one of another scheme",
        ("uri", "format"): f"{value} is no URI: it needs a scheme, as in file:///docs/api.md, and no spaces",
        ("mime_type", "format"): f"{value} is no MIME type; one looks like text/markdown",
        ("content", "contentEncoding"): "the content is not UTF-8 text, which its type needs",
        ("content", "template"): f"the text is no valid template: {error.value}",
        ("due", "format"): f"{value} is no day: write 2026-12-31, tomorrow, friday or 3d",
        ("user", "format"): f"{value} is no user: a user is a UUID, as `satchel user` prints it",
        (
            "expires_at",
            "format",
        ): f"{value} is no time: write 12h, 90d, tomorrow, friday, 2030-12-31 or 2030-12-31T18:00",
        ("since", "format"): f"{value} is no time: write 2h, 3d, yesterday, monday, 2026-11-17 or 2026-11-17T12:00",
        ("expires_at", "minimum"): f"a token cannot expire at {error.value}, in the past: give a later time",
        # Without the value, which may be a secret.
        ("id", "pattern"): "give a token by its id, or by the first 8 characters of it or more, and never by its "
        "secret. List the ids with: satchel token list",
        ("id", "oneOf"): f"several tokens have an id that starts with {error.value}. Give more of it",
        ("cursor", "format"): "this cursor is not valid here: use next_cursor from the previous page",
        ("lines", "format"): f"{value} is no range of lines; one looks like 10-40, 10- or 25",
        ("lines", "maximum"): f"the last line of the text is {error.limit}",
        ("lines", "contentEncoding"): f"a document of {error.value} has no lines",
        ("heading", "contentEncoding"): f"a document of {error.value} has no headings",
        ("blocked_by", "acyclic"): "a task cannot wait for itself, not even through others",
        ("prompt", "readOnly"): f"prompt {value} belongs to a library: change its file on disk",
        ("arguments", "pattern"): f"{value} cannot be an argument: use letters, digits and '_', no digit first",
        ("arguments", "uniqueItems"): "two arguments have the same name",
        ("", "signs"): f"give every entry of {field} a + or a -, or none",
        ("", "hidden"): f"{what} has a character that does not show: {error.value}. Leave it out",
        ("", "minLength"): f"{what} must not be empty",
        ("", "maxLength"): f"{what} has at most {error.limit} characters",
        ("", "maxBytes"): f"{what} has at most {error.limit} bytes",
        ("", "maxItems"): f"there are at most {error.limit} {field}",
        ("", "minimum"): f"{what} is at least {error.limit}",
        ("", "maximum"): f"{what} is at most {error.limit}",
        ("", "required"): f"{what} is missing",
    }
    if error.rule == "dependentRequired" and isinstance(error.limit, tuple):
        return "changing the type from {} to {} needs new content".format(*error.limit)
    known = words.get((error.field, error.rule)) or words.get(("", error.rule))
    if known is None and not error.is_unstorable:
        return f"{what} cannot be that"
    return known or f"{what} contains NUL or bytes that are not UTF-8, and cannot be stored"
