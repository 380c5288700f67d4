"""The shared engine: PostgreSQL through psycopg. Imported only where a store is on PostgreSQL."""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from typing import Any

try:
    import psycopg
except ImportError as error:
    from satchel.errors import StoreUnusable

    raise StoreUnusable(
        "a PostgreSQL store needs the postgres extra: pip install 'satchel[postgres]', then try again."
    ) from error

from psycopg.pq import TransactionStatus

from satchel.errors import StoreConflict, StoreFailed, StoreUnusable
from satchel.model import PromptPosition, PromptQuery, Scope, StoreChange
from satchel.storage import changes, postgres_schema, search_postgres
from satchel.storage.database import (
    ALTERED,
    NEWEST,
    WAIT,
    Cutoffs,
    Database,
    Found,
    Listener,
    Row,
    Tx,
    Violation,
    WordList,
)
from satchel.storage.postgres_connect import SET, Address
from satchel.storage.postgres_connect import operators_connection as operators_connection
from satchel.storage.postgres_pool import Pool, is_readable
from satchel.storage.postgres_watch import PostgresWatcher
from satchel.storage.pruning import MOST

# Connections of a process, made when they are needed. Reads have their own: writes that wait for a synchronous standby
# keep no reader waiting. So have look-ups of tokens and of the schema, which every call and every probe begins with.
READ_CONNECTIONS = 10
WRITE_CONNECTIONS = 8
LOOK_UP_CONNECTIONS = 2

_PROBE_WAIT = 1.5  # seconds that a probe of the schema waits for a connection; `/health` waits longer for it
_CANCEL_TIMEOUT = 2.0  # seconds for telling the server that a query is to be cancelled
_LONGEST_NOTIFICATION = 7900  # bytes; PostgreSQL's bound is 8,000

_USER, _PROJECTS = "satchel.user", "satchel.projects"  # what row-level security shows in a transaction

# What a server says to a connection that is of no more use: it shuts down, is no longer the primary, or has changed the
# columns of a prepared statement. The transaction is rolled back, and can be run again on another connection.
_OF_NO_USE = (
    psycopg.errors.AdminShutdown,
    psycopg.errors.CrashShutdown,
    psycopg.errors.CannotConnectNow,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.FeatureNotSupported,
)


class PostgresTx(Tx):
    """A transaction on one connection of a pool."""

    longest_list = 50  # psycopg takes milliseconds for a text with hundreds of parameters

    def __init__(self, connection: psycopg.Connection[Row], *, shown: dict[str, str] | None = None) -> None:
        self._connection = connection
        self._shown = shown or {}  # the settings of row-level security; none: it does not apply to our role
        self._cancelling: threading.Thread | None = None

    def execute(self, sql: str, values: dict[str, object]) -> list[Row]:
        with _translate_errors(self._connection):
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
        with _translate_errors(self._connection), self._connection.cursor() as cursor:
            cursor.executemany(_to_psycopg(sql), rows)

    def interrupt(self) -> None:
        super().interrupt()
        # In a thread, because it connects to the server, and the caller may be an event loop.
        self._cancelling = threading.Thread(target=self._cancel, name="satchel-cancel", daemon=True)
        self._cancelling.start()

    def end_interrupt(self) -> None:
        if self._cancelling is not None:
            self._cancelling.join()  # what is cancelled later is the next statement on this connection

    def _cancel(self) -> None:
        with suppress(psycopg.Error):  # the statement ends by its own timeout then
            self._connection.cancel_safe(timeout=_CANCEL_TIMEOUT)

    def is_task(self, id: str) -> bool:
        return self.one("select satchel_is_task(:id)", id=id) == (True,)

    @contextmanager
    def in_all_projects(self) -> Iterator[None]:
        projects = self._shown.get(_PROJECTS, "*")
        if projects == "*":
            yield
            return
        self._show_projects("*")
        try:
            yield
        finally:
            with suppress(StoreFailed):  # a transaction that failed shows nothing any more
                self._show_projects(projects)

    def _show_projects(self, projects: str) -> None:
        self._shown[_PROJECTS] = projects
        with _translate_errors(self._connection):
            self._connection.execute(SET, [True, [_PROJECTS], [projects]])

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
        sql = _SEARCH.format(_HITS_BY_FUNCTION if self._shown else hits, _TAGGED if query.tags else "")
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
        with _translate_errors(self._connection):
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

    def __init__(self, address: str, direct: str | None = None) -> None:
        self._address = Address(address, direct)
        self._watchers: list[changes.Watcher] = []
        with operators_connection(self._address) as (connection, name):
            self._address.check_pooler(connection)
            _check_encoding(connection, name)
            postgres_schema.migrate(connection, name, PostgresTx)
            row = connection.execute("select row_security_active('tasks')").fetchone()
            self.has_row_security = row == (True,)
            if self.has_row_security:
                postgres_schema.check_grants(connection, name)
            connection.execute("select name from projects limit 1")
        self._reads = Pool(self._connect_to_read, READ_CONNECTIONS, "reads")
        self._writes = Pool(self._address.connect, WRITE_CONNECTIONS, "writes")
        self._look_ups = Pool(partial(self._address.connect, autocommit=True), LOOK_UP_CONNECTIONS, "look-ups")

    @contextmanager
    def read(self, scope: Scope | None = None, deadline: float | None = None) -> Iterator[Tx]:
        with self._reads.lend(_deadline(deadline)) as connection:
            try:
                yield self._begin(connection, scope)
            finally:
                # Not a rollback, after which psycopg prepares every statement again, even where the caller raised:
                # that something does not exist is an answer too.
                if connection.info.transaction_status == TransactionStatus.INTRANS:
                    with suppress(psycopg.Error):  # all is read by now
                        connection.commit()

    @contextmanager
    def write(self, scope: Scope | None = None, deadline: float | None = None) -> Iterator[Tx]:
        with self._writes.lend(_deadline(deadline)) as connection:
            tx = self._begin(connection, scope)
            tx.writes = True
            yield tx
            tx.announce_changes()
            _commit(connection)

    def look_up(self, find: Callable[[Tx], Found], wait: float = WAIT) -> Found:
        deadline = time.monotonic() + wait
        while True:
            try:
                with self._look_ups.lend(deadline) as connection, _translate_errors(connection):
                    if not self._address.is_pooled:
                        return find(PostgresTx(connection))
                    with connection.transaction():  # which the timeouts are set for
                        return find(self._begin(connection, None))
            except StoreConflict:
                if time.monotonic() >= deadline:
                    raise

    def _begin(self, connection: psycopg.Connection[Row], scope: Scope | None) -> PostgresTx:
        """A transaction with what row-level security shows in it, and behind a pooler with its timeouts.

        All of them end with the transaction, because connections are shared.
        """
        shown = {}
        if self.has_row_security:
            shown[_USER] = scope.user if scope is not None and scope.user is not None else ""
            shown[_PROJECTS] = "*" if scope is None or scope.projects is None else ",".join(scope.projects)
        settings = shown | (self._address.timeouts if self._address.is_pooled else {})
        if settings:
            with _translate_errors(connection):
                connection.execute(SET, [True, list(settings), list(settings.values())])
        tx = PostgresTx(connection, shown=shown)
        tx.scope, tx.retention = scope or tx.scope, self.retention
        return tx

    def watch(self, listen: Listener) -> None:
        with _translate_errors():
            self._watchers.append(PostgresWatcher(self._address.connect_directly, listen))

    def prune(self, cutoffs: Cutoffs, after: int) -> tuple[int, int] | None:
        values = {"history": cutoffs.history, "versions": cutoffs.versions, "trash": cutoffs.trash}
        with self.write() as tx:
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
            "resources, tasks, task_texts, task_notes, retry_keys, links, revisions, revision_states, trash, "
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

    def _connect_to_read(self) -> psycopg.Connection[Row]:
        connection = self._address.connect()
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ  # count and page come from one snapshot
        connection.read_only = True
        return connection


