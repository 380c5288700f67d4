"""Completions of a half-typed name: the names that start with it, then those that contain it."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from satchel.model import Scope
from satchel.services import rules
from satchel.services.projects import current
from satchel.services.tasks import owner
from satchel.storage import completion as rows
from satchel.storage import tasks as task_rows
from satchel.storage.database import Tx

MOST = 100
_OPEN_TASKS = 10_000  # only so many of the newest are searched

Lookup = Callable[[str, int], list[str]]  # text, limit


class Completion(Struct, frozen=True):
    """Up to a hundred names, and whether there are more."""

    values: tuple[str, ...]
    has_more: bool


def projects(tx: Tx, scope: Scope, text: str) -> Completion:
    """Names of projects that the scope may enter."""
    if scope.projects is not None:
        names = [name for name in sorted(set(scope.projects)) if rows.projects_starting(tx, name, 1) == [name]]
        return _match(names, text)
    return _complete(
        text,
        lambda start, limit: rows.projects_starting(tx, start, limit),
        lambda folded, limit: rows.projects_containing(tx, folded, limit),
    )


def prompt_names(tx: Tx, scope: Scope, text: str) -> Completion:
    """Names of the project's prompts."""
    project = current(tx, scope).number
    return _complete(
        text,
        lambda start, limit: rows.prompts_starting(tx, project, start, limit),
        lambda folded, limit: rows.prompts_containing(tx, project, folded, limit),
    )


def resource_uris(tx: Tx, scope: Scope, text: str) -> Completion:
    """URIs of the project's resources."""
    project = current(tx, scope).number
    return _complete(
        text,
        lambda start, limit: rows.uris_starting(tx, project, start, limit),
        lambda folded, limit: rows.uris_containing(tx, project, folded, limit),
    )


def prompt_tags(tx: Tx, scope: Scope, text: str) -> Completion:
    """Tags of the project's prompts."""
    project = current(tx, scope).number
    return _complete(
        text.lower(),
        lambda start, limit: rows.prompt_tags(tx, project, start=start, containing="", limit=limit),
        lambda folded, limit: rows.prompt_tags(tx, project, start="", containing=folded, limit=limit),
    )


def open_tasks(tx: Tx, scope: Scope, text: str) -> Completion:
    """Numbers of the user's open tasks that the scope may see, the newest first."""
    numbers = task_rows.open_numbers(tx, owner(scope), _OPEN_TASKS, scope.projects)
    return _match(map(str, numbers), text.removeprefix("#"))


def _complete(text: str, starting: Lookup, containing: Lookup) -> Completion:
    if not rules.is_storable(text):
        return Completion((), False)
    found = dict.fromkeys(starting(text, MOST + 1))
    if text and len(found) <= MOST:
        found |= dict.fromkeys(containing(text.casefold(), MOST + 1))
    names = tuple(found)
    return Completion(names[:MOST], len(names) > MOST)


def _match(names: Iterable[str], text: str) -> Completion:
    folded = text.casefold()
    known = [name for name in names if folded in name.casefold()]
    known.sort(key=lambda name: not name.casefold().startswith(folded))
    return Completion(tuple(known[:MOST]), len(known) > MOST)
