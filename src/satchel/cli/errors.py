"""Errors of commands: exit statuses, codes, and for each error a sentence and the command that helps."""

import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click
from msgspec.structs import replace

from satchel.cli.output import restore_command, say, to_json
from satchel.errors import (
    AmbiguousItem,
    AnswerTooLarge,
    EntryRefused,
    Forbidden,
    KeyReused,
    LabelMissing,
    MissingPart,
    NotConfirmed,
    NotFound,
    NothingReady,
    OutcomeUnknown,
    QuotaExceeded,
    Refused,
    SatchelError,
    StaleFence,
    StoreError,
    Taken,
    TaskClosed,
    TaskHeld,
    UnknownAuthor,
    VersionConflict,
    VersionMissing,
    WrongArgument,
    WrongEdit,
)
from satchel.model import ALL_PROJECTS, ItemKind, Scope, uri_of

if TYPE_CHECKING:
    from satchel.services.wording import Voice
    from satchel.storage.database import Database


class Exit(NamedTuple):
    """An exit status."""

    status: int
    codes: tuple[str, ...]  # the error types that end with this status
    meaning: str


EXITS = (
    Exit(0, (), "Done."),
    Exit(
        1,
        ("failed", "conflict", "claimed", "unavailable", "internal"),
        "Failed: the store or a file cannot be used, a check found problems, or someone else made a change first.",
    ),
    Exit(2, ("invalid_argument",), "Wrong usage: an unknown command or option, or a value that is not allowed."),
    Exit(3, ("not_found", "forbidden"), "Not found: no such project, item, version or file."),
    Exit(5, ("already_exists",), "Already exists: the name, title or URI is taken."),
    Exit(130, ("interrupted",), "Interrupted by Ctrl-C."),
)
STATUSES = {code: one.status for one in EXITS for code in one.codes}

_CODES: dict[type[SatchelError], str] = {  # the most specific type wins
    SatchelError: "failed",
    StoreError: "unavailable",
    WrongArgument: "invalid_argument",
    WrongEdit: "invalid_argument",
    AmbiguousItem: "invalid_argument",
    AnswerTooLarge: "invalid_argument",
    NotFound: "not_found",
    MissingPart: "not_found",
    VersionMissing: "not_found",
    UnknownAuthor: "not_found",
    LabelMissing: "not_found",
    NothingReady: "not_found",
    Forbidden: "forbidden",
    QuotaExceeded: "forbidden",
    NotConfirmed: "forbidden",
    Taken: "already_exists",
    VersionConflict: "conflict",
    KeyReused: "conflict",
    TaskHeld: "claimed",
    TaskClosed: "conflict",
    StaleFence: "conflict",
}


def code_of(error: SatchelError) -> str:
    """Return the code that the contract `satchel` uses for an error."""
    if isinstance(error, EntryRefused):
        return code_of(error.cause)
    return next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)


def end(
    message: str, code: str = "failed", *, as_json: bool = False, value: Mapping[str, Any] | None = None
) -> NoReturn:
    """End the command with an error on stderr: the message or, with --json, `value` or else code and message."""
    message = message.encode("utf-8", "replace").decode()  # an argument may not be UTF-8
    if as_json:
        error = value or {"error": {"code": code, "message": message}}
        click.echo(to_json(error, is_one_line=True), err=True)
    else:
        say(f"satchel: {message}", err=True)
    raise SystemExit(STATUSES[code])


# -- errors in sentences ----------------------------------------------------------------------------------------

_NEXT_ARGUMENT = {  # by field and rule
    ("content", "contentEncoding"): "Name a binary type with --mime-type.",
    ("content", "include"): "Add the included text first, or keep it as plain text with --plain.",
    ("content", "template"): "Correct it, or keep it as plain text with --plain.",
    ("prompt", "readOnly"): "Save a copy with: satchel prompt add",
}


def _advise_taken(error: Taken) -> str:
    if error.kind not in ("prompt", "document"):
        return "Choose another."
    edit = f"satchel {error.kind} edit {shlex.quote(error.holder or error.key)} -p {error.scope.project}"
    return f"Choose another, or change that one with: {edit}"


_ADVICE: dict[type[SatchelError], Callable[[Any], str]] = {
    Refused: lambda _: "Nothing was changed.",
    Taken: lambda error: error.advice or _advise_taken(error),
    WrongArgument: lambda error: _NEXT_ARGUMENT.get((error.field, error.rule), ""),
    VersionMissing: lambda error: f"Kept versions: {', '.join(map(str, error.kept)) or 'none'}.",
    UnknownAuthor: lambda error: f"Authors of changes here: {'; '.join(error.authors) or 'none'}.",
    LabelMissing: lambda error: f"Its labels: {', '.join(error.known) or 'none'}.",
    VersionConflict: lambda error: f"Nothing was changed. To see the changes, run: satchel log '{error.key}'",
    AmbiguousItem: lambda error: f"Name one of them: {' or '.join(error.references)}",
    TaskHeld: lambda _: "Nothing was changed. To do it anyway, add --yes",
    TaskClosed: lambda error: f"Open it again with: satchel task reopen {error.number}",
    StaleFence: lambda error: f"See the task with: satchel task show {error.number}",
    NothingReady: lambda _: "See the open tasks with: satchel task list",
    MissingPart: lambda error: f"Its headings: {', '.join(error.near)}." if error.near else "Nothing was changed.",
    StoreError: lambda _: "Nothing was changed.",
    OutcomeUnknown: lambda _: "",  # the error has it
}


