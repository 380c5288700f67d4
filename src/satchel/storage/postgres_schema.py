"""The schema on a PostgreSQL server: migrations by its owner, and grants to an application role that owns nothing.

A migration runs while others work, and none of their calls fails or waits for long. It has three phases:
statements, fills and indexes. After an interruption, the next process continues: the table `satchel_progress`
exists once the statements are done; fills skip filled rows, and existing indexes are skipped.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import psycopg
from psycopg import sql

from satchel.errors import StoreError, StoreUnusable
from satchel.log import log
from satchel.storage import schema
from satchel.storage.database import Tx, Violation
from satchel.storage.postgres_connect import Connection
from satchel.storage.schema.migration import Fill, Migration, for_postgres

Result = TypeVar("Result")

# The tables and views that an application role may read and write, read and add to, or only read. Every new table or
# view must be added to one of these lists.
DATA = (
    *("projects", "prompts", "prompt_tags", "prompt_labels", "prompt_texts", "documents"),
    *("tasks", "task_tags", "task_blocks", "task_texts", "argument_values"),
    *("task_claims", "retry_keys", "links", "sessions"),
    *("search_spaces", "search_items", "search_words"),
)
APPEND_ONLY = ("authors", "revisions", "revision_states", "task_notes", "changes")
READ_ONLY = ("settings", "tokens", "satchel_schema", "user_usage", "blockers")

# The functions that only application roles may call; they run as the owner, without row-level security.
FUNCTIONS = (
    "satchel_is_task(text)",
    "satchel_prompts_containing(bigint, text)",
    "satchel_open_spaces(bigint[])",
    "satchel_find_words(bigint[], text[], text[], boolean[], bigint)",
    "satchel_find_together(bigint[], text[], text[], boolean[], bigint)",
    "satchel_clean_words(bigint, text[])",
    "satchel_forget_words(bigint, text[], text[])",
    "satchel_prune(text, bigint, text, bigint, bigint)",
    "satchel_forget_values(text[], text)",
    "satchel_forget_changes(text)",
)

_MIGRATION_LOCK = 0x53415443
_LOCK_PAUSE = 0.1  # seconds between attempts to get the lock
# Building an index may take any time, regardless of the role's default timeouts.
_NO_TIMEOUTS = """
    select set_config(name, '0', false)
    from unnest(array['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']) as name
"""

_MAY_MIGRATE = """
    select case when to_regclass('satchel_schema') is null then has_schema_privilege(current_schema(), 'CREATE')
        else (select pg_has_role(relowner, 'MEMBER') from pg_class where oid = to_regclass('satchel_schema')) end
"""
_OWNER = """
    select pg_get_userbyid(relowner), relnamespace::regnamespace::text, pg_get_userbyid(relowner) = current_user
    from pg_class where oid = to_regclass('satchel_schema')
"""
_LACKING = """
    select name from unnest(%s::text[]) as name
        where not coalesce(has_table_privilege(to_regclass(name), 'SELECT'), false)
    union all
    select split_part(name, '(', 1) from unnest(%s::text[]) as name
        where not coalesce(has_function_privilege(to_regprocedure(name), 'EXECUTE'), false)
