"""Queries about how much the store keeps of what a user wrote; triggers on revisions count it."""

from satchel.storage.database import Tx


def read(tx: Tx, user: str) -> tuple[int, int]:
    """How many items and bytes count as a user's."""
    sql = "select coalesce(sum(items), 0), coalesce(sum(bytes), 0) from user_usage where owner = :user"
    [[items, size]] = tx.all(sql, user=user)
    return int(items), int(size)
