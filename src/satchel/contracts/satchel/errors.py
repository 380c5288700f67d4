"""Errors of the tools and methods: a stable code, a sentence, and a hint at the next step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from satchel import errors
from satchel.contracts.content import format_minute, join_lines, without_nulls
from satchel.contracts.contract import Body, Reply, find_row
from satchel.contracts.schema import UNSTORABLE
from satchel.model import ALL_PROJECTS
from satchel.protocol import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError, invalid_params
from satchel.services.rules import MAX_TEMPLATE_BYTES
from satchel.services.wording import SENTENCES, Voice
from satchel.services.wording import describe as describe_error


class TemplateFailed(errors.Refused):
    """A template could not be read or filled in."""

    def __init__(self, message: str, hint: str, *, is_of_library: bool) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.is_of_library = is_of_library  # the file must be corrected on disk, not in the store


class WrongValue(errors.Refused):
    """A prompt or another item does not accept a value, or lacks one."""

    def __init__(
        self, message: str, hint: str, argument: str, near: tuple[str, ...] = (), *, count: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.argument = argument  # the argument's name
        self.near = near  # similar names, or the possible values
        self.count = count  # the number of matching items, if there are too many


class MissingValue(WrongValue):
    """A prompt needs a value that it was not given."""


@contextmanager
def name_place(place: str) -> Iterator[None]:
    """Add the place of an entry to its errors."""
    try:
        yield
    except errors.Refused as error:
        within = f".{error.place}" if isinstance(error, errors.WrongArgument) else ""
        raise errors.EntryRefused(f"{place}{within}", error) from error


@contextmanager
def name_target() -> Iterator[None]:
    """Name the argument `to` in an error about the project to which a task moves."""
    try:
        yield
    except errors.WrongArgument as wrong:
        if wrong.field != "project":
            raise
        raise errors.WrongArgument("to", wrong.rule, limit=wrong.limit, value=wrong.value) from wrong


def error(code: str, message: str, hint: str, **more: Any) -> Body:
    """Make the answer of a failed call, without the members that are None."""
    structured = {"code": code, "message": message, "hint": hint, **without_nulls(more)}
    return Reply([{"type": "text", "text": f"{code}: {message} {hint}"}], {"error": structured})


def explain_wrong_argument(wrong: errors.WrongArgument) -> Body:
    from satchel.contracts.satchel import guesses  # needed only after a mistake

    if wrong.rule == "additionalProperties":
        message, hint, near = guesses.describe_unknown(wrong.limit)
        return error("invalid_argument", message, hint, argument=guesses.shorten_name(wrong.field), near=near or None)
    message, hint = describe(wrong)
    argument = "tags" if wrong.field == "tag" else wrong.field
    return error("invalid_argument", message, hint, argument=argument)


def explain_not_found(missing: errors.NotFound) -> Body:
    kind, key, why = missing.kind, missing.key, missing.why or errors.Reason()
    what = f"Task {key}" if kind == "task" else f"{kind.capitalize()} '{key}'"
    where = f" in project '{missing.scope.project}'" if kind in ("prompt", "document") else ""
    message = f"{what} {why.message or f'does not exist{where}{_who_names(missing)}'}."
    if not missing.near:
        return error("not_found", message, why.hint or _HINTS[kind], deleted=key if why.is_deleted else None)
    choices = " or ".join(f"{name} {join_lines(title)}".strip() for name, title in missing.near.items())
    hint = why.hint if why.message else f"Did you mean {choices}?"
    return error("not_found", message, hint, near=list(missing.near))


def explain_forbidden(forbidden: errors.Forbidden) -> Body:
    if forbidden.kind == "project":
        message = f"Project '{forbidden.key}' is not open to this token."
        return error("forbidden", message, "Leave project out, or use catch_up to see which projects are open.")
    # Answer as if items of other users did not exist.
    return explain_not_found(errors.NotFound(forbidden.kind, forbidden.key, forbidden.scope))


def explain_taken(clash: errors.Taken) -> Body:
    if clash.kind == "project":
        hint = "To work there, pass its name as project; or choose another name."
    else:
        hint = f"Choose another {clash.field}, or update the {clash.kind}."
    return error("already_exists", _sentence(clash), hint)


def explain_missing_version(missing: errors.VersionMissing) -> Body:
    kept = ", ".join(map(str, missing.kept))
    hint = f"Versions that are kept: {kept}." if kept else "No version of it is kept."
    return error("not_found", _sentence(missing), hint, versions=list(missing.kept))


def explain_unknown_author(unknown: errors.UnknownAuthor) -> Body:
    hint = f"Authors of changes here: {'; '.join(unknown.authors)}." if unknown.authors else "Leave by out."
    return error("not_found", _sentence(unknown), hint, argument="by", near=list(unknown.authors) or None)


def explain_missing_label(missing: errors.LabelMissing) -> Body:
    near = list(missing.known)
    return error("not_found", _sentence(missing), _list_labels(missing), near=near or None)


def _list_labels(missing: errors.LabelMissing) -> str:
    known = ", ".join(missing.known)
    return f"Its labels are {known}." if known else "It has no labels: update_prompt with label sets one."


def explain_ambiguous_item(ambiguous: errors.AmbiguousItem) -> Body:
    named = ambiguous.references
    hint = f"Use one of these: {' or '.join(named)}."
    if ambiguous.kind == "task":
        hint = f"Use the number of one, such as {named[0]}."
    return error("invalid_argument", _describe_ambiguity(ambiguous), hint, near=list(named))


def explain_not_confirmed(refused: errors.NotConfirmed) -> Body:
    if refused.action == "decline":
        return error("forbidden", "The user was asked and said no. Nothing was done.", "Ask the user what they want.")
    message = "The user was asked and did not answer. Nothing was done."
    return error("forbidden", message, "Ask the user before you repeat it.")


def explain_too_large(large: errors.AnswerTooLarge) -> Body:
    argument = large.argument or "arguments"
    return error("invalid_argument", _sentence(large), f"Use {argument} to ask for less.", argument=argument)


def explain_wrong_edit(wrong: errors.WrongEdit) -> Body:
    place = f"edits[{wrong.index}]"
    if wrong.reason == "empty":
        return error(
            "invalid_argument", f"{place}.old is empty.", "Use append or prepend to add text.", argument="edits"
        )
    if wrong.reason == "same":
        hint = "The text may already be as you want it: read it again."
        return error("invalid_argument", "Nothing would change.", hint, argument="edits")
    if wrong.reason == "repeated":
        where = f"line{'s' if wrong.lines[1:] else ''} {', '.join(map(str, wrong.lines))}"
        message = f"{place}.old occurs {wrong.count} times, first in {where}. Nothing was changed."
        hint = "Include more of the surrounding text in old, or set all: true."
        return error("invalid_argument", message, hint, argument="edits", count=wrong.count, lines=list(wrong.lines))
    message = f"{place}.old does not occur in the text. Nothing was changed."
    if wrong.near is None:
        return error("invalid_argument", message, "Read the text again and copy from it.", argument="edits")
    line, text = wrong.near
    near = {"line": line, "text": text}
    hint = f"The most similar text is '{text}' in line {line}."
    return error("invalid_argument", message, hint, argument="edits", near=near)


def explain_missing_part(missing: errors.MissingPart) -> Body:
    if not missing.near:
        return error("not_found", _sentence(missing), "It has no headings at all: ask for lines.", argument="heading")
    choices = " or ".join(missing.near)
    if missing.is_ambiguous:
        hint = f"Use one of these: {choices}."
        return error("invalid_argument", _sentence(missing), hint, argument="heading", near=list(missing.near))
    return error(
        "not_found", _sentence(missing), f"Did you mean {choices}?", argument="heading", near=list(missing.near)
    )


def explain_stale_fence(stale: errors.StaleFence) -> Body:
    if stale.claim is None:
        return error("conflict", _sentence(stale), "Leave fence out, or claim the task first.")
    if stale.fence > stale.claim.fence:
        return error("conflict", _sentence(stale), "Give the fence that claim_task returned, or leave it out.")
    hint = "Read the task with get_task: another agent may have continued it."
    return error("conflict", _sentence(stale), hint, holder=stale.claim.holder)


def explain_nothing_ready(nothing: errors.NothingReady) -> Body:
    hint = "See list_tasks with status pending, or try again later." if nothing.blocked or nothing.held else _NO_TASKS
    return error("not_found", _sentence(nothing), hint, blocked=nothing.blocked, held=nothing.held)


_NO_TASKS = "Look into other projects with list_tasks, or add tasks with add_tasks."


def explain_entry(refused: errors.EntryRefused) -> Body:
    """Return the error of one entry, with the entry's place; nothing of the call remains."""
    explain = find_row(FAILURES, refused.cause)
    assert explain is not None, "the table is total"
    body = explain(refused.cause)
    assert isinstance(body, Reply) and isinstance(body.structured, dict), "every failure is such a reply"
    inner = dict(body.structured["error"])
    code, message, hint = (inner.pop(name) for name in ("code", "message", "hint"))
    argument = refused.place.partition("[")[0].partition(".")[0]
    return error(code, f"{refused.place}: {message}", hint, **{**inner, "argument": argument})


