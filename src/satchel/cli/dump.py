"""`satchel dump`: writes everything in a store as JSON Lines."""

import sys
from contextlib import nullcontext

import click

from satchel import config
from satchel.cli.printing import say, to_json
from satchel.cli.progress import show_progress
from satchel.cli.store import database_option, json_option, report_errors
from satchel.storage.dump import dump
from satchel.storage.private_files import open_new


@click.command()
@click.argument("file", type=click.Path(), default="-")
@database_option
@json_option
def cli(file: str, database: str | None, as_json: bool) -> None:
    """Write everything in the store to a new FILE, or to stdout, as JSON Lines: all projects, users and versions.

    `satchel load` reads it into a store of either kind, a SQLite file or one on PostgreSQL. The hashes of tokens are in
    it, their secrets are not. The store may be in use.
    """
    if file == "-" and sys.stdout.isatty():
        raise click.UsageError("A dump is not for a terminal. Name a FILE, or send it to one: > FILE")
    with report_errors(as_json=as_json):
        where = config.load({"database": database}).database
        with (
            show_progress("Dumping") as progress,
            nullcontext(sys.stdout.buffer) if file == "-" else open_new(file) as opened,
        ):
            counts = dump(where, opened.write, progress)
    rows = sum(counts.values())
    if as_json:
        click.echo(to_json({"file": file, "rows": rows, "tables": counts}), err=file == "-")
    else:
        say(f"Wrote {rows} rows{'' if file == '-' else f' to {file}'}.", err=True)
