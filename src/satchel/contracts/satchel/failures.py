"""What goes wrong, in one shape: a code that stays, a sentence, and what to do next."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from satchel.contracts.contract import Body, Reply
from satchel.contracts.satchel.answers import one_line
from satchel.contracts.satchel.complaints import complaint
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
SEE_LOG = "Try again; if it stays so, the server's log says why."


class Missed(NotFound):
    """Something that is not there, and what may have been meant."""

    def __init__(
        self, missing: NotFound, near: tuple[str, ...], titles: tuple[str, ...] = (), hint: str | None = None
    ) -> None:
        super().__init__(missing.kind, missing.key, missing.scope)
        self.near = near  # each does when it is given instead
        self.titles = titles  # of these, where they tell nothing by themselves
        self.hint = hint  # where nothing is near and the usual one is of no use


class Several(NotFound):
    """Tasks that all have the title by which one of them was meant."""

    def __init__(self, missing: NotFound, near: tuple[str, ...], *, has_more: bool) -> None:
        super().__init__(missing.kind, missing.key, missing.scope)
        self.near = near
        self.has_more = has_more


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


def error(code: str, message: str, hint: str, **more: Any) -> Body:
    """A failure as every tool says it."""
    structured: dict[str, Any] = {"code": code, "message": message, "hint": hint}
    return Reply([{"type": "text", "text": f"{code}: {message} {hint}"}], {"error": {**structured, **more}})


def wrong_argument(wrong: WrongArgument) -> Body:
    message, hint = complaint(wrong)
    argument = "tags" if wrong.field == "tag" else wrong.field
    return error("invalid_argument", message, hint, argument=argument)


def not_found(missing: NotFound) -> Body:
    message = f"{_what(missing.kind, missing.key)} does not exist{_where(missing)}."
    if not isinstance(missing, Missed) or not missing.near:
        hint = missing.hint if isinstance(missing, Missed) else None
        return error("not_found", message, hint or _HINTS[missing.kind].format(key=missing.key))
    named = zip(missing.near, missing.titles or [""] * len(missing.near), strict=True)
    meant = " or ".join(f"{name} {one_line(title)}".strip() for name, title in named)
    return error("not_found", message, f"Did you mean {meant}?", near=list(missing.near))


def several(many: Several) -> Body:
    hint = f"Say which by its number, as in {many.near[0]}."
    return error("invalid_argument", said_of(many), hint, near=list(many.near))


def said_of(many: Several) -> str:
    """Which tasks have the same title."""
    numbers = f"{', '.join(many.near)} and more" if many.has_more else " and ".join(many.near)
    return f"Several tasks have the title '{one_line(many.key.strip())}': {numbers}."


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
    Several: several,
    Forbidden: forbidden,
    Taken: taken,
    VersionConflict: conflict,
    Unrenderable: lambda failed: error("invalid_argument", failed.message, failed.hint),
    StoreError: lambda _: error("unavailable", UNABLE, "Nothing was changed. Try again in a moment."),
    Refused: lambda _: error("internal", UNABLE, SEE_LOG),
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