def _deadline(given: float | None) -> float:
    return time.monotonic() + WAIT if given is None else given


def _commit(connection: psycopg.Connection[Any]) -> None:
    """Commit.

    Raises:
        StoreConflict: the connection was lost before, so that nothing was done.
        StoreFailed: it was lost meanwhile.
    """
    if is_readable(connection):
        connection.close()
        raise StoreConflict("the connection to the database was lost before the commit; nothing was done")
    with _translate_errors():
        try:
            connection.commit()
        except psycopg.OperationalError as error:
            if not connection.closed and not isinstance(error, _OF_NO_USE):
                raise
            connection.close()
            raise StoreFailed(
                "the connection to the database was lost during the commit, so that it is not known whether the call "
                f"was carried out. Look before it is repeated. ({str(error).strip()})"
            ) from error


def check_existence(address: str, direct: str | None = None) -> None:
    """Check that there is a store at an address.

    Raises:
        StoreUnusable: there is none, or the server is out of reach.
    """
    with operators_connection(Address(address, direct)) as (connection, name):
        if not postgres_schema.version(connection):
            raise StoreUnusable(
                f"the database {name} has no store that this role can see. Check --database or SATCHEL_DATABASE. A new "
                "one is made by the first command that adds something, by `satchel serve`, or by `satchel database "
                "migrate`."
            )


def _check_encoding(connection: psycopg.Connection[Any], name: str) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreUnusable(
            f"the database {name} is encoded in {encoding}, and Satchel's texts need UTF8. Make another one: "
            "create database satchel encoding 'UTF8' template template0"
        )


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
def _translate_errors(connection: psycopg.Connection[Any] | None = None) -> Iterator[None]:
    """Turn errors of psycopg into ours. With a connection: of a statement on it, which is not a commit."""
    try:
        yield
    except psycopg.errors.UniqueViolation as error:
        raise Violation(error.diag.constraint_name or "") from error
    except psycopg.errors.ForeignKeyViolation as error:
        raise Violation("foreign key") from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreFailed(f"{_describe(error)}. Run `satchel database migrate --role NAME` as the owner") from error
    except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure) as error:
        raise StoreConflict(_describe(error)) from error
    except psycopg.Error as error:
        if connection is not None and _is_lost(connection, error):
            connection.close()
            lost = f"the connection to the database was lost; nothing was done ({_describe(error)})"
            raise StoreConflict(lost) from error
        if isinstance(error, psycopg.ProgrammingError):  # a table or a column is missing
            raise StoreFailed(f"{_describe(error)}. {ALTERED}") from error
        raise StoreFailed(_describe(error)) from error


def _describe(error: psycopg.Error) -> str:
    """What PostgreSQL says, without the details: they quote the statement, and rows with what is in them."""
    return error.diag.message_primary or str(error)


def _is_lost(connection: psycopg.Connection[Any], error: psycopg.Error) -> bool:
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return not connection.read_only  # else it is our own rule for reads
    return connection.closed or isinstance(error, _OF_NO_USE)


@lru_cache(maxsize=512)
def _to_psycopg(sql: str) -> bytes:
    text = sql.replace("%", "%%").replace("instr(", "strpos(")
    return re.sub(r"(?<!:):(\w+)", r"%(\1)s", text).encode()
