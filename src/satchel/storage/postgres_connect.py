"""Connections to a PostgreSQL server: what is asked of each of them, and whether a pooler stands in between."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg

from satchel.errors import StoreUnusable
from satchel.storage.database import ALTERED
from satchel.storage.postgres_statements import Connection as Connection

# A host that vanishes without closing its connections is noticed within 12 seconds: the first where something was sent
# that it does not acknowledge, the others where nothing was. What the address names itself counts instead.
_DEFAULTS: dict[str, Any] = {
    "tcp_user_timeout": 10_000,  # ms
    "keepalives_idle": 6,  # s
    "keepalives_interval": 2,  # s
    "keepalives_count": 2,
    "connect_timeout": 3,  # s, for each host
}
TIMEOUTS = {
    "statement_timeout": "20s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
}
# Sets settings for a transaction only (true), or for the session.
SET = "select set_config(name, value, %s) from unnest(%s::text[], %s::text[]) as given (name, value)"

_PROBES = 5  # transactions by which we notice that a pooler shares sessions
_PROBE_TIMEOUT = 2.0  # seconds

_IDENTITY = """
    select system_identifier, (select oid from pg_database where datname = current_database()) from pg_control_system()
"""


class Address:
    """The address of a store on a PostgreSQL server, and that of the server itself where a pooler stands in between.

    Raises:
        StoreUnusable: one of them cannot be read.
    """

    def __init__(self, address: str, direct: str | None = None) -> None:
        self.name = _without_password(address)
        self.is_pooled = direct is not None
        self._conninfo = complete(address)
        self._direct = self._conninfo if direct is None else complete(direct)
        given = psycopg.conninfo.conninfo_to_dict(address).get("options") or os.environ.get("PGOPTIONS", "")
        names = str(given).replace("-", "_")  # --lock-timeout=… is another way to write -c lock_timeout=…
        # The operator's own options win.
        self.timeouts = {name: value for name, value in TIMEOUTS.items() if name not in names}

    def connect(self, *, autocommit: bool = False) -> Connection:
        """A connection for calls. Behind a pooler it has no state: no prepared statements, and no timeouts yet."""
        if self.is_pooled:
            pooled = _connect(self._conninfo, autocommit=autocommit)
            pooled.statements.may_prepare = False
            return pooled
        connection = _connect(self._conninfo, autocommit=True)
        try:
            # Not by startup options, which poolers refuse.
            if self.timeouts:
                connection.execute(SET, [False, list(self.timeouts), list(self.timeouts.values())])
            connection.autocommit = autocommit
        except BaseException:
            connection.close()
            raise
        return connection

    def connect_directly(self) -> Connection:
        """A connection with a session of its own and without timeouts, for listening and migrations."""
        return _connect(self._direct, autocommit=True)

    def check_pooler(self, direct: Connection) -> None:
        """Check that nothing shares sessions between transactions, except a pooler that we know of.

        Raises:
            StoreUnusable: something does, or the two addresses are of different databases.
        """
        if _is_behind_pooler(direct) and _shares_sessions(self.connect_directly):
            raise StoreUnusable(_BAD_DIRECT if self.is_pooled else _POOLED.format(name=self.name))
        if not self.is_pooled:
            return
        with self.connect(autocommit=True) as pooled:
            with pooled.transaction():  # which a pooler that shares sessions between statements refuses
                found = pooled.execute(_IDENTITY).fetchone()
            if found != direct.execute(_IDENTITY).fetchone():
                raise StoreUnusable(
                    f"--database and --database-direct reach different databases: {self.name} is not the one of the "
                    "direct address. Give the direct address of the same database."
                )


_POOLED = (
    "{name} is behind a connection pooler that shares sessions between transactions (of PgBouncer: pool_mode = "
    "transaction), so that statements of other programs could run in place of ours. Also give the address of the "
    "server itself, with --database-direct or SATCHEL_DATABASE_DIRECT, or have the pooler pool sessions."
)
_BAD_DIRECT = (
    "the address of --database-direct is behind a connection pooler that shares sessions between transactions. Give "
    "the address of the PostgreSQL server itself."
)


def complete(address: str) -> str:
    """An address with our defaults for what it does not name.

    Raises:
        StoreUnusable: it cannot be read.
    """
    try:
        given = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        # The message of psycopg may quote the password.
        raise StoreUnusable(
            "this PostgreSQL address cannot be read. One looks like postgresql://user:password@host/database, with "
            "special characters percent-encoded."
        ) from None
    missing = {name: value for name, value in _DEFAULTS.items() if name not in given}
    hosts = str(given.get("host") or os.environ.get("PGHOST", ""))
    if "," in hosts and "target_session_attrs" not in given and "PGTARGETSESSIONATTRS" not in os.environ:
        missing["target_session_attrs"] = "read-write"  # the primary, whichever it is
    return psycopg.conninfo.make_conninfo(address, **missing)


@contextmanager
def operators_connection(address: str | Address) -> Iterator[tuple[Connection, str]]:
    """One transaction for maintenance, without timeouts, and the store's name without password.

    Raises:
        StoreUnusable: the server is out of reach, or refuses us.
    """
    address = Address(address) if isinstance(address, str) else address
    name = address.name
    try:
        with address.connect_directly() as connection:
            connection.autocommit = False
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


def _connect(conninfo: str, *, autocommit: bool) -> Connection:
    # psycopg prepares nothing itself: it would deallocate our statements together with its own.
    return Connection.connect(conninfo, autocommit=autocommit, prepare_threshold=None)


def _is_behind_pooler(connection: Connection) -> bool:
    """Whether the process that serves us is not the one that greeted us: poolers make up the key for cancelling."""
    row = connection.execute("select pg_backend_pid()").fetchone()
    connection.commit()  # it may hold the only session that the pooler has
    return row != (connection.info.backend_pid,)


def _shares_sessions(connect: Callable[[], Connection]) -> bool:
    """Whether two transactions of one connection can run in different sessions of the server.

    Between the two, another connection holds a session: the one that we just left, where we left it.
    """
    ask = "select pg_backend_pid()"
    with connect() as ours, connect() as other:
        for _ in range(_PROBES):
            before = ours.execute(ask).fetchone()
            release = threading.Timer(_PROBE_TIMEOUT, other.close)  # where there is only one session, we wait for it
            release.start()
            try:
                with other.transaction(force_rollback=True):
                    other.execute(ask)
                    now = ours.execute(ask).fetchone()
            except psycopg.OperationalError:
                if not other.closed:
                    raise
                return True
            finally:
                release.cancel()
            if now != before:
                return True
    return False


def _without_password(address: str) -> str:
    try:
        parts = urlsplit(address)
        return f"postgresql://{parts.hostname or ''}{parts.path}"
    except ValueError:
        return "postgresql://…"