"""

# These are short, because calls queue behind a waiting lock. Every fourth attempt takes more than a second, after which
# PostgreSQL ends an autovacuum that blocks it.
_LOCK_TIMEOUTS = ("250ms", "250ms", "250ms", "1200ms")
_BATCH_LOCK_TIMEOUT = "1s"
_PAUSE = 0.5  # seconds between attempts
_LONGEST_WAIT = 600.0  # seconds of attempts
_ROUNDS = 2  # the second round of fills is for rows that were committed during the first
_REPORT = 5.0  # seconds between reports

# Temporary errors: others hold a lock, or changed rows while a batch was filled.
_PASSING = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.ForeignKeyViolation,
    psycopg.errors.UniqueViolation,
)
_HAS_BEGUN = "select to_regclass('satchel_progress') is not null"
_IS_VALID = "select indisvalid from pg_index where indexrelid = to_regclass(%s)"
_LOCK_TIMEOUT = "select set_config('lock_timeout', %s, true)"


def version(connection: Connection) -> int:
    """Return the schema number of a store; 0 if this role cannot see it."""
    if connection.execute("select to_regclass('satchel_schema')").fetchone() == (None,):
        return 0
    row = connection.execute("select max(version) from satchel_schema").fetchone()
    return (row and row[0]) or 0


def migrate(connection: Connection, name: str, as_tx: Callable[[Connection], Tx]) -> None:
    """Create a store, or migrate it to the newest schema; of several processes that try, only one does it.

    Raises:
        StoreUnusable: the schema is unknown, or this role may not change it.
    """
    if _read_version(connection, name) == schema.newest():
        return
    connection.commit()
    connection.autocommit = True
    connection.execute(_NO_TIMEOUTS)
    _lock(connection)
    try:
        found = _read_version(connection, name)  # another process may have been first
        if found < schema.newest():
            _migrate_from(found, connection, name, as_tx)
    finally:
        if not connection.closed:
            connection.execute("select pg_advisory_unlock(%s)", [_MIGRATION_LOCK])
            connection.autocommit = False


def _lock(connection: Connection) -> None:
    """Wait until no other process is migrating.

    It polls, because building an index concurrently waits for all statements and transactions before it.
    """
    is_logged = False
    while connection.execute("select pg_try_advisory_lock(%s)", [_MIGRATION_LOCK]).fetchone() != (True,):
        if not is_logged:
            log("another process migrates the store; waiting for it")
            is_logged = True
        time.sleep(_LOCK_PAUSE)


def _migrate_from(found: int, connection: Connection, name: str, as_tx: Callable[[Connection], Tx]) -> None:
    if connection.execute(_MAY_MIGRATE).fetchone() != (True,):
        raise StoreUnusable(_explain_outdated(found, name))
    owner = connection.execute(_OWNER).fetchone()
    if owner is not None and not owner[2]:
        # We may be a superuser. Tables that we create must belong to the owner, who could not migrate them otherwise.
        become = sql.SQL("set role {}").format(sql.Identifier(owner[0]))
        connection.execute(become)
    try:
        is_new = not found
        if is_new:
            found = schema.NUMBER
            _make(connection)
        for number, migration in enumerate(schema.MIGRATIONS[found - schema.NUMBER :], found + 1):
            _run_migration(connection, number, migration, as_tx)
        if not is_new:
            # Plans made without statistics may read every row of a table. Empty tables are excluded, because PostgreSQL
            # would then assume that they stay small, and read them whole.
            tables = [sql.Identifier(name) for name in (*DATA, *APPEND_ONLY, *READ_ONLY) if name != "blockers"]
            analyze = sql.SQL("analyze {}").format(sql.SQL(", ").join(tables))
            connection.execute(analyze)
    finally:
        if not connection.closed:
            connection.execute("reset role")


def _make(connection: Connection) -> None:
    """Make the schema of a new store in one transaction."""
    with connection.transaction():
        connection.execute("create table if not exists satchel_schema (version integer not null)")
        for part in schema.SCHEMA:
            statements = for_postgres(part).encode()
            connection.execute(statements)
        connection.execute("insert into satchel_schema values (%s)", [schema.NUMBER])


def _run_migration(
    connection: Connection, number: int, migration: Migration, as_tx: Callable[[Connection], Tx]
) -> None:
    """Run a migration, or the rest of an interrupted one, on a connection in autocommit mode.

    Raises:
        StoreUnusable: others held a lock for too long.
    """
    log(f"migrating the store to schema {number}")
    if connection.execute(_HAS_BEGUN).fetchone() != (True,):
        _retry(f"change the tables for schema {number}", partial(_alter, connection, migration))
    for fill in migration.fills * _ROUNDS:
        after: int | None = 0
        last = _read_last(connection, fill.table)  # otherwise, a fill would never end if rows are added constantly
        reported = time.monotonic()
        while after is not None and after < last:
            after = _retry(f"fill the tables of schema {number}", partial(_fill, connection, as_tx, fill, after))
            if time.monotonic() > reported + _REPORT:
                reported = time.monotonic()
                log(f"migrating the store to schema {number}: {fill.table}, {after} of {last}")
    for statement in migration.indexes:
        _retry(f"build an index of schema {number}", partial(_build_index, connection, statement))
    with connection.transaction():
        connection.execute("insert into satchel_schema values (%s)", [number])
        connection.execute("drop table satchel_progress")


def _alter(connection: Connection, migration: Migration, failures: int) -> None:
    statements = for_postgres(migration).encode()
    with connection.transaction():
        connection.execute(_LOCK_TIMEOUT, [_LOCK_TIMEOUTS[failures % len(_LOCK_TIMEOUTS)]])
        connection.execute(statements)
        connection.execute("create table satchel_progress ()")


def _read_last(connection: Connection, table: str) -> int:
    query = sql.SQL("select coalesce(max(number), 0) from {}").format(sql.Identifier(table))
    [[last]] = connection.execute(query).fetchall()
    return int(last)


def _fill(
    connection: Connection, as_tx: Callable[[Connection], Tx], fill: Fill, after: int, _failures: int
) -> int | None:
    with connection.transaction():
        connection.execute(_LOCK_TIMEOUT, [_BATCH_LOCK_TIMEOUT])
        return fill.do_batch(as_tx(connection), after)


def _build_index(connection: Connection, statement: str, _failures: int) -> None:
    words = statement.split()
    name = words[2]
    found = connection.execute(_IS_VALID, [name]).fetchone()
    if found == (False,):  # an interrupted build left an invalid index
        drop = sql.SQL("drop index concurrently {}").format(sql.Identifier(name))
        connection.execute(drop)
    if found != (True,):
        concurrently = " ".join(["create index concurrently", *words[2:]]).encode()
        connection.execute(concurrently)


def _retry(what: str, attempt: Callable[[int], Result]) -> Result:
    """Retry an attempt as long as another process's lock stops it; pass it the number of failures so far."""
    deadline, failures = time.monotonic() + _LONGEST_WAIT, 0
    while True:
        try:
            return attempt(failures)
        except (psycopg.Error, StoreError, Violation) as error:
            cause = error if isinstance(error, psycopg.Error) else error.__cause__
            if not isinstance(cause, _PASSING):
                raise
            if time.monotonic() > deadline:
                raise StoreUnusable(
                    f"could not {what} in {_LONGEST_WAIT:.0f} s, because other transactions are in the way: {error}. "
                    "Look for long ones in pg_stat_activity, end them, and start again: it continues where it stopped."
                ) from error
            failures += 1
            time.sleep(_PAUSE)


