"""The shared engine: PostgreSQL through psycopg and its pool. Only imported when a store is there."""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
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
from satchel.log import log
from satchel.model import Changed, Scope
from satchel.storage.database import Database, Row, Tx, Violation
from satchel.storage.migrations import MIGRATIONS, for_postgres

_MIGRATION_LOCK = 0x53415443
_CONNECTIONS = 10  # of a process
_PATIENCE = 0.5  # seconds before a lost connection is tried again
_LONGEST_NOTIFICATION = 7900  # bytes; PostgreSQL's bound is 8,000
_CHANGES = msgspec.json.Decoder(list[Changed])

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

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        super().__init__()
        self._connection = connection

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

    def prompts_containing(
        self, folded: str, project: int, limit: int, offset: int, *, tags: Sequence[str] = (), needs_all: bool = False
    ) -> tuple[list[int], int]:
        # `like` because that is what a trigram index serves; a text too short for trigrams is found faster without.
        sql = _SEARCH.format(_LIKE if len(folded) >= 3 else _POSITION, _TAGGED if tags else "")
        pattern = "%" + re.sub(r"([\\%_])", r"\\\1", folded) + "%"
        values = {
            "project": project,
            "text": folded,
            "pattern": pattern,
            "tags": list(tags),
            "needed": len(tags) if needs_all else 1,
            "limit": limit,
            "offset": min(offset, _LARGEST),
        }
        with _translated():
            # Not prepared: the plan depends on how common the text is.
            row = self._connection.execute(_spelled(sql), values, prepare=False).fetchone()
        return (row[1], row[0]) if row else ([], 0)


_SEARCH = """
    with hits as materialized (
        select p.number, p.updated_at from prompt_texts t join prompts p on p.number = t.prompt
        where p.project = :project and ({}) {}
    )
    select (select count(*) from hits),
        array(select number from hits order by updated_at desc, number desc limit :limit offset :offset)
"""
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
        self._name = _without_password(address)
        self._address = address
        try:
            psycopg.conninfo.conninfo_to_dict(address)
        except psycopg.ProgrammingError:
            # Its own words may quote the password.
            raise StoreUnusable(
                "this PostgreSQL address cannot be read. One looks like postgresql://user:password@host/database, with "
                "special characters percent-encoded."
            ) from None
        try:
            with psycopg.connect(address, connect_timeout=10) as connection:
                self._check_encoding(connection)
                self._migrate(connection)
                connection.execute("select name from projects limit 1")
                row = connection.execute("select row_security_active('tasks')").fetchone()
                self._has_walls = row == (True,)  # our role owns nothing
        except psycopg.Error as error:
            raise StoreUnusable(
                f"cannot open the store {self._name}: {str(error).strip()}. Check that the server runs, that the "
                "database is there, and that this role may create tables in it."
            ) from error
        self._pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
            address,
            min_size=1,
            max_size=_CONNECTIONS,
            timeout=10,
            kwargs=_ALIVE | {"options": _with_timeouts(address)},
            check=ConnectionPool.check_connection,
            open=True,
        )

    @contextmanager
    def read(self, scope: Scope | None = None) -> Iterator[Tx]:
        with _translated(), self._pool.connection() as connection:
            # Count and page come from one snapshot.
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            self._enter(connection, scope)
            yield PostgresTx(connection)

    @contextmanager
    def write(self, scope: Scope | None = None) -> Iterator[Tx]:
        with _translated(), self._pool.connection() as connection:
            connection.isolation_level = None
            connection.read_only = False
            self._enter(connection, scope)
            tx = PostgresTx(connection)
            yield tx
            tx.tell_changes()

    def watch(self, heard: Callable[[list[Changed]], None]) -> None:
        with _translated():
            connection = self._listen()
        threading.Thread(target=self._watch, args=(connection, heard), name="satchel-watch", daemon=True).start()

    @property
    def schema(self) -> int:
        with self.read() as tx:
            row = tx.one("select max(version) from satchel_schema")
        return int(row[0]) if row else 0

    def close(self) -> None:
        self._pool.close(timeout=0.5)

    def _enter(self, connection: psycopg.Connection[Row], scope: Scope | None) -> None:
        """Say what row-level security is to show; for this transaction only, because connections are shared."""
        if not self._has_walls:
            return
        user = scope.user if scope is not None and scope.user is not None else ""
        projects = "*" if scope is None or scope.projects is None else ",".join(scope.projects)
        sql = "select set_config('satchel.user', %s, true), set_config('satchel.projects', %s, true)"
        connection.execute(sql, [user, projects])

    def _listen(self) -> psycopg.Connection[Row]:
        connection = psycopg.connect(self._address, connect_timeout=10, autocommit=True, **_ALIVE)
        connection.execute("listen satchel_changes")
        return connection

    def _watch(self, connection: psycopg.Connection[Row] | None, heard: Callable[[list[Changed]], None]) -> None:
        while True:
            try:
                if connection is None:
                    connection = self._listen()
                    heard([Changed("everything")])  # whatever happened while nobody listened
                for told in connection.notifies():
                    heard(_CHANGES.decode(told.payload))
            except (psycopg.Error, msgspec.DecodeError) as error:
                log(f"watching the store: {str(error).strip()}")
            if connection is not None:
                connection.close()
                connection = None
            time.sleep(_PATIENCE)

    def _check_encoding(self, connection: psycopg.Connection[Any]) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreUnusable(
                f"the database {self._name} is encoded in {encoding}, and Satchel's texts need UTF8. Make another one: "
                "create database satchel encoding 'UTF8' template template0"
            )

    def _migrate(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute("select pg_advisory_xact_lock(%s)", [_MIGRATION_LOCK])
        if connection.execute("select to_regclass('satchel_schema')").fetchone() == (None,):
            connection.execute("create table satchel_schema (version integer not null)")
        row = connection.execute("select max(version) from satchel_schema").fetchone()
        version = (row and row[0]) or 0
        if version > len(MIGRATIONS):
            raise StoreUnusable(
                f"the store {self._name} has schema {version}, and this Satchel knows schemas up to {len(MIGRATIONS)}. "
                "It was written by a newer Satchel: upgrade this one."
            )
        for number, migration in enumerate(MIGRATIONS[version:], version + 1):
            with connection.transaction():
                connection.execute(for_postgres(migration).encode())
                migration.finish(PostgresTx(connection))
                connection.execute("insert into satchel_schema values (%s)", [number])


def _with_timeouts(address: str) -> str:
    """Options of a connection: no statement outlives its client, and no lock is waited for without end."""
    given = psycopg.conninfo.conninfo_to_dict(address).get("options") or ""
    ours = "-c statement_timeout=20s -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s"
    return f"{ours} {given}".strip()


def _in_pieces(changes: list[Changed]) -> list[str]:
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
