"""What a half-typed name may become: the names that start with it, then those that contain it."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from satchel.model import Scope
from satchel.services.projects import current
from satchel.services.tasks import owner
from satchel.storage import completion as rows
from satchel.storage import tasks as task_rows
from satchel.storage.database import Tx

MOST = 100
_OPEN_TASKS = 10_000  # the newest, which are looked through

Look = Callable[[str, int], list[str]]  # text, limit


class Completion(Struct, frozen=True):
    """Up to a hundred names, and whether there are more."""

    values: tuple[str, ...]
    has_more: bool


def projects(tx: Tx, scope: Scope, text: str) -> Completion:
    """Names of projects that the scope may enter."""
    if scope.projects is not None:
        names = [name for name in sorted(set(scope.projects)) if rows.projects_starting(tx, name, 1) == [name]]
        return _sorted_out(names, text)
    return _completed(
        text,
        lambda start, limit: rows.projects_starting(tx, start, limit),
        lambda folded, limit: rows.projects_containing(tx, folded, limit),
    )


def prompt_names(tx: Tx, scope: Scope, text: str) -> Completion:
    """Names of the project's prompts."""
    project = current(tx, scope).number
    return _completed(
        text,
        lambda start, limit: rows.prompts_starting(tx, project, start, limit),
        lambda folded, limit: rows.prompts_containing(tx, project, folded, limit),
    )


def resource_uris(tx: Tx, scope: Scope, text: str) -> Completion:
    """URIs of the project's resources."""
    project = current(tx, scope).number
    return _completed(
        text,
        lambda start, limit: rows.uris_starting(tx, project, start, limit),
        lambda folded, limit: rows.uris_containing(tx, project, folded, limit),
    )


def prompt_tags(tx: Tx, scope: Scope, text: str) -> Completion:
    """Tags of the project's prompts."""
    project = current(tx, scope).number
    return _completed(
        text.lower(),
        lambda start, limit: rows.prompt_tags(tx, project, start=start, containing="", limit=limit),
        lambda folded, limit: rows.prompt_tags(tx, project, start="", containing=folded, limit=limit),
    )


def open_tasks(tx: Tx, scope: Scope, text: str) -> Completion:
    """Numbers of the user's tasks that are not done, the newest first, as far as the scope may enter their projects."""
    numbers = task_rows.open_numbers(tx, owner(scope), _OPEN_TASKS, scope.projects)
    return _sorted_out(map(str, numbers), text.removeprefix("#"))


def _completed(text: str, starting: Look, containing: Look) -> Completion:
    found = dict.fromkeys(starting(text, MOST + 1))
    if text and len(found) <= MOST:
        found |= dict.fromkeys(containing(text.casefold(), MOST + 1))
    names = tuple(found)
    return Completion(names[:MOST], len(names) > MOST)


def _sorted_out(names: Iterable[str], text: str) -> Completion:
    folded = text.casefold()
    known = [name for name in names if folded in name.casefold()]
    known.sort(key=lambda name: not name.casefold().startswith(folded))
    return Completion(tuple(known[:MOST]), len(known) > MOST)
