"""The shared engine: PostgreSQL through psycopg and its pool. Only imported when a store is there."""

import os
import re
import select
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import msgspec

try:
    import psycopg
    from psycopg_pool import ConnectionPool
except ImportError as error:
    from satchel.errors import StoreUnusable

    raise StoreUnusable(
        "a PostgreSQL store needs the postgres extra: pip install 'satchel[postgres]', then try again."
    ) from error

from satchel.errors import StoreConflict, StoreFailed, StoreUnusable
from satchel.model import Scope, StoreChange
from satchel.storage import postgres_schema
from satchel.storage.database import Database, PromptQuery, Row, Tx, Violation
from satchel.storage.postgres_watch import Watcher

_CONNECTIONS = 10  # of a process
_LONGEST_NOTIFICATION = 7900  # bytes; PostgreSQL's bound is 8,000

# A server that vanished without a word is noticed in half a minute.
_ALIVE: dict[str, Any] = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}

# What an operator did to the database under our feet.
_OPERATORS_FAULT = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.UndefinedTable,
    psycopg.errors.InvalidSchemaName,
)

# Mistakes of ours; they are surprises, not failures of the database.
_OUR_FAULT = (psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError)


class PostgresTx(Tx):
    """A transaction on one connection of the pool."""

    def __init__(self, connection: psycopg.Connection[Row], *, is_walled: bool = False) -> None:
        self._connection = connection
        self._is_walled = is_walled

    def execute(self, sql: str, values: dict[str, object]) -> list[Row]:
        with _translated():
            cursor = self._connection.execute(_spelled(sql), values)
            return cursor.fetchall() if cursor.description else []

    def many(self, sql: str, rows: Iterable[dict[str, object]]) -> None:
        with _translated(), self._connection.cursor() as cursor:
            cursor.executemany(_spelled(sql), rows)

    def is_task(self, id: str) -> bool:
        return self.one("select satchel_is_task(:id)", id=id) == (True,)

    def lock(self, what: str) -> None:
        self.run("select pg_advisory_xact_lock(hashtextextended(:what, 0))", what=what)

    def tell_changes(self) -> None:
        """Tell the other processes, once this is committed, what was changed."""
        for told in _in_pieces(list(self.changes)):
            self.run("select pg_notify('satchel_changes', :told)", told=told)

    def prompts_containing(self, sought: PromptQuery, limit: int, offset: int = 0) -> tuple[list[int], int]:
        # `like` because that is what a trigram index serves; a text too short for trigrams is found faster without.
        hits = _HITS.format(_LIKE if len(sought.text) >= 3 else _POSITION)
        sql = _SEARCH.format(_HITS_BEHIND_WALL if self._is_walled else hits, _TAGGED if sought.tags else "")
        moment, last = sought.behind
        values = {
            "project": sought.project,
            "text": sought.text,
            "pattern": "%" + re.sub(r"([\\%_])", r"\\\1", sought.text) + "%",
            "tags": list(sought.tags),
            "needed": len(sought.tags) if sought.needs_all else 1,
            "moment": moment,
            "last": last,
            "limit": limit,
            "offset": min(offset, _LARGEST),
        }
        with _translated():
            # Not prepared: the plan depends on how common the text is.
            row = self._connection.execute(_spelled(sql), values, prepare=False).fetchone()
        return (row[1], row[0]) if row else ([], 0)


_SEARCH = """
    with hits as materialized (select p.number, p.updated_at from {} {})
    select (select count(*) from hits),
        array(
            select number from hits where (updated_at collate "C", number) < (:moment, :last)
            order by updated_at collate "C" desc, number desc limit :limit offset :offset
        )
"""
_HITS = "prompt_texts t join prompts p on p.number = t.prompt where p.project = :project and ({})"
_HITS_BEHIND_WALL = "satchel_prompts_containing(:project, :text) p where true"  # the same question, see migrations
_LIKE = r"t.title like :pattern escape '\' or t.content like :pattern escape '\'"
_POSITION = "strpos(t.title, :text) > 0 or strpos(t.content, :text) > 0"
_TAGGED = """
    and (select count(*) from prompt_tags g where g.prompt = p.number and g.tag = any (:tags)) >= :needed
"""
_LARGEST = 2**63 - 1


