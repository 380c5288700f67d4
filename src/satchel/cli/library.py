"""`satchel library`: list, show, check, make, render, add, update and remove libraries of prompt templates."""

import os
from typing import Any, NoReturn

import click
from msgspec import to_builtins

from satchel.cli.completion import LIBRARY, TEMPLATE
from satchel.cli.errors import EXITS, end
from satchel.cli.examples import Group
from satchel.cli.output import count, print_result, print_table, say, show_content, to_json
from satchel.cli.prompt import read_values
from satchel.cli.session import json_option
from satchel.config import BY_NAME, SettingsError, load
from satchel.files import create_file, printable
from satchel.library.catalog import ContentMissing, Libraries, Library, library_name
from satchel.library.installing import Installed, Invalid, Origin, Wish, list_added, read_origin
from satchel.library.installing import add as install
from satchel.library.installing import remove as uninstall
from satchel.library.installing import update as renew
from satchel.library.manifest import PROMPTS, LibraryPrompt, Problem
from satchel.library.render import RenderFailed
from satchel.library.sources import SourceRefused
from satchel.library.validate import check_all, check_library
from satchel.services.texts import closest_name

_SETTING = BY_NAME["libraries"]
_NEW_LIBRARY = {
    "twig.toml": """\
# A library of prompts. Each [prompts.NAME] has its text in prompts/NAME.md.

[prompts.review]
description = "Review code for quality and best practices"

[[prompts.review.arguments]]
name = "code"
description = "The code to review"
required = true

[[prompts.review.arguments]]
name = "language"
description = "Its programming language"
""",
    "prompts/review.md": """\
Please review the following {{ language or "code" }}:

{{ code }}

{% if language %}Mind the customs of {{ language }}.{% endif %}
""",
}

roots_option = click.option(*_SETTING.flags, metavar=_SETTING.metavar, multiple=True, help=_SETTING.full_help)
anyway_option = click.option("--anyway", is_flag=True, help="Accept problems and local changes.")


