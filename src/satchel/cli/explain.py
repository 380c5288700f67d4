"""Errors of the store in the words of the command line: what is wrong, and what to do next."""

from contextlib import suppress

from msgspec.structs import replace

from satchel.cli.place import explain_personal
from satchel.errors import (
    AmbiguousItem,
    Forbidden,
    MissingBlocker,
    NotFound,
    Refused,
    SatchelError,
    Taken,
    VersionConflict,
    VersionMissing,
    WrongArgument,
)
from satchel.model import Scope
from satchel.services import projects, prompts, resources
from satchel.storage.database import Database

_SUGGEST = {"prompt": prompts.suggest, "resource": resources.suggest}


def explain(error: SatchelError, database: Database, scope: Scope) -> str:
    """An error in a sentence or two."""
    if isinstance(error, NotFound):
        found = explain_personal(error, database) or _explain_trashed(error, database, scope)
        return found or _explain_missing(error, database, scope)
    if isinstance(error, Forbidden) and error.kind == "task":
        # A task of another user is answered like one that does not exist.
        return _explain_missing(NotFound("task", error.key, error.scope), database, scope)
    if isinstance(error, Taken):
        where = "" if error.kind == "project" else f" in project '{error.scope.project}'"
        holder = f" (resource '{error.holder}')" if error.holder else ""
        what = f"there is already a {error.kind} with the {error.field} '{error.key}'{where}{holder}"
        return f"{what}. {error.advice or 'Choose another.'}"
    if isinstance(error, WrongArgument):
        return f"{_explain_wrong(error)}."
    return _explain_history(error)


def _explain_history(error: SatchelError) -> str:
    if isinstance(error, VersionMissing):
        kept = ", ".join(map(str, error.kept))
        return (
            f"{error.kind} '{error.key}' has no version {error.version}. What history has of it: {kept or 'nothing'}."
        )
    if isinstance(error, VersionConflict):
        return (
            f"{error.kind} '{error.key}' has version {error.actual} by now, so that version {error.expected} cannot be "
            f"taken back. Nothing was changed. See what happened with: satchel log '{error.key}'"
        )
    if isinstance(error, MissingBlocker):
        return (
            f"it was blocked by task {error.number}, '{error.title}', which is in the trash. Nothing was changed. "
            f"Bring that one back first: satchel restore '#{error.number}'"
        )
    if isinstance(error, AmbiguousItem):
        return f"several things are called '{error.key}'. Say which: {' or '.join(error.references)}"
    return f"{error}. Nothing was changed."


def _explain_trashed(error: NotFound, database: Database, scope: Scope) -> str | None:
    """What is in the trash, and how to bring it back; None where it is not there."""
    from satchel.services import references  # loads all of history, which most commands do not need

    if error.kind not in ("prompt", "resource", "task", "project"):
        return None
    uri = error.key if "://" in error.key else f"satchel://{error.kind}/{error.key}"
    try:
        with database.read(scope) as tx:
            found = references.find(tx, replace(scope, project=error.scope.project), uri)
    except Refused:
        return None
    if found.live is not None:
        return None
    what = f"{found.kind} {found.key}" if found.kind == "task" else f"{found.kind} '{found.key}'"
    return f"{what} is in the trash. Bring it back with: {restore_command(found.kind, found.key, error.scope.project)}"


def restore_command(kind: str, key: str, project: str) -> str:
    """The command that brings a deleted item back."""
    if kind == "task":
        return f"satchel restore '#{key.removeprefix('#')}'"
    return f"satchel restore satchel://project/{key}" if kind == "project" else f"satchel restore {key} -p {project}"


def _explain_missing(error: NotFound, database: Database, scope: Scope) -> str:
    if error.kind == "task":
        return f"task {error.key} is not among your tasks. List them with: satchel task list"
    if error.kind == "token":
        return f"there is no token {error.key}. List them with: satchel token list"
    name: str | None = None
    key, project = error.key.removeprefix(f"satchel://{error.kind}/"), error.scope.project
    if error.kind == "project":
        what, next_ = f"project '{key}' does not exist", f"Make it with: satchel project create {key}"
        name = projects.suggest(database, key)
    else:
        what = f"{error.kind} '{key}' is not in project '{project}'"
        next_ = f"List what is there with: satchel {error.kind} list -p {project}"
        if error.kind == "item":
            what = f"neither project '{project}' nor its trash has '{key}'"
            next_ = f"See what changed with: satchel log -p {project}"
        kinds = ("prompt", "resource") if error.kind == "item" else (error.kind,)
        with suppress(NotFound), database.read(scope) as tx:  # the project may not exist
            name = next((one for kind in kinds for one in _SUGGEST[kind](tx, error.scope, key)), None)
    hint = f"Did you mean '{name}'? " if name else ""
    return f"{what}. {hint}{next_}"


def _explain_wrong(error: WrongArgument) -> str:
    what = f"the {error.field} of a {error.kind}" if error.kind else error.field
    words: dict[tuple[str, str], str] = {
        ("name", "pattern"): f"'{error.value}' cannot be a {error.kind} name: use letters, digits, '-', '_' and '.'",
        ("tag", "pattern"): f"'{error.value}' cannot be a tag: use up to 50 letters, digits, '-' and '_'",
        ("name", "reserved"): f"'{error.value}' cannot be a {error.kind} name, because it is an id: use words",
        ("uri", "reserved"): f"'{error.value}' names what Satchel keeps: give a URI of another scheme",
        ("uri", "format"): f"'{error.value}' is no URI: it needs a scheme, as in file:///docs/api.md, and no spaces",
        ("mime_type", "format"): f"'{error.value}' is no MIME type; one looks like text/markdown",
        ("content", "contentEncoding"): "this content is no UTF-8 text; name a binary type with --mime-type",
        ("user", "format"): f"'{error.value}' is no user: a user is a UUID, as `satchel user` prints one",
        ("expires_at", "format"): f"'{error.value}' is no time: say 30m, 12h, 90d, 2w, 2030-12-31 or 2030-12-31T18:00",
        ("since", "format"): f"'{error.value}' is no time: say 30m, 12h, 7d or 2w ago, 2026-11-17 or 2026-11-17T12:00",
        ("expires_at", "minimum"): f"a token cannot expire at {error.value}, which is past. Give a later time",
        # Without the value, which may be a secret.
        ("id", "pattern"): "give a token by its id, or by the first 8 characters of it or more, and never by its "
        "secret. List the ids with: satchel token list",
        ("id", "oneOf"): f"several tokens have an id that starts with {error.value}. Give more of it",
        ("", "minLength"): f"{what} must not be empty",
        ("", "maxLength"): f"{what} has at most {error.limit} characters",
        ("", "maxBytes"): f"{what} has at most {error.limit} bytes",
        ("", "maxItems"): f"there are at most {error.limit} {error.field}",
    }
    if error.rule == "dependentRequired" and isinstance(error.limit, tuple):
        return "changing the type from {} to {} needs new content".format(*error.limit)
    unstorable = f"{error.field} has NUL or bytes in it that are no UTF-8, and cannot be stored"
    return words.get((error.field, error.rule)) or words.get(("", error.rule)) or unstorable
