"""`satchel import`: prompts, documents and tasks from files of other tools."""

import sys
from typing import Any

import click

from satchel.cli.errors import end
from satchel.cli.examples import Command
from satchel.cli.output import show_progress, to_json
from satchel.cli.session import Session, command
from satchel.exchange import importing
from satchel.exchange.entries import KINDS
from satchel.exchange.formats import BY_NAME, FORMATS, NAMES, find_name
from satchel.exchange.importing import ImportReport
from satchel.files import printable
from satchel.services.texts import closest_names

_SHOWN = 10  # lines of each part of a report
_INTERRUPTED = 130  # the exit status of a process that SIGINT ended

EPILOG = f"Formats: {', '.join(NAMES)}."


def read_format(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Return the format named by --format.

    Raises:
        BadParameter: there is no such format.
    """
    name = None if value is None else find_name(value)
    if value is not None and name is None:
        near = closest_names(value.lower(), NAMES)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise click.BadParameter(f"there is no format '{value}'.{hint} Formats are {', '.join(NAMES)}.")
    return name


@click.command("import", cls=Command, epilog=EPILOG)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--format", "-f", "format_", metavar="NAME", callback=read_format, help="The format of all files.")
@click.option("--dry-run", "-n", is_flag=True, help="Only show what would be done.")
@click.option(
    "--on-clash",
    type=click.Choice(["skip", "rename", "replace"]),
    default="skip",
    show_default=True,
    help="What to do with an item whose name or title is taken.",
)
@command(needs_project=True, as_user=True, reads="dry_run")
def cli(session: Session, paths: tuple[str, ...], format_: str | None, dry_run: bool, on_clash: Any) -> None:
    """Import prompts, documents and tasks from files and folders of other tools.

    PATH is a file, a folder, or - for stdin. The format of each file is recognised, or given by --format. Items that
    are in the store already stay as they are.
    """
    try:
        files = importing.list_files(paths, sys.stdin.buffer.read() if "-" in paths else None)
    except OSError as error:
        end(f"there is no file or folder {error.filename}.", "not_found", as_json=session.as_json)
    with show_progress("Importing") as report:
        options = importing.Options(on_clash=on_clash, is_dry_run=dry_run, report=report)
        result = importing.run(
            session.database, session.scope, importing.read_files(files, BY_NAME[format_] if format_ else None), options
        )
    if session.as_json:
        click.echo(to_json(describe(session, result)))
    else:
        _print(session, result)
    if result.is_interrupted:
        raise SystemExit(_INTERRUPTED)
    if result.problems or not (result.lines or result.left_alone):
        raise SystemExit(1)


def describe(session: Session, result: ImportReport) -> dict[str, Any]:
    """Return a report as JSON."""
    return {
        "project": session.scope.project,
        "dry_run": result.is_dry_run,
        "interrupted": result.is_interrupted,
        **{f"{kind}s": result.count(kind) for kind in KINDS},
        "formats": result.formats,
        "projects_made": result.projects,
        "items": result.lines,
        "problems": result.problems,
        "left_alone": result.left_alone,
        "unknown_files": result.unknown,
    }


def _print(session: Session, result: ImportReport) -> None:
    lines: list[str] = []
    if result.is_interrupted:
        lines.append("Interrupted. The items counted here are in the store; run the same command again to continue.")
    verb = "Would import" if result.is_dry_run else "Imported"
    lines.append(f"{verb} into project '{session.scope.project}':")
    for kind in KINDS:
        parts = [f"{number} {state}" for state, number in result.count(kind).items() if number]
        lines += [f"  {kind + 's':<10} {', '.join(parts)}"] if parts else []
    if not result.lines:
        lines.append("  nothing")
    if result.projects:
        lines.append(f"Projects that {'would be' if result.is_dry_run else 'were'} made: {', '.join(result.projects)}")
    clashing = [line for line in result.lines if line.state == "clashing"]
    title = "In conflict with existing items, and left out (see --on-clash rename and replace):"
    lines += _list(title, [f"{one.kind} '{one.label}' ({one.where})" for one in clashing])
    renamed = [f"{one.kind} '{one.label}' ({one.where})" for one in result.lines if one.state == "renamed"]
    lines += _list("Renamed, because the name or title was taken:", renamed)
    lines += _list("Not imported:", [f"{one.where}: {one.what}" for one in result.problems])
    lines += _list("Left alone:", [f"{one.where}: {one.what}" for one in result.left_alone])
    if result.unknown:
        shown = ", ".join(result.unknown[:3]) + (", …" if len(result.unknown) > 3 else "")
        lines.append(f"Files of unknown format, skipped: {len(result.unknown)} ({shown})")
        endings = {name.rpartition(".")[2].lower() for name in result.unknown}
        if formats := [one.name for one in FORMATS if endings & {*one.extensions}]:
            lines.append(f"If they have one of these formats, add --format NAME: {', '.join(formats)}")
    lines += _list("Notes:", [f"{one.label}: {' '.join(one.notes)}" for one in result.lines if one.notes])
    click.echo("\n".join(map(printable, lines)))


def _list(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    more = [f"  … and {len(lines) - _SHOWN} more; --json lists all"] if len(lines) > _SHOWN else []
    return [title, *(f"  {line}" for line in lines[:_SHOWN]), *more]