FAILURES: dict[type[Exception], Callable[[Any], Body]] = {
    errors.WrongArgument: explain_wrong_argument,
    errors.NotFound: explain_not_found,
    errors.Forbidden: explain_forbidden,
    errors.Taken: explain_taken,
    errors.VersionConflict: lambda clash: error(
        "conflict",
        _sentence(clash),
        f"{clash.why or 'Somebody changed it.'} Read it again, then repeat the update with the new version.",
        version=clash.actual,
    ),
    errors.KeyReused: lambda reused: error(
        "conflict",
        f"The key '{reused.key}' was already used with different arguments.",
        "Choose another key, or repeat the call unchanged.",
        argument="key",
    ),
    errors.VersionMissing: explain_missing_version,
    errors.UnknownAuthor: explain_unknown_author,
    errors.LabelMissing: explain_missing_label,
    WrongValue: lambda wrong: error(
        "invalid_argument",
        wrong.message,
        wrong.hint,
        argument=wrong.argument,
        near=list(wrong.near) or None,
        count=wrong.count,
    ),
    errors.WrongEdit: explain_wrong_edit,
    errors.MissingPart: explain_missing_part,
    errors.TaskHeld: lambda held: error(
        "claimed",
        _sentence(held),
        "Work on another task, or wait until then. If that agent has stopped, use claim_task with take_over: true.",
        holder=held.claim.holder,
        until=format_minute(held.claim.until),
    ),
    errors.TaskClosed: lambda closed: error(
        "conflict", _sentence(closed), "Reopen it with update_task and status pending, or choose another task."
    ),
    errors.StaleFence: explain_stale_fence,
    errors.NothingReady: explain_nothing_ready,
    errors.EntryRefused: explain_entry,
    errors.AmbiguousItem: explain_ambiguous_item,
    errors.NotConfirmed: explain_not_confirmed,
    errors.AnswerTooLarge: explain_too_large,
    errors.QuotaExceeded: lambda full: error(
        "forbidden",
        f"{full.explanation}.",
        "Ask the operator of the server to purge deleted items or to raise the limit.",
    ),
    errors.TooCostly: lambda _: error(
        "unavailable", "The call took too long and was stopped.", "Ask for less, or use more specific words."
    ),
    TemplateFailed: lambda failed: error("invalid_argument", failed.message, failed.hint),
    errors.StoreError: lambda _: error("unavailable", _UNABLE, f"Nothing was changed. {_SEE_LOG}"),
    errors.OutcomeUnknown: lambda _: error(
        "unavailable", _UNKNOWN, f"Check whether the call took effect before you repeat it. {_SEE_LOG}"
    ),
    errors.StoreGone: lambda _: error("unavailable", _GONE, f"Nothing was changed. {_RESTART}"),
    Exception: lambda _: error("internal", _UNABLE, _SEE_LOG),
}

