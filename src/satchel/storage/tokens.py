"""Queries about tokens. The store keeps only a hash of each secret, and no query returns it."""

from typing import Any

from msgspec.structs import asdict

from satchel.model import Token
from satchel.storage.database import Row, Tx

_COLUMNS = "id, name, owner, is_read_only, projects, created_at, expires_at, revoked_at"


def add(tx: Tx, hash: str, token: Token) -> None:
    """Insert a token."""
    sql = f"""
        insert into tokens (hash, {_COLUMNS})
        values (:hash, :id, :name, :owner, :is_read_only, :projects, :created_at, :expires_at, :revoked_at)
    """
    projects = None if token.projects is None else ",".join(token.projects)
    tx.run(sql, **asdict(token) | {"hash": hash, "is_read_only": int(token.is_read_only), "projects": projects})


def by_hash(tx: Tx, hash: str) -> Token | None:
    """The token whose secret has this hash, whatever its state."""
    sql = f"select {_COLUMNS} from tokens where hash = :hash"
    row = tx.one(sql, hash=hash)
    return _token(row) if row else None


def starting(tx: Tx, prefix: str, owner: str | None = None) -> list[str]:
    """The ids that start with a prefix, of all tokens or of those of an owner: none, one, or two of them."""
    # A range uses the index. "~" sorts after every character of an id.
    sql = "select id from tokens where id >= :prefix and id < :beyond and (:is_any or owner = :owner) limit 2"
    values = {"prefix": prefix, "beyond": f"{prefix}~", "is_any": owner is None, "owner": owner or ""}
    return [row[0] for row in tx.all(sql, **values)]


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
