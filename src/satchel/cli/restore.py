"""`satchel restore`: makes an old version, or a deleted item, the newest."""

import click

from satchel.cli.changes import name_item
from satchel.cli.store import VERSION, Session, command
from satchel.services import projects, restoring
from satchel.services.restoring import Restored
from satchel.storage.database import Tx


@click.command()
@click.argument("item")
@click.option("--version", type=VERSION, help="The version to go back to; else the one before the last change.")
@command(needs_project=False, as_user=True)
def cli(session: Session, item: str, version: int | None) -> None:
    """Bring ITEM back: as it was when it was deleted, or as it was before its last change.

    What it is now stays in its history. ITEM is as in `satchel log`.
    """

    def restore(tx: Tx) -> tuple[Restored, str | None]:
        done = restoring.restore(tx, session.scope, item, version)
        number = done.item.project or 0
        return done, projects.names_of(tx, [number]).get(number)

    done, project = session.transact(restore)
    now = done.item
    key = now.name or f"#{now.number}"
    value = {
        "kind": now.kind,
        "item": key,
        "title": now.title,
        "project": project,
        "version": now.version,
        "from_version": done.from_version,
        "was_deleted": done.was_deleted,
        "changed": done.is_changed,
        "notes": done.notes,
    }
    session.say("\n".join([_summarize(done, name_item(now.kind, key, now.title)), *done.notes]), value)


def _summarize(done: Restored, name: str) -> str:
    if not done.is_changed:
        return f"Nothing to do: {name} is as it was in version {done.from_version}."
    if done.was_deleted:
        return f"Brought back {name} as it was in version {done.from_version}; it is version {done.item.version} now."
    return f"Restored {name} to version {done.from_version}; it is version {done.item.version} now."
