"""Queries about tokens. The store keeps only a hash of each secret, and no query returns it."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
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
    tx.run(sql, hash=hash, **to_columns(token))


def by_hash(tx: Tx, hash: str) -> Token | None:
    """Return the token whose secret has this hash, in any state."""
    sql = f"select {_COLUMNS} from tokens where hash = :hash"
    row = tx.one(sql, hash=hash)
    return _token(row) if row else None


def starting(tx: Tx, prefix: str, owner: str | None = None) -> list[str]:
    """Return up to two ids of tokens that start with `prefix`; with `owner`, only of that user's tokens."""
    # A range uses the index. "~" sorts after every character of an id.
    sql = "select id from tokens where id >= :prefix and id < :beyond and (:is_any or owner = :owner) limit 2"
    values = {"prefix": prefix, "beyond": f"{prefix}~", "is_any": owner is None, "owner": owner or ""}
    return [row[0] for row in tx.all(sql, **values)]


def list_all(tx: Tx) -> list[Token]:
    """Return every token, newest first."""
    sql = f"select {_COLUMNS} from tokens order by number desc"
    return [_token(row) for row in tx.all(sql)]


def revoke(tx: Tx, id: str) -> Token | None:
    """Revoke a token, unless it is already revoked; return None if there is no such token."""
    sql = f"""
        update tokens set revoked_at = coalesce(revoked_at, :now) where id = :id
        returning {_COLUMNS}
    """
    row = tx.one(sql, id=id, now=tx.now)
    return _token(row) if row else None


def to_columns(access: Struct) -> dict[str, Any]:
    """Return the column values of a token or session."""
    fields = asdict(access)
    projects = None if fields["projects"] is None else ",".join(fields["projects"])
    return {**fields, "is_read_only": int(fields["is_read_only"]), "projects": projects}


def from_columns(names: str, row: Row) -> Mapping[str, Any]:
    """Return the fields of a token or session, from the names and the values of their columns."""
    columns = dict(zip(names.split(", "), row, strict=True))
    projects = None if columns["projects"] is None else tuple(columns["projects"].split(","))
    return {**columns, "is_read_only": bool(columns["is_read_only"]), "projects": projects}


def _token(row: Row) -> Token:
    return Token(**from_columns(_COLUMNS, row))