class PostgresDatabase(Database):
    """A store on a PostgreSQL server."""

    is_shared = True

    def __init__(self, address: str) -> None:
        self._address = address
        self._watchers: list[Watcher] = []
        self._asking = threading.Lock()
        self._asked: psycopg.Connection[Row] | None = None  # whether the database is there
        with operators_connection(address) as (connection, name):
            _check_encoding(connection, name)
            postgres_schema.bring_up(connection, name, PostgresTx)
            row = connection.execute("select row_security_active('tasks')").fetchone()
            self.is_walled = row == (True,)
            if self.is_walled:
                postgres_schema.check_grants(connection, name)
            connection.execute("select name from projects limit 1")
        self._pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
            address,
            min_size=1,
            max_size=_CONNECTIONS,
            timeout=10,
            kwargs=_ALIVE | {"options": _with_timeouts(address)},
            check=_check,
            open=True,
        )

    @contextmanager
    def read(self, scope: Scope | None = None, patience: float | None = None) -> Iterator[Tx]:
        with _translated(), self._pool.connection() as connection:
            # Count and page come from one snapshot.
            _prepare(connection, psycopg.IsolationLevel.REPEATABLE_READ, is_read_only=True)
            self._enter(connection, scope)
            yield PostgresTx(connection, is_walled=self.is_walled)

    def look(self, scope: Scope | None = None) -> AbstractContextManager[Tx]:
        # What row-level security is to show is told for a transaction, so there has to be one.
        return self.read(scope) if self.is_walled else self._look()

    @contextmanager
    def _look(self) -> Iterator[Tx]:
        with _translated(), self._pool.connection() as connection:
            connection.autocommit = True  # three questions to the server less
            try:
                yield PostgresTx(connection)
            finally:
                if not connection.closed:
                    connection.autocommit = False

    @contextmanager
    def write(self, scope: Scope | None = None) -> Iterator[Tx]:
        with _translated(), self._pool.connection() as connection:
            _prepare(connection, None, is_read_only=False)
            self._enter(connection, scope)
            tx = PostgresTx(connection, is_walled=self.is_walled)
            yield tx
            tx.tell_changes()

    def watch(self, heard: Callable[[list[StoreChange]], None]) -> None:
        with _translated():
            self._watchers.append(Watcher(self._connect_to_listen, heard))

    @property
    def schema(self) -> int:
        # On a connection of its own: where all others are busy, the database is there all the same.
        with self._asking, _translated():
            row = self._connection_to_ask().execute("select max(version) from satchel_schema").fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        while self._watchers:
            self._watchers.pop().stop()
        if self._asked is not None:
            self._asked.close()
        self._pool.close(timeout=0.5)

    def _enter(self, connection: psycopg.Connection[Row], scope: Scope | None) -> None:
        """Say what row-level security is to show; for this transaction only, because connections are shared."""
        if not self.is_walled:
            return
        user = scope.user if scope is not None and scope.user is not None else ""
        projects = "*" if scope is None or scope.projects is None else ",".join(scope.projects)
        sql = "select set_config('satchel.user', %s, true), set_config('satchel.projects', %s, true)"
        connection.execute(sql, [user, projects])

    def _connection_to_ask(self) -> psycopg.Connection[Row]:
        """The one that answered last time, if it still does, or a new one."""
        if self._asked is not None:
            try:
                _check(self._asked)
                return self._asked
            except psycopg.Error:
                self._asked.close()
        options = _with_timeouts(self._address)
        self._asked = psycopg.connect(self._address, connect_timeout=10, autocommit=True, options=options, **_ALIVE)
        return self._asked

    def _connect_to_listen(self) -> psycopg.Connection[Any]:
        # Without the pool's time-outs: whoever listens is idle on purpose.
        return psycopg.connect(self._address, connect_timeout=10, autocommit=True, **_ALIVE)


