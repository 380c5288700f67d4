"""One sentence for each error; tools, commands and pages add the next step in their own terms."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from satchel.errors import (
    AmbiguousItem,
    AnswerTooLarge,
    EntryRefused,
    Forbidden,
    LabelMissing,
    MissingPart,
    NotFound,
    NothingReady,
    SatchelError,
    StaleFence,
    Taken,
    TaskClosed,
    TaskHeld,
    UnknownAuthor,
    VersionConflict,
    VersionMissing,
    WrongArgument,
    WrongEdit,
)

_MOST_HELD = 10  # tasks that an error names beside the first
_LONGEST_QUOTED = 60  # characters of a wrong value
_SCOPED = ("prompt", "document")  # kinds whose names belong to a project


# By field and rule of a wrong argument; a rule without a field applies to all other fields.
SENTENCES: Mapping[tuple[str, str], str] = {
    ("", "required"): "{field} is missing",
    ("", "minLength"): "{field} must not be empty",
    ("", "maxLength"): "{field} can have at most {limit} characters",
    ("", "maxBytes"): "{field} can have at most {limit} bytes",
    ("", "maxItems"): "{field} can have at most {limit} entries",
    ("", "minItems"): "{field} needs at least one entry",
    ("", "minimum"): "{field} must be at least {limit}",
    ("", "maximum"): "{field} must be at most {limit}",
    ("", "signs"): "{field}: begin every entry with + or -, or none of them",
    ("", "uniqueItems"): "{field} has the same name as another entry",
    ("", "hidden"): "{field} has an invisible character: {value}",
    ("", "reserved"): "{field} cannot be {value}: it has the form of an id",
    ("name", "pattern"): "{field} can have letters, digits, - _ and . only",
    ("name", "everywhere"): "{field} cannot be {value}: it stands for all projects",
    ("name", "not"): "{field} cannot be {value}: the server has a prompt of that name",
    ("replaced_by", "not"): "{value} cannot be replaced by itself",
    ("mime_type", "format"): "{field} must look like text/markdown",
    ("uri", "format"): "{field} must begin with a scheme, such as file:, and have no spaces",
    ("uri", "reserved"): "{field} cannot be {value}: only Satchel makes URIs that begin with satchel:",
    ("content", "template"): "{field} is not a valid template: {value}",
    ("label", "pattern"): "{field} can have up to 64 letters, digits, - _ and ., and must not begin with -",
    ("label", "maxItems"): "A prompt can have at most {limit} labels",
    ("content", "include"): "{field} cannot be filled in: {value}",
    (
        "arguments",
        "pattern",
    ): "{field} can have letters, digits and _ only, must not begin with a digit, and cannot be a Jinja2 keyword",
    ("due", "filter"): "{field} must be overdue, today, week, or a day like <2026-12-01",
    ("cursor", "format"): "{field} is not valid here: use next_cursor from the previous page",
    ("lines", "format"): "{field} must be a range like 10-40, 10- or 25",
    ("lines", "maximum"): "The last line of the text is {limit}",
    ("lines", "contentEncoding"): "A document of type {value} has no lines",
    ("heading", "contentEncoding"): "A document of type {value} has no headings",
    ("blocked_by", "acyclic"): "A task cannot wait for itself: {value}",
    ("parent", "acyclic"): "A task cannot be a subtask of itself: {value}",
    ("after", "acyclic"): "A task cannot wait for itself: {value}",
    ("in", "acyclic"): "A task cannot be a subtask of itself: {value}",
    ("after", "maximum"): "after:{value} names no task of this call: the highest position is {limit}",
    ("in", "maximum"): "in:{value} names no task of this call: the highest position is {limit}",
    ("lines", "grammar"): "{value} exclude each other",
    ("lines", "claims"): "A new task cannot be in progress",
    ("lines", "uniqueItems"): "{value} is the label of another line",
    ("note", "maxItems"): "A task has at most {limit} notes",
    ("text", "maxItems"): "{value} is full: it can have at most {limit} lines and 64 KiB",
    ("text", "memory"): "Nothing can be remembered, because document {value} of the project is not a text",
}
# The same for values as people write them.
_FOR_PEOPLE: Mapping[tuple[str, str], str] = {
    ("tag", "pattern"): "{quoted} cannot be a tag: use up to 50 letters, digits, - and _",
    ("content", "contentEncoding"): "the content is not UTF-8 text, as its MIME type requires",
    ("due", "format"): "{quoted} is not a day: write 2026-12-31, tomorrow, friday or 3d",
    ("text", "maxItems"): (
        "{value} is full: it can have at most {limit} lines and 64 KiB. Shorten it with: satchel document edit {value}"
    ),
    ("expires", "format"): "{quoted} is not a day: write it like 2026-12-31",
    ("due", "filter"): "{quoted} is not a range of due days: write overdue, today, week or <2026-12-01",
    ("user", "format"): "{quoted} is not a user: a user is a UUID, as `satchel user` prints it",
    ("expires_at", "format"): (
        "{quoted} is not a time: write 12h, 90d, tomorrow, friday, 2030-12-31 or 2030-12-31T18:00"
    ),
    ("since", "format"): "{quoted} is not a time: write 2h, 3d, yesterday, monday, 2026-11-17 or 2026-11-17T12:00",
    ("until", "format"): "{quoted} is not a time: write 2h, 3d, yesterday, monday, 2026-11-17 or 2026-11-17T12:00",
    ("expires_at", "minimum"): "a token cannot expire in the past ({value}): give a later time",
    # This omits the value, which may be a secret.
    ("id", "pattern"): (
        "name a token by its id or at least its first 8 characters, never by its secret. "
        "List the ids with: satchel token list"
    ),
    ("id", "oneOf"): "several tokens have an id that starts with {value}. Give more characters of the id",
    ("prompt", "readOnly"): "prompt {quoted} belongs to a library: change its file on disk",
    (
        "arguments",
        "pattern",
    ): "{quoted} cannot be an argument: use letters, digits and _, and do not begin with a digit",
    ("", "hidden"): "{field} has an invisible character: {value}. Remove it",
    ("", "maxItems"): "there can be at most {limit} {name}",
}


class Voice(Struct, frozen=True, kw_only=True):
    """The wording of errors on the page or the command line."""

    quote: Callable[[object], str]
    advice: Mapping[type[SatchelError], Callable[[Any], str]]  # the next step; the most specific type applies

    def name(self, kind: str) -> str:
        """Return the word for a kind."""
        return "thing" if kind == "item" else kind

    def name_item(self, kind: str, key: str) -> str:
        """Name an item in a sentence: a task by its number, anything else by its name in quotes."""
        is_number = kind == "task" and key.lstrip("#").isdigit()
        return f"{self.name(kind)} {key if is_number else self.quote(key)}"


def explain(error: SatchelError, voice: Voice) -> str:
    """Describe an error and the next step; the first letter is in lower case."""
    return f"{describe(error, voice)}. {advise(error, voice)}".rstrip()


def advise(error: SatchelError, voice: Voice) -> str:
    """Return the next step after an error; empty if there is none."""
    if isinstance(error, EntryRefused):
        return advise(error.cause, voice)
    advice = next((voice.advice[kind] for kind in type(error).__mro__ if kind in voice.advice), None)
    return advice(error) if advice else ""


def describe(error: SatchelError, voice: Voice) -> str:
    """Describe an error in one sentence, with a lower-case first letter and without a full stop."""
    quote = voice.quote
    if isinstance(error, EntryRefused):
        return describe(error.cause, voice)
    if isinstance(error, WrongArgument):
        return _describe_wrong(error, voice)
    if isinstance(error, NotFound | Forbidden):
        where = f" in project {quote(error.scope.project)}" if error.kind in _SCOPED else ""
        return f"there is no {voice.name_item(error.kind, error.key)}{where}"
    if isinstance(error, Taken):
        where = f" in project {quote(error.scope.project)}" if error.kind in _SCOPED else ""
        holder = f" ({voice.name_item('document', error.holder)})" if error.holder else ""
        return f"a {error.kind} with the {error.field} {quote(error.key)} already exists{where}{holder}"
    if isinstance(error, VersionConflict):
        return f"{voice.name_item(error.kind, error.key)} has version {error.actual}, not {error.expected}"
    if isinstance(error, VersionMissing):
        return f"{voice.name_item(error.kind, error.key)} has no version {error.version}"
    if isinstance(error, UnknownAuthor):
        return f"no change here is by {quote(error.by)}"
    if isinstance(error, LabelMissing):
        return f"{voice.name_item('prompt', error.key)} has no label {quote(error.label)}"
    if isinstance(error, AmbiguousItem):
        return f"several items are called {quote(error.key)}"
    if found := _describe_task(error, voice):
        return found
    text = str(error).removesuffix(".")
    return f"{text[:1].lower()}{text[1:]}"


def _describe_task(error: SatchelError, voice: Voice) -> str | None:
    """Describe an error about a task or a text; None for other errors."""
    quote = voice.quote
    if isinstance(error, TaskHeld):
        taken = f", who took it over from you at {error.claim.taken_at[:16]}Z" if error.was_yours else ""
        named = ", ".join(f"#{number}" for number in error.others[:_MOST_HELD])
        more = f" and {len(error.others) - _MOST_HELD} more" if len(error.others) > _MOST_HELD else ""
        too = f"; other agents hold {named}{more} too" if named else ""
        return f"task #{error.number} is held by {error.claim.holder} until {error.claim.until[:16]}Z{taken}{too}"
    if isinstance(error, TaskClosed):
        return f"task #{error.number} is {'in review' if error.status == 'review' else error.status}"
    if isinstance(error, StaleFence):
        return _describe_fence(error)
    if isinstance(error, NothingReady):
        where = f" in project {quote(error.project)}" if error.project else ""
        return f"no task is ready{where}: {error.blocked} blocked, {error.held} held by others"
    if isinstance(error, AnswerTooLarge):
        return f"the answer has more than {error.limit} bytes"
    if isinstance(error, MissingPart):
        which = "several headings that can be" if error.is_ambiguous else "no heading"
        return f"the text has {which} {quote(error.heading)}"
    if isinstance(error, WrongEdit):
        reasons = {
            "empty": "there is no text to replace",
            "absent": "the text to replace does not occur",
            "repeated": f"the text to replace occurs {error.count} times",
            "same": "nothing would change",
        }
        return reasons[error.reason]
    return None


def _describe_fence(stale: StaleFence) -> str:
    if stale.claim is None:
        return f"task #{stale.number} was never claimed"
    if stale.fence > stale.claim.fence:
        return f"fence {stale.fence} was never issued for task #{stale.number}"
    return f"the fence of task #{stale.number} is {stale.claim.fence}, not {stale.fence}: the task was claimed again"


def _describe_wrong(error: WrongArgument, voice: Voice) -> str:
    name, kind = error.field.replace("_", " "), error.kind or ""
    what = f"the {name} of a {voice.name(kind)}" if kind and kind != "argument" else f"the {name}"
    if error.rule == "dependentRequired" and isinstance(error.limit, tuple):
        return "changing the MIME type from {} to {} needs new content".format(*error.limit)
    if error.rule == "maxBytes" and isinstance(error.limit, int) and isinstance(error.value, str | bytes):
        value = error.value
        size = len(value.encode(errors="surrogatepass") if isinstance(value, str) else value)
        unit = f"{error.limit // 2**20} MiB" if error.limit >= 2**20 else f"{error.limit // 2**10} KiB"
        return f"{what} can have at most {unit} ({error.limit:,} bytes), and this one has {size:,} bytes"
    for key in ((error.field, error.rule), ("", error.rule)):
        if known := _FOR_PEOPLE.get(key) or SENTENCES.get(key):
            facts = {"field": what, "name": name, "limit": error.limit, "value": error.value}
            said = known.format(**facts, quoted=voice.quote(error.value))
            return f"{said[:1].lower()}{said[1:]}"
    if error.is_unstorable:
        return f"{what} contains NUL or bytes that are not UTF-8, and cannot be stored"
    is_short = isinstance(error.value, str) and len(error.value) <= _LONGEST_QUOTED
    return f"{what} cannot be {voice.quote(error.value) if is_short else 'the given value'}"
