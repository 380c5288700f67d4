"""`satchel backup`: copies a store, while it is in use, to a new file."""

from typing import Any

import click

from satchel.cli.progress import show_progress
from satchel.cli.store import address_command
from satchel.storage.database import is_postgres

_COUNTED = ("projects", "prompts", "resources", "tasks")


@click.command()
@click.argument("file", type=click.Path())
@address_command
def cli(where: str, file: str) -> tuple[str, Any]:
    """Copy the store as it is at this moment to a new FILE that only you may read, and check the copy.

    The store may be in use. Of a SQLite store FILE is a SQLite store too; of one on PostgreSQL it is a compressed dump.
    `satchel restore FILE` brings either back.
    """
    with show_progress("Copying") as progress:
        if is_postgres(where):
            from satchel.storage.dump import dump_to_file
            from satchel.storage.loading import Dump

            size, counts = dump_to_file(where, file, progress)
            with open(file, "rb") as written:
                schema, store = Dump(written).schema, "the PostgreSQL store"
        else:
            from satchel.storage.backup import backup

            made = backup(where, file, progress)
            size, schema, counts, store = made.bytes, made.schema, made.counts, where
    shown = {name: counts[name] for name in _COUNTED}
    things = ", ".join(f"{count} {name}" for name, count in shown.items())
    text = f"Copied {store} to {file} and checked the copy: {things}; {size} bytes."
    value = {"file": file, "bytes": size, "schema": schema, "counts": shown}
    return f"{text}\nBring it back with: satchel restore {file}", value