def _check(connection: psycopg.Connection[Any]) -> None:
    """See to it that nobody is given a connection that is gone; one that the server closed has its end to read."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    if poll.poll(0):
        ConnectionPool.check_connection(connection)  # or it is only a notice


def _prepare(
    connection: psycopg.Connection[Any], isolation: psycopg.IsolationLevel | None, *, is_read_only: bool
) -> None:
    """Say what the next transaction is like, where that is another than the last one on this connection."""
    if connection.isolation_level is not isolation:
        connection.isolation_level = isolation
    if connection.read_only is not is_read_only:
        connection.read_only = is_read_only


@contextmanager
def operators_connection(address: str) -> Iterator[tuple[psycopg.Connection[Any], str]]:
    """One transaction for work on the store itself, which may take its time, and the store's name without password.

    Raises:
        StoreUnusable: the server is out of reach, or refuses us.
    """
    try:
        psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        # Its own words may quote the password.
        raise StoreUnusable(
            "this PostgreSQL address cannot be read. One looks like postgresql://user:password@host/database, with "
            "special characters percent-encoded."
        ) from None
    name = _without_password(address)
    try:
        with psycopg.connect(address, connect_timeout=10) as connection:
            # Whatever the role's default: after waiting for another who migrates, we must see what he did.
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            yield connection, name
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreUnusable(
            f"this role may not use the store {name}: {str(error).strip()}. Run `satchel database migrate --role NAME` "
            "as the owner."
        ) from error
    except psycopg.Error as error:
        raise StoreUnusable(
            f"cannot open the store {name}: {str(error).strip()}. Check that the server runs, and that the database is "
            "there."
        ) from error


def _check_encoding(connection: psycopg.Connection[Any], name: str) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreUnusable(
            f"the database {name} is encoded in {encoding}, and Satchel's texts need UTF8. Make another one: "
            "create database satchel encoding 'UTF8' template template0"
        )


def _with_timeouts(address: str) -> str:
    """Options of a connection: no statement outlives its client, and no lock is waited for without end."""
    # What the operator says comes last and counts; libpq would not look at PGOPTIONS when given options of ours.
    given = psycopg.conninfo.conninfo_to_dict(address).get("options") or os.environ.get("PGOPTIONS", "")
    ours = "-c statement_timeout=20s -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s"
    return f"{ours} {given}".strip()


def _in_pieces(changes: list[StoreChange]) -> list[str]:
    """Changes as JSON, each piece short enough for a notification."""
    if not changes:
        return []
    told = msgspec.json.encode(changes).decode()
    if len(told.encode()) < _LONGEST_NOTIFICATION:
        return [told]
    if len(changes) == 1:
        return ['[["everything"]]']
    half = len(changes) // 2
    return _in_pieces(changes[:half]) + _in_pieces(changes[half:])


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except psycopg.errors.UniqueViolation as error:
        raise Violation(error.diag.constraint_name or "") from error
    except psycopg.errors.ForeignKeyViolation as error:
        raise Violation("foreign key") from error
    except _OPERATORS_FAULT as error:
        raise StoreFailed(str(error)) from error
    except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure) as error:
        raise StoreConflict(str(error)) from error
    except _OUR_FAULT:
        raise
    except psycopg.Error as error:
        raise StoreFailed(str(error)) from error


@lru_cache(maxsize=512)
def _spelled(sql: str) -> bytes:
    text = sql.replace("%", "%%").replace("instr(", "strpos(")
    return re.sub(r"(?<!:):(\w+)", r"%(\1)s", text).encode()


def _without_password(address: str) -> str:
    try:
        parts = urlsplit(address)
        return f"postgresql://{parts.hostname or ''}{parts.path}"
    except ValueError:
        return "postgresql://…"
