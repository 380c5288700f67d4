"""Queries about tokens. Of the secret only a hash is here, and it never leaves."""

from satchel.model import Timestamp, Token
from satchel.storage.database import Row, Tx


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
    sql = """
        insert into tokens (id, hash, owner, is_read_only, projects, created_at, expires_at)
        values (:id, :hash, :owner, :is_read_only, :projects, :now, :expires_at)
        returning id, owner, is_read_only, projects, created_at, expires_at, revoked_at
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
    sql = """
        select id, owner, is_read_only, projects, created_at, expires_at, revoked_at from tokens where hash = :hash
    """
    row = tx.one(sql, hash=hash)
    return _token(row) if row else None


def starting(tx: Tx, prefix: str) -> list[str]:
    """The ids that start with a prefix: none, one, or two of them."""
    # "~" sorts behind all that an id is made of; a range uses the index.
    sql = "select id from tokens where id >= :prefix and id < :beyond limit 2"
    return [row[0] for row in tx.all(sql, prefix=prefix, beyond=f"{prefix}~")]


def listed(tx: Tx) -> list[Token]:
    """Every token, the newest first."""
    sql = """
        select id, owner, is_read_only, projects, created_at, expires_at, revoked_at from tokens order by number desc
    """
    return [_token(row) for row in tx.all(sql)]


def revoke(tx: Tx, id: str) -> Token | None:
    """Revoke a token now, unless it was; None where there is none."""
    sql = """
        update tokens set revoked_at = coalesce(revoked_at, :now) where id = :id
        returning id, owner, is_read_only, projects, created_at, expires_at, revoked_at
    """
    row = tx.one(sql, id=id, now=tx.now)
    return _token(row) if row else None


def _token(row: Row) -> Token:
    id, owner, is_read_only, projects, created_at, expires_at, revoked_at = row
    return Token(
        id=id,
        owner=owner,
        is_read_only=bool(is_read_only),
        projects=None if projects is None else tuple(projects.split(",")),
        created_at=created_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
    )
