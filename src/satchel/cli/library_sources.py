"""`satchel library add`, `update` and `remove`: libraries from git, folders and archives."""

from typing import Any, NoReturn

import click

from satchel.cli.printing import say, to_json
from satchel.cli.store import end, json_option
from satchel.config import SettingsError, load
from satchel.files import printable
from satchel.library.catalog import library_name
from satchel.library.installing import Installed, Invalid, Origin, Wish, list_added
from satchel.library.installing import add as install
from satchel.library.installing import remove as uninstall
from satchel.library.installing import update as renew
from satchel.library.sources import SourceRefused
from satchel.services.suggestions import closest_name
from satchel.settings import BY_NAME

_SETTING = BY_NAME["libraries"]
roots_option = click.option(*_SETTING.flags, metavar=_SETTING.metavar, multiple=True, help=_SETTING.full_help)
_anyway = click.option("--anyway", is_flag=True, help="Even if it has problems, or files of it were changed here.")


def find_roots(given: tuple[str, ...]) -> tuple[str, ...]:
    """The folders of libraries that a command works with."""
    try:
        return load({"libraries": list(given)}).libraries
    except SettingsError as error:
        end(str(error), 2)


@click.command()
@click.argument("source", metavar="GIT_URL|FOLDER|ARCHIVE")
@click.option("--ref", metavar="REF", help="The branch, tag or commit to take; by default that of the repository.")
@click.option("--path", metavar="FOLDER", default="", help="Where the library is in the source.")
@click.option("--name", metavar="NAME", help="The folder that it gets; by default named after the source.")
@_anyway
@roots_option
@json_option
def add(
    source: str, ref: str | None, path: str, name: str | None, anyway: bool, libraries: tuple[str, ...], as_json: bool
) -> None:
    """Add a library from a git repository, a folder, or a zip or tar archive.

    The commit, or the digest of an archive, is kept and shown. Nothing of the source is run; links in it are refused.

    \b
    satchel library add https://example.org/team/prompts.git --ref v2
    satchel library add downloads/prompts.zip --name everyday
    """
    root = find_roots(libraries)[0]
    try:
        done = install(root, Wish(source=source, ref=ref, path=path, name=name, takes_problems=anyway))
    except SourceRefused as refused:
        _refuse(refused)
    if as_json:
        click.echo(to_json(_describe(done)))
        return
    _print_problems(done)
    say(f"Added {library_name(done.folder)} ({_count(done)}) from {done.origin.source} at {done.origin.short_version}.")


@click.command()
@click.argument("name", required=False)
@_anyway
@roots_option
@json_option
def update(name: str | None, anyway: bool, libraries: tuple[str, ...], as_json: bool) -> None:
    """Bring a library, or all that were added, to the newest version of their sources.

    A version that has problems is not taken: the old one stays.
    """
    root = find_roots(libraries)[0]
    added = list_added(root)
    folders = [_find(added, name)] if name is not None else list(added)
    results: list[dict[str, Any]] = []
    has_failed = False
    for folder in folders:
        try:
            done = renew(root, folder, takes_problems=anyway)
        except SourceRefused as refused:
            if name is not None:
                _refuse(refused)
            has_failed = True
            results.append({"name": library_name(folder), "error": printable(str(refused))})
            say(f"{folder}: {refused}", err=True)
            continue
        if done is None:
            results.append({"name": library_name(folder), "version": added[folder].version, "updated": False})
            _say(as_json, f"{library_name(folder)} is up to date at {added[folder].short_version}.")
        else:
            results.append({**_describe(done), "updated": True, "was": done.was})
            was = done.was.removeprefix("sha256:")[:12]
            _say(as_json, f"Updated {library_name(folder)} from {was} to {done.origin.short_version} ({_count(done)}).")
    if as_json:
        click.echo(to_json({"libraries": results}))
    elif not folders:
        say("No library was added from elsewhere. Add one: satchel library add GIT_URL|FOLDER|ARCHIVE")
    raise SystemExit(1 if has_failed else 0)


@click.command()
@click.argument("name")
@_anyway
@roots_option
@json_option
def remove(name: str, anyway: bool, libraries: tuple[str, ...], as_json: bool) -> None:
    """Remove a library that was added from elsewhere."""
    root = find_roots(libraries)[0]
    folder = _find(list_added(root), name)
    try:
        origin = uninstall(root, folder, is_forced=anyway)
    except SourceRefused as refused:
        _refuse(refused)
    if as_json:
        click.echo(to_json({"name": library_name(folder), "folder": printable(folder), "removed": True}))
    else:
        say(f"Removed {library_name(folder)}. Add it again: satchel library add {origin.source}")


def describe_origin(origin: Origin) -> dict[str, Any]:
    """Where a library is from, for programs."""
    found = {"kind": origin.kind, "source": printable(origin.source), "version": origin.version, "added": origin.added}
    return found | ({"ref": origin.ref} if origin.ref else {}) | ({"path": origin.path} if origin.path else {})


def _describe(done: Installed) -> dict[str, Any]:
    return {
        "name": library_name(done.folder),
        "folder": printable(done.folder),
        "origin": describe_origin(done.origin),
        "prompts": done.report.prompts,
        "skills": done.report.skills,
        "problems": [str(problem) for problem in done.report.problems if not problem.is_warning],
    }


def _count(done: Installed) -> str:
    prompts, skills = done.report.prompts, done.report.skills
    counts = [f"{prompts} prompt{'' if prompts == 1 else 's'}"]
    return ", ".join([*counts, *([f"{skills} skill{'' if skills == 1 else 's'}"] if skills else [])])


def _print_problems(done: Installed) -> None:
    for problem in done.report.problems:
        if not problem.is_warning:
            say(str(problem), err=True)


def _say(as_json: bool, text: str) -> None:
    if not as_json:
        say(text)


def _refuse(refused: SourceRefused) -> NoReturn:
    if isinstance(refused, Invalid):
        for problem in refused.problems:
            say(str(problem), err=True)
    end(f"{str(refused).rstrip('.')}.", refused.status)


def _find(added: dict[str, Origin], name: str) -> str:
    """The folder of a library by its name, or by that of its folder."""
    found = [folder for folder in added if name in (folder, library_name(folder))]
    if not found:
        near = closest_name(name, [library_name(folder) for folder in added])
        hint = f"Did you mean '{near}'?" if near else "See what there is: satchel library list"
        end(f"no library '{name}' was added from elsewhere. {hint}", 3)
    return found[0]
