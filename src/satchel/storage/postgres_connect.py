"""Addresses and connections of a PostgreSQL server, and the check for a pooler in front of it."""

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg

from satchel.errors import StoreUnusable
from satchel.storage.database import ALTERED
from satchel.work import seconds_for

Connection = psycopg.Connection[Any]

# These detect within 12 seconds that a host vanished without closing its connections: the first one if data was sent,
# the keepalives otherwise. An address may override them.
_DEFAULTS: dict[str, Any] = {
    "tcp_user_timeout": 10_000,  # ms
    "keepalives_idle": 6,  # s
    "keepalives_interval": 2,  # s
    "keepalives_count": 2,
    "connect_timeout": 3,  # s, for each host
}
_LOCK_TIMEOUT, _IDLE_TIMEOUT = "10s", "60s"
_SET = "select set_config(name, value, false) from unnest(%s::text[], %s::text[]) as given (name, value)"

_IDENTITY = """
    select system_identifier, (select oid from pg_database where datname = current_database()) from pg_control_system()
"""


class Address:
    """The address of a store on a PostgreSQL server, and the direct address if there is a pooler.

    Raises:
        StoreUnusable: an address cannot be read.
    """

    def __init__(self, address: str, direct: str | None = None) -> None:
        self.name = _without_password(address)
        self.is_pooled = direct is not None  # if so, a session has no state
        self.lacks_session = False  # there is a pooler, but no direct address of the server
        self._conninfo = complete(address)
        self._direct = self._conninfo if direct is None else complete(direct)
        given = psycopg.conninfo.conninfo_to_dict(address).get("options") or os.environ.get("PGOPTIONS", "")
        self._options = str(given).replace("-", "_")  # --lock-timeout=… is another form of -c lock_timeout=…

    def connect(self, *, read_only: bool = False) -> Connection:
        """Connect for calls. Behind a pooler, the connection keeps no state: no prepared statements and no timeouts."""
        connection = _connect(self._conninfo)
        try:
            connection.read_only = read_only  # only a note for us: in autocommit mode, psycopg begins no transaction
            if self.is_pooled:
                connection.prepare_threshold = None
            else:  # by a statement, because poolers refuse startup options
                timeouts = self.list_timeouts(connection)
                connection.execute(_SET, [list(timeouts), list(timeouts.values())])
        except BaseException:
            connection.close()
            raise
        return connection

    def list_timeouts(self, connection: Connection) -> dict[str, str]:
        """Return the timeouts that a connection needs. The operator's own options take precedence."""
        timeouts = {
            "statement_timeout": f"{seconds_for(writes=not connection.read_only):g}s",
            "lock_timeout": _LOCK_TIMEOUT,
            "idle_in_transaction_session_timeout": _IDLE_TIMEOUT,
        }
        return {name: value for name, value in timeouts.items() if name not in self._options}

    def connect_directly(self) -> Connection:
        """Connect for migrations and maintenance, directly to the server and without timeouts."""
        connection = _connect(self._direct)
        connection.prepare_threshold = None  # there may be a pooler anyway
        return connection

    def check_pooler(self, direct: Connection) -> None:
        """Detect a pooler in front of the server.

        Raises:
            StoreUnusable: the direct address leads to a pooler, or to another database.
        """
        is_behind_pooler = _is_behind_pooler(direct)
        if not self.is_pooled:
            self.is_pooled = self.lacks_session = is_behind_pooler
            return
        if is_behind_pooler:
            raise StoreUnusable(
                "the address of --database-direct leads to a connection pooler. Give the address of the PostgreSQL "
                "server itself."
            )
        with self.connect() as pooled, pooled.transaction():  # a pooler of statements refuses this
            found = pooled.execute(_IDENTITY).fetchone()
        if found != direct.execute(_IDENTITY).fetchone():
            raise StoreUnusable(
                f"--database and --database-direct reach different databases: {self.name} is not the one of the direct "
                "address. Give the direct address of the same database."
            )


def is_lost(connection: Connection) -> bool:
    """Return whether the server has closed the connection; this sends no query.

    The connection is idle, so readable data means that the server closed it. A notice looks the same, and costs one new
    connection.
    """
    poll = select.poll()
    if not connection.closed:
        poll.register(connection.fileno(), select.POLLIN)
    return connection.closed or bool(poll.poll(0))


def complete(address: str) -> str:
    """Add our defaults to an address.

    Raises:
        StoreUnusable: the address cannot be read.
    """
    try:
        given = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        # The message of psycopg is left out, because it may quote the password.
        raise StoreUnusable(
            "this PostgreSQL address cannot be read. One looks like postgresql://user:password@host/database, with "
            "special characters percent-encoded."
        ) from None
    missing = {name: value for name, value in _DEFAULTS.items() if name not in given}
    hosts = str(given.get("host") or os.environ.get("PGHOST", ""))
    if "," in hosts and "target_session_attrs" not in given and "PGTARGETSESSIONATTRS" not in os.environ:
        missing["target_session_attrs"] = "read-write"  # the primary, whichever host it is
    return psycopg.conninfo.make_conninfo(address, **missing)


@contextmanager
def operators_connection(address: str | Address) -> Iterator[tuple[Connection, str]]:
    """Begin a transaction for maintenance, without timeouts; yield the connection, and the address without a password.

    Raises:
        StoreUnusable: the server cannot be reached, or refuses the connection.
    """
    address = Address(address) if isinstance(address, str) else address
    name = address.name
    try:
        with address.connect_directly() as connection:
            connection.autocommit = False
            # This overrides the role's default: after waiting for another process to migrate, we must see its changes.
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


def _connect(conninfo: str) -> Connection:
    return psycopg.Connection.connect(conninfo, autocommit=True)


def _is_behind_pooler(connection: Connection) -> bool:
    """Return whether the server process is not the one named in the greeting, because a pooler invented that one."""
    row = connection.execute("select pg_backend_pid()").fetchone()
    connection.commit()  # it may hold the only session of the pooler
    return row != (connection.info.backend_pid,)


def _without_password(address: str) -> str:
    try:
        parts = urlsplit(address)
        return f"postgresql://{parts.hostname or ''}{parts.path}"
    except ValueError:
        return "postgresql://…"