# -- grants -----------------------------------------------------------------------------------------------------


def check_grants(connection: Connection, name: str) -> None:
    """Check that a role that owns nothing has the grants that it needs.

    Raises:
        StoreUnusable: grants are missing, or belong to an older schema.
    """
    found = connection.execute(_LACKING, [[*DATA, *APPEND_ONLY, *READ_ONLY], [*FUNCTIONS]]).fetchall()
    if found:
        raise StoreUnusable(
            f"this role may not use {', '.join(lacking for (lacking,) in found)} of the store {name}. Run `satchel "
            f"database migrate --role {connection.info.user}` as the owner."
        )


def grant(connection: Connection, role: str, name: str) -> list[str]:
    """Grant a role that owns nothing the rights to use a store, and no more; return notes for the operator.

    Raises:
        StoreUnusable: there is no such role, row-level security would not apply to it, or we may not grant.
    """
    found = connection.execute(_OWNER).fetchone()
    assert found is not None, "a store that was opened has a schema"
    owner, schema_name, _ = found
    if connection.execute("select pg_has_role(%s, 'MEMBER')", [owner]).fetchone() != (True,):
        raise StoreUnusable(f"only the owner of the store {name} may grant rights on it: run this as role {owner}.")
    facts = "select rolbypassrls or pg_has_role(oid, %s, 'MEMBER') from pg_roles where rolname = %s"
    row = connection.execute(facts, [owner, role]).fetchone()
    if row is None:
        raise StoreUnusable(f"there is no role '{role}'. Create it first: create role {quote(role)} login")
    if row[0]:
        raise StoreUnusable(
            f"role '{role}' owns the store {name}, may act as its owner, or bypasses row-level security, so nothing "
            "would keep one user's rows from another. Name a role that owns nothing."
        )
    for statement in _grants(schema_name, role):
        connection.execute(statement)
    if connection.execute("select has_schema_privilege(%s, %s, 'CREATE')", [role, schema_name]).fetchone() == (True,):
        return [
            f"role '{role}' may create tables in schema {schema_name}, which it does not need. "
            f"Revoke it: revoke create on schema {schema_name} from public, {quote(role)}"
        ]
    return []


def quote(role: str) -> str:
    """Quote the name of a role for SQL."""
    return sql.Identifier(role).as_string()


def _grants(schema_name: str, role: str) -> list[sql.Composed]:
    def names(objects: tuple[str, ...]) -> sql.Composed:
        return sql.SQL(", ").join(sql.Identifier(schema_name, name.partition("(")[0]) for name in objects)

    words = {
        "schema": sql.Identifier(schema_name),
        "role": sql.Identifier(role),
        "data": names(DATA),
        "append_only": names(APPEND_ONLY),
        "read_only": names(READ_ONLY),
        "functions": names(FUNCTIONS),
    }
    return [
        sql.SQL(text).format(**words)
        for text in (
            "grant usage on schema {schema} to {role}",
            "revoke all on {data}, {append_only}, {read_only} from {role}",
            "grant select, insert, update, delete on {data} to {role}",
            "grant select, insert on {append_only} to {role}",
            "grant select on {read_only} to {role}",
            "revoke execute on function {functions} from public",
            "grant execute on function {functions} to {role}",
        )
    ]


def _read_version(connection: Connection, name: str) -> int:
    found = version(connection)
    schema.check_number(found, f"the store {name}")
    return found


def _explain_outdated(found: int, name: str) -> str:
    if not found:
        return (
            f"the database {name} has no store that this role can see, and the role may not make one. Run `satchel "
            "database migrate` as the owner, with --role to grant this role access."
        )
    return (
        f"the store {name} has schema {found}, this Satchel needs schema {schema.newest()}, and this role may not "
        "change it. Run `satchel database migrate` as the owner."
    )
