"""Browser sessions: a token or a one-time code opens one; logout, time or the end of the token closes it."""

import re
import secrets
from typing import Literal

from msgspec import Struct

from satchel import clock
from satchel.auth.tokens import hash_secret
from satchel.errors import Unauthorized
from satchel.model import Identity, StoreChange
from satchel.storage import sessions as rows
from satchel.storage.database import Database, Tx
from satchel.storage.sessions import BrowserSession

_PREFIXES = {"session": "satchelsession_", "code": "satchelcode_"}
_RANDOM_PART = r"[A-Za-z0-9_-]{43}"
_LONGEST_MINUTES = 7 * 24 * 60
ISSUED_MINUTES = 12 * 60  # for a login with an issuer, which does not report lost access
_IDLE_MINUTES = 12 * 60
_TOUCH_MINUTES = 5  # minutes between updates of `used_at`, because each is a write
_CODE_MINUTES = 1


class BrowserSessions(Struct, frozen=True):
    """The browser sessions of one store. Each method is one transaction."""

    database: Database

    def begin(self, identity: Identity, minutes: int = _LONGEST_MINUTES) -> str:
        """Open a session that lasts at most a number of minutes; return its secret."""
        with self.database.write() as tx:
            return _begin(tx, identity, minutes)

    def redeem(self, code: str) -> str:
        """Open a session with a one-time code; return the secret of the session.

        Raises:
            Unauthorized: the code is unknown, used or expired.
        """
        with self.database.write() as tx:
            found = _find(tx, "code", code)
            if found is None or not rows.delete(tx, found.id, found.owner):
                raise Unauthorized("the code is unknown, was used or has expired")
            return _begin(tx, _identity(found))

    def identify(self, secret: str) -> tuple[Identity, str]:
        """Return the identity and the id of a session, given the session's secret; this reads one row by an index.

        Raises:
            Unauthorized: the session is unknown or has ended.
        """
        with self.database.read() as tx:
            session = _find(tx, "session", secret)
            now = tx.now
        if session is None or session.used_at < clock.minutes_after(now, -_IDLE_MINUTES):
            raise Unauthorized("the session has ended")
        if session.used_at < clock.minutes_after(now, -_TOUCH_MINUTES):
            with self.database.write() as tx:
                rows.touch(tx, session.id)
        return _identity(session), session.id

    def end(self, id: str, user: str) -> None:
        """End a session of a user."""
        with self.database.write() as tx:
            tx.changed(StoreChange("access", owner=user))
            rows.delete(tx, id, user)


def make_code(tx: Tx, identity: Identity) -> str:
    """Make a code that opens a session once, within a minute."""
    return _add(tx, "code", identity, clock.minutes_after(tx.now, _CODE_MINUTES))


def list_of(tx: Tx, user: str) -> list[BrowserSession]:
    """Return the open sessions of a user, newest first."""
    return rows.list_of(tx, user)


def _begin(tx: Tx, identity: Identity, minutes: int = _LONGEST_MINUTES) -> str:
    rows.delete_expired(tx, clock.minutes_after(tx.now, -_IDLE_MINUTES))
    return _add(tx, "session", identity, clock.minutes_after(tx.now, minutes))


def _add(tx: Tx, kind: Literal["session", "code"], identity: Identity, expires_at: str) -> str:
    secret = _PREFIXES[kind] + secrets.token_urlsafe(32)
    session = BrowserSession(
        id=tx.new_id(),
        kind=kind,
        token=identity.token or None,
        owner=identity.user,
        is_read_only=identity.is_read_only,
        projects=identity.projects,
        created_at=tx.now,
        used_at=tx.now,
        expires_at=expires_at,
    )
    rows.add(tx, hash_secret(secret), session)
    return secret


def _find(tx: Tx, kind: Literal["session", "code"], secret: str) -> BrowserSession | None:
    if not re.fullmatch(re.escape(_PREFIXES[kind]) + _RANDOM_PART, secret):
        return None
    return rows.by_hash(tx, hash_secret(secret), kind)


def _identity(session: BrowserSession) -> Identity:
    return Identity(
        user=session.owner, projects=session.projects, is_read_only=session.is_read_only, token=session.token or ""
    )
