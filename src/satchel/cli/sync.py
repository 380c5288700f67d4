"""`satchel sync`: keep a folder and a project in sync."""

import os
import time
from typing import Any

import click

from satchel.cli.errors import end
from satchel.cli.examples import Command
from satchel.cli.output import to_json
from satchel.cli.session import Session, command
from satchel.exchange import syncing
from satchel.exchange.entries import Unreadable
from satchel.exchange.syncing import SyncOptions, SyncReport
from satchel.files import printable

_POLL = 500  # milliseconds between checks for changes in the store
_DEBOUNCE = 200  # milliseconds during which file changes are collected
_FULL = 30.0  # seconds after which everything is compared even without an event


@click.command("sync", cls=Command)
@click.argument("folder", metavar="FOLDER")
@click.option("--check", is_flag=True, help="Change nothing; exit with status 1 if folder and project differ.")
@click.option("--watch", is_flag=True, help="Sync again after every change, until Ctrl-C.")
@click.option("--yes", is_flag=True, help="Use a folder that holds other files, or delete many items, without asking.")
@command(needs_project=True, as_user=True, reads="check")
def cli(session: Session, folder: str, check: bool, watch: bool, yes: bool) -> None:
    """Keep a FOLDER and a project in sync: a change on one side is made on the other.

    The folder is like that of `satchel export`. If both sides changed the same item, both versions are kept and named.
    Items whose files are deleted go to the trash.
    """
    if check and watch:
        raise click.UsageError("--check and --watch exclude each other.")
    options = SyncOptions(is_check=check, is_sure=yes, waits=watch, tell=lambda text: click.echo(text, err=True))
    report = _sync(session, folder, options)
    _print(session, folder, report)
    if watch:
        _watch(session, folder, options, report)
        return
    if report.exit_status:
        raise SystemExit(report.exit_status)


def _sync(session: Session, folder: str, options: SyncOptions) -> SyncReport:
    try:
        return syncing.run(session.database, session.scope, folder, options)
    except Unreadable as wrong:
        end(f"{wrong}.", "failed", as_json=session.as_json)
    except OSError as error:
        end(f"{folder} cannot be used: {error.strerror}.", "failed", as_json=session.as_json)


def _watch(session: Session, folder: str, options: SyncOptions, report: SyncReport) -> None:
    from watchfiles import watch  # only needed here

    changed = [True]  # starts True, because files may have changed before the watch
    session.database.watch(lambda _changes: changed.__setitem__(0, True))
    last = time.monotonic()
    events = watch(folder, rust_timeout=_POLL, debounce=_DEBOUNCE, yield_on_timeout=True)
    try:
        for files in events:
            if not os.path.isdir(folder):
                end(f"{folder} is gone.", "failed", as_json=session.as_json)
            if files or changed[0] or time.monotonic() - last > _FULL:
                changed[0], last = False, time.monotonic()
                report, before = _sync(session, folder, options), report
                if report.lines or report.problems != before.problems or report.refused != before.refused:
                    _print(session, folder, report)
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)


def _print(session: Session, folder: str, report: SyncReport) -> None:
    if session.as_json:
        click.echo(to_json(describe(report)))
        return
    if report.refused:
        click.echo(f"satchel: {report.refused}.", err=True)
        return
    lines = report.describe(folder, session.scope.project)
    click.echo("\n".join(map(printable, lines)))


def describe(report: SyncReport) -> dict[str, Any]:
    """Return a report as JSON."""
    return {
        "check": report.is_check,
        "same": report.same,
        "changes": report.lines,
        "clashes": report.clashes,
        "problems": report.problems,
        "refused": report.refused,
    }
