"""Copies of a store: `satchel backup`, `restore`, `dump` and `load`.

`restore` also brings items back: a name that begins with /, ./ or ../ is a file, and any other name an item.
"""

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, BinaryIO

import click

from satchel import config
from satchel.cli.completion import ITEM
from satchel.cli.examples import Command
from satchel.cli.output import count, name_item, print_result, say, show_progress, to_json
from satchel.cli.session import (
    VERSION,
    Session,
    address_command,
    command,
    database_option,
    json_option,
    report_errors,
    session_options,
)
from satchel.errors import NotFound, StoreUnusable
from satchel.services import projects, restoring
from satchel.services.restoring import Restored
from satchel.storage import backup as copies
from satchel.storage.database import Tx, is_postgres
from satchel.storage.dump import Dump, dump_to_file, is_dump, open_new
from satchel.storage.dump import dump as write_dump
from satchel.storage.dump import load as load_dump

_COUNTED = {"projects": "project", "prompts": "prompt", "documents": "document", "tasks": "task"}
_SQLITE = b"SQLite format 3\0"
_PATHS = ("/", "./", "../")


@click.command(cls=Command)
@click.argument("file", type=click.Path())
@address_command
def backup(where: str, file: str) -> tuple[str, Any]:
    """Copy the store to a new FILE that only you may read, and check the copy.

    The store may be in use. A SQLite store is copied to a SQLite file, a PostgreSQL store to a compressed dump.
    `satchel restore` restores either.
    """
    with show_progress("Copying") as progress:
        if is_postgres(where):
            size, counts = dump_to_file(where, file, progress)
            with open(file, "rb") as written:
                schema, store = Dump(written).schema, "the PostgreSQL store"
        else:
            made = copies.backup(where, file, progress)
            size, schema, counts, store = made.bytes, made.schema, made.counts, where
    things = ", ".join(count(counts[table], noun) for table, noun in _COUNTED.items())
    text = f"Copied {store} to {file} and checked the copy: {things}; {count(size, 'byte')}."
    shown = {f"{noun}s": counts[table] for table, noun in _COUNTED.items()}
    return f"{text}\n{_explain_restore(where, file)}", {"file": file, "bytes": size, "schema": schema, "counts": shown}


def _explain_restore(where: str, file: str) -> str:
    """Return the command that restores a backup, complete with its options."""
    path = file if file.startswith(_PATHS) else f"./{file}"
    restore_it = f"satchel restore {shlex.quote(path)}"
    if is_postgres(where):
        return (
            f"Restore it into a SQLite store with: {restore_it} --database {shlex.quote(f'{path}.db')}\n"
            "To restore it into an empty PostgreSQL database, give the address of the database as --database."
        )
    is_default = where == config.load({}).database
    return f"Bring it back with: {restore_it}{'' if is_default else f' --database {shlex.quote(where)}'}"


# -- restore ----------------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.argument("items", type=ITEM, metavar="ITEM...|FILE", nargs=-1, required=True)
@click.option("--version", type=VERSION, help="The version to restore.  [default: the one before the last change]")
@click.option("--without-seal", is_flag=True, help="Restore a FILE whose seal is missing or does not match.")
@session_options
def restore(items: tuple[str, ...], version: int | None, without_seal: bool, **options: Any) -> None:
    """Restore ITEMs as they were before the last change or deletion, all or none, or the store from a backup in FILE.

    ITEM is as in `satchel log`; its present version stays in its history. FILE was made by `satchel backup`: a path,
    such as ./NAME. It is checked first, and the old store is kept beside the new one.
    """
    if len(items) > 1 and (version is not None or any(item.startswith(_PATHS) for item in items)):
        raise click.UsageError("Restore one ITEM with --version, or one FILE, at a time.")
    if items[0].startswith(_PATHS) and version is None:
        _restore_file(items[0], needs_seal=not without_seal, options=options)
    elif without_seal:
        raise click.UsageError("--without-seal is for a backup in a FILE, such as ./NAME.")
    else:
        _restore_items(items=items, version=version, **options)


@command(as_user=True, reads=True)  # without a store there is nothing to restore
def _restore_items(session: Session, items: tuple[str, ...], version: int | None) -> None:
    def bring_back(tx: Tx) -> list[tuple[Restored, str | None]]:
        done = [restoring.restore(tx, session.scope, item, version) for item in items]
        names = projects.names_of(tx, [one.item.project or 0 for one in done])
        return [(one, names.get(one.item.project or 0)) for one in done]

    try:
        done = session.transact(bring_back)
    except NotFound as missing:
        if version is None and os.path.isfile(items[0]):
            raise StoreUnusable(
                f"no item is called '{items[0]}'. "
                f"To restore the store from that file, use: satchel restore ./{items[0]}"
            ) from missing
        raise
    values = [_describe(one, project) for one, project in done]
    lines = [line for one, _ in done for line in (_summarize(one), *one.notes)]
    session.say("\n".join(lines), values[0] if len(values) == 1 else {"restored": values})