def find_roots(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the library folders that a command uses."""
    try:
        return load({"libraries": list(given)}).libraries
    except SettingsError as error:
        end(str(error), "invalid_argument")


@click.group(cls=Group)
def cli() -> None:
    """List, show, check, make, render, add, update and remove libraries: folders with twig.toml and prompts/*.md."""


@cli.command("list")
@roots_option
@json_option
def list_(libraries: tuple[str, ...], as_json: bool) -> None:
    """List the libraries, their prompts, and the sources of added ones."""
    found = _open(libraries).catalog
    origins = {one.name: read_origin(one.root, one.folder) for one in found.libraries}
    value = [
        {
            "name": one.name,
            "folder": printable(one.folder),
            "prompts": len(one.available),
            "problems": len(one.problems),
            **({"origin": describe_origin(origin)} if (origin := origins[one.name]) else {}),
        }
        for one in found.libraries
    ]
    if as_json:
        click.echo(to_json({"libraries": value, "problems": [str(problem) for problem in found.problems]}))
        return
    for problem in found.problems:
        say(str(problem), err=True)
    rows = [
        (one.name, one.folder, str(len(one.available)), str(len(one.problems)), *_format_origin(origins[one.name]))
        for one in found.libraries
    ]
    kept = 6 if any(origins.values()) else 4
    columns = ("NAME", "FOLDER", "PROMPTS", "PROBLEMS", "VERSION", "SOURCE")
    print_table(columns[:kept], [row[:kept] for row in rows])
    if not rows:
        say("There are no libraries. Make one with: satchel library new NAME", err=True)


@cli.command()
@click.argument("name", type=LIBRARY)
@roots_option
@json_option
def show(name: str, libraries: tuple[str, ...], as_json: bool) -> None:
    """Show the prompts of a library, their arguments, and its problems."""
    known = _open(libraries).catalog.libraries
    library = next((one for one in known if one.name == name), None)
    if library is None:
        end(f"there is no library '{name}'. {_hint(name, [one.name for one in known])}", "not_found")
    prompts = [_describe(library, prompt) for prompt in library.prompts]
    problems = [str(problem) for problem in library.problems]
    if as_json:
        folder = printable(library.folder)
        click.echo(to_json({"name": library.name, "folder": folder, "prompts": prompts, "problems": problems}))
        return
    for prompt in prompts:
        say(f"{prompt['name']}  {prompt['description'] or ''}".rstrip())
        for argument in prompt["arguments"]:
            needed = "" if argument["required"] else " (optional)"
            say(f"    {argument['name']}{needed}  {argument['description'] or ''}".rstrip())
    for problem in library.problems:
        say(str(problem.below(library.folder)), err=True)


@cli.command()
@click.argument("path", required=False, type=click.Path(exists=True, file_okay=False))
@roots_option
@json_option
def validate(path: str | None, libraries: tuple[str, ...], as_json: bool) -> None:
    """Check the library in folder PATH; without PATH, all libraries that would be served.

    Each prompt is rendered with sample values, and each problem printed with its file and, if known, its line. The exit
    status is 1 if the server would skip something, fail to render it or render it empty; warnings do not count.
    """
    if path is not None and libraries:
        end("give PATH or --libraries, not both.", "invalid_argument")
    if absent := next((one for one in libraries if not os.path.isdir(one)), None):
        end(f"there is no folder {absent}.", "invalid_argument")
    report = check_all(find_roots(libraries)) if path is None else check_library(path)
    problems = [problem for problem in report.problems if not problem.is_warning]
    warnings = [problem for problem in report.problems if problem.is_warning]
    if as_json:
        counts = {"libraries": report.libraries, "prompts": report.prompts}
        counts |= {"skills": report.skills} if report.skills else {}
        click.echo(to_json({**counts, "problems": _as_json(problems), "warnings": _as_json(warnings)}))
    else:
        for problem in (*problems, *warnings):
            say(str(problem))
        if not problems:
            parts = [count(report.libraries, "library", "libraries"), count(report.prompts, "prompt")]
            parts += [count(report.skills, "skill")] if report.skills else []
            parts += [count(len(warnings), "warning")] if warnings else []
            click.echo(f"ok: {', '.join(parts)}")
    raise SystemExit(1 if problems else 0)


@cli.command()
@click.argument("name")
@roots_option
@json_option
def new(name: str, libraries: tuple[str, ...], as_json: bool) -> None:
    """Make a small working library in folder NAME of the first library folder."""
    if os.sep in name or name in (".", "..") or not library_name(name):
        why = f"its folder needs a name with a letter or a digit, and no {os.sep}"
        end(f"'{name}' cannot be a library: {why}.", "invalid_argument")
    root = find_roots(libraries)[0]
    folder = os.path.join(root, name)
    try:
        os.makedirs(os.path.join(folder, PROMPTS), mode=0o755)
    except FileExistsError:
        end(f"{folder} is already there. Choose another name.", "already_exists")
    except OSError as error:
        end(f"cannot make {folder}: {error.strerror}.")
    for file, text in _NEW_LIBRARY.items():
        create_file(os.path.join(folder, file), text.encode(), mode=None)
    prompt = f"{library_name(name)}:review"
    value = {"name": library_name(name), "folder": folder, "prompts": [prompt]}
    hint = f"Made {folder}. Try it with: satchel library render {prompt} code='print(1)'"
    print_result(hint, value, as_json=as_json)


@cli.command()
@click.argument("name", type=TEMPLATE, metavar="LIB:PROMPT")
@click.argument("arguments", metavar="[NAME=VALUE]...", nargs=-1)
@roots_option
@json_option
def render(name: str, arguments: tuple[str, ...], libraries: tuple[str, ...], as_json: bool) -> None:
    """Fill in a prompt and print it. A value is the text itself, @FILE, or - for stdin."""
    opened = _open(libraries)
    found = opened.find(name)
    if found is None:
        end(f"there is no prompt '{name}'. {_hint(name, [known for known, _ in opened.catalog.view])}", "not_found")
    library, prompt = found
    given = read_values(arguments)
    declared = {argument.name: argument for argument in prompt.arguments}
    unknown = [key for key in given if key not in declared]
    missing = [key for key, argument in declared.items() if argument.is_required and key not in given]
    if unknown:
        known = ", ".join(declared) or "none"
        end(f"prompt '{name}' has no argument '{unknown[0]}'. It has: {known}.", "invalid_argument")
    if missing:
        end(f"prompt '{name}' needs {missing[0]}=…", "invalid_argument")
    try:
        text = opened.render(library, prompt, given)
    except ContentMissing:
        end(f"there is no file {library.folder}/{PROMPTS}/{prompt.file}.", "not_found")
    except RenderFailed as failure:
        where = f"{library.folder}/{PROMPTS}/{prompt.file}" + (f":{failure.line}" if failure.line else "")
        end(f"{where}: {failure.what}")
    finally:
        opened.renderer.close()
    if as_json:
        click.echo(to_json({"name": name, "text": text}))
    else:
        show_content(text if text.endswith("\n") else f"{text}\n")


def _open(given: tuple[str, ...]) -> Libraries:
    return Libraries(find_roots(given), is_quiet=True)


def _format_origin(origin: Origin | None) -> tuple[str, str]:
    if origin is None:
        return "", ""
    return origin.short_version, origin.source + (f" ({origin.ref})" if origin.ref else "")


def _describe(library: Library, prompt: LibraryPrompt) -> dict[str, Any]:
    arguments = [
        {"name": one.name, "description": one.description, "required": one.is_required} for one in prompt.arguments
    ]
    return {"name": f"{library.name}:{prompt.key}", "description": prompt.description, "arguments": arguments}


def _as_json(problems: list[Problem]) -> list[dict[str, Any]]:
    return [{"file": printable(one.file), "line": one.line, "what": printable(one.what)} for one in problems]


def _hint(name: str, names: list[str]) -> str:
    near = closest_name(name, names)
    return f"Did you mean '{near}'?" if near else "See what there is: satchel library list"


# -- libraries from elsewhere ------------------------------------------------------------------------------------


@cli.command()
@click.argument("source", metavar="GIT_URL|FOLDER|ARCHIVE")
@click.option("--ref", metavar="REF", help="The branch, tag or commit.  [default: that of the repository]")
@click.option("--path", metavar="FOLDER", default="", help="The folder of the library in the source.")
@click.option("--name", metavar="NAME", help="The name of its folder.  [default: named after the source]")
@anyway_option
@roots_option
@json_option
def add(
    source: str, ref: str | None, path: str, name: str | None, anyway: bool, libraries: tuple[str, ...], as_json: bool
) -> None:
    """Add a library from a git repository, a folder, or a zip or tar archive.

    The commit, or the digest of the archive, is recorded and shown. Nothing in the library is run; links are refused.
    """
    root = find_roots(libraries)[0]
    try:
        done = install(root, Wish(source=source, ref=ref, path=path, name=name, takes_problems=anyway))
    except SourceRefused as refused:
        _refuse(refused)
    if as_json:
        click.echo(to_json(_describe_installed(done)))
        return
    for problem in done.report.problems:
        if not problem.is_warning:
            say(str(problem), err=True)
    where = f"{done.origin.source} at {done.origin.short_version}"
    say(f"Added {library_name(done.folder)} ({_count_installed(done)}) from {where}.")


@cli.command()
@click.argument("name", type=LIBRARY, required=False)
@anyway_option
@roots_option
@json_option
def update(name: str | None, anyway: bool, libraries: tuple[str, ...], as_json: bool) -> None:
    """Update a library, or all added ones, to the newest version of their sources.

    A version with problems is refused, and the old one stays.
    """
    root = find_roots(libraries)[0]
    added = list_added(root)
    folders = [_find_added(added, name)] if name is not None else list(added)
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
            text = f"{library_name(folder)} is up to date at {added[folder].short_version}."
        else:
            results.append({**_describe_installed(done), "updated": True, "was": done.was})
            versions = f"from {done.was.removeprefix('sha256:')[:12]} to {done.origin.short_version}"
            text = f"Updated {library_name(folder)} {versions} ({_count_installed(done)})."
        if not as_json:
            say(text)
    if as_json:
        click.echo(to_json({"libraries": results}))
    elif not folders:
        say("No library was added from a source. Add one: satchel library add GIT_URL|FOLDER|ARCHIVE")
    raise SystemExit(1 if has_failed else 0)


@cli.command()
@click.argument("name", type=LIBRARY)
@anyway_option
@roots_option
@json_option
def remove(name: str, anyway: bool, libraries: tuple[str, ...], as_json: bool) -> None:
    """Remove a library that was added."""
    root = find_roots(libraries)[0]
    folder = _find_added(list_added(root), name)
    try:
        origin = uninstall(root, folder, is_forced=anyway)
    except SourceRefused as refused:
        _refuse(refused)
    value = {"name": library_name(folder), "folder": printable(folder), "removed": True}
    hint = f"Removed {library_name(folder)}. Add it again: satchel library add {origin.source}"
    print_result(hint, value, as_json=as_json)


def describe_origin(origin: Origin) -> dict[str, Any]:
    """Return the source of a library, as JSON."""
    return {**to_builtins(origin), "source": printable(origin.source)}


def _describe_installed(done: Installed) -> dict[str, Any]:
    return {
        "name": library_name(done.folder),
        "folder": printable(done.folder),
        "origin": describe_origin(done.origin),
        "prompts": done.report.prompts,
        "skills": done.report.skills,
        "problems": [str(problem) for problem in done.report.problems if not problem.is_warning],
    }


def _count_installed(done: Installed) -> str:
    skills = [count(done.report.skills, "skill")] if done.report.skills else []
    return ", ".join([count(done.report.prompts, "prompt"), *skills])


def _refuse(refused: SourceRefused) -> NoReturn:
    if isinstance(refused, Invalid):
        for problem in refused.problems:
            say(str(problem), err=True)
    end(f"{str(refused).rstrip('.')}.", next(one.codes[0] for one in EXITS if one.status == refused.status))


def _find_added(added: dict[str, Origin], name: str) -> str:
    """Return the folder of an added library, given the library's name or the folder's."""
    found = [folder for folder in added if name in (folder, library_name(folder))]
    if not found:
        hint = _hint(name, [library_name(folder) for folder in added])
        end(f"no library '{name}' was added from a source. {hint}", "not_found")
    return found[0]
