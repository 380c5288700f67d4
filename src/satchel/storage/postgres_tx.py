"""A transaction on a PostgreSQL server: its statements, its settings of row-level security, and its errors."""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache

import psycopg

from satchel.errors import OutcomeUnknown, StoreConflict, StoreFailed, TooCostly
from satchel.storage import search_engines
from satchel.storage.changes import encode
from satchel.storage.database import ALTERED, PARAMETERS, Row, Tx, Violation
from satchel.storage.postgres_connect import Connection, is_lost
from satchel.work import Work

USER, PROJECTS = "satchel.user", "satchel.projects"  # the settings that row-level security reads

_CANCEL_TIMEOUT = 2.0  # seconds for sending the request to cancel a statement
_SHUTDOWN = (psycopg.errors.AdminShutdown, psycopg.errors.CrashShutdown, psycopg.errors.CannotConnectNow)
# Errors after which a connection is useless: the server shuts down, is no longer the primary, or changed the
# columns of a prepared statement. The transaction is rolled back, and can be retried on another connection.
_OF_NO_USE = (*_SHUTDOWN, psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.FeatureNotSupported)


class PostgresTx(Tx):
    """A transaction on a pooled connection, or a lookup with one statement.

    Each statement is a round trip. In psycopg's pipelines, a failing statement leaves the next ones marked as
    prepared, and a lost connection looks like other failures, so only `many` uses one.
    """

    def __init__(self, connection: Connection, *, shown: dict[str, str] | None = None) -> None:
        self._connection = connection
        self._shown = shown or {}  # the settings of row-level security; empty if it does not apply to our role

    def begin(self, how: str, settings: Mapping[str, str]) -> None:
        """Begin the transaction and apply settings, in one round trip."""
        calls = ["select set_config(%s, %s, true)"] * len(settings)
        values = [word for setting in settings.items() for word in setting]
        with _translate_errors(self._connection):
            # psycopg quotes the values, because PostgreSQL accepts parameters for single statements only.
            psycopg.ClientCursor(self._connection).execute("; ".join([how, *calls]).encode(), values)

    def execute(self, sql: str, values: Mapping[str, object], *, prepare: bool | None = None) -> list[Row]:
        text, names = _number_parameters(sql)
        with _translate_errors(self._connection):
            cursor = psycopg.RawCursor(self._connection).execute(text, _list(names, values), prepare=prepare)
            return cursor.fetchall() if cursor.description else []

    def commit(self) -> None:
        """Commit.

        Raises:
            StoreConflict: nothing was done, and the transaction can be tried again.
            OutcomeUnknown: the connection was lost during the commit.
            StoreFailed: nothing was done.
        """
        if self.changes:
            self.run("insert into changes (what) values (:what)", what=encode(list(self.changes)))
        if is_lost(self._connection):
            self._connection.close()
            raise StoreConflict("the connection to the database was lost before the commit; nothing was done")
        with _translate_commit_errors(self._connection):
            cursor = self._connection.execute("commit")
        if cursor.statusmessage == "ROLLBACK":
            raise StoreFailed("a statement of the transaction had failed; nothing was done")

    @contextmanager
    def bounded(self, work: Work) -> Iterator[None]:
        # The connection's `statement_timeout` limits the time of a statement.
        if self.writes:
            yield
            return
        cancelling: list[threading.Thread] = []

        def cancel() -> None:
            # Cancelling runs in a thread, because it connects to the server, and the caller may be an event loop.
            cancelling.append(threading.Thread(target=self._cancel, name="satchel-cancel", daemon=True))
            cancelling[-1].start()

        self._work = work
        work.add_stop(cancel)
        try:
            yield
        except TooCostly:  # PostgreSQL reports a time-out and a cancellation with the same error
            work.check()
            raise
        finally:
            work.remove_stop(cancel)
            for thread in cancelling:
                thread.join()  # a later request would cancel the next transaction on this connection

    def _cancel(self) -> None:
        with suppress(psycopg.Error):  # the statement then ends by its timeout
            self._connection.cancel_safe(timeout=_CANCEL_TIMEOUT)

    def one_to_change(self, columns: str, table: str, where: str, **values: object) -> Row | None:
        # The lock ensures that history gets the state that the update replaces. After waiting for another writer,
        # PostgreSQL rereads the row, but not the results of sub-selects, such as its tags. Then the row's version
        # differs from the snapshot's, and a second statement, which does not wait, reads everything.
        self.settle()
        is_whole = f"{table}.version = (select version from {table} as seen where seen.number = {table}.number)"
        sql = f"select {is_whole}, {columns} from {table} where {where} for update"
        while (row := self.one(sql, **values)) is not None:
            if row[0]:
                return row[1:]
        return None

    def many(self, sql: str, rows: Iterable[Mapping[str, object]]) -> None:
        text, names = _number_parameters(sql)
        with _translate_errors(self._connection):
            psycopg.RawCursor(self._connection).executemany(text, [_list(names, row) for row in rows])

    def is_task(self, id: str) -> bool:
        return self.one("select satchel_is_task(:id)", id=id) == (True,)

    @contextmanager
    def in_all_projects(self) -> Iterator[None]:
        projects = self._shown.get(PROJECTS, "*")
        if projects == "*":
            yield
            return
        self._show_projects("*")
        try:
            yield
        finally:
            with suppress(StoreFailed):  # a failed transaction cannot read any more
                self._show_projects(projects)

    def _show_projects(self, projects: str) -> None:
        self._shown[PROJECTS] = projects
        self.run("select set_config(:name, :projects, true)", name=PROJECTS, projects=projects)

    def lock(self, what: str) -> None:
        self.run("select pg_advisory_xact_lock(hashtextextended(:what, 0))", what=what)

    @property
    def is_guarded(self) -> bool:
        """Whether row-level security applies to our role."""
        return bool(self._shown)

    prompts_containing = search_engines.find_prompts_in_postgres
    find_words = search_engines.find_in_postgres
    find_together = search_engines.find_together_in_postgres
    add_words = search_engines.add_words_in_postgres
    clean_words = search_engines.clean_words_in_postgres
    forget_words = search_engines.forget_words_in_postgres


