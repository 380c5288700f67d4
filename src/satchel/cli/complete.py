"""Completes names from the store: what a shell offers for the arguments and options of the other commands.

It reads only: a store that does not exist, is of another schema or does not answer offers nothing.
"""

import os
from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from satchel.model import Scope
from satchel.storage.database import Tx

Source = Callable[[click.Context, str], Iterable[str]]
Find = Callable[[Tx, Scope, str], Iterable[str]]

_MAKING = ("add", "create", "new")  # verbs whose names do not exist yet


def offer(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """What can stand for a parameter, beginning with what was typed of it."""
    source = _find_source(context, parameter.name or "")
    try:
        names = [] if source is None else list(source(context, word))
    except Exception:
        return []  # a shell that completes has no place for messages
    return [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(word)]


def attach(command: click.Command) -> click.Command:
    """Let the parameters of a command, and of those within it, be completed, unless they have a way of their own."""
    for parameter in command.params:
        is_plain = isinstance(parameter.type, click.types.StringParamType)
        has_own = getattr(parameter, "_custom_shell_complete", None) is not None
        if is_plain and not has_own:
            _let_complete(parameter)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            attach(inner)
    return command


def _let_complete(parameter: click.Parameter) -> None:
    setattr(parameter, "shell_complete", lambda context, word: offer(context, parameter, word))  # noqa: B010


def _find_any_prompt(context: click.Context, word: str) -> Iterable[str]:
    """Stored prompts and those of libraries, for commands that only read them."""
    return [*_NOUNS["prompt"](context, word), *_find_templates(context, word)]


def _find_source(context: click.Context, name: str) -> Source | None:
    """Where the values of a parameter come from, by its name and the noun and verb that it belongs to."""
    words = context.command_path.split()[1:]
    noun, verb = [*words, "", ""][:2]
    if (noun, name) in _OPTIONS_OF_NOUN:
        return _OPTIONS_OF_NOUN[noun, name]
    if name in _OPTIONS:
        return _OPTIONS[name]
    if verb in _MAKING or name not in _REFERENCES:
        return None
    if (noun, verb) in (("prompt", "show"), ("prompt", "render")):
        return _find_any_prompt
    return _find_templates if (noun, verb) == ("library", "render") else _NOUNS.get(noun)


def _in_store(find: Find, *, as_user: bool = False) -> Source:
    """A source that reads the store which the words typed so far name."""

    def read(context: click.Context, word: str) -> Iterable[str]:
        from msgspec.structs import replace

        from satchel import config
        from satchel.cli.place import find_scope
        from satchel.services import users
        from satchel.storage.database import is_postgres, open_database
        from satchel.storage.status import read_status

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
            scope = replace(find_scope(settings, database), user=user)
            with database.read(scope) as tx:
                return list(find(tx, scope, word))
        finally:
            database.close()

    return read


def _find_prompts(tx: Tx, scope: Scope, word: str) -> Iterable[str]:
    from satchel.services import completion

    return completion.prompt_names(tx, scope, word).values


def _find_resources(tx: Tx, scope: Scope, _word: str) -> Iterable[str]:
    from satchel.services import resources

    return [resource.name for resource in resources.list_all(tx, scope)]


def _find_tasks(tx: Tx, scope: Scope, word: str) -> Iterable[str]:
    from satchel.services import completion

    mark = "#" if word.startswith("#") else ""
    return [f"{mark}{number}" for number in completion.open_tasks(tx, scope, word).values]


def _find_projects(tx: Tx, scope: Scope, word: str) -> Iterable[str]:
    from satchel.services import completion

    return completion.projects(tx, scope, word).values


def _find_tags(tx: Tx, scope: Scope, word: str) -> Iterable[str]:
    from satchel.services import completion

    return completion.prompt_tags(tx, scope, word).values


def _find_task_tags(tx: Tx, scope: Scope, _word: str) -> Iterable[str]:
    from satchel.services import tasks

    return tasks.list_tags(tx, scope, None)


def _find_items(tx: Tx, scope: Scope, word: str) -> Iterable[str]:
    if word.startswith("#"):
        return _find_tasks(tx, scope, word)
    return [*_find_prompts(tx, scope, word), *_find_resources(tx, scope, word)]


def _find_contracts(_context: click.Context, _word: str) -> Iterable[str]:
    from satchel.contracts import CONTRACTS

    return CONTRACTS


def _find_libraries(_context: click.Context, _word: str) -> Iterable[str]:
    from satchel import config
    from satchel.library.catalog import Libraries

    return [one.name for one in Libraries(config.load({}).libraries, is_quiet=True).catalog.libraries]


def _find_templates(_context: click.Context, _word: str) -> Iterable[str]:
    from satchel import config
    from satchel.library.catalog import Libraries

    return [name for name, _ in Libraries(config.load({}).libraries, is_quiet=True).catalog.view]


# options, by their name
_OPTIONS: dict[str, Source] = {
    "project": _in_store(_find_projects),
    "wanted": _in_store(_find_projects),
    "to": _in_store(_find_projects),
    "blockers": _in_store(_find_tasks, as_user=True),
    "contract": _find_contracts,
    "tags": _in_store(_find_tags),
}
_OPTIONS_OF_NOUN: dict[tuple[str, str], Source] = {("task", "tags"): _in_store(_find_task_tags, as_user=True)}
# what names something that exists, and whose names, by the noun of the command
_REFERENCES = ("ref", "refs", "name", "names", "item", "items", "library")
_ITEMS = _in_store(_find_items, as_user=True)
_NOUNS: dict[str, Source] = {
    "prompt": _in_store(_find_prompts),
    "resource": _in_store(_find_resources),
    "task": _in_store(_find_tasks, as_user=True),
    "project": _in_store(_find_projects),
    "contract": _find_contracts,
    "library": _find_libraries,
    **dict.fromkeys(("log", "diff", "restore", "purge"), _ITEMS),
}
