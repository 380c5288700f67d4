"""Reads and changes the schema number of a store without Satchel."""

import apsw
import psycopg


def schema_of(store: str) -> int:
    """Return the schema number of a store."""
    if store.startswith("postgresql"):
        with psycopg.connect(store) as connection:
            return int(connection.execute("select max(version) from satchel_schema").fetchall()[0][0])
    raw = apsw.Connection(store)
    version = raw.pragma("user_version")
    raw.close()
    return int(version)


def set_schema(store: str, number: int) -> None:
    """Set the schema number of a store, as if another version of Satchel had written it."""
    if store.startswith("postgresql"):
        with psycopg.connect(store) as connection:
            connection.execute("delete from satchel_schema")
            connection.execute("insert into satchel_schema values (%s)", [number])
        return
    raw = apsw.Connection(store)
    raw.execute(f"pragma user_version = {number}")
    raw.close()