_UNABLE = "Unable to complete request. Please try again."
_UNKNOWN = "The connection to the store was lost, so it is unknown whether the call took effect."
_GONE = "The store was removed or replaced while it was served."
_RESTART = "Start the server again; its log says more."
_SEE_LOG = "If this persists, the server's log says why."
_HINTS = {
    "prompt": "Use list_prompts to see what there is.",
    "document": "Use list_resources to see what there is.",
    "task": "Use list_tasks with status all to see what there is.",
    "item": "Look for it with search or a list tool; restore brings back deleted items.",
    "project": "Use catch_up to see the projects; add_project makes a new one.",
}


_VOICE = Voice(quote=lambda text: f"'{text}'", advice={})


def _sentence(error: errors.SatchelError) -> str:
    said = describe_error(error, _VOICE)
    return f"{said[:1].upper()}{said[1:]}."


def _who_names(missing: errors.NotFound) -> str:
    """Return a note about the user's file that names the missing project; empty if there is no such file."""
    if missing.kind != "project" or not missing.scope.is_named_by_file:
        return ""
    remedy = "name one project there" if missing.key == ALL_PROJECTS else "correct that file, or make the project"
    return f", but {missing.scope.why} names it: {remedy}"


def _describe_ambiguity(ambiguous: errors.AmbiguousItem) -> str:
    if ambiguous.kind != "task":
        return f"Several items are called '{ambiguous.key}'."
    numbers = ambiguous.references
    listed = f"{', '.join(numbers)} and more" if ambiguous.has_more else " and ".join(numbers)
    return f"Several tasks have the title '{join_lines(ambiguous.key.strip())}': {listed}."


