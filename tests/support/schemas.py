"""Reads and changes a store without Satchel, above all its schema number."""

from typing import Any

import apsw
import psycopg


def ask(store: str, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a statement."""
    if store.startswith("postgresql"):
        with psycopg.connect(store, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []
    raw = apsw.Connection(store)
    found = raw.execute(sql).fetchall()
    raw.close()
    return found


def schema_of(store: str) -> int:
    """Return the schema number of a store."""
    is_postgres = store.startswith("postgresql")
    return int(ask(store, "select max(version) from satchel_schema" if is_postgres else "pragma user_version")[0][0])


def set_schema(store: str, number: int) -> None:
    """Set the schema number of a store, as if another version of Satchel had written it."""
    if store.startswith("postgresql"):
        ask(store, f"update satchel_schema set version = {number}")
    else:
        ask(store, f"pragma user_version = {number}")
