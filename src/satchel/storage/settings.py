"""Queries about the few facts that a store keeps about itself."""

from satchel.storage.database import Tx


def get(tx: Tx, name: str) -> str | None:
    """Return the value of a setting, or None."""
    row = tx.one("select value from settings where name = :name", name=name)
    return row[0] if row else None


def keep(tx: Tx, name: str, value: str) -> str:
    """Store a setting unless it has a value, and return its value."""
    sql = "insert into settings (name, value) values (:name, :value) on conflict (name) do nothing"
    tx.run(sql, name=name, value=value)
    return get(tx, name) or value
