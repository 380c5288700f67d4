"""Writes everything in a store as JSON Lines, which `loading` reads into a store of either engine.

The first line says what the file is. A line with an object begins a table and names its columns; each line with a list
is a row, bytes in base64. The last line has the number of lines before it and their SHA-256, so that a dump that was
cut off or changed is noticed.
"""

import gzip
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256

import apsw
import msgspec
from msgspec import Struct

from satchel import clock
from satchel.errors import StoreFailed, StoreUnusable
from satchel.storage import schema
from satchel.storage.database import Row, is_postgres
from satchel.storage.private_files import open_new
from satchel.storage.status import read_status
from satchel.storage.tables import Table, list_tables

FORMAT = 1

_PIECE = 256 * 1024  # bytes that are written at once
_COUNT = "select count(*) from {table}"
_ROWS = "select {columns} from {table} order by {key}"

Progress = Callable[[int, int], object]  # how much is done, and of how much


class Head(Struct, kw_only=True):
    """The first line of a dump."""

    satchel_dump: int  # the format
    schema: int
    made_at: str


class TableHead(Struct, kw_only=True, omit_defaults=True):
    """The line before the rows of a table."""

    table: str
    columns: tuple[str, ...]
    last_number: int | None = None  # the highest that was ever given to a row


class End(Struct, kw_only=True):
    """The last line."""

    lines: int
    sha256: str  # of these lines


class Source(Struct, frozen=True):
    """One snapshot of a store."""

    query: Callable[..., Iterator[Row]]  # the rows of a statement with values, of which few are in memory at a time
    last_number: str  # a query for the highest number that a row of a table ever had

    def count(self, table: Table) -> int:
        """Count the rows of a table."""
        [[count]] = self.query(table.fill(_COUNT))
        return int(count)


def dump(where: str, write: Callable[[bytes], object], progress: Progress = lambda _done, _all: None) -> dict[str, int]:
    """Write a store while it is in use, as it is at one moment; return the number of rows of each table.

    Raises:
        StoreUnusable: there is no such store, its schema is not the newest, or this role does not see all of it.
        StoreFailed: it cannot be read.
    """
    with _open(where) as source:
        counts = {table.name: source.count(table) for table in list_tables()}
        lines = _Lines(write, progress, sum(counts.values()))
        lines.add(Head(satchel_dump=FORMAT, schema=schema.newest(), made_at=clock.now()))
        for table in list_tables():
            last = None
            if table.is_numbered:
                [[last]] = source.query(source.last_number, table.name)
            lines.add(TableHead(table=table.name, columns=table.columns, last_number=last))
            lines.add_rows(source.query(table.fill(_ROWS)))
        lines.finish()
    return counts


def dump_to_file(where: str, file: str, progress: Progress = lambda _d, _a: None) -> tuple[int, dict[str, int]]:
    """Write a store to a new file with mode 0600, compressed; return its size in bytes, and as `dump`.

    Raises:
        StoreUnusable: as `dump`; or the file is there already.
    """
    with open_new(file) as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=1, mtime=0) as packed:
        counts = dump(where, packed.write, progress)
    return os.path.getsize(file), counts


class _Lines:
    """Encodes lines, counts and hashes them, and writes them in pieces."""

    def __init__(self, write: Callable[[bytes], object], progress: Progress, total: int) -> None:
        self._write = write
        self._progress = progress
        self._rows, self._total = 0, total
        self._hash = sha256()
        self._count = 0
        self._piece = bytearray()
        self._encoder = msgspec.json.Encoder()

    def add(self, line: Struct | Row) -> None:
        """Add a line."""
        self._piece += self._encoder.encode(line)
        self._piece += b"\n"
        self._count += 1
        if len(self._piece) >= _PIECE:
            self._flush()
            self._progress(self._rows, self._total)

    def add_rows(self, rows: Iterator[Row]) -> None:
        """Add a line for each row."""
        for row in rows:
            self._rows += 1
            self.add(row)
        self._progress(self._rows, self._total)

    def finish(self) -> None:
        """Add the last line, and write what is left."""
        self._flush()
        self._write(self._encoder.encode(End(lines=self._count, sha256=self._hash.hexdigest())) + b"\n")

    def _flush(self) -> None:
        self._hash.update(self._piece)
        self._write(bytes(self._piece))
        self._piece.clear()


@contextmanager
def _open(where: str) -> Iterator[Source]:
    status = read_status(where)
    if status.row_security:
        raise StoreUnusable(
            "an application role sees the tasks of one user at a time: dump the store with its owner's address in "
            "--database or SATCHEL_DATABASE."
        )
    schema.check_number(status.schema, "the store")
    if status.schema < status.newest:
        raise StoreUnusable(
            f"the store has schema {status.schema}, and only the newest ({status.newest}) is dumped. Migrate it first "
            "with: satchel database migrate"
        )
    if is_postgres(where):
        from satchel.storage.dump_postgres import open_source

        with open_source(where) as source:
            yield source
        return
    connection = apsw.Connection(status.store, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(5000)
        connection.execute("begin")  # one snapshot for all tables; writers go on
        yield Source(
            lambda sql, *values: connection.execute(sql, values),
            "select coalesce(max(seq), 0) from sqlite_sequence where name = ?",
        )
    except apsw.Error as error:
        raise StoreFailed(f"cannot read {status.store}: {error}") from error
    finally:
        connection.close()
