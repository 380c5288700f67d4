"""The state of a store for its operator: contents, integrity, and whether the search index matches the items."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice

import apsw
from msgspec import Struct, field

from satchel.errors import StoreUnusable
from satchel.storage import search
from satchel.storage.database import Row, Tx, is_postgres
from satchel.storage.schema import explain_number
from satchel.storage.schema import newest as newest_schema
from satchel.storage.search_words import make_words
from satchel.storage.sqlite_file import APPLICATION_ID

_MOST_PROBLEMS = 10
_MOST_COMPARED = 1_000  # newest items of each kind to compare; all items of a large store would take minutes
_MOST_FOUND = 20  # items to look up in the full-text index itself

_TABLES = ("projects", "prompts", "documents", "tasks")
# Items in a deleted project are excluded.
_COUNTS = """
    select (select count(*) from projects where deleted_at is null),
        (select count(*) from prompts
            where deleted_at is null and project in (select number from projects where deleted_at is null)),
        (select count(*) from documents
            where deleted_at is null and project in (select number from projects where deleted_at is null)),
        (select count(*) from tasks where deleted_at is null)
"""
_UNINDEXED = {
    kind: f"""
        select count(*) from {kind}s where deleted_at is null
            and number not in (select {kind} from search_items where {kind} is not null)
    """
    for kind in search.KINDS
}
_LAST = {kind: f"select coalesce(max(number), 0) from {kind}s" for kind in search.KINDS}
_INDEXED = {
    kind: f"select {kind}, number, space, words from search_items where {kind} > :after" for kind in search.KINDS
}


class StoreStatus(Struct, frozen=True, kw_only=True):
    """Facts about a store; a count is None if our role may not see it, or the schema is unknown."""

    engine: str
    store: str
    schema: int
    newest: int = field(default_factory=newest_schema)
    row_security: bool = False  # it applies to this role, which therefore sees the tasks of one user at a time
    counts: dict[str, int | None] = {}


class IndexState(Struct, frozen=True):
    """The differences between the search index and the items."""

    compared: int  # items whose words were computed again and compared
    missing: int  # items missing from the index
    stale: int  # compared items that have other words in the index, or are not found by them

    @property
    def is_in_step(self) -> bool:
        """Return whether the index has no missing and no stale items."""
        return not self.missing and not self.stale


def read_status(where: str) -> StoreStatus:
    """Read the status of the store at a file path or a `postgresql://` address; nothing is created or migrated.

    Raises:
        StoreUnusable: the store does not exist, is not a store, or cannot be reached.
    """
    return _read_postgres(where) if is_postgres(where) else _read_file(os.path.realpath(where))


def _read_file(path: str) -> StoreStatus:
    if not os.path.exists(path):
        raise StoreUnusable(f"there is no store {path} yet. `satchel database migrate` makes one.")
    with _open_file(path) as connection:
        number = int(connection.pragma("user_version"))
        if connection.pragma("application_id") != APPLICATION_ID and os.path.getsize(path):
            raise StoreUnusable(f"{path} is a database of another program.")
        counts: list[Row] = [(None,) * len(_TABLES)]
        if number and not explain_number(number):
            counts = connection.execute(_COUNTS).fetchall()
    return StoreStatus(engine="sqlite", store=path, schema=number, counts=dict(zip(_TABLES, counts[0], strict=True)))


def _read_postgres(where: str) -> StoreStatus:
    from satchel.storage import postgres_schema
    from satchel.storage.postgres import operators_connection

    with operators_connection(where) as (connection, name):
        number = postgres_schema.version(connection)
        if not number or explain_number(number):
            return StoreStatus(engine="postgresql", store=name, schema=number, counts=dict.fromkeys(_TABLES))
        row = connection.execute("select row_security_active('tasks')").fetchone()
        has_row_security = row == (True,)
        connection.execute("select set_config('satchel.projects', '*', true)")
        counts = dict(zip(_TABLES, connection.execute(_COUNTS).fetchall()[0], strict=True))
    if has_row_security:
        counts["tasks"] = None
    return StoreStatus(engine="postgresql", store=name, schema=number, row_security=has_row_security, counts=counts)


def check_file(path: str) -> list[str]:
    """List the damage of a SQLite file, without changing it.

    Raises:
        StoreUnusable: the file cannot be read.
    """
    with _open_file(os.path.realpath(path)) as connection:
        return list_damage(connection)


def list_damage(connection: apsw.Connection) -> list[str]:
    """List the damage of an open SQLite file."""
    found = [str(row[0]) for row in connection.execute("pragma integrity_check(10)")]
    orphans = islice(connection.execute("pragma foreign_key_check"), _MOST_PROBLEMS)
    return [line for line in found if line != "ok"] + [f"{row[0]}: row {row[1]} refers to nothing" for row in orphans]


@contextmanager
def _open_file(path: str) -> Iterator[apsw.Connection]:
    try:
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.set_busy_timeout(5000)
            yield connection
    except (apsw.Error, OSError) as error:
        raise StoreUnusable(f"cannot read the store {path}: {error}.") from error


def compare_index(tx: Tx) -> IndexState:
    """Compare the search index with all items, in a transaction that sees all of them."""
    missing = compared = stale = 0
    for kind in search.KINDS:
        sql = _UNINDEXED[kind]
        missing += tx.value(sql)
        sql = _LAST[kind]
        [[last]] = tx.all(sql)
        after = max(0, last - _MOST_COMPARED)
        sql = _INDEXED[kind]
        indexed = {item: found for item, *found in tx.all(sql, after=after)}
        for item, _, text in search.read_batch(tx, kind, after, last, _MOST_COMPARED):
            compared += 1
            if item in indexed:
                number, space, words = indexed[item]
                is_right = set(words.split()) == set(make_words(text).split())
                stale += not is_right or (compared <= _MOST_FOUND and not _is_found(tx, number, space, words))
    return IndexState(compared, missing, stale)


def _is_found(tx: Tx, number: int, space: int, words: str) -> bool:
    """Return whether the full-text index finds an item by its first word."""
    if not words.split():
        return True
    level, _, word = words.split()[0].partition(".")
    [(numbers, _)] = tx.find_words([space], [(level, word, False)], 2**31)
    return number in numbers


def rebuild_index(tx: Tx) -> None:
    """Rebuild the search index from all items."""
    tx.clear_search()
    search.index_all(tx)
