"""Satchel's own bearer tokens: create, list, revoke and identify. The store keeps only the hash of a token."""

import re
import secrets
from collections.abc import Sequence
from hashlib import sha256

from satchel import clock
from satchel.errors import NotFound, Unauthorized, WrongArgument
from satchel.model import Identity, Scope, StoreChange, Timestamp, Token
from satchel.services import rules
from satchel.storage import projects as project_rows
from satchel.storage import tokens as rows
from satchel.storage.database import Database, Tx

PREFIX = "satchel_"  # lets people and secret scanners recognise a token

_SECRET = re.compile(PREFIX + r"[A-Za-z0-9_-]{43}")
_REFERENCE = r"[0-9a-f-]{8,36}"


def create(
    tx: Tx,
    *,
    user: str,
    name: str = "",
    is_read_only: bool = False,
    projects: Sequence[str] | None = None,
    expires_at: Timestamp | None = None,
) -> tuple[Token, str]:
    """Create a token for a user, for all projects or some; return it and its secret; only a hash of that is stored.

    Raises:
        WrongArgument: the user is not a UUID, the name is too long, no project is given, or the expiry is past.
        NotFound: there is no such project.
    """
    owner = clock.parse_id(user)
    if owner is None:
        raise WrongArgument("user", "format", limit="uuid", value=user, kind="token")
    if expires_at is not None and expires_at <= tx.now:
        raise WrongArgument("expires_at", "minimum", limit=tx.now, value=expires_at, kind="token")
    names = None if projects is None else tuple(dict.fromkeys(projects))
    if names is not None:
        _check_projects(tx, names)
    secret = PREFIX + secrets.token_urlsafe(32)
    token = Token(
        id=tx.new_id(),
        name=rules.clean_title("token", name) if name else "",
        owner=owner,
        is_read_only=is_read_only,
        projects=names,
        created_at=tx.now,
        expires_at=expires_at,
    )
    rows.add(tx, hash_secret(secret), token)
    return token, secret


def listed(tx: Tx) -> list[Token]:
    """Return all tokens, newest first, including those that have expired or were revoked."""
    return rows.list_all(tx)


def revoke(tx: Tx, id: str, owner: str | None = None) -> Token:
    """Revoke the token whose id is `id` or begins with it (8 characters or more); with `owner`, only that user's token.

    Raises:
        WrongArgument: the text has the wrong form, or several ids begin with it.
        NotFound: there is no such token.
    """
    prefix = id.lower()
    if not re.fullmatch(_REFERENCE, prefix):
        raise WrongArgument("id", "pattern", limit=_REFERENCE, kind="token")
    found = rows.starting(tx, prefix, owner)
    if len(found) > 1:
        raise WrongArgument("id", "oneOf", value=id, kind="token")
    token = rows.revoke(tx, found[0]) if found else None
    if token is None:
        raise NotFound("token", id, Scope())
    tx.changed(StoreChange("access", owner=token.owner))
    return token


def identify(database: Database, secret: str) -> Identity:
    """Return the user and the rights of a token, given the token's secret; this reads one row by an index.

    Raises:
        Unauthorized: the token is unknown, has expired or was revoked.
    """
    if not _SECRET.fullmatch(secret):
        raise Unauthorized("the token is unknown")
    token = database.look_up(lambda tx: rows.by_hash(tx, hash_secret(secret)))
    if token is None:
        raise Unauthorized("the token is unknown")
    state = token.state(clock.now())
    if state != "active":
        raise Unauthorized("the token was revoked" if state == "revoked" else "the token has expired")
    return Identity(user=token.owner, projects=token.projects, is_read_only=token.is_read_only, token=token.id)


def _check_projects(tx: Tx, names: tuple[str, ...]) -> None:
    if not names:
        raise WrongArgument("projects", "minItems", limit=1, kind="token")
    for name in names:
        if not rules.is_storable(name) or project_rows.by_name(tx, name) is None:
            raise NotFound("project", name, Scope(project=name))


def hash_secret(secret: str) -> str:
    """Return the hash of a secret; it needs no salt and no stretching, because nobody can guess 256 random bits."""
    return sha256(secret.encode()).hexdigest()