# -- errors of methods -------------------------------------------------------------------------------------------------


def protocol_error(missing: errors.NotFound | errors.Forbidden) -> ProtocolError:
    """Return the JSON-RPC error that a method raises for a missing item."""
    what = f"{missing.kind.capitalize()} '{missing.key}'"
    if isinstance(missing, errors.Forbidden):
        return ProtocolError(INVALID_PARAMS, f"{what} is not open to this token")
    why, choices = missing.why or errors.Reason(), " or ".join(missing.near)
    message = f"{what} {why.message or f'not found{_who_names(missing)}'}"
    data: dict[str, Any] = {"name": missing.key}
    if missing.near:
        message += f". Use {choices}." if why.message else f". Did you mean {choices}?"
        data["near"] = list(missing.near)
    elif why.message:
        message += f". {why.hint}"
    return ProtocolError(INVALID_PARAMS, message, data)


METHOD_FAILURES: dict[type[Exception], Callable[[Any], ProtocolError]] = {
    errors.AmbiguousItem: lambda ambiguous: ProtocolError(
        INVALID_PARAMS, _describe_ambiguity(ambiguous), {"name": ambiguous.key, "near": list(ambiguous.references)}
    ),
    errors.VersionMissing: lambda missing: invalid_params(_sentence(missing)),  # of a label
    errors.LabelMissing: lambda missing: invalid_params(f"{_sentence(missing)} {_list_labels(missing)}"),
    errors.NotFound: protocol_error,
    errors.Forbidden: protocol_error,
    errors.WrongArgument: lambda wrong: invalid_params(f"Missing required argument: {wrong.field}"),  # in prompts/get
    # The error of prompts/get has no field for a hint, and many clients show only the message.
    WrongValue: lambda wrong: invalid_params(f"{wrong.message} {wrong.hint}"),
    TemplateFailed: lambda failed: invalid_params(failed.message),
    errors.AnswerTooLarge: lambda large: invalid_params(f"The answer has more than {large.limit} bytes"),
    errors.TooCostly: lambda _: ProtocolError(INTERNAL_ERROR, "Internal error", {"details": "The call took too long."}),
    errors.StoreGone: lambda _: ProtocolError(INTERNAL_ERROR, "Internal error", {"details": f"{_GONE} {_RESTART}"}),
}


# -- wrong arguments ---------------------------------------------------------------------------------------------------


