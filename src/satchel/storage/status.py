"""The status of a store for its operator, read so that nothing is created or migrated."""

import os
from contextlib import closing

from msgspec import Struct, field

from satchel.errors import StoreUnusable
from satchel.storage.database import Row, is_postgres
from satchel.storage.schema import explain_number
from satchel.storage.schema import newest as newest_schema

_TABLES = ("projects", "prompts", "resources", "tasks")
# A deleted project keeps what is in it.
_COUNTS = """
    select (select count(*) from projects where deleted_at is null),
        (select count(*) from prompts where project in (select number from projects where deleted_at is null)),
        (select count(*) from resources where project in (select number from projects where deleted_at is null)),
        (select count(*) from tasks)
"""


class StoreStatus(Struct, frozen=True, kw_only=True):
    """Facts about a store; a count is None if our role may not see it, or the schema is not one of ours."""

    engine: str
    store: str
    schema: int
    newest: int = field(default_factory=newest_schema)
    row_security: bool = False  # applies to this role, which therefore sees the tasks of one user at a time
    counts: dict[str, int | None] = {}


def read_status(where: str) -> StoreStatus:
    """Read the status of the store at a file path or a `postgresql://` address.

    Raises:
        StoreUnusable: it does not exist, is not a store, or cannot be reached.
    """
    return _read_postgres(where) if is_postgres(where) else _read_file(os.path.realpath(where))


def _read_file(path: str) -> StoreStatus:
    import apsw

    from satchel.storage.sqlite import APPLICATION_ID

    if not os.path.exists(path):
        raise StoreUnusable(f"there is no store {path} yet. `satchel database migrate` makes one.")
    try:
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.set_busy_timeout(5000)
            number = int(connection.pragma("user_version"))
            if connection.pragma("application_id") != APPLICATION_ID and os.path.getsize(path):
                raise StoreUnusable(f"{path} is a database of another program.")
            counts: list[Row] = [(None,) * len(_TABLES)]
            if number and not explain_number(number):
                counts = connection.execute(_COUNTS).fetchall()
    except (apsw.Error, OSError) as error:
        raise StoreUnusable(f"cannot look at the store {path}: {error}.") from error
    return StoreStatus(engine="sqlite", store=path, schema=number, counts=dict(zip(_TABLES, counts[0], strict=True)))


def _read_postgres(where: str) -> StoreStatus:
    from satchel.storage import postgres_schema
    from satchel.storage.postgres import operators_connection

    with operators_connection(where) as (connection, name):
        number = postgres_schema.version(connection)
        if not number or explain_number(number):
            return StoreStatus(engine="postgresql", store=name, schema=number, counts=dict.fromkeys(_TABLES))
        row = connection.execute("select row_security_active('tasks')").fetchone()
        has_row_security = row == (True,)
        connection.execute("select set_config('satchel.projects', '*', true)")
        counts = dict(zip(_TABLES, connection.execute(_COUNTS).fetchall()[0], strict=True))
    if has_row_security:
        counts["tasks"] = None
    return StoreStatus(engine="postgresql", store=name, schema=number, row_security=has_row_security, counts=counts)
