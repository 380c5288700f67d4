"""The shared engine: PostgreSQL through psycopg. It is imported only for a store on PostgreSQL."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

try:
    import psycopg
except ImportError as error:
    from satchel.errors import StoreUnusable
    from satchel.extras import install_command

    raise StoreUnusable(f"a PostgreSQL store needs an extra. Install it with: {install_command('postgres')}") from error

from satchel.errors import StoreConflict, StoreMissing, StoreUnusable
from satchel.model import Scope
from satchel.storage import changes, postgres_schema, schema
from satchel.storage.database import (
    WAIT,
    Cutoffs,
    Database,
    Found,
    Listener,
    Tx,
)
from satchel.storage.postgres_connect import Address, Connection
from satchel.storage.postgres_connect import operators_connection as operators_connection
from satchel.storage.postgres_pool import Pool
from satchel.storage.postgres_tx import PROJECTS, USER
from satchel.storage.postgres_tx import PostgresTx as PostgresTx
from satchel.storage.pruning import MOST

# Connections of a process, opened on demand. Reads have their own connections, because writes may wait for a
# synchronous standby. Lookups of tokens, of the schema and of changes have their own, too.
READ_CONNECTIONS = 10
WRITE_CONNECTIONS = 8
LOOK_UP_CONNECTIONS = 2

_PROBE_WAIT = 1.5  # seconds that a probe of the schema waits for a connection; `/health` waits longer
_CHANGES_KEPT = 100_000  # a change is removed after this many transactions of the server

_FORGET_CHANGES = """
    select satchel_forget_changes((pg_snapshot_xmin(pg_current_snapshot())::text::numeric - :kept)::text)
    where pg_snapshot_xmin(pg_current_snapshot())::text::numeric > :kept
