"""`satchel purge`: removes items with their history and their bytes."""

import click

from satchel.cli.changes import name_item
from satchel.cli.store import Session, check_owner, command, confirm
from satchel.services import pruning, references


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
        found = [references.find(tx, session.scope, item) for item in dict.fromkeys(items)]
    names = list(dict.fromkeys(name_item(item.kind, item.key) for item in found))
    things = ", ".join(names)
    confirm(f"This removes {things} with all versions; nothing brings it back. Go on?", is_yes=yes)
    with session.write() as tx:
        for uri in dict.fromkeys(references.make_uri(item) for item in found):
            pruning.purge(tx, session.scope, uri)
    note = session.database.scrub()
    value = {"purged": [{"kind": item.kind, "item": item.key} for item in found], "note": note or None}
    session.say("\n".join([f"Removed {things} for good.", *([note] if note else [])]), value)