def _list(names: Iterable[str], values: Mapping[str, object]) -> list[object]:
    """Return the parameters' values by number; tuples become lists, which psycopg sends as arrays."""
    given = [values[name] for name in names]
    return [list(value) if isinstance(value, tuple) else value for value in given]


@lru_cache(maxsize=512)
def _number_parameters(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Replace `:name` by `$1` in a statement; return it with the names in the order of their numbers."""
    numbers: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found[2] or found[3]
        if name is None:
            return found[0]
        place = f"${numbers.setdefault(name, len(numbers) + 1)}"
        if found[3]:
            return place
        return f"<> all({place})" if found[1] else f"= any({place})"

    return PARAMETERS.sub(number, sql).encode(), tuple(numbers)


# -- errors -----------------------------------------------------------------------------------------------------


@contextmanager
def _translate_commit_errors(connection: Connection) -> Iterator[None]:
    with _translate_errors(connection):
        try:
            yield
        except psycopg.OperationalError as error:
            if not (_is_from_client(error) or isinstance(error, _SHUTDOWN)):
                raise
            connection.close()
            raise OutcomeUnknown(
                "the connection to the database was lost during the commit, so it is unknown whether the call took "
                f"effect. Check before you repeat it. ({str(error).strip()})"
            ) from error


@contextmanager
def _translate_errors(connection: Connection) -> Iterator[None]:
    """Translate errors of a statement. A failing statement rolls its transaction back."""
    try:
        yield
    except psycopg.errors.UniqueViolation as error:
        raise Violation(error.diag.constraint_name or "") from error
    except psycopg.errors.ForeignKeyViolation as error:
        raise Violation("foreign key") from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreFailed(f"{_describe(error)}. Run `satchel database migrate --role NAME` as the owner") from error
    except psycopg.errors.QueryCanceled as error:
        raise TooCostly(_describe(error)) from error
    except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure) as error:
        raise StoreConflict(_describe(error)) from error
    except psycopg.Error as error:
        if _is_of_no_use(connection, error):
            connection.close()
            lost = f"the connection to the database was lost; nothing was done ({_describe(error)})"
            raise StoreConflict(lost) from error
        if isinstance(error, psycopg.ProgrammingError):  # a table or a column is missing
            raise StoreFailed(f"{_describe(error)}. {ALTERED}") from error
        raise StoreFailed(_describe(error)) from error


def _describe(error: psycopg.Error) -> str:
    """Return PostgreSQL's message without details, because these quote statements and rows."""
    return error.diag.message_primary or str(error)


def _is_of_no_use(connection: Connection, error: psycopg.Error) -> bool:
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return not connection.read_only  # otherwise, reads are refused by our own setting
    return connection.closed or _is_from_client(error) or isinstance(error, _OF_NO_USE)


def _is_from_client(error: psycopg.Error) -> bool:
    """Return whether an error comes from the connection, not from the server."""
    return isinstance(error, psycopg.OperationalError) and error.diag.sqlstate is None
