"""Errors of the tools, all in one form: a code that never changes, a sentence, and a hint what to do next."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from satchel.contracts.content import join_lines
from satchel.contracts.contract import Body, Context, Reply
from satchel.contracts.schema import UNSTORABLE
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
from satchel.services import projects
from satchel.services.rules import MAX_TEMPLATE_BYTES
from satchel.services.suggestions import closest_names


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

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


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


def suggest_projects(context: Context, missing: NotFound) -> NotFound:
    """An error with projects of similar names, which refers only to tools that the caller may use."""
    if isinstance(missing, AmbiguousTitle) or (
        isinstance(missing, UnknownName) and (missing.suggestions or missing.hint)
    ):
        return missing
    if missing.kind != "project":
        if f"list_{missing.kind}s" in context.tools:
            return missing
        return UnknownName(missing, hint="Look at what was named once more.")
    known = [project.name for project, _ in projects.list_all(context.tx, context.scope)]
    hint = _list_projects(known, may_add="add_project" in context.tools)
    return UnknownName(missing, closest_names(missing.key, known), hint=hint)


def _list_projects(names: list[str], *, may_add: bool) -> str:
    """Which projects there are, in a call that named none of them, and how one is made."""
    more = f" and {len(names) - _MOST_PROJECTS} more" if len(names) > _MOST_PROJECTS else ""
    listed = f"{', '.join(names[:_MOST_PROJECTS])}{more}" or "none"
    return f"There {'are' if names[1:] else 'is'} {listed}{'; add_project makes one' if may_add else ''}."


_MOST_PROJECTS = 10  # that a hint names


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


# -- errors of tools --------------------------------------------------------------------------------------------


def error(code: str, message: str, hint: str, **more: Any) -> Body:
    """A failure as every tool answers it."""
    structured: dict[str, Any] = {"code": code, "message": message, "hint": hint}
    return Reply([{"type": "text", "text": f"{code}: {message} {hint}"}], {"error": {**structured, **more}})


def explain_wrong_argument(wrong: WrongArgument) -> Body:
    if wrong.rule == "additionalProperties":
        from satchel.contracts.satchel.unknown_arguments import (  # only after this mistake
            describe_unknown,
            shorten_name,
        )

        message, hint, near = describe_unknown(wrong.limit)
        more = {"near": near} if near else {}
        return error("invalid_argument", message, hint, argument=shorten_name(wrong.field), **more)
    message, hint = describe_wrong_argument(wrong)
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


# -- wrong arguments --------------------------------------------------------------------------------------------


def describe_wrong_argument(wrong: WrongArgument) -> tuple[str, str]:
    """What is wrong with an argument, in a sentence, and a hint what to do about it."""
    field, rule, limit = wrong.field, wrong.rule, wrong.limit
    place = wrong.place if len(wrong.place) <= _MAX_PLACE else f"{wrong.place[:_MAX_PLACE]}..."
    if rule == "required" and wrong.kind == "argument" and isinstance(limit, tuple):
        return f"The prompt needs a value for {' and '.join(limit)}.", "Give it in arguments, by name."
    if rule == "readOnly":
        other = f"The stored prompt of this title is called '{limit}': use that name." if limit else None
        message = f"Prompt '{wrong.value}' is of a library and cannot be changed here."
        return message, other or "Save a copy with add_prompts."
    if rule == "anyOf" and isinstance(limit, tuple):
        return "There is nothing to update.", f"Give one of {', '.join(limit)}."
    if rule == "type":
        return _describe_wrong_type(wrong, place)
    if rule == "enum" and isinstance(limit, list | tuple):
        from satchel.contracts.satchel.other_names import find_choice  # only after this mistake

        meant = find_choice(field, str(wrong.value))
        if meant == "in_progress" and meant not in limit:
            return "A task is in progress while it is claimed.", "Use claim_task."
        hint = f"Use {meant}." if meant in limit else f"Choose one of them, or leave {field} out."
        return f"{field} must be one of {', '.join(limit)}.", hint
    if rule == "dependentRequired" and isinstance(limit, tuple):
        return "Changing the MIME type from {} to {} needs new content.".format(*limit), "Give content too."
    if rule == "maxBytes" and limit == MAX_TEMPLATE_BYTES:
        hint = "A template is shorter than other texts: shorten it, or declare no arguments."
        return f"{place} has at most {limit} bytes.", hint
    message, hint = _SENTENCES.get((field, rule)) or _SENTENCES.get(("", rule)) or _OTHER
    if rule in ("required", "minLength") and field in _MEANINGS:
        hint = f"Give {field}: {_MEANINGS[field]}."
    return message.format(field=place, limit=limit, value=wrong.value), hint.format(field=field)


def _describe_wrong_type(wrong: WrongArgument, place: str) -> tuple[str, str]:
    field, limit = wrong.field, str(wrong.limit)
    if wrong.is_unstorable:
        return f"{place} {UNSTORABLE}.", _UNSTORABLE_HINT
    if field == "task" or (field == "blocked_by" and limit == "string"):
        return f"{place} must be the number or UUID of a task.", 'For example 4, or "#4".'
    if field == "blocked_by":
        return f"{place} must be a list of tasks, by number or UUID.", "For example [4, 7]."
    what = {"string": "a text", "integer": "a whole number", "boolean": "true or false", "array": "a list"}
    kind, where = limit.partition(" ")[0], f"{field}[]" if place.startswith(f"{field}[") else place
    example = _EXAMPLES.get((where, kind)) or _EXAMPLES.get(("", kind), _OTHER[1])
    return f"{place} must be {what.get(limit, f'an {limit}')}.", example


_MAX_PLACE = 100  # characters of a place that a message shows
_UNSTORABLE_HINT = "Leave out what is no character: NUL, and halves of others."
_MEANINGS = {
    "title": "a short line for people",
    "content": "the text itself",
    "name": "letters, digits, - _ and . only",
    "prompt": "the name, title or id of one",
    "resource": "the name or URI of one",
    "task": "the number or UUID of one",
    "blocked_by": "numbers or UUIDs of tasks, or an empty list",
}
_EXAMPLES = {
    ("", "string"): "Put it into quotes.",
    ("", "integer"): "For example 20, without quotes.",
    ("", "boolean"): "Without quotes.",
    ("", "array"): 'For example ["one", "two"].',
    ("arguments", "array"): 'For example [{"name": "who", "required": true}].',
    ("arguments", "object"): 'For example {"who": "Ann"}.',
    ("edits", "array"): 'For example [{"old": "a", "new": "b"}].',
    ("edits[]", "object"): 'For example {"old": "a", "new": "b"}.',
    ("prompts", "array"): 'For example [{"title": "Review", "content": "Review the diff."}].',
    ("prompts[]", "object"): 'For example {"title": "Review", "content": "Review the diff."}.',
    ("resources", "array"): 'For example [{"name": "notes.md", "content": "..."}].',
    ("resources[]", "object"): 'For example {"name": "notes.md", "content": "..."}.',
    ("", "object"): 'For example {"name": "who", "required": true}.',
}
_TAG = ("{field}: a tag has 1 to 50 letters, digits, - and _.", "Put a - where a space would be.")
_REST = "Add the rest with another call."
_OTHER = ("{field} cannot be that.", "See what the tool takes.")
_SENTENCES = {
    ("", "required"): ("{field} is missing.", "Give {field}."),
    ("", "minLength"): ("{field} must not be empty.", "Give {field}, or leave it out."),
    ("", "maxLength"): ("{field} has at most {limit} characters.", "Shorten it."),
    ("", "maxBytes"): ("{field} has at most {limit} bytes.", "Shorten it, or save it in parts."),
    ("", "maxItems"): ("{field} has at most {limit} entries.", "Leave some out."),
    ("", "minimum"): ("{field} is at least {limit}.", "Give a larger number."),
    ("", "maximum"): ("{field} is at most {limit}.", "Give a smaller number."),
    ("query", "minLength"): (
        "query must not be empty.",
        "Give words; the list tools show everything.",
    ),
    ("limit", "minimum"): ("{field} is at least {limit}.", "Leave it out for the usual 50."),
    ("limit", "maximum"): ("{field} is at most {limit}.", "Ask for fewer; next_cursor leads to the rest."),
    ("expected_version", "minimum"): ("{field} is at least {limit}.", "Give the version that you read."),
    ("expected_version", "maximum"): ("{field} is at most {limit}.", "Give the version that you read."),
    ("", "signs"): (
        "{field}: give every entry a + or a -, or none.",
        "Write +x to add, -x to remove; entries without signs replace all.",
    ),
    ("", "uniqueItems"): ("{field} has the same name as another.", "Name each once."),
    ("cursor", "format"): (
        "cursor is none that was given out: use next_cursor of the page before.",
        "Ask again without it for the first page.",
    ),
    ("since", "format"): (
        "since must be a time like 2026-11-17 or 2026-11-17T12:30, or an age like 2h or 3d.",
        "Leave it out for all changes.",
    ),
    ("due", "format"): ("due must be a day like 2026-11-30.", "Leave it out where there is none."),
    ("uri", "reserved"): (
        "uri cannot be {value}: URIs of satchel: name what Satchel keeps.",
        "Leave it out for satchel://resource/NAME.",
    ),
    ("", "hidden"): ("{field} has a character that does not show: {value}.", "Leave it out."),
    ("", "reserved"): ("{field} cannot be {value}: that is an id.", "Choose words."),
    ("uri", "format"): ("uri needs a scheme, and no spaces.", "Leave it out for satchel://resource/NAME."),
    ("mime_type", "format"): ("mime_type must look like text/markdown.", "Leave it out for text/plain."),
    ("content", "template"): (
        "{field} is no template: {value}.",
        "Mend it, or give arguments: [] to keep it as plain text.",
    ),
    ("heading", "not"): ("Give heading or {value}, not both.", "Leave one of them out."),
    ("arguments", "not"): ("Give arguments or {value}, not both.", "A filled-in prompt is given whole."),
    ("lines", "contentEncoding"): ("A document of {value} has no lines.", "Read it without lines."),
    ("heading", "contentEncoding"): ("A document of {value} has no headings.", "Read it without heading."),
    ("item", "contentEncoding"): ("{value} is no text.", "Replace it with update_resource."),
    ("", "minItems"): ("{field} needs at least one entry.", "Give one or more."),
    ("lines", "format"): ("lines must be a range like 10-40, 10- or 25.", "Lines count from 1."),
    ("lines", "maximum"): ("The last line of the text is {limit}.", "Ask for lines that it has."),
    ("content", "contentEncoding"): (
        "content must be base64, which the type {value} needs.",
        "Encode it, or give a mime_type of text.",
    ),
    ("tag", "pattern"): _TAG,
    ("tags", "pattern"): _TAG,
    ("name", "pattern"): ("name has letters, digits, - _ and . only.", "For example code-review."),
    ("name", "not"): (
        "name cannot be {value}: that is a prompt of the server itself.",
        "Choose another, or leave it out: one is made from the title.",
    ),
    ("arguments", "pattern"): (
        "{field} has letters, digits and _ only, no digit first, and is no word of Jinja2.",
        "For example user_name, but neither 2nd nor if.",
    ),
    ("blocked_by", "acyclic"): (
        "A task cannot wait for itself, not even through others.",
        "Leave one of blocked_by out.",
    ),
    ("after", "acyclic"): ("Some lines wait for each other.", "Leave one after: out."),
    ("after", "maximum"): (
        "after:{value} is no task of this call: it has {limit}.",
        "A bare number counts the tasks of the call from 1; write an existing task with #.",
    ),
    ("lines", "minLength"): ("There is no task in lines.", 'For example ["Write docs !high +docs", "Test after:1"].'),
    ("lines", "maxItems"): ("A call adds at most {limit} tasks. Nothing was added.", _REST),
    ("prompts", "maxItems"): ("A call adds at most {limit} prompts. Nothing was added.", _REST),
    ("resources", "maxItems"): ("A call adds at most {limit} documents. Nothing was added.", _REST),
    ("items", "maxItems"): ("A call takes at most {limit} items. Nothing was done.", "Give the rest to another call."),
    ("lines", "grammar"): ("{value} cannot both be.", "Leave one of them out."),
    ("lines", "claims"): ("A new task cannot be in progress.", "Leave [~] out, and use claim_task then."),
    ("lines", "uniqueItems"): ("{value} is the label of another line.", "Give each line its own label, or none."),
    ("note", "maxItems"): ("A task has at most {limit} notes.", "Write into its description instead."),
}
