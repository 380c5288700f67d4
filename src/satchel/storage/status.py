"""How a store stands, for whoever runs it: told without opening it, so that nothing is migrated or made by looking."""

import os

from msgspec import Struct

from satchel.errors import StoreUnusable
from satchel.storage.database import Row, is_postgres
from satchel.storage.migrations import MIGRATIONS

_COUNTS = "select (select count(*) from projects), (select count(*) from prompts), (select count(*) from resources)"
_TASKS = "select count(*) from tasks"


class StoreStatus(Struct, frozen=True, kw_only=True):
    """What can be told of a store; None where our role may not see it, or there is no such table yet."""

    engine: str
    store: str
    schema: int
    newest: int = len(MIGRATIONS)
    row_security: bool = False  # holds this role: it sees no user's tasks without being told which user acts
    counts: dict[str, int | None] = {}


def read_status(where: str) -> StoreStatus:
    """Look at the store at a file path or a `postgresql://` address.

    Raises:
        StoreUnusable: it is not there, not ours, or out of reach.
    """
    return _in_postgres(where) if is_postgres(where) else _in_file(os.path.realpath(where))


def _in_file(path: str) -> StoreStatus:
    import apsw

    from satchel.storage.sqlite import APPLICATION_ID

    if not os.path.exists(path):
        raise StoreUnusable(f"there is no store {path} yet. `satchel database migrate` makes one.")
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(5000)
            schema = int(connection.pragma("user_version"))
            if connection.pragma("application_id") != APPLICATION_ID and os.path.getsize(path):
                raise StoreUnusable(f"{path} is a database of another program.")
            counts: list[Row] = connection.execute(_COUNTS).fetchall() if schema else [(None,) * 3]
            tasks = connection.execute(_TASKS).get if schema else None
        finally:
            connection.close()
    except (apsw.Error, OSError) as error:
        raise StoreUnusable(f"cannot look at the store {path}: {error}.") from error
    return StoreStatus(engine="sqlite", store=path, schema=schema, counts=_named(counts[0], tasks))


def _in_postgres(where: str) -> StoreStatus:
    from satchel.storage import postgres_schema
    from satchel.storage.postgres import operators_connection

    with operators_connection(where) as (connection, name):
        schema = postgres_schema.version(connection)
        if not schema:
            return StoreStatus(engine="postgresql", store=name, schema=0, counts=_named((None,) * 3, None))
        row = connection.execute("select row_security_active('tasks')").fetchone()
        is_walled = row == (True,)
        connection.execute("select set_config('satchel.projects', '*', true)")
        counts = connection.execute(_COUNTS).fetchall()
        tasks = None if is_walled else connection.execute(_TASKS).fetchall()[0][0]
    named = _named(counts[0], tasks)
    return StoreStatus(engine="postgresql", store=name, schema=schema, row_security=is_walled, counts=named)


def _named(counts: Row, tasks: int | None) -> dict[str, int | None]:
    return {"projects": counts[0], "prompts": counts[1], "resources": counts[2], "tasks": tasks}
