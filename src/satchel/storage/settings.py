"""Queries about the few facts that a store keeps of itself."""

from satchel.storage.database import Tx


def get(tx: Tx, name: str) -> str | None:
    """A fact, or None where it was never kept."""
    row = tx.one("select value from settings where name = :name", name=name)
    return row[0] if row else None


def keep(tx: Tx, name: str, value: str) -> str:
    """Keep a fact, unless it is kept already, and give what is kept."""
    sql = "insert into settings (name, value) values (:name, :value) on conflict (name) do nothing"
    tx.run(sql, name=name, value=value)
    return get(tx, name) or value
