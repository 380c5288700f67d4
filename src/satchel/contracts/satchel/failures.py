"""Errors of the tools, all in one form: a code that never changes, a sentence, and a hint what to do next."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from satchel.contracts.content import join_lines
from satchel.contracts.contract import Body, Context, Reply
from satchel.errors import (
    AmbiguousItem,
    AnswerTooLarge,
    Forbidden,
    KeyReused,
    MissingBlocker,
    NotConfirmed,
    NotFound,
    QuotaExceeded,
    Refused,
    StoreError,
    StoreGone,
    Taken,
    TooCostly,
    VersionConflict,
    VersionMissing,
    WrongArgument,
)
from satchel.protocol import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError, invalid_params


class UnknownName(NotFound):
    """Nothing has that name, and similar names are known or a special hint is needed."""

    def __init__(
        self,
        missing: NotFound,
        suggestions: tuple[str, ...] = (),
        titles: tuple[str, ...] = (),
        hint: str | None = None,
        look: "Callable[[Context, NotFound], UnknownName] | None" = None,
    ) -> None:
        super().__init__(missing.kind, missing.key, missing.scope)
        self.look = look  # finds the suggestions, where that was left for later
        self.suggestions = suggestions  # each can be given instead
        self.titles = titles  # of the suggestions, if these are mere numbers
        self.hint = hint  # replaces the usual one where there are no suggestions


class AmbiguousTitle(NotFound):
    """Several tasks have the title that a call gave."""

    def __init__(self, missing: NotFound, numbers: tuple[str, ...], *, has_more: bool) -> None:
        super().__init__(missing.kind, missing.key, missing.scope)
        self.suggestions = numbers
        self.has_more = has_more


class DeletedItem(NotFound):
    """What a call names was deleted, and can be brought back."""

    def __init__(self, missing: NotFound, *, at: str, by: str, can_restore: bool) -> None:
        super().__init__(missing.kind, missing.key, missing.scope)
        self.at = at
        self.by = by
        self.can_restore = can_restore  # by the caller


class TemplateFailed(Refused):
    """A template could not be read or filled in."""

    def __init__(self, message: str, hint: str, *, is_of_library: bool) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.is_of_library = is_of_library  # its file is corrected on disk, not in the store


@contextmanager
def name_in_errors(name: str) -> Iterator[None]:
    """Make errors about something name it by its name, although it was looked up by its id."""
    try:
        yield
    except VersionConflict as clash:
        raise VersionConflict(clash.kind, name, expected=clash.expected, actual=clash.actual) from clash
    except NotFound as missing:
        raise NotFound(missing.kind, missing.key if missing.kind == "project" else name, missing.scope) from missing


def suggest(context: Context, missing: NotFound, look: Callable[[Context, NotFound], UnknownName]) -> UnknownName:
    """The error with what `look` suggests: at once, or once the transaction is over, because it may hold up others."""
    return UnknownName(missing, look=look) if context.tx.writes else look(context, missing)


def protocol_error(missing: NotFound | Forbidden) -> ProtocolError:
    """The JSON-RPC error of a method that did not find something."""
    what = f"{missing.kind.capitalize()} '{missing.key}'"
    if isinstance(missing, Forbidden):
        return ProtocolError(INVALID_PARAMS, f"{what} is not open here")
    message, data = f"{what} not found{_who_names(missing)}", {"name": missing.key}
    if isinstance(missing, AmbiguousTitle):
        message = _describe_ambiguity(missing)
    elif isinstance(missing, UnknownName) and missing.suggestions:
        message += f". Did you mean {' or '.join(missing.suggestions)}?"
    if isinstance(missing, UnknownName | AmbiguousTitle) and missing.suggestions:
        return ProtocolError(INVALID_PARAMS, message, {**data, "near": list(missing.suggestions)})
    return ProtocolError(INVALID_PARAMS, message, data)


METHOD_FAILURES: dict[type[Exception], Callable[[Any], ProtocolError]] = {
    NotFound: protocol_error,
    Forbidden: protocol_error,
    WrongArgument: lambda wrong: invalid_params(f"Missing required argument: {wrong.field}"),  # of prompts/get
    TemplateFailed: lambda failed: invalid_params(failed.message),
    AnswerTooLarge: lambda large: invalid_params(f"The answer has more than {large.limit} bytes"),
    TooCostly: lambda _: ProtocolError(INTERNAL_ERROR, "Internal error", {"details": "This took too long."}),
    StoreGone: lambda _: ProtocolError(INTERNAL_ERROR, "Internal error", {"details": f"{_GONE} {_RESTART}"}),
}


def error(code: str, message: str, hint: str, **more: Any) -> Body:
    """A failure as every tool answers it."""
    structured: dict[str, Any] = {"code": code, "message": message, "hint": hint}
    return Reply([{"type": "text", "text": f"{code}: {message} {hint}"}], {"error": {**structured, **more}})


def explain_wrong_argument(wrong: WrongArgument) -> Body:
    from satchel.contracts.satchel import unknown_arguments, wrong_arguments  # only after a mistake

    if wrong.rule == "additionalProperties":
        message, hint, near = unknown_arguments.describe_unknown(wrong.limit)
        more = {"near": near} if near else {}
        return error("invalid_argument", message, hint, argument=unknown_arguments.shorten_name(wrong.field), **more)
    message, hint = wrong_arguments.describe(wrong)
    argument = "tags" if wrong.field == "tag" else wrong.field
    return error("invalid_argument", message, hint, argument=argument)


def explain_not_found(missing: NotFound) -> Body:
    message = f"{_what(missing.kind, missing.key)} does not exist{_where(missing)}{_who_names(missing)}."
    if not isinstance(missing, UnknownName) or not missing.suggestions:
        hint = missing.hint if isinstance(missing, UnknownName) else None
        return error("not_found", message, hint or _HINTS[missing.kind])
    named = zip(missing.suggestions, missing.titles or [""] * len(missing.suggestions), strict=True)
    choices = " or ".join(f"{name} {join_lines(title)}".strip() for name, title in named)
    return error("not_found", message, f"Did you mean {choices}?", near=list(missing.suggestions))


def explain_deleted(deleted: DeletedItem) -> Body:
    when = f" {deleted.at} by {deleted.by}" if deleted.at else ""
    message = f"{_what(deleted.kind, deleted.key)} was deleted{when}."
    hint = "Use restore to bring it back." if deleted.can_restore else "It is in the trash; history shows what it was."
    return error("not_found", message, hint, deleted=deleted.key)


def explain_ambiguous_title(ambiguous: AmbiguousTitle) -> Body:
    numbers = ambiguous.suggestions
    hint = f"Say which by its number, as in {numbers[0]}."
    return error("invalid_argument", _describe_ambiguity(ambiguous), hint, near=list(numbers))


def explain_forbidden(forbidden: Forbidden) -> Body:
    if forbidden.kind == "project":
        message = f"Project '{forbidden.key}' is not open to this token."
        return error("forbidden", message, "Leave project out, or see with catch_up which are.")
    # What belongs to another user does not exist for the caller.
    return explain_not_found(NotFound(forbidden.kind, forbidden.key, forbidden.scope))


def explain_taken(clash: Taken) -> Body:
    holder = f" (resource '{clash.holder}')" if clash.holder else ""
    message = f"A {clash.kind} with the {clash.field} '{clash.key}' already exists{_where(clash)}{holder}."
    if clash.kind == "project":
        return error("already_exists", message, "Name it in project to work there, or choose another name.")
    return error("already_exists", message, f"Choose another {clash.field}, or update the {clash.kind}.")


def explain_conflict(clash: VersionConflict) -> Body:
    message = f"{_what(clash.kind, clash.key)} has version {clash.actual}, not {clash.expected}."
    hint = "Somebody changed it. Read it again, then repeat the update with the new version."
    return error("conflict", message, hint, version=clash.actual)


def explain_reused_key(reused: KeyReused) -> Body:
    message = f"The key '{reused.key}' was used for another input."
    return error("conflict", message, "Choose another key, or repeat the call as it was.", argument="key")


def explain_missing_version(missing: VersionMissing) -> Body:
    kept = ", ".join(map(str, missing.kept))
    hint = f"There are versions {kept}." if kept else "No version of it is kept."
    message = f"{_what(missing.kind, missing.key)} has no version {missing.version}."
    return error("not_found", message, hint, versions=list(missing.kept))


def explain_missing_blocker(missing: MissingBlocker) -> Body:
    message = f"It was blocked by #{missing.number} {join_lines(missing.title)}, which is in the trash."
    return error("conflict", message, f"Restore #{missing.number} first.", near=[f"#{missing.number}"])


def explain_ambiguous_item(ambiguous: AmbiguousItem) -> Body:
    message = f"Several items are called '{ambiguous.key}'."
    hint = f"Say which: {' or '.join(ambiguous.references)}."
    return error("invalid_argument", message, hint, near=list(ambiguous.references))


def explain_not_confirmed(refused: NotConfirmed) -> Body:
    if refused.action == "decline":
        return error("forbidden", "The user was asked and said no. Nothing was done.", "Ask the user what they want.")
    message = "The user was asked and did not answer. Nothing was done."
    return error("forbidden", message, "Ask the user whether it shall be done before you repeat it.")


def explain_too_large(large: AnswerTooLarge) -> Body:
    argument = large.argument or "arguments"
    message, hint = f"The answer has more than {large.limit} bytes.", f"Ask for less with {argument}."
    return error("invalid_argument", message, hint, argument=argument)


FAILURES: dict[type[Exception], Callable[[Any], Body]] = {
    WrongArgument: explain_wrong_argument,
    NotFound: explain_not_found,
    AmbiguousTitle: explain_ambiguous_title,
    DeletedItem: explain_deleted,
    Forbidden: explain_forbidden,
    Taken: explain_taken,
    VersionConflict: explain_conflict,
    KeyReused: explain_reused_key,
    VersionMissing: explain_missing_version,
    MissingBlocker: explain_missing_blocker,
    AmbiguousItem: explain_ambiguous_item,
    NotConfirmed: explain_not_confirmed,
    AnswerTooLarge: explain_too_large,
    QuotaExceeded: lambda full: error(
        "forbidden", f"{full.explanation}.", "Delete what is not needed, or ask for more."
    ),
    TooCostly: lambda _: error("unavailable", "This took too long, and was ended.", "Ask for less, or more exactly."),
    TemplateFailed: lambda failed: error("invalid_argument", failed.message, failed.hint),
    StoreError: lambda _: error("unavailable", _UNABLE, f"Nothing was changed. {_SEE_LOG}"),
    StoreGone: lambda _: error("unavailable", _GONE, f"Nothing was changed. {_RESTART}"),
    Exception: lambda _: error("internal", _UNABLE, _SEE_LOG),
}

_UNABLE = "Unable to complete request. Please try again."
_GONE = "The store was removed or replaced while it was served."
_RESTART = "Start the server again; its log says more."
_SEE_LOG = "If it stays so, the server's log says why."
_HINTS = {
    "prompt": "Use list_prompts to see what there is.",
    "resource": "Use list_resources to see what there is.",
    "task": "Use list_tasks with status all to see what there is.",
    "item": "Use history without item to see what changed, or a list tool.",
    "project": "Use catch_up to see which there are; add_project makes one.",
}


def _what(kind: str, key: str) -> str:
    return f"Task {key}" if kind == "task" else f"{kind.capitalize()} '{key}'"


def _where(error: NotFound | Taken) -> str:
    return f" in project '{error.scope.project}'" if error.kind in ("prompt", "resource") else ""


def _who_names(missing: NotFound) -> str:
    """That a file of the user names the project which does not exist, where one does."""
    if missing.kind != "project" or not missing.scope.is_named_by_file:
        return ""
    return f", but {missing.scope.why} names it: correct that file, or make the project"


def _describe_ambiguity(ambiguous: AmbiguousTitle) -> str:
    numbers = ambiguous.suggestions
    listed = f"{', '.join(numbers)} and more" if ambiguous.has_more else " and ".join(numbers)
    return f"Several tasks have the title '{join_lines(ambiguous.key.strip())}': {listed}."
