"""The shared engine: PostgreSQL through psycopg and its pool. Imported only where a store is on PostgreSQL."""

import os
import re
import select
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

try:
    import psycopg
    from psycopg_pool import ConnectionPool
except ImportError as error:
    from satchel.errors import StoreUnusable

    raise StoreUnusable(
        "a PostgreSQL store needs the postgres extra: pip install 'satchel[postgres]', then try again."
    ) from error

from satchel.errors import StoreConflict, StoreFailed, StoreUnusable
from satchel.model import PromptPosition, PromptQuery, Scope, StoreChange
from satchel.storage import changes, postgres_schema, search_postgres
from satchel.storage.database import ALTERED, NEWEST, Cutoffs, Database, Listener, Row, Tx, Violation, WordList
from satchel.storage.postgres_watch import PostgresWatcher
from satchel.storage.pruning import MOST

_CONNECTIONS = 10  # of a process
_LONGEST_NOTIFICATION = 7900  # bytes; PostgreSQL's bound is 8,000

# A server that disappears without closing its connections is noticed in half a minute.
_ALIVE: dict[str, Any] = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}


class PostgresTx(Tx):
    """A transaction on one connection of the pool."""

    def __init__(self, connection: psycopg.Connection[Row], *, has_row_security: bool = False) -> None:
        self._connection = connection
        self._has_row_security = has_row_security

    def execute(self, sql: str, values: dict[str, object]) -> list[Row]:
        with _translate_errors():
            cursor = self._connection.execute(_to_psycopg(sql), values)
            return cursor.fetchall() if cursor.description else []

    def one_to_change(self, sql: str, table: str, **values: object) -> Row | None:
        # Locked, so that the state that is kept is the one that the update replaces. Where another writer was waited
        # for, PostgreSQL reads the row again, but not what sub-selects found, such as its tags. Then the version of the
        # row is not that of the snapshot, and the second statement, which does not wait, reads all of it.
        self.settle()
        is_whole = f"{table}.version = (select version from {table} as seen where seen.number = {table}.number)"
        text = sql.replace("select ", f"select {is_whole}, ", 1) + " for update"
        while (row := self.one(text, **values)) is not None:
            if row[0]:
                return row[1:]
        return None

    def many(self, sql: str, rows: Iterable[dict[str, object]]) -> None:
        with _translate_errors(), self._connection.cursor() as cursor:
            cursor.executemany(_to_psycopg(sql), rows)

    def is_task(self, id: str) -> bool:
        return self.one("select satchel_is_task(:id)", id=id) == (True,)

    def lock(self, what: str) -> None:
        self.run("select pg_advisory_xact_lock(hashtextextended(:what, 0))", what=what)

    def announce_changes(self) -> None:
        """Send the other processes, once this is committed, what was changed."""
        for text in _split(list(self.changes)):
            self.run("select pg_notify('satchel_changes', :text)", text=text)

    def prompts_containing(
        self, project: int, query: PromptQuery, limit: int, *, offset: int = 0, after: PromptPosition | None = None
    ) -> tuple[list[int], int]:
        # `like` uses the trigram index; for a text too short for trigrams, `strpos` is faster.
        hits = _HITS.format(_LIKE if len(query.text) >= 3 else _POSITION)
        if self.scope.projects is not None:
            hits = _HITS_OF_PROJECT
        sql = _SEARCH.format(_HITS_BY_FUNCTION if self._has_row_security else hits, _TAGGED if query.tags else "")
        moment, last = after or NEWEST
        values = {
            "project": project,
            "text": query.text,
            "pattern": "%" + re.sub(r"([\\%_])", r"\\\1", query.text) + "%",
            "tags": list(query.tags),
            "needed": query.needed_tags,
            "moment": moment,
            "last": last,
            "limit": limit,
            "offset": min(offset, _LARGEST),
        }
        with _translate_errors():
            # Not prepared: the plan depends on how common the text is.
            row = self._connection.execute(_to_psycopg(sql), values, prepare=False).fetchone()
        return (row[1], row[0]) if row else ([], 0)

    def find_words(self, spaces: Sequence[int], lists: Sequence[WordList], most: int) -> list[tuple[list[int], int]]:
        return search_postgres.find_words(self, spaces, lists, most)

    def find_together(self, spaces: Sequence[int], words: Sequence[tuple[str, bool]], most: int) -> list[int]:
        return search_postgres.find_together(self, spaces, words, most)

    def add_words(self, space: int, words: Sequence[str]) -> None:
        search_postgres.add_words(self, space, words)

    def words_of_none(self, space: int, words: Sequence[str]) -> list[str]:
        return search_postgres.words_of_none(self, space, words)


