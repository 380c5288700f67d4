"""`satchel restore`: makes an old version, or a deleted item, the newest; or a backup the store.

A path that begins with /, ./ or ../ is a file. Any other name is a file where there is one and the store has no such
item; where it could be both, the command asks for a name that can only be one.
"""

import os
from collections.abc import Mapping
from typing import Any

import click
from msgspec.structs import replace

from satchel import config
from satchel.cli.changes import name_item
from satchel.cli.printing import say, to_json
from satchel.cli.progress import show_progress
from satchel.cli.store import VERSION, Session, command, report_errors, session_options
from satchel.errors import AmbiguousItem, Refused, StoreUnusable
from satchel.services import projects, references, restoring, users
from satchel.services.restoring import Restored
from satchel.storage.database import Tx, is_postgres, open_database
from satchel.storage.loading import Dump, is_dump, load

_SQLITE = b"SQLite format 3\0"
_PATHS = ("/", "./", "../")
_NO_USER = "00000000-0000-0000-0000-000000000000"


@click.command()
@click.argument("item", metavar="ITEM|FILE")
@click.option("--version", type=VERSION, help="The version to go back to; else the one before the last change.")
@click.option("--without-seal", is_flag=True, help="Restore a FILE even where its seal is missing or does not fit.")
@session_options
def cli(item: str, version: int | None, without_seal: bool, **options: Any) -> None:
    """Bring ITEM back, as it was when it was deleted or before its last change; or the store from a backup in FILE.

    ITEM is as in `satchel log`; what it is now stays in its history. FILE was made by `satchel backup`: a path, such as
    ./NAME. It is checked before anything is done, and the store that was there is kept beside the new one.
    """
    with report_errors(as_json=options["as_json"]):
        is_file = version is None and _is_file(item, options)
    if is_file:
        _restore_file(item, needs_seal=not without_seal, options=options)
    elif without_seal:
        raise click.UsageError("--without-seal is for a backup in a FILE.")
    else:
        _restore_item(item=item, version=version, **options)


@command(needs_project=False, as_user=True)
def _restore_item(session: Session, item: str, version: int | None) -> None:
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


def _is_file(name: str, options: Mapping[str, Any]) -> bool:
    """Whether a name is that of a backup and not of an item."""
    if name.startswith(_PATHS):
        return True
    if "://" in name or not os.path.isfile(name):
        return False
    if not _has_item(name, options):
        return True
    if _read_start(name).startswith(_SQLITE) or is_dump(_read_start(name)):
        raise StoreUnusable(
            f"'{name}' is a file here, and also the name of an item. Say which: ./{name} for the backup, or "
            f"satchel://prompt/NAME, satchel://resource/NAME or satchel://task/NUMBER for the item."
        )
    return False


def _has_item(name: str, options: Mapping[str, Any]) -> bool:
    from satchel.cli.place import find_scope  # which `--help` need not wait for

    settings = config.load({key: options[key] for key in ("database", "project", "user")})
    try:
        opened = open_database(settings.database, settings.database_direct, must_exist=True)
    except StoreUnusable:
        return False  # which may be why a backup is restored
    try:
        user = settings.user or users.find_kept(opened) or _NO_USER  # none is created for a look
        scope = replace(find_scope(settings, opened), user=user)
        with opened.read(scope) as tx:
            references.find(tx, scope, name)
    except AmbiguousItem:
        return True
    except Refused:
        return False
    finally:
        opened.close()
    return True


def _restore_file(file: str, *, needs_seal: bool, options: Mapping[str, Any]) -> None:
    as_json = options["as_json"]
    with report_errors(as_json=as_json):
        where = config.load({"database": options["database"]}).database
        start = _read_start(file)
        if not start.startswith(_SQLITE) and not is_dump(start):
            raise StoreUnusable(f"cannot restore {file}: it is no backup of ours. Nothing was changed.")
        with show_progress("Restoring") as progress:
            restore = _restore_shared if is_postgres(where) else _restore_embedded
            text, value = restore(where, file, progress=progress, needs_seal=needs_seal)
    if as_json:
        click.echo(to_json(value))
    else:
        say(text)


def _restore_embedded(where: str, file: str, *, progress: Any, needs_seal: bool) -> tuple[str, Any]:
    from satchel.storage.replacing import restore, restore_dump

    if is_dump(_read_start(file)):
        with open(file, "rb") as opened:
            done = restore_dump(where, opened, progress)
    else:
        done = restore(where, file, needs_seal=needs_seal, progress=progress)
    lines = [f"Restored the store {where} from {file}: {done.rows} rows."]
    if done.kept is not None:
        lines.append(f"The store that was there is kept as {done.kept}.")
        lines.append("Start your servers again: those that run have the old store open, and refuse calls until then.")
    return "\n".join(lines), {"store": where, "file": file, "rows": done.rows, "kept": done.kept}


def _restore_shared(where: str, file: str, *, progress: Any, needs_seal: bool) -> tuple[str, Any]:
    del needs_seal  # a dump always has its checksum
    if not is_dump(_read_start(file)):
        raise StoreUnusable(
            f"{file} is a backup of a SQLite store. Bring it into a new PostgreSQL database with: "
            f"satchel dump -d {file} | satchel load"
        )
    with open(file, "rb") as opened:
        rows = sum(load(where, Dump(opened, progress)).values())
    return f"Restored the store from {file}: {rows} rows.", {"file": file, "rows": rows, "kept": None}


def _read_start(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read(100)
    except OSError as error:
        raise StoreUnusable(f"cannot read {file}: {error.strerror}. Nothing was changed.") from error
