"""Shell completion: the types of arguments that name something in the store, and `satchel completion`.

Completion only reads: a store that does not exist, has another schema or does not answer offers nothing.
"""

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class
from msgspec.structs import replace

from satchel import config
from satchel.app import project_discovery
from satchel.cli.examples import Command
from satchel.clients.table import CLIENTS
from satchel.model import Scope
from satchel.services import completion, documents, projects, tasks, users
from satchel.storage.database import Tx, is_postgres, open_database
from satchel.storage.status import read_status

VARIABLE = "_SATCHEL_COMPLETE"  # the variable by which the shell's script asks for completions

Find = Callable[[Tx, Scope, str], Iterable[str]]
Source = Callable[[click.Context, str], Iterable[str]]


class Name(click.types.StringParamType):
    """An argument that a shell completes with names from a source."""

    def __init__(self, *sources: Source) -> None:
        self._sources = sources

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin with the typed text."""
        del param
        try:
            names = [name for source in self._sources for name in source(ctx, incomplete)]
        except Exception:
            return []  # a shell cannot show messages while it completes
        return [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete)]


class TaskName(Name):
    """A reference to a task; the # before a number is dropped."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the reference in the form that the tools accept."""
        text = str(super().convert(value, param, ctx))
        digits = text.removeprefix("#")
        return digits if digits.isascii() and digits.isdigit() else text


def _in_store(find: Find, *, as_user: bool = False) -> Source:
    """Return a function that lists names from the store that the options on the command line select."""

    def read(context: click.Context, word: str) -> Iterable[str]:
        given = {name: context.params.get(name) for name in ("database", "project", "user")}
        settings = config.load({name: flag if isinstance(flag, str) else None for name, flag in given.items()})
        if not is_postgres(settings.database) and not os.path.exists(settings.database):
            return []
        status = read_status(settings.database)
        if status.schema != status.newest:
            return []
        database = open_database(settings.database, settings.database_direct)
        try:
            user = settings.user or (users.local(database, settings.home) if as_user else None)
            scope = Scope(project=settings.project, personal=settings.personal)
            if settings.why_project is None:
                scope = project_discovery.find_current(scope, partial(projects.exists, database))
            scope = replace(scope, user=user)
            with database.read(scope) as tx:
                return list(find(tx, scope, word))
        finally:
            database.close()

    return read


def _find_documents(tx: Tx, scope: Scope, _word: str) -> Iterable[str]:
    return [document.name for document in documents.list_all(tx, scope)]


def _find_tasks(tx: Tx, scope: Scope, word: str) -> Iterable[str]:
    mark = "#" if word.startswith("#") else ""
    return [f"{mark}{number}" for number in completion.open_tasks(tx, scope, word).values]


def _find_items(tx: Tx, scope: Scope, word: str) -> Iterable[str]:
    if word.startswith("#"):
        return _find_tasks(tx, scope, word)
    return [*completion.prompt_names(tx, scope, word).values, *_find_documents(tx, scope, word)]


def _find_libraries(_context: click.Context, _word: str) -> Iterable[str]:
    return [one.name for one in _open_catalog().libraries]


def _find_templates(_context: click.Context, _word: str) -> Iterable[str]:
    return [name for name, _ in _open_catalog().view]


def _open_catalog() -> Any:
    from satchel.library.catalog import Libraries  # takes 20 ms, which other commands need not wait for

    return Libraries(config.load({}).libraries, is_quiet=True).catalog


_PROMPTS = _in_store(lambda tx, scope, word: completion.prompt_names(tx, scope, word).values)
PROJECT = Name(_in_store(lambda tx, scope, word: completion.projects(tx, scope, word).values))
PROMPT = Name(_PROMPTS)
ANY_PROMPT = Name(_PROMPTS, _find_templates)  # stored, or in a library
DOCUMENT = Name(_in_store(_find_documents))
TASK = TaskName(_in_store(_find_tasks, as_user=True))
BLOCKER = Name(_in_store(_find_tasks, as_user=True))  # perhaps with + or - before it
ITEM = Name(_in_store(_find_items, as_user=True))
TAG = Name(_in_store(lambda tx, scope, word: completion.prompt_tags(tx, scope, word).values))
TASK_TAG = Name(_in_store(lambda tx, scope, _word: tasks.list_tags(tx, scope, None), as_user=True))
CLIENT = Name(lambda _context, _word: [client.name for client in CLIENTS])
LIBRARY = Name(_find_libraries)
TEMPLATE = Name(_find_templates)


# -- the command ------------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def cli(shell: str) -> None:
    """Print the completion script of a shell."""
    from satchel.cli.app import cli as satchel

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these shells"
    # Skip click's check of bash's version, which starts bash; every version since 4.4 (2016) works.
    script = type(kind.__name__, (kind,), {"_check_version": staticmethod(lambda: None)})
    click.echo(script(satchel, {}, "satchel", VARIABLE).source())
