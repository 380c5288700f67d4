"""`satchel purge`: removes items with their history and their bytes."""

from collections.abc import Mapping

import click

from satchel.cli.changes import name_item
from satchel.cli.store import Session, check_owner, command, confirm
from satchel.errors import StoreFailed
from satchel.services import pruning, references
from satchel.storage.database import Tx


@click.command()
@click.argument("items", metavar="ITEM...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do it without asking.")
@command(needs_project=False, as_user=True)
def cli(session: Session, items: tuple[str, ...], yes: bool) -> None:
    """Remove items for good, deleted or not, with all their versions and their bytes on disk: all, or none.

    Deleted items of the same name go with them. ITEM is as in `satchel log`.
    """
    check_owner(session, "may not remove history")
    with session.read() as tx:
        every = [(item, references.find(tx, session.scope, item)) for item in items]
    found = {(one.kind, *one.numbers): (reference, one) for reference, one in every}  # each of them once
    things = ", ".join(name_item(one.kind, one.key) for _, one in found.values())
    confirm(f"This removes {things} with all versions; nothing brings it back. Go on?", is_yes=yes)

    def purge(tx: Tx) -> None:
        for reference, one in found.values():
            if pruning.purge(tx, session.scope, reference).numbers != one.numbers:
                raise click.ClickException("something was changed while you were asked; nothing was removed.")

    session.transact(purge)
    value = {"purged": [{"kind": item.kind, "item": item.key} for _, item in found.values()]}
    report_removal(session, f"Removed {things} for good.", value)


def report_removal(session: Session, done: str, value: Mapping[str, object]) -> None:
    """Remove the bytes of what was removed from the disk, and print what was done and what is left to do."""
    try:
        note = session.database.scrub()
    except StoreFailed as error:
        raise click.ClickException(
            f"{done} But its bytes are still on the disk: {error}. Try again with: satchel trash empty"
        ) from error
    session.say("\n".join([done, *([note] if note else [])]), {**value, "note": note or None})
