"""Errors of PostgreSQL as errors of the store, and what is known of a call whose connection was lost."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import psycopg

from satchel.errors import StoreConflict, StoreFailed
from satchel.storage.database import ALTERED, Violation
from satchel.storage.postgres_statements import COMMIT, Connection, check

# What a server says to a connection that is of no more use: it shuts down, is no longer the primary, or has changed the
# columns of a prepared statement. The transaction is rolled back, and can be run again on another connection.
_OF_NO_USE = (
    psycopg.errors.AdminShutdown,
    psycopg.errors.CrashShutdown,
    psycopg.errors.CannotConnectNow,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.FeatureNotSupported,
)


def commit(connection: Connection) -> None:
    """Execute the pending statements of a transaction and commit it, in one round trip.

    Raises:
        StoreConflict: the connection was lost before, so that nothing was done.
        StoreFailed: it was lost meanwhile, or a statement had failed, and nothing was done.
    """
    if connection.statements.is_unusable():
        connection.close()
        raise StoreConflict("the connection to the database was lost before the commit; nothing was done")
    with translate_errors():
        try:
            *results, last = connection.statements.exchange([COMMIT])
        except psycopg.OperationalError as error:
            _give_up(connection, error)
        with translate_errors(connection):
            for result in results:
                check(result)
        try:
            check(last)
        except psycopg.OperationalError as error:
            if not connection.closed and not isinstance(error, _OF_NO_USE):
                raise
            _give_up(connection, error)
        if last is not None and last.command_status == b"ROLLBACK":
            raise StoreFailed("a statement of the transaction had failed; nothing was done")


def _give_up(connection: Connection, error: psycopg.Error) -> NoReturn:
    connection.close()
    raise StoreFailed(
        "the connection to the database was lost during the commit, so that it is not known whether the call "
        f"was carried out. Look before it is repeated. ({str(error).strip()})"
    ) from error


@contextmanager
def translate_errors(connection: Connection | None = None) -> Iterator[None]:
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


def _is_lost(connection: Connection, error: psycopg.Error) -> bool:
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return not connection.read_only  # else it is our own rule for reads
    return connection.closed or isinstance(error, _OF_NO_USE)
