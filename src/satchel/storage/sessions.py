"""Queries about browser sessions. The store keeps only a hash of each secret."""

from typing import Literal

from msgspec import Struct

from satchel.model import Timestamp
from satchel.storage.database import Row, Tx
from satchel.storage.tokens import from_columns, to_columns

_COLUMNS = "id, kind, token, owner, is_read_only, projects, created_at, used_at, expires_at"


class BrowserSession(Struct, frozen=True, kw_only=True):
    """A browser session, or a code that opens one."""

    id: str
    kind: Literal["session", "code"]
    token: str | None  # the id of the token that opened it; None: opened by `satchel open`
    owner: str
    is_read_only: bool
    projects: tuple[str, ...] | None
    created_at: Timestamp
    used_at: Timestamp
    expires_at: Timestamp


def add(tx: Tx, hash: str, session: BrowserSession) -> None:
    """Insert a session."""
    sql = f"""
        insert into sessions (hash, {_COLUMNS})
        values (:hash, :id, :kind, :token, :owner, :is_read_only, :projects, :created_at, :used_at, :expires_at)
    """
    tx.run(sql, hash=hash, **to_columns(session))


def by_hash(tx: Tx, hash: str, kind: str) -> BrowserSession | None:
    """Return the session or code whose secret has this hash, if it and its token are still valid."""
    sql = f"""
        select {_COLUMNS} from sessions s where hash = :hash and kind = :kind and expires_at > :now and (
            token is null or exists (
                select 1 from tokens t where t.id = s.token and t.revoked_at is null
                    and (t.expires_at is null or t.expires_at > :now)
            )
        )
    """
    row = tx.one(sql, hash=hash, kind=kind, now=tx.now)
    return _session(row) if row else None


def touch(tx: Tx, id: str) -> None:
    """Record that a session was used."""
    tx.run("update sessions set used_at = :now where id = :id", id=id, now=tx.now)


def list_of(tx: Tx, owner: str) -> list[BrowserSession]:
    """Return the open sessions of a user, newest first."""
    sql = f"""
        select {_COLUMNS} from sessions where owner = :owner and kind = 'session' and expires_at > :now
        order by number desc limit 100
    """
    return [_session(row) for row in tx.all(sql, owner=owner, now=tx.now)]


def delete(tx: Tx, id: str, owner: str) -> bool:
    """End a session of a user; return False if there was none."""
    return bool(tx.all("delete from sessions where id = :id and owner = :owner returning id", id=id, owner=owner))


def delete_expired(tx: Tx, unused_since: Timestamp) -> None:
    """Remove sessions that have expired or were not used since a time."""
    sql = "delete from sessions where expires_at <= :now or used_at < :since"
    tx.run(sql, now=tx.now, since=unused_since)


def _session(row: Row) -> BrowserSession:
    return BrowserSession(**from_columns(_COLUMNS, row))
