"""Errors of the store in the words of the command line: what is wrong, and the command that helps."""

from contextlib import suppress

from msgspec.structs import replace

from satchel.cli.place import explain_personal
from satchel.cli.printing import restore_command
from satchel.contracts.satchel.failures import AmbiguousTitle, TemplateFailed, UnknownName
from satchel.contracts.satchel.text_failures import WrongValue
from satchel.errors import (
    AmbiguousItem,
    EntryRefused,
    Forbidden,
    MissingBlocker,
    MissingPart,
    NotFound,
    NothingReady,
    Refused,
    SatchelError,
    StaleFence,
    StoreError,
    Taken,
    TaskClosed,
    TaskHeld,
    VersionConflict,
    VersionMissing,
    WrongArgument,
)
from satchel.model import Scope
from satchel.services import project_names, prompts, references, resources, tasks
from satchel.services.explaining import Voice, describe
from satchel.storage.database import Database, Tx

VOICE = Voice(
    quote=lambda text: f"'{text}'",
    names={},
    taken="there is already a {kind} with the {field} {key}{where}{holder}",
)

_NEXT_ARGUMENT = {  # by field and rule
    ("content", "contentEncoding"): "Name a binary type with --mime-type.",
    ("content", "template"): "Mend it, or say --plain to keep it as plain text.",
    ("prompt", "readOnly"): "Save a copy with: satchel prompt add",
}


def explain(error: SatchelError, database: Database, scope: Scope) -> str:
    """An error in a sentence or two."""
    if isinstance(error, EntryRefused):
        return explain(error.cause, database, scope)
    if isinstance(error, WrongValue | TemplateFailed):
        return _explain_template(error.message, error.hint)
    if isinstance(error, AmbiguousTitle):
        return f"several tasks are called '{error.key}': {', '.join(error.suggestions)}. Say which by its number."
    if isinstance(error, Forbidden) and error.kind == "task":
        # A task of another user is answered like one that does not exist.
        error = NotFound("task", error.key, error.scope)
    if isinstance(error, NotFound):
        found = explain_personal(error, database) or _explain_trashed(error, database, scope)
        return found or _explain_missing(error, database, scope)
    if isinstance(error, StoreError):
        return f"{error}. Nothing was changed."
    return f"{describe(error, VOICE)}. {_find_next(error)}".rstrip()


def _find_next(error: SatchelError) -> str:
    """What to do about an error."""
    if isinstance(error, Taken):
        return error.advice or "Choose another."
    if isinstance(error, WrongArgument):
        return _NEXT_ARGUMENT.get((error.field, error.rule), "")
    if isinstance(error, VersionMissing):
        return f"What history has of it: {', '.join(map(str, error.kept)) or 'nothing'}."
    if isinstance(error, VersionConflict):
        return f"Nothing was changed. See what happened with: satchel log '{error.key}'"
    if isinstance(error, MissingBlocker):
        return f"Nothing was changed. Bring that one back first: satchel restore '#{error.number}'"
    if isinstance(error, AmbiguousItem):
        return f"Say which: {' or '.join(error.references)}"
    if isinstance(error, TaskHeld):
        return f"Take another with: satchel task claim. If that agent is gone: satchel task release {error.number}"
    if isinstance(error, TaskClosed):
        return f"Open it again with: satchel task reopen {error.number}"
    if isinstance(error, StaleFence):
        return f"Look at it with: satchel task show {error.number}"
    if isinstance(error, NothingReady):
        return "See what there is with: satchel task list --open"
    if isinstance(error, MissingPart) and error.near:
        return f"It has: {', '.join(error.near)}."
    return "Nothing was changed."


def _explain_template(message: str, hint: str) -> str:
    """An error of the contract about a template, with commands in place of tools."""
    words = {
        "Give it in arguments, by name.": "Give it as NAME=VALUE.",
        "Mend its content with update_prompt.": "Mend its content with: satchel prompt edit",
        "Ask the user to mend the file in the library.": "Mend the file in the library.",
    }
    return f"{message[:1].lower()}{message[1:]} {words.get(hint, hint)}"


def _explain_trashed(error: NotFound, database: Database, scope: Scope) -> str | None:
    """What is in the trash, and how to bring it back; None where it is not there."""
    if error.kind not in ("prompt", "resource", "task", "project"):
        return None
    uri = error.key if "://" in error.key else f"satchel://{error.kind}/{error.key.removeprefix('#')}"
    try:
        with database.read(scope) as tx:
            found = references.find(tx, replace(scope, project=error.scope.project), uri)
    except Refused:
        return None
    if found.live is not None:
        return None
    what = VOICE.name_item(found.kind, found.key)
    return f"{what} is in the trash. Bring it back with: {restore_command(found.kind, found.key, error.scope.project)}"


def _explain_missing(error: NotFound, database: Database, scope: Scope) -> str:
    key, project = error.key.removeprefix(f"satchel://{error.kind}/"), error.scope.project
    what, next_ = {
        "task": (f"task {error.key} is not among your tasks", "List them with: satchel task list"),
        "token": (f"there is no token {error.key}", "List them with: satchel token list"),
        "project": (f"project '{key}' does not exist", f"Make it with: satchel project create {key}"),
        "item": (
            f"neither project '{project}' nor its trash has '{key}'",
            f"See what changed with: satchel log -p {project}",
        ),
    }.get(
        error.kind,
        (
            f"{error.kind} '{key}' is not in project '{project}'",
            f"List what is there with: satchel {error.kind} list -p {project}",
        ),
    )
    if error.kind == "token":
        near = None
    elif error.kind == "project":
        near = project_names.suggest(database, key)
    else:
        near = _suggest(error, key, database, scope)
    hint = f"Did you mean '{near}'? " if near else ""
    return f"{what}. {hint}{next_}"


def _suggest(error: NotFound, key: str, database: Database, scope: Scope) -> str | None:
    """The name, or the number of a task, that was probably meant."""
    kinds = ("prompt", "resource", "task") if error.kind == "item" else (error.kind,)
    known = error.suggestions if isinstance(error, UnknownName) else ()  # the contract knows libraries too
    with suppress(NotFound), database.read(scope) as tx:  # the project may not exist
        known = known or tuple(name for kind in kinds for name in _suggest_kind(tx, error.scope, kind, key))
    return next(iter(known), None)


def _suggest_kind(tx: Tx, scope: Scope, kind: str, key: str) -> tuple[str, ...]:
    if kind == "task":
        return tuple(f"#{number}" for number, _ in tasks.suggest(tx, scope, key)) if scope.user else ()
    return {"prompt": prompts.suggest, "resource": resources.suggest}[kind](tx, scope, key)
