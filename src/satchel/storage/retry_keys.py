"""Queries about retry keys, which identify repeated calls."""

from satchel.storage.database import Tx


def find(tx: Tx, owner: str, tool: str, key: str, since: str) -> tuple[str, bytes] | None:
    """Return the digest and the answer stored for an owner's key; None if they are missing, or older than `since`."""
    sql = """
        select digest, answer from retry_keys
        where owner = :owner and tool = :tool and retry_key = :key and at >= :since
    """
    row = tx.one(sql, owner=owner, tool=tool, key=key, since=since)
    return (row[0], bytes(row[1])) if row else None


def add(tx: Tx, owner: str, tool: str, key: str, *, digest: str, answer: bytes) -> None:
    """Store the answer of a call under its key.

    Raises:
        Violation: another call has stored an answer under this key.
    """
    sql = """
        insert into retry_keys (owner, tool, retry_key, digest, answer, at)
        values (:owner, :tool, :key, :digest, :answer, :now)
    """
    tx.run(sql, owner=owner, tool=tool, key=key, digest=digest, answer=answer, now=tx.now)


def remove_oldest(tx: Tx, owner: str, *, before: str, most: int) -> None:
    """Remove an owner's keys that are older than `before`, and the oldest others if there are more than `most`."""
    sql = """
        delete from retry_keys where owner = :owner and (
            at < :before
            or at <= (select at from retry_keys where owner = :owner order by at desc limit 1 offset :most)
        )
    """
    tx.run(sql, owner=owner, before=before, most=most)