def describe(wrong: errors.WrongArgument) -> tuple[str, str]:
    """Describe in a sentence what is wrong with an argument; also return a hint at the remedy."""
    field, rule, limit = "tags" if wrong.field == "tag" else wrong.field, wrong.rule, wrong.limit
    place = wrong.place if len(wrong.place) <= _MAX_PLACE else f"{wrong.place[:_MAX_PLACE]}..."
    if rule == "readOnly":
        other = f"The stored prompt with this title is called '{limit}': use that name." if limit else None
        message = f"Prompt '{wrong.value}' belongs to a library and cannot be changed here."
        return message, other or "Save a copy with add_prompts."
    if rule == "anyOf" and isinstance(limit, tuple):
        return "There is nothing to update.", f"Give one of {', '.join(limit)}."
    if rule == "type":
        return _describe_wrong_type(wrong, place)
    if rule == "enum" and isinstance(limit, list | tuple):
        if field == "status" and wrong.value == "in_progress":
            return "A task is in progress while it is claimed.", "Use claim_task."
        return f"{place} must be one of {', '.join(limit)}.", f"Choose one of them, or leave {place} out."
    if rule == "dependentRequired" and isinstance(limit, tuple):
        return _sentence(wrong), "Give content too."
    if rule == "maxBytes" and limit == MAX_TEMPLATE_BYTES:
        hint = "The limit is lower for a template than for other texts: shorten it, or declare no arguments."
        return f"{place} can have at most {limit} bytes.", hint
    keys = ((field, rule), ("", rule))
    said = (_OWN_SENTENCES.get(key) or SENTENCES.get(key) for key in keys)
    message = next((f"{one}." for one in said if one), "{field} is not valid.")
    hint = next((_ARGUMENT_HINTS[key] for key in keys if key in _ARGUMENT_HINTS), _OTHER_HINT)
    if rule in ("required", "minLength") and field in _MEANINGS:
        hint = f"Give {field}: {_MEANINGS[field]}."
    return message.format(field=place, limit=limit, value=wrong.value), hint.format(field=field)


def _describe_wrong_type(wrong: errors.WrongArgument, place: str) -> tuple[str, str]:
    field, limit = wrong.field, str(wrong.limit)
    if wrong.is_unstorable:
        return f"{place} {UNSTORABLE}.", _UNSTORABLE_HINT
    if isinstance(wrong.value, list) and limit != "array":
        several = " Several tasks can be changed with update_items." if field == "task" else ""
        return f"{place} takes one value, and this is a list of {len(wrong.value)}.", f"Make a call for each.{several}"
    if field == "task" or (field == "blocked_by" and limit == "string"):
        return f"{place} must name a task.", 'For example "#4", or its title.'
    if field == "blocked_by":
        return f"{place} must be a list of tasks.", 'For example ["#4", "#7"].'
    what = {"string": "a text", "integer": "a whole number", "boolean": "true or false", "array": "a list"}
    kind, entry = limit.partition(" ")[0], _ENTRIES.get(field)
    example = _EXAMPLES.get(kind, _OTHER_HINT)
    if kind == "object" and place == "arguments":
        example = 'For example {"who": "Ann"}.'
    elif entry and (kind == "object" or place == field):
        example = f"For example {entry}." if kind == "object" else f"For example [{entry}]."
    return f"{place} must be {what.get(limit, f'an {limit}')}.", example


