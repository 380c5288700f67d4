"""Queries about tokens. The store keeps only a hash of each secret, and no query returns it."""

from typing import Any

from satchel.model import Timestamp, Token
from satchel.storage.database import Row, Tx

_COLUMNS = "id, owner, is_read_only, projects, created_at, expires_at, revoked_at"


def add(
    tx: Tx,
    hash: str,
    *,
    owner: str,
    is_read_only: bool,
    projects: tuple[str, ...] | None,
    expires_at: Timestamp | None,
) -> Token:
    """Insert a token."""
    sql = f"""
        insert into tokens (id, hash, owner, is_read_only, projects, created_at, expires_at)
        values (:id, :hash, :owner, :is_read_only, :projects, :now, :expires_at)
        returning {_COLUMNS}
    """
    row = tx.one(
        sql,
        id=tx.new_id(),
        hash=hash,
        owner=owner,
        is_read_only=int(is_read_only),
        projects=None if projects is None else ",".join(projects),
        expires_at=expires_at,
        now=tx.now,
    )
    assert row is not None, "an insert returns its row"
    return _token(row)


def by_hash(tx: Tx, hash: str) -> Token | None:
    """The token whose secret has this hash, whatever its state."""
    sql = f"select {_COLUMNS} from tokens where hash = :hash"
    row = tx.one(sql, hash=hash)
    return _token(row) if row else None


def starting(tx: Tx, prefix: str) -> list[str]:
    """The ids that start with a prefix: none, one, or two of them."""
    # A range uses the index. "~" sorts after every character of an id.
    sql = "select id from tokens where id >= :prefix and id < :beyond limit 2"
    return [row[0] for row in tx.all(sql, prefix=prefix, beyond=f"{prefix}~")]


def list_all(tx: Tx) -> list[Token]:
    """Every token, the newest first."""
    sql = f"select {_COLUMNS} from tokens order by number desc"
    return [_token(row) for row in tx.all(sql)]


def revoke(tx: Tx, id: str) -> Token | None:
    """Revoke a token now, unless it was revoked before; None where there is none."""
    sql = f"""
        update tokens set revoked_at = coalesce(revoked_at, :now) where id = :id
        returning {_COLUMNS}
    """
    row = tx.one(sql, id=id, now=tx.now)
    return _token(row) if row else None


def _token(row: Row) -> Token:
    columns: dict[str, Any] = dict(zip(_COLUMNS.split(", "), row, strict=True))
    columns["is_read_only"] = bool(columns["is_read_only"])
    columns["projects"] = None if columns["projects"] is None else tuple(columns["projects"].split(","))
    return Token(**columns)