"""
_BEGIN = "begin isolation level read committed"
_BEGIN_READ = "begin isolation level repeatable read read only"  # so that count and page come from one snapshot

_NEEDS_SESSION = (
    "the store {name} must be migrated, and is behind a connection pooler, where a migration cannot run. Also give the "
    "address of the PostgreSQL server itself, with --database-direct or SATCHEL_DATABASE_DIRECT."
)


class PostgresDatabase(Database):
    """A store on a PostgreSQL server."""

    is_shared = True

    def __init__(self, address: str, direct: str | None = None) -> None:
        self._address = Address(address, direct)
        self._watchers: list[changes.Watcher] = []
        with operators_connection(self._address) as (connection, name):
            self._address.check_pooler(connection)
            _check_encoding(connection, name)
            if self._address.lacks_session and postgres_schema.version(connection) != schema.newest():
                raise StoreUnusable(_NEEDS_SESSION.format(name=name))
            postgres_schema.migrate(connection, name, PostgresTx)
            row = connection.execute("select row_security_active('tasks')").fetchone()
            self.has_row_security = row == (True,)
            if self.has_row_security:
                postgres_schema.check_grants(connection, name)
            connection.execute("select name from projects limit 1")
        connect = self._address.connect
        self._reads = Pool(partial(connect, read_only=True), READ_CONNECTIONS, "reads")
        self._writes = Pool(connect, WRITE_CONNECTIONS, "writes")
        self._look_ups = Pool(partial(connect, read_only=True), LOOK_UP_CONNECTIONS, "lookups")

    @contextmanager
    def read(self, scope: Scope | None = None, deadline: float | None = None) -> Iterator[Tx]:
        with self._reads.lend(_deadline(deadline)) as connection:
            try:
                yield self._begin(connection, scope, _BEGIN_READ)
            finally:
                _end_read(connection)

    @contextmanager
    def write(
        self, scope: Scope | None = None, deadline: float | None = None, *, lock_timeout: float | None = None
    ) -> Iterator[Tx]:
        if lock_timeout is not None:
            deadline = min(_deadline(deadline), time.monotonic() + lock_timeout)
        with self._writes.lend(_deadline(deadline)) as connection:
            tx = self._begin(connection, scope, _BEGIN, lock_timeout)
            tx.writes = True
            yield tx
            tx.commit()

    def look_up(self, find: Callable[[Tx], Found], wait: float = WAIT) -> Found:
        deadline = time.monotonic() + wait
        while True:
            try:
                with self._look_ups.lend(deadline) as connection:
                    if not self._address.is_pooled:
                        return find(PostgresTx(connection))
                    found = find(self._begin(connection, None, _BEGIN_READ))  # including the timeouts
                    _end_read(connection)
                    return found
            except StoreConflict:
                if time.monotonic() >= deadline:
                    raise

    def _begin(
        self, connection: Connection, scope: Scope | None, how: str, lock_timeout: float | None = None
    ) -> PostgresTx:
        """Begin a transaction with the settings of row-level security, and with timeouts if there is a pooler.

        The settings end with the transaction, because connections are shared.
        """
        shown = self._list_shown(scope)
        tx = PostgresTx(connection, shown=shown)
        timeouts = self._address.list_timeouts(connection) if self._address.is_pooled else {}
        timeouts |= {} if lock_timeout is None else {"lock_timeout": f"{lock_timeout:g}s"}
        tx.begin(how, shown | timeouts)
        tx.scope, tx.retention = scope or tx.scope, self.retention
        return tx

    def _list_shown(self, scope: Scope | None) -> dict[str, str]:
        """Return the settings of row-level security for a scope; empty if row-level security does not apply."""
        if not self.has_row_security:
            return {}
        user = scope.user if scope is not None and scope.user is not None else ""
        projects = "*" if scope is None or scope.projects is None else ",".join(scope.projects)
        return {USER: user, PROJECTS: projects}

    def watch(self, listen: Listener) -> None:
        self._watchers.append(changes.PostgresWatcher(self.look_up, listen))

    def prune(self, cutoffs: Cutoffs, after: int) -> tuple[int, int] | None:
        values = {"history": cutoffs.history, "versions": cutoffs.versions, "trash": cutoffs.trash}
        with self.write() as tx:
            if not after:  # the first step
                tx.run(_FORGET_CHANGES, kept=_CHANGES_KEPT)
            sql = "select reached, removed from satchel_prune(:history, :versions, :trash, :after, :most)"
            row = tx.one(sql, **values, after=after, most=MOST)
        return (row[0], row[1]) if row else None

    def forget_values(self, libraries: Sequence[str] | None, before: str) -> int:
        with self.write() as tx:
            sql = "select satchel_forget_values(:libraries::text[], :before)"
            [[gone]] = tx.execute(sql, {"libraries": None if libraries is None else list(libraries), "before": before})
        return int(gone)

    def measure_tables(self, tables: Sequence[str]) -> tuple[int, int | None]:
        with self.read() as tx:
            sql = "select sum(pg_total_relation_size(name::regclass))::bigint from unnest(:names::text[]) as name"
            [[size]] = tx.execute(sql, {"names": list(tables)})
        return size, None

    def scrub(self) -> str:
        return (
            "The rows are gone; their bytes stay in the files of PostgreSQL until it vacuums these tables, in its log "
            "and in backups for as long as you keep them. To free them now: vacuum full prompts, prompt_texts, "
            "documents, tasks, task_texts, task_notes, retry_keys, links, revisions, revision_states, "
            "search_items, search_words"
        )

    @property
    def schema(self) -> int:
        row = self.look_up(lambda tx: tx.one("select max(version) from satchel_schema"), _PROBE_WAIT)
        return int(row[0]) if row else 0

    def close(self) -> None:
        while self._watchers:
            self._watchers.pop().stop()
        for pool in (self._reads, self._writes, self._look_ups):
            pool.close()


def _end_read(connection: Connection) -> None:
    """Commit a read, because a rollback would make psycopg forget its prepared statements."""
    with suppress(psycopg.Error):  # all rows have been read
        connection.commit()


def _deadline(given: float | None) -> float:
    return time.monotonic() + WAIT if given is None else given


def check_existence(address: str, direct: str | None = None) -> None:
    """Check that there is a store at an address.

    Raises:
        StoreUnusable: there is no store, or the server cannot be reached.
    """
    with operators_connection(Address(address, direct)) as (connection, name):
        if not postgres_schema.version(connection):
            raise StoreMissing(
                f"the database {name} has no store that this role can see. Check --database or SATCHEL_DATABASE. A new "
                "one is made by the first command that adds something, by `satchel serve`, or by `satchel database "
                "migrate`.",
                name,
            )


def _check_encoding(connection: psycopg.Connection[Any], name: str) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreUnusable(
            f"the database {name} is encoded in {encoding}, and Satchel's texts need UTF8. Make another one: "
            "create database satchel encoding 'UTF8' template template0"
        )
