"""`satchel history`: what history costs."""

import click

from satchel.cli.store import Session, check_owner, command
from satchel.storage.history_size import TABLES, measure


@click.group()
def cli() -> None:
    """Show what history costs. `satchel log` shows what is in it."""


@cli.command()
@command(in_project=False, reads=True)
def size(session: Session) -> None:
    """Show how much history and trash there is, and what it takes on disk; of all projects and users."""
    check_owner(session, "does not see the history of all users")
    with session.read() as tx:
        found = measure(tx)
    on_disk, store = session.database.measure_tables(TABLES)
    kept = session.database.retention
    trash = ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in found.trash.items())
    share = f", {on_disk / store:.1%} of the store ({store} bytes)" if store else ""
    lines = [
        f"changes    {found.revisions}{f', since {found.oldest[:10]}' if found.oldest else ''}",
        f"versions   {found.states} old ones in {found.state_bytes} bytes",
        f"trash      {trash or 'empty'}",
        f"on disk    {on_disk} bytes{share}",
        f"kept       every version for {kept.history_days} days, the newest {kept.history_versions} of each item for "
        f"longer, what was deleted for {kept.trash_days} days",
    ]
    value = {
        "changes": found.revisions,
        "oldest": found.oldest,
        "old_versions": found.states,
        "old_version_bytes": found.state_bytes,
        "trash": found.trash,
        "bytes_on_disk": on_disk,
        "store_bytes": store,
        "trash_days": kept.trash_days,
        "history_days": kept.history_days,
        "history_versions": kept.history_versions,
    }
    session.say("\n".join(lines), value)
