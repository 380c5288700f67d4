"""`satchel load`: reads a dump into an empty store."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import click

from satchel.cli.progress import show_progress
from satchel.cli.store import address_command
from satchel.errors import StoreUnusable
from satchel.storage.loading import Dump, load


@click.command()
@click.argument("file", type=click.Path(), default="-")
@address_command
def cli(where: str, file: str) -> tuple[str, Any]:
    """Read a dump from FILE, or from stdin, into a store that has nothing in it yet, or is made now.

    A dump that was cut off or changed is refused before anything is done, and what fails leaves nothing behind.
    """
    if file == "-" and sys.stdin.isatty():
        raise click.UsageError("Name the FILE of a dump, or send one to stdin: < FILE")
    with show_progress("Loading") as progress, open_dump(file) as opened:
        counts = load(where, Dump(opened, progress))
    rows = sum(counts.values())
    return f"Loaded {rows} rows.", {"rows": rows, "tables": counts}


@contextmanager
def open_dump(file: str) -> Iterator[BinaryIO]:
    """An open file of which every part can be read again; stdin is kept in a temporary one."""
    if file != "-":
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise StoreUnusable(f"cannot read {file}: {error.strerror}. Nothing was changed.") from error
        with open(descriptor, "rb") as opened:
            yield opened
        return
    import shutil
    import tempfile

    with tempfile.TemporaryFile(prefix="satchel-") as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
        kept.seek(0)
        yield kept
