"""Queries about users: the setting with the local user, and the usage of each user."""

from satchel.storage.database import Tx


def read_usage(tx: Tx, user: str) -> tuple[int, int]:
    """Return how many items and bytes a user has; triggers on revisions keep these numbers."""
    sql = "select coalesce(sum(items), 0), coalesce(sum(bytes), 0) from user_usage where owner = :user"
    [[items, size]] = tx.all(sql, user=user)
    return int(items), int(size)


def get_setting(tx: Tx, name: str) -> str | None:
    """Return the value of a setting; None if it is not set."""
    found: str | None = tx.value("select value from settings where name = :name", name=name)
    return found


def keep_setting(tx: Tx, name: str, value: str) -> str:
    """Store a setting unless it exists, and return its value."""
    sql = "insert into settings (name, value) values (:name, :value) on conflict (name) do nothing"
    tx.run(sql, name=name, value=value)
    return get_setting(tx, name) or value