def _describe(done: Restored, project: str | None) -> dict[str, Any]:
    now = done.item
    return {
        "kind": now.kind,
        "item": now.key,
        "title": now.title,
        "project": project,
        "version": now.version,
        "from_version": done.from_version,
        "was_deleted": done.was_deleted,
        "changed": done.is_changed,
        "notes": done.notes,
    }


def _summarize(done: Restored) -> str:
    name = name_item(done.item.kind, done.item.key, done.item.title)
    if not done.is_changed:
        return f"Nothing to do: {name} is the same as in version {done.from_version}."
    if done.was_deleted:
        return f"Brought back {name} as it was in version {done.from_version}; it is version {done.item.version} now."
    return f"Restored {name} to version {done.from_version}; it is version {done.item.version} now."


def _restore_file(file: str, *, needs_seal: bool, options: Mapping[str, Any]) -> None:
    as_json = options["as_json"]
    with report_errors(as_json=as_json):
        where = config.load({"database": options["database"]}).database
        start = _read_start(file)
        if not start.startswith(_SQLITE) and not is_dump(start):
            raise StoreUnusable(f"cannot restore {file}: it is not a backup of Satchel. Nothing was changed.")
        with show_progress("Restoring") as progress:
            if is_postgres(where):
                text, value = _restore_shared(where, file, progress)
            else:
                text, value = _restore_embedded(where, file, progress, needs_seal=needs_seal)
    print_result(text, value, as_json=as_json)


def _restore_embedded(where: str, file: str, progress: Any, *, needs_seal: bool) -> tuple[str, Any]:
    if is_dump(_read_start(file)):
        with open(file, "rb") as opened:
            done = copies.restore_dump(where, opened, progress)
    else:
        done = copies.restore(where, file, needs_seal=needs_seal, progress=progress)
    lines = [f"Restored the store {where} from {file}: {count(done.rows, 'row')}."]
    if done.kept is not None:
        lines.append(f"The old store is kept as {done.kept}.")
        lines.append("Restart your servers: those that run have the old store open, and refuse calls until then.")
    return "\n".join(lines), {"store": where, "file": file, "rows": done.rows, "kept": done.kept}


def _restore_shared(where: str, file: str, progress: Any) -> tuple[str, Any]:
    if not is_dump(_read_start(file)):
        raise StoreUnusable(
            f"{file} is a backup of a SQLite store. Bring it into a new PostgreSQL database with: "
            f"satchel dump -d {file} | satchel load"
        )
    with open(file, "rb") as opened:
        rows = sum(load_dump(where, Dump(opened, progress)).values())
    return f"Restored the store from {file}: {count(rows, 'row')}.", {"file": file, "rows": rows, "kept": None}


def _read_start(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read(100)
    except OSError as error:
        raise StoreUnusable(f"cannot read {file}: {error.strerror}. Nothing was changed.") from error


# -- dump and load ----------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.argument("file", type=click.Path(), default="-")
@database_option
@json_option
def dump(file: str, database: str | None, as_json: bool) -> None:
    """Write everything in the store to a new FILE, or to stdout, as JSON Lines: all projects, users and versions.

    `satchel load` reads it into a SQLite file or a PostgreSQL database. It has the hashes of tokens, not their secrets.
    The store may be in use.
    """
    if file == "-" and sys.stdout.isatty():
        raise click.UsageError("A dump cannot be written to a terminal. Name a FILE, or redirect stdout: > FILE")
    with report_errors(as_json=as_json):
        where = config.load({"database": database}).database
        with (
            show_progress("Dumping") as progress,
            nullcontext(sys.stdout.buffer) if file == "-" else open_new(file) as opened,
        ):
            counts = write_dump(where, opened.write, progress)
    rows = sum(counts.values())
    if as_json:
        click.echo(to_json({"file": file, "rows": rows, "tables": counts}), err=file == "-")
    else:
        say(f"Wrote {count(rows, 'row')}{'' if file == '-' else f' to {file}'}.", err=True)


@click.command(cls=Command)
@click.argument("file", type=click.Path(), default="-")
@address_command
def load(where: str, file: str) -> tuple[str, Any]:
    """Read a dump from FILE, or from stdin, into an empty or new store.

    A truncated or changed dump is refused before anything is written, and a failure leaves nothing behind.
    """
    if file == "-" and sys.stdin.isatty():
        raise click.UsageError("Name the FILE of a dump, or send one to stdin: < FILE")
    with show_progress("Loading") as progress, open_dump(file) as opened:
        counts = load_dump(where, Dump(opened, progress))
    rows = sum(counts.values())
    return f"Loaded {count(rows, 'row')}.", {"rows": rows, "tables": counts}


@contextmanager
def open_dump(file: str) -> Iterator[BinaryIO]:
    """Open a seekable file; stdin is copied to a temporary one."""
    if file != "-":
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise StoreUnusable(f"cannot read {file}: {error.strerror}. Nothing was changed.") from error
        with open(descriptor, "rb") as opened:
            yield opened
        return
    with tempfile.TemporaryFile(prefix="satchel-") as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
        kept.seek(0)
        yield kept