def make_voice() -> "Voice":
    """Return the words and names that the command line uses in its errors."""
    # These take 50 ms to import, and are needed only after an error.
    from satchel.contracts.satchel.errors import MissingValue, TemplateFailed, WrongValue
    from satchel.services.wording import Voice

    advice = _ADVICE | {
        WrongValue: lambda wrong: wrong.hint,
        MissingValue: lambda _: "Give values as NAME=VALUE.",
        TemplateFailed: lambda failed: (
            "Correct the file in the library."
            if failed.is_of_library
            else "Correct its content with: satchel prompt edit"
        ),
    }
    return Voice(quote=lambda text: f"'{text}'", advice=advice)


def explain(error: SatchelError, database: "Database", scope: Scope) -> str:
    """Describe an error and the command that helps, in one or two sentences."""
    what, advice = explain_apart(error, database, scope)
    return f"{what}. {advice}".rstrip()


def explain_apart(error: SatchelError, database: "Database", scope: Scope) -> tuple[str, str]:
    """Describe an error and, separately, the command that helps; the latter is empty if there is none."""
    from satchel.services import wording

    if isinstance(error, EntryRefused):
        return explain_apart(error.cause, database, scope)
    if isinstance(error, AmbiguousItem) and error.kind == "task":
        return f"several tasks are called '{error.key}': {', '.join(error.references)}", "Name one by its number."
    if isinstance(error, Forbidden) and error.kind == "task":
        error = NotFound("task", error.key, error.scope)  # hide that another user has this task
    if isinstance(error, NotFound):
        found = _explain_personal(error, database) or _explain_trashed(error, database, scope)
        return found or _explain_missing(error, database, scope)
    voice = make_voice()
    return wording.describe(error, voice), wording.advise(error, voice)


def _explain_personal(error: NotFound, database: "Database") -> tuple[str, str] | None:
    """Explain where to change an item of the personal project; None for any other item."""
    from satchel.services import layers

    with database.read(error.scope) as tx:
        found = layers.find_missing(tx, error)
    if found is None:
        return None
    there, here, noun = error.scope.personal, error.scope.project, found.kind
    return (
        f"{noun} '{found.name}' is in project '{there}', not in '{here}'",
        f"Add -p {there} to change it for every project, or copy it first: "
        f"satchel {noun} copy {found.name} --to {here}",
    )


def _explain_trashed(error: NotFound, database: "Database", scope: Scope) -> tuple[str, str] | None:
    """Explain that an item was moved, or how to restore it from the trash; None if it was neither moved nor deleted."""
    from satchel.services import history, lookup

    if error.kind not in ("prompt", "document", "task", "project"):
        return None
    uri = error.key if "://" in error.key else uri_of(error.kind, error.key.removeprefix("#"))
    try:
        with database.read(scope) as tx:
            there = replace(scope, project=error.scope.project)
            kinds: list[ItemKind] = [one for one in lookup.NAMED[:2] if one == error.kind]
            moved = history.find_moved(tx, there, kinds, uri)
            if moved is not None:
                item, project, _ = moved
                name = lookup.without_scheme(item.kind, uri)
                what, renamed = make_voice().name_item(item.kind, name), "" if item.name == name else f" as {item.name}"
                return f"{what} was moved to project '{project}'{renamed}", f"Name that project: add -p {project}"
            found = lookup.find(tx, there, uri)
    except Refused:
        return None
    if not found.is_deleted:
        return None
    what = make_voice().name_item(found.kind, found.key)
    restore = restore_command(found.kind, found.key, error.scope.project)
    return f"{what} is in the trash", f"Bring it back with: {restore}"


def _explain_missing(error: NotFound, database: "Database", scope: Scope) -> tuple[str, str]:
    from satchel.services import projects

    key, project, noun = error.key.removeprefix(uri_of(error.kind, "")), error.scope.project, error.kind
    sentences = {
        "token": (f"there is no token {error.key}", "List them with: satchel token list"),
        "project": (
            f"project '{key}' does not exist",
            "With -p all, these commands show all projects: satchel search, satchel prompt list, satchel document list"
            if key == ALL_PROJECTS
            else f"Make it with: satchel project create {key}",
        ),
        "task": (f"task {error.key} is not among your tasks", "List them with: satchel task list --status all"),
        "item": (
            f"neither project '{project}' nor its trash has '{key}'",
            f"See what changed with: satchel log -p {project}",
        ),
    }
    others = (f"{noun} '{key}' is not in project '{project}'", f"List them with: satchel {noun} list -p {project}")
    what, advice = sentences.get(noun, others)
    if noun in ("prompt", "document") and "/" in key and key != error.key:  # a link that names the project, too
        there, _, name = key.partition("/")
        return what, f"Name the project with -p: satchel {noun} show {name} -p {there}"
    near = projects.suggest(database, key) if noun == "project" else _suggest(error, key, database, scope)
    hint = f"Did you mean '{near}'? " if near else ""
    return what, f"{hint}{advice}"


def _suggest(error: NotFound, key: str, database: "Database", scope: Scope) -> str | None:
    """Return the name or task number that was probably meant."""
    from satchel.services import lookup

    if error.near:  # the contract also knows libraries
        return next(iter(error.near))
    found: list[str] = []
    with database.read(scope) as tx:
        for kind in lookup.NAMED:
            if error.kind in (kind, "item") and (kind != "task" or error.scope.user):
                near = lookup.suggest(tx, error.scope, kind, key)
                found += [f"#{number}" if kind == "task" else name for number, name, _ in near]
    return found[0] if found else None
