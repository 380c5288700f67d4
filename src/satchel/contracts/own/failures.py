"""What goes wrong, in one shape: a code that stays, a sentence, and what to do next."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from satchel.contracts.contract import Body, Reply
from satchel.errors import (
    Forbidden,
    NotFound,
    Refused,
    SatchelError,
    StoreError,
    Taken,
    VersionConflict,
    WrongArgument,
)
from satchel.model import Scope

UNABLE = "Unable to complete request. Please try again."


class Missed(NotFound):
    """Something that is not there, and what may have been meant."""

    def __init__(self, missing: NotFound, near: tuple[str, ...]) -> None:
        super().__init__(missing.kind, missing.key, missing.scope)
        self.near = near


class Unrenderable(Refused):
    """A template that could not be filled in."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@contextmanager
def called(name: str) -> Iterator[None]:
    """Call something by its name, even where it was looked for by its id."""
    try:
        yield
    except VersionConflict as clash:
        raise VersionConflict(clash.kind, name, expected=clash.expected, actual=clash.actual) from clash
    except NotFound as missing:
        raise NotFound(missing.kind, missing.key if missing.kind == "project" else name, missing.scope) from missing


def error(code: str, message: str, hint: str | None = None, **more: Any) -> Body:
    """A failure as every tool says it."""
    structured: dict[str, Any] = {"code": code, "message": message}
    if hint is not None:
        structured["hint"] = hint
    text = message if hint is None else f"{message} {hint}"
    return Reply([{"type": "text", "text": f"{code}: {text}"}], {"error": {**structured, **more}})


def wrong_argument(wrong: WrongArgument) -> Body:
    message, hint = _complaint(wrong)
    argument = "tags" if wrong.field == "tag" else wrong.field
    return error("invalid_argument", message, hint, argument=argument)


def not_found(missing: NotFound) -> Body:
    near = missing.near if isinstance(missing, Missed) else ()
    hint = f"Did you mean {' or '.join(near)}?" if near else _HINTS[missing.kind].format(key=missing.key)
    more = {"near": list(near)} if near else {}
    return error("not_found", f"{_what(missing.kind, missing.key)} does not exist{_where(missing)}.", hint, **more)


def forbidden(refused: Forbidden) -> Body:
    if refused.kind == "project":
        return error(
            "forbidden",
            f"Project '{refused.key}' is not open to this token.",
            "Use list_projects to see which are.",
        )
    return not_found(NotFound(refused.kind, refused.key, refused.scope))  # somebody else's is not there


def taken(clash: Taken) -> Body:
    holder = f" (resource '{clash.holder}')" if clash.holder else ""
    message = f"A {clash.kind} with the {clash.field} '{clash.key}' already exists{_where(clash)}{holder}."
    return error("already_exists", message, f"Choose another {clash.field}, or update the {clash.kind}.")


def conflict(clash: VersionConflict) -> Body:
    message = f"{_what(clash.kind, clash.key)} has version {clash.actual}, not {clash.expected}."
    hint = "Somebody changed it. Read it again, then repeat the update with the new version."
    return error("conflict", message, hint, version=clash.actual)


FAILURES: dict[type[SatchelError], Callable[[Any], Body]] = {
    WrongArgument: wrong_argument,
    NotFound: not_found,
    Forbidden: forbidden,
    Taken: taken,
    VersionConflict: conflict,
    Unrenderable: lambda failed: error("invalid_argument", failed.message, failed.hint),
    StoreError: lambda _: error("unavailable", UNABLE, "Nothing was changed."),
    Refused: lambda _: error("internal", UNABLE),
}

_HINTS = {
    "prompt": "Use list_prompts to see what there is.",
    "resource": "Use list_resources to see what there is.",
    "task": "Use list_tasks with status all to see what there is.",
    "project": "Use list_projects to see what there is; `satchel project create {key}` makes one.",
}


def _what(kind: str, key: str) -> str:
    return f"Task {key}" if kind == "task" else f"{kind.capitalize()} '{key}'"


def _where(error: NotFound | Taken) -> str:
    scope: Scope = error.scope
    return f" in project '{scope.project}'" if error.kind in ("prompt", "resource") else ""


def _complaint(wrong: WrongArgument) -> tuple[str, str | None]:
    field, rule, limit = wrong.field, wrong.rule, wrong.limit
    if rule == "required" and wrong.kind == "argument" and isinstance(limit, tuple):
        return f"The prompt needs a value for {' and '.join(limit)}.", "Give it in arguments, by name."
    if rule == "required":
        return f"{field} is missing.", None
    if rule == "readOnly":
        return f"Prompt '{wrong.value}' is of a library and cannot be changed here.", "Save a copy with add_prompt."
    if rule == "anyOf" and isinstance(limit, tuple):
        return "There is nothing to update.", f"Give one of {', '.join(limit)}."
    if rule == "type":
        each = "Each of " if field in _MANY and limit not in ("array", "object") else ""
        return f"{each}{field} must be {_WORDS.get(field) or _TYPES.get(str(limit), f'an {limit}')}.", None
    if rule == "enum" and isinstance(limit, list | tuple):
        return f"{field} must be one of {', '.join(limit)}.", None
    if rule == "dependentRequired" and isinstance(limit, tuple):
        return "Changing the MIME type from {} to {} needs new content.".format(*limit), "Give content too."
    if rule == "acyclic":
        return "A task cannot wait for itself, not even through others.", "Leave one of blocked_by out."
    message = _SENTENCES.get((field, rule)) or _SENTENCES.get(("", rule)) or "{field} cannot be that."
    return message.format(field=field, limit=limit, value=wrong.value), None


_MANY = ("tags", "arguments")
_WORDS = {"task": "the number or UUID of a task", "blocked_by": "a list of tasks, by number or UUID"}
_TYPES = {
    "text": "a text without NUL",
    "string": "a text without NUL",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_SENTENCES = {
    ("", "minLength"): "{field} must not be empty.",
    ("", "maxLength"): "{field} has at most {limit} characters.",
    ("", "maxBytes"): "{field} has at most {limit} bytes.",
    ("", "maxItems"): "{field} has at most {limit} entries.",
    ("", "minimum"): "{field} is at least {limit}.",
    ("", "maximum"): "{field} is at most {limit}.",
    ("", "uniqueItems"): "{field} names something twice.",
    ("cursor", "format"): "cursor is none that was given out: use next_cursor of the page before.",
    ("due", "format"): "due must be a day like 2026-11-30.",
    ("uri", "format"): "uri needs a scheme, and no spaces.",
    ("mime_type", "format"): "mime_type must look like text/markdown.",
    ("content", "contentEncoding"): "content must be base64 for a binary type.",
    ("tag", "pattern"): "A tag has 1 to 50 letters, digits, - and _.",
    ("tags", "pattern"): "A tag has 1 to 50 letters, digits, - and _.",
    ("name", "pattern"): "name has letters, digits, - _ and . only.",
    ("arguments", "pattern"): "An argument's name has a-z, 0-9 and _ only.",
}