_SEARCH = """
    with hits as materialized (select p.number, p.updated_at from {} {})
    select (select count(*) from hits),
        array(
            select number from hits where (updated_at collate "C", number) < (:moment, :last)
            order by updated_at collate "C" desc, number desc limit :limit offset :offset
        )
"""
_HITS = "prompt_texts t join prompts p on p.number = t.prompt where p.project = :project and ({})"
# For callers who may not enter all projects: the index has the texts of all, so that the time it takes would tell them
# what is in the others. `offset 0` makes the planner start with the prompts of the project.
_HITS_OF_PROJECT = """
    prompts p, lateral (
        select from prompt_texts t where t.prompt = p.number
        and (strpos(t.title, :text) > 0 or strpos(t.content, :text) > 0) offset 0
    ) as t where p.project = :project
"""
# Row-level security would keep the planner off the trigram index; a function of the owner uses it, see migrations.
_HITS_BY_FUNCTION = "satchel_prompts_containing(:project, :text) p where true"
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
        self._watchers: list[changes.Watcher] = []
        self._probe_lock = threading.Lock()
        self._probe: psycopg.Connection[Row] | None = None  # the connection that `schema` uses
        with operators_connection(address) as (connection, name):
            _check_encoding(connection, name)
            postgres_schema.migrate(connection, name, PostgresTx)
            row = connection.execute("select row_security_active('tasks')").fetchone()
            self.has_row_security = row == (True,)
            if self.has_row_security:
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
    def read(self, scope: Scope | None = None) -> Iterator[Tx]:
        with _translate_errors(), self._pool.connection() as connection:
            # Count and page come from one snapshot.
            _prepare(connection, psycopg.IsolationLevel.REPEATABLE_READ, is_read_only=True)
            self._set_visibility(connection, scope)
            yield self._open_tx(connection, scope)

    @contextmanager
    def write(self, scope: Scope | None = None) -> Iterator[Tx]:
        with _translate_errors(), self._pool.connection() as connection:
            _prepare(connection, None, is_read_only=False)
            self._set_visibility(connection, scope)
            tx = self._open_tx(connection, scope)
            tx.writes = True
            yield tx
            tx.announce_changes()

    def _open_tx(self, connection: psycopg.Connection[Row], scope: Scope | None) -> PostgresTx:
        tx = PostgresTx(connection, has_row_security=self.has_row_security)
        tx.scope, tx.retention = scope or tx.scope, self.retention
        return tx

    def watch(self, listen: Listener) -> None:
        with _translate_errors():
            self._watchers.append(PostgresWatcher(self._connect_to_listen, listen))

    def prune(self, cutoffs: Cutoffs, after: int) -> tuple[int, int] | None:
        values = {"history": cutoffs.history, "versions": cutoffs.versions, "trash": cutoffs.trash}
        with self.write() as tx:
            sql = "select reached, removed from satchel_prune(:history, :versions, :trash, :after, :most)"
            row = tx.one(sql, **values, after=after, most=MOST)
        return (row[0], row[1]) if row else None

    def measure_tables(self, tables: Sequence[str]) -> tuple[int, int | None]:
        with self.read() as tx:
            sql = "select sum(pg_total_relation_size(name::regclass))::bigint from unnest(:names::text[]) as name"
            [[size]] = tx.execute(sql, {"names": list(tables)})
        return size, None

    def scrub(self) -> str:
        return (
            "The rows are gone; their bytes stay in the files of PostgreSQL until it vacuums these tables, in its log "
            "and in backups for as long as you keep them. To free them now: vacuum full prompts, prompt_texts, "
            "resources, tasks, task_texts, task_notes, retry_keys, links, revisions, revision_states, trash, "
            "search_items, search_words"
        )

    @property
    def schema(self) -> int:
        # On a separate connection: a busy pool does not mean that the database is gone.
        with self._probe_lock, _translate_errors():
            row = self._connect_probe().execute("select max(version) from satchel_schema").fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        while self._watchers:
            self._watchers.pop().stop()
        if self._probe is not None:
            self._probe.close()
        self._pool.close(timeout=0.5)

    def _set_visibility(self, connection: psycopg.Connection[Row], scope: Scope | None) -> None:
        """Set what row-level security shows, for this transaction only, because connections are shared."""
        if not self.has_row_security:
            return
        user = scope.user if scope is not None and scope.user is not None else ""
        projects = "*" if scope is None or scope.projects is None else ",".join(scope.projects)
        sql = "select set_config('satchel.user', %s, true), set_config('satchel.projects', %s, true)"
        connection.execute(sql, [user, projects])

    def _connect_probe(self) -> psycopg.Connection[Row]:
        """The connection of the last probe, if it still works, or a new one."""
        if self._probe is not None:
            try:
                _check(self._probe)
                return self._probe
            except psycopg.Error:
                self._probe.close()
        options = _with_timeouts(self._address)
        self._probe = psycopg.connect(self._address, connect_timeout=10, autocommit=True, options=options, **_ALIVE)
        return self._probe

    def _connect_to_listen(self) -> psycopg.Connection[Any]:
        # Without the pool's timeouts: a connection that listens is idle most of the time.
        return psycopg.connect(self._address, connect_timeout=10, autocommit=True, **_ALIVE)


