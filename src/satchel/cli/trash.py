"""`satchel trash`: lists what was deleted and can be brought back, and removes it for good."""

import click

from satchel import clock
from satchel.cli.changes import key_of, shorten_time
from satchel.cli.purge import report_removal
from satchel.cli.store import Session, check_owner, command, confirm
from satchel.model import Timestamp
from satchel.services import history, projects, pruning
from satchel.storage.history_size import count_trash


@click.group()
def cli() -> None:
    """List and remove what was deleted. `satchel restore ITEM` brings it back."""


@cli.command("list")
@click.option("--all", "is_everything", is_flag=True, help="Of all projects, and the deleted projects themselves.")
@command(needs_project=False, as_user=True, reads=True)
def list_(session: Session, is_everything: bool) -> None:
    """List what was deleted and can be brought back, the last deleted first."""
    if not is_everything:
        projects.require(session.database, session.scope)
    with session.read() as tx:
        found = history.list_trash(tx, session.scope, is_everything=is_everything)
        names = projects.names_of(tx, [one.project or 0 for one in found])
    value = [
        {
            "kind": one.kind,
            "item": key_of(one),
            "title": one.title,
            "id": one.id,
            "project": names.get(one.project or 0),
            "version": one.version,
            "deleted_at": one.deleted_at,
            "kept_until": _end(session, one.deleted_at),
        }
        for one in found
    ]
    rows = [
        (
            one.kind,
            key_of(one),
            one.title,
            names.get(one.project or 0, ""),
            shorten_time(one.deleted_at),
            shorten_time(_end(session, one.deleted_at)),
        )
        for one in found
    ]
    columns = ("KIND", "ITEM", "TITLE", "PROJECT", "DELETED", "KEPT UNTIL")
    session.table(columns, rows, {"trash": value, "total": len(found)})


@cli.command()
@click.option("--yes", is_flag=True, help="Do it without asking.")
@command(in_project=False)
def empty(session: Session, yes: bool) -> None:
    """Remove everything in the trash for good, of all projects and users, with its history and its bytes."""
    check_owner(session, "may not empty the trash of all users")
    with session.read() as tx:
        count = sum(count_trash(tx).values())
    things = "1 deleted item" if count == 1 else f"{count} deleted items"
    if count:
        confirm(f"This removes {things} of all projects and users; nothing brings them back. Go on?", is_yes=yes)
        pruning.prune(session.database, empty_trash=True)
    done = f"Removed {things} for good." if count else "The trash is empty."
    report_removal(session, done, {"removed": count})


def _end(session: Session, deleted_at: Timestamp) -> Timestamp:
    """The time until which a deleted item can be brought back."""
    return clock.days_before(deleted_at, -session.database.retention.trash_days)
