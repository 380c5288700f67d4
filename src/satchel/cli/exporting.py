"""`satchel export`: a project as files, in a folder of Satchel or in the format of another tool."""

import sys

import click
from msgspec import to_builtins

from satchel.cli.examples import Command
from satchel.cli.importing import read_format
from satchel.cli.output import count
from satchel.cli.session import Session, command
from satchel.exchange import exporting
from satchel.exchange.entries import Unreadable
from satchel.exchange.exporting import ExportReport
from satchel.exchange.formats import NAMES
from satchel.files import printable

EPILOG = f"Formats: {', '.join(NAMES)}."


@click.command("export", cls=Command, epilog=EPILOG)
@click.argument("target", metavar="TARGET")
@click.option(
    "--format",
    "-f",
    "format_",
    metavar="NAME",
    callback=read_format,
    help="The format.  [default: a folder of Satchel]",
)
@click.option("--all", "is_whole", is_flag=True, help="All projects, and the tasks of no project.")
@click.option("--prune", is_flag=True, help="Remove the files of deleted items.")
@click.option("--force", is_flag=True, help="Write into a folder with other files, or over another file.")
@command(needs_project=True, as_user=True, reads=True)
def cli(session: Session, target: str, format_: str | None, is_whole: bool, prune: bool, force: bool) -> None:
    """Write a project into files.

    TARGET is a folder, or for formats of one file a file like tasks.json; - is stdout. `satchel import` reads it back
    unchanged. The folder has one Markdown file for each prompt, documents as files, and one file of tasks, in stable
    order.
    """
    try:
        chosen = exporting.choose_format(target, format_)
    except exporting.WrongTarget as wrong:
        raise click.UsageError(str(wrong)) from wrong
    export = exporting.make(session.database, session.scope, chosen, is_whole=is_whole)
    if chosen.file and target == "-":
        sys.stdout.buffer.write(export.files[chosen.file])
        for note in export.notes:
            click.echo(f"Note: {note}", err=True)
        return
    try:
        report = exporting.write(export, target, chosen, prunes=prune, forces=force)
    except Unreadable as wrong:
        raise click.ClickException(f"{wrong}.") from wrong
    facts = to_builtins(report)
    value = {
        "target": facts.pop("where"),
        **{f"{kind}s": number for kind, number in facts.pop("counts").items()},
        **facts,
    }
    session.say(_describe(session, report, is_whole=is_whole), value)


def _describe(session: Session, report: ExportReport, *, is_whole: bool) -> str:
    what = ", ".join(count(number, kind) for kind, number in report.counts.items() if number) or "nothing"
    where = "all projects" if is_whole else f"project '{session.scope.project}'"
    files = f"{count(report.files, 'file')}, of which {report.changed} changed"
    lines = [f"Exported {what} of {where} to {report.where} ({files})."]
    if report.removed:
        lines.append(f"Removed the files of items that are gone: {', '.join(report.removed)}")
    if report.stale:
        lines.append(f"Files of items that are gone: {', '.join(report.stale)}. --prune removes them.")
    return "\n".join(map(printable, [*lines, *(f"Note: {note}" for note in report.notes)]))
