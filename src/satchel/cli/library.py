"""`satchel library`: list, show, check, make, render, add, update and remove libraries of prompt templates."""

import os
from typing import Any

import click

from satchel.cli.library_sources import add, describe_origin, find_roots, remove, roots_option, update
from satchel.cli.printing import print_table, say, show_content, to_json
from satchel.cli.store import end, json_option
from satchel.files import printable
from satchel.library.catalog import ContentMissing, Libraries, Library, library_name
from satchel.library.installing import Origin, read_origin
from satchel.library.manifest import PROMPTS, LibraryPrompt, Problem
from satchel.library.render import RenderFailed
from satchel.library.validate import check_all, check_library
from satchel.log import escape
from satchel.services.suggestions import closest_name


@click.group()
def cli() -> None:
    """List, show, check, make, render, add, update and remove libraries: folders with twig.toml and prompts/*.md."""


for _command in (add, update, remove):
    cli.add_command(_command)


@cli.command("list")
@roots_option
@json_option
def list_(libraries: tuple[str, ...], as_json: bool) -> None:
    """List the libraries, how many prompts each has, and where those from elsewhere came from."""
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
    rows = [(one.name, one.folder, str(len(one.available)), str(len(one.problems))) for one in found.libraries]
    columns: tuple[str, ...] = ("NAME", "FOLDER", "PROMPTS", "PROBLEMS")
    if any(origins.values()):
        columns += ("VERSION", "SOURCE")
        print_table(columns, [(*row, *_format_origin(origins[row[0]])) for row in rows])
    else:
        print_table(columns, rows)


@cli.command()
@click.argument("name")
@roots_option
@json_option
def show(name: str, libraries: tuple[str, ...], as_json: bool) -> None:
    """Show the prompts of a library, their arguments, and its problems."""
    library = _library(_open(libraries), name)
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

    Prints every problem as file:line: what. Ends with 1 if the server would skip something, fail to render it or render
    it empty, else with 0, even if there are warnings.
    """
    if path is not None and libraries:
        end("give PATH or --libraries, not both.", 2)
    if absent := next((one for one in libraries if not os.path.isdir(one)), None):
        end(f"there is no folder {absent}.", 2)
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
            parts = [_count(report.libraries, "library", "libraries"), _count(report.prompts, "prompt", "prompts")]
            parts += [_count(report.skills, "skill", "skills")] if report.skills else []
            parts += [_count(len(warnings), "warning", "warnings")] if warnings else []
            click.echo(f"ok: {', '.join(parts)}")
    raise SystemExit(1 if problems else 0)


@cli.command()
@click.argument("name")
@roots_option
@json_option
def new(name: str, libraries: tuple[str, ...], as_json: bool) -> None:
    """Write a small working library in folder NAME of the (first) folder of libraries."""
    if os.sep in name or name in (".", "..") or not library_name(name):
        end(f"'{name}' cannot be a library: its folder needs a name with a letter or a digit, and no {os.sep}.", 2)
    root = find_roots(libraries)[0]
    folder = os.path.join(root, name)
    try:
        os.makedirs(os.path.join(folder, PROMPTS), mode=0o755)
    except FileExistsError:
        end(f"{folder} is already there. Choose another name.", 5)
    except OSError as error:
        end(f"cannot make {folder}: {error.strerror}.", 1)
    for file, text in TEMPLATE.items():
        with open(os.path.join(folder, file), "x", encoding="utf-8") as opened:
            opened.write(text)
    prompt = f"{library_name(name)}:review"
    value = {"name": library_name(name), "folder": folder, "prompts": [prompt]}
    hint = f"Made {folder}. Try it: satchel library render {prompt} code='print(1)'"
    click.echo(to_json(value) if as_json else escape(hint))


@cli.command()
@click.argument("name", metavar="LIB:PROMPT")
@click.argument("arguments", metavar="KEY=VALUE...", nargs=-1)
@roots_option
@json_option
def render(name: str, arguments: tuple[str, ...], libraries: tuple[str, ...], as_json: bool) -> None:
    """Render a prompt with arguments and print it."""
    opened = _open(libraries)
    found = opened.find(name)
    if found is None:
        end(f"there is no prompt '{name}'. {_hint(name, [known for known, _ in opened.catalog.view])}", 3)
    library, prompt = found
    given = dict(_pair(argument) for argument in arguments)
    declared = {argument.name: argument for argument in prompt.arguments}
    unknown = [key for key in given if key not in declared]
    missing = [key for key, argument in declared.items() if argument.is_required and key not in given]
    if unknown:
        end(f"prompt '{name}' has no argument '{unknown[0]}'. It has: {', '.join(declared) or 'none'}.", 2)
    if missing:
        end(f"prompt '{name}' needs {missing[0]}=…", 2)
    try:
        text = opened.render(library, prompt, given)
    except ContentMissing:
        end(f"there is no file {library.folder}/{PROMPTS}/{prompt.file}.", 3)
    except RenderFailed as failure:
        where = f"{library.folder}/{PROMPTS}/{prompt.file}" + (f":{failure.line}" if failure.line else "")
        end(f"{where}: {failure.what}", 1)
    finally:
        opened.renderer.close()
    if as_json:
        click.echo(to_json({"name": name, "text": text}))
    else:
        show_content(text if text.endswith("\n") else f"{text}\n")


def _open(given: tuple[str, ...]) -> Libraries:
    return Libraries(find_roots(given), is_quiet=True)


def _library(libraries: Libraries, name: str) -> Library:
    found = next((one for one in libraries.catalog.libraries if one.name == name), None)
    if found is None:
        end(f"there is no library '{name}'. {_hint(name, [one.name for one in libraries.catalog.libraries])}", 3)
    return found


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


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _pair(argument: str) -> tuple[str, str]:
    key, is_pair, value = argument.partition("=")
    if not is_pair:
        end(f"'{argument}' is not KEY=VALUE.", 2)
    return key, value


def _hint(name: str, names: list[str]) -> str:
    near = closest_name(name, names)
    return f"Did you mean '{near}'?" if near else "See what there is: satchel library list"


TEMPLATE = {
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
