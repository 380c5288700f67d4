"""Errors of PostgreSQL as errors of the store, and what is known of a call whose connection was lost."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from satchel.errors import StoreConflict, StoreFailed, TooCostly
from satchel.storage.database import ALTERED, Violation
from satchel.storage.postgres_connect import Connection, is_lost

_SHUTDOWN = (psycopg.errors.AdminShutdown, psycopg.errors.CrashShutdown, psycopg.errors.CannotConnectNow)
# What a server says on a connection that is of no more use: it shuts down, is no longer the primary, or has changed the
# columns of a prepared statement. The transaction is rolled back, and can be run again on another connection.
_OF_NO_USE = (*_SHUTDOWN, psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.FeatureNotSupported)


def check_alive(connection: Connection) -> None:
    """Check before a commit that the connection still works.

    Raises:
        StoreConflict: it was lost, so that nothing was done.
    """
    if is_lost(connection):
        connection.close()
        raise StoreConflict("the connection to the database was lost before the commit; nothing was done")


@contextmanager
def translate_commit_errors(connection: Connection) -> Iterator[None]:
    """Turn errors of a commit into ours."""
    with translate_errors(connection):
        try:
            yield
        except psycopg.OperationalError as error:
            if not (_is_from_client(error) or isinstance(error, _SHUTDOWN)):
                raise
            connection.close()
            raise StoreFailed(
                "the connection to the database was lost during the commit, so that it is not known whether the call "
                f"was carried out. Look before it is repeated. ({str(error).strip()})"
            ) from error


@contextmanager
def translate_errors(connection: Connection) -> Iterator[None]:
    """Turn errors of a statement into ours. A statement that fails rolls its transaction back."""
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
    """Return what PostgreSQL says, without the details: they quote the statement, and rows with what is in them."""
    return error.diag.message_primary or str(error)


def _is_of_no_use(connection: Connection, error: psycopg.Error) -> bool:
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return not connection.read_only  # else it is our own rule for reads
    return connection.closed or _is_from_client(error) or isinstance(error, _OF_NO_USE)


def _is_from_client(error: psycopg.Error) -> bool:
    """Return whether the connection failed, rather than the server said something."""
    return isinstance(error, psycopg.OperationalError) and error.diag.sqlstate is None