def _check(connection: psycopg.Connection[Any]) -> None:
    """Check that a connection still works. One that the server closed has something to read; others cost no query."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    if poll.poll(0):
        ConnectionPool.check_connection(connection)  # it may also be only a notice


def _prepare(
    connection: psycopg.Connection[Any], isolation: psycopg.IsolationLevel | None, *, is_read_only: bool
) -> None:
    """Set the properties of the next transaction, where the last one on this connection had others."""
    if connection.isolation_level is not isolation:
        connection.isolation_level = isolation
    if connection.read_only is not is_read_only:
        connection.read_only = is_read_only


@contextmanager
def operators_connection(address: str) -> Iterator[tuple[psycopg.Connection[Any], str]]:
    """One transaction for maintenance, without timeouts, and the store's name without password.

    Raises:
        StoreUnusable: the server is out of reach, or refuses us.
    """
    try:
        psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        # The message of psycopg may quote the password.
        raise StoreUnusable(
            "this PostgreSQL address cannot be read. One looks like postgresql://user:password@host/database, with "
            "special characters percent-encoded."
        ) from None
    name = _without_password(address)
    try:
        with psycopg.connect(address, connect_timeout=10) as connection:
            # Regardless of the role's default: after waiting for another process to migrate, we must see what it did.
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            yield connection, name
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreUnusable(
            f"this role may not use the store {name}: {str(error).strip()}. Run `satchel database migrate --role NAME` "
            "as the owner."
        ) from error
    except psycopg.ProgrammingError as error:  # a table or a column is missing
        raise StoreUnusable(f"cannot open the store {name}: {str(error).strip()}. {ALTERED}.") from error
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
    """Options of a connection with timeouts for statements, locks and idle transactions."""
    # The operator's options come last and win. libpq ignores PGOPTIONS where options are given, so we add it ourselves.
    given = psycopg.conninfo.conninfo_to_dict(address).get("options") or os.environ.get("PGOPTIONS", "")
    ours = "-c statement_timeout=20s -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s"
    return f"{ours} {given}".strip()


def _split(announced: list[StoreChange]) -> list[str]:
    """Changes as JSON texts, each short enough for a notification."""
    if not announced:
        return []
    text = changes.encode(announced)
    if len(text.encode()) < _LONGEST_NOTIFICATION:
        return [text]
    if len(announced) == 1:
        return [changes.encode([changes.EVERYTHING])]
    half = len(announced) // 2
    return _split(announced[:half]) + _split(announced[half:])


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except psycopg.errors.UniqueViolation as error:
        raise Violation(error.diag.constraint_name or "") from error
    except psycopg.errors.ForeignKeyViolation as error:
        raise Violation("foreign key") from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreFailed(f"{error}. Run `satchel database migrate --role NAME` as the owner") from error
    except psycopg.ProgrammingError as error:  # a table or a column is missing
        raise StoreFailed(f"{error}. {ALTERED}") from error
    except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure) as error:
        raise StoreConflict(str(error)) from error
    except psycopg.Error as error:
        raise StoreFailed(str(error)) from error


@lru_cache(maxsize=512)
def _to_psycopg(sql: str) -> bytes:
    text = sql.replace("%", "%%").replace("instr(", "strpos(")
    return re.sub(r"(?<!:):(\w+)", r"%(\1)s", text).encode()


def _without_password(address: str) -> str:
    try:
        parts = urlsplit(address)
        return f"postgresql://{parts.hostname or ''}{parts.path}"
    except ValueError:
        return "postgresql://…"
