"""Completions of a half-typed name: the names that start with it, then those that contain it."""

from collections.abc import Iterable

from msgspec import Struct

from satchel.model import Scope, TaskQuery
from satchel.services import rules
from satchel.services.layers import find_personal
from satchel.services.projects import current, list_allowed
from satchel.storage import completion as rows
from satchel.storage import revisions
from satchel.storage import tasks as task_rows
from satchel.storage.database import Tx

MOST = 100
_OPEN_TASKS = 10_000  # tasks to search, most urgent first
_TITLES = 1_000  # the same for their titles


class Completion(Struct, frozen=True):
    """Up to a hundred names, and whether there are more."""

    values: tuple[str, ...]
    has_more: bool


def projects(tx: Tx, scope: Scope, text: str) -> Completion:
    """Return the names of projects that the scope may enter."""
    if scope.projects is None:
        return _complete(tx, rows.PROJECTS, None, text)
    allowed = sorted(set(scope.projects))
    return match([name for name in allowed if rows.names_starting(tx, rows.PROJECTS, None, name, 1) == [name]], text)


def prompt_names(tx: Tx, scope: Scope, text: str) -> Completion:
    """Return the names of the project's prompts, then of the personal ones."""
    return _complete_layers(tx, scope, rows.PROMPTS, text)


def prompt_tags(tx: Tx, scope: Scope, text: str) -> Completion:
    """Return the tags of the project's prompts, then of the personal ones."""
    return _complete_layers(tx, scope, rows.PROMPT_TAGS, rules.fold_tag(text))


def open_tasks(tx: Tx, scope: Scope, text: str) -> Completion:
    """Return the numbers of the user's open tasks that the scope may see, newest first."""
    numbers = task_rows.numbers(tx, scope.owner, TaskQuery(filter="pending"), scope.projects, _OPEN_TASKS)
    return match(map(str, sorted(numbers, reverse=True)), text.removeprefix("#"))


def task_references(tx: Tx, scope: Scope, text: str) -> Completion:
    """Return the numbers of the user's open tasks as `open_tasks` does, then the titles of the most urgent ones."""
    numbers = task_rows.numbers(tx, scope.owner, TaskQuery(filter="pending"), scope.projects, _TITLES)
    titles = revisions.names_of(tx, "task", numbers, list_allowed(tx, scope))
    return merge(open_tasks(tx, scope, text), match((titles[number][1] for number in numbers), text))


def _complete_layers(tx: Tx, scope: Scope, names: str, text: str) -> Completion:
    own, lower = _complete(tx, names, current(tx, scope).number, text), find_personal(tx, scope)
    if lower is None:
        return own
    return merge(own, _complete(tx, names, current(tx, lower).number, text))


def _complete(tx: Tx, names: str, project: int | None, text: str) -> Completion:
    if not rules.is_storable(text):
        return Completion((), False)
    found = rows.names_starting(tx, names, project, text, MOST + 1)
    if text and len(found) <= MOST:
        found += rows.names_containing(tx, names, project, text.casefold(), MOST + 1)
    return _cut(found)


def match(names: Iterable[str], text: str) -> Completion:
    """Return the names that start with a text, then those that contain it, ignoring case."""
    folded = text.casefold()
    found = [name for name in names if folded in name.casefold()]
    return _cut(sorted(found, key=lambda name: not name.casefold().startswith(folded)))


def merge(first: Completion, second: Completion) -> Completion:
    """Return the names of both lists without repeats."""
    both = _cut([*first.values, *second.values])
    return Completion(both.values, both.has_more or first.has_more or second.has_more)


def _cut(found: list[str]) -> Completion:
    names = tuple(dict.fromkeys(found))
    return Completion(names[:MOST], len(names) > MOST)