_MAX_PLACE = 100  # characters of a place in a message
_UNSTORABLE_HINT = "Leave out NUL and incomplete characters."
_MEANINGS = {
    "title": "a short line for people",
    "content": "the text itself",
    "name": "letters, digits, - _ and . only",
    "prompt": "the name, title or id of a prompt",
    "resource": "the name or URI of a document",
    "task": "#4 or its title",
    "blocked_by": "tasks as #4 or by title, or an empty list",
}
_EXAMPLES = {
    "string": "Put it into quotes.",
    "integer": "For example 20.",
    "boolean": "For example true.",
    "array": 'For example ["one", "two"].',
}
_ENTRIES = {  # examples of an object, or of an entry of these lists
    "where": '{"tags": ["old"], "status": "pending"}',
    "arguments": '{"name": "who", "required": true}',
    "edits": '{"old": "a", "new": "b"}',
    "prompts": '{"title": "Review", "content": "Review the diff."}',
    "resources": '{"name": "notes.md", "content": "..."}',
}
_OTHER_HINT = "See the tool's input schema."
# Sentences for values whose form in tools differs from the form that people use.
_OWN_SENTENCES = {
    ("since", "format"): (
        "since must be an age like 2h or 3d, a time like 2026-11-17 or 2026-11-17T12:30, or the since of an answer"
    ),
    ("until", "format"): "until must be an age like 2h or 3d, or a time like 2026-11-17 or 2026-11-17T12:30",
    ("due", "format"): "due must be a day like 2026-11-30",
    ("expires", "format"): "expires must be a day like 2026-11-30",
    ("project", "everywhere"): ("Only search, list_prompts, list_resources and list_tasks take project: {value}"),
    ("heading", "not"): "Give heading or {value}, not both",
    ("arguments", "not"): "Give arguments or {value}, not both",
    ("item", "contentEncoding"): "{value} is not text",
    ("content", "contentEncoding"): "content must be base64, which the type {value} needs",
    ("tags", "pattern"): "{field}: a tag has 1 to 50 letters, digits, - and _",
    ("lines", "minLength"): "There is no task in lines",
}
_ARGUMENT_HINTS = {  # by field and rule
    ("", "required"): "Give {field}.",
    ("", "minLength"): "Give {field}, or leave it out.",
    ("", "maxLength"): "Shorten it.",
    ("", "maxBytes"): "Shorten it, or save it in parts.",
    ("", "maxItems"): "Leave some out, or send the rest in another call.",
    ("", "minimum"): "Give a larger number.",
    ("", "maximum"): "Give a smaller number.",
    ("query", "minLength"): "Give words; the list tools show everything.",
    ("limit", "maximum"): "Ask for fewer; use next_cursor to get the rest.",
    ("", "signs"): "Write +x to add, -x to remove; entries without signs replace all.",
    ("", "uniqueItems"): "Name each once.",
    ("cursor", "format"): "Leave it out to get the first page.",
    ("since", "format"): "For example 2h.",
    ("until", "format"): "For example 2h.",
    ("due", "format"): "Write a day that exists as YYYY-MM-DD, not in words and without a time.",
    ("due", "filter"): "A week is today and the 7 days after it; <2026-12-01 is every day before that one.",
    ("expires", "format"): "An empty text removes the day.",
    ("replaced_by", "not"): "Name the item that replaces it; an empty text removes the name.",
    ("uri", "reserved"): "Leave it out to use satchel://resource/NAME.",
    ("", "hidden"): "Remove the character.",
    ("", "reserved"): "Choose another name.",
    ("name", "everywhere"): "Choose another name.",
    ("project", "everywhere"): "Name one project, or leave project out to use the current one.",
    ("uri", "format"): "Leave it out to use satchel://resource/NAME.",
    ("mime_type", "format"): "Leave it out to use the type that the name implies.",
    ("content", "include"): "Add the included text first, or give arguments: [] to keep it as plain text.",
    ("content", "template"): "Correct it, or give arguments: [] to keep it as plain text.",
    ("label", "pattern"): "For example production; -production removes that label.",
    ("label", "maxItems"): "Remove one first: label: -NAME.",
    ("heading", "not"): "Leave one of them out.",
    ("arguments", "not"): "A filled-in prompt is always returned whole.",
    ("", "contentEncoding"): "Read it without {field}.",
    ("item", "contentEncoding"): "Replace it with update_resource.",
    ("", "minItems"): "Give one or more.",
    ("lines", "format"): "Lines count from 1.",
    ("lines", "maximum"): "Ask for lines up to that number.",
    ("content", "contentEncoding"): "Encode the content, or give a mime_type like text/plain.",
    ("tags", "pattern"): "Write - instead of a space.",
    ("name", "pattern"): "For example code-review.",
    ("name", "not"): "Choose another, or leave it out: one is made from the title.",
    ("arguments", "pattern"): "Use a name like user_name, not 2nd or if.",
    ("blocked_by", "acyclic"): "Remove a task from blocked_by.",
    ("parent", "acyclic"): "Choose another parent, or detach one of these tasks with an empty parent.",
    ("after", "acyclic"): "Remove one of the after: parts.",
    ("in", "acyclic"): "Remove one of the in: parts.",
    ("after", "maximum"): "A bare number is a task's position in the call, from 1; write an existing task with #.",
    ("in", "maximum"): "A bare number is a task's position in the call, from 1; write an existing task with #.",
    ("lines", "minLength"): 'For example ["Write docs !high +docs", "Test after:1"].',
    ("lines", "grammar"): "Leave one of them out.",
    ("lines", "claims"): "Leave [~] out, then claim the task with claim_task.",
    ("lines", "uniqueItems"): "Give each line its own label, or none.",
    ("note", "maxItems"): "Add the text to its description instead.",
    ("text", "maxItems"): "Shorten it with edit_text, then remember the line again.",
    ("text", "memory"): "Move or delete that document first.",
}
