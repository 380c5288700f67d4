"""Access tokens of an OAuth 2.1 issuer: we are a resource server, and only verify what somebody else has signed.

Only imported when a server is told to use OAuth.
"""

import time
from collections.abc import Collection
from typing import Annotated, Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec import Meta, Struct

try:
    import cryptography  # noqa: F401 - without it jwt is there and verifies nothing
    import jwt
except ImportError as error:
    from satchel.errors import StoreUnusable

    raise StoreUnusable("OAuth needs the oauth extra: pip install 'satchel[oauth]', then try again.") from error

from satchel import clock
from satchel.auth.issuer import Keys
from satchel.auth.jwks import ALGORITHMS
from satchel.errors import StoreUnusable, Unauthorized
from satchel.model import Identity

LONGEST = 16 * 1024  # characters of a token

_LEEWAY = 60  # seconds that clocks may differ
_READ, _WRITE = "satchel:read", "satchel:write"

# What can be the name of a project: nothing that means something else where names are put together.
_Project = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9._-]{1,255}\Z")]


class _Claims(Struct):
    iss: str | None = None
    aud: str | list[str] | None = None
    sub: str | None = None
    exp: float | None = None
    nbf: float | None = None
    iat: float | None = None
    scope: str | None = None
    scp: str | list[str] | None = None
    satchel_projects: tuple[_Project, ...] | None = None


class OAuth:
    """An issuer that we trust, and what its tokens must look like. Any thread may ask; asking may fetch keys."""

    def __init__(
        self, issuer: str, audiences: Collection[str], algorithm: str = "RS256", keys: str | None = None
    ) -> None:
        """Raises StoreUnusable where this cannot work; the message says what, why and what next."""
        if not issuer or not all(audiences):
            raise StoreUnusable("OAuth needs an issuer and an audience. Check --oauth-issuer and --oauth-audience.")
        if algorithm not in ALGORITHMS:
            known = ", ".join(ALGORITHMS)
            raise StoreUnusable(
                f"tokens signed with '{algorithm}' cannot be trusted. Check --oauth-algorithm: {known}."
            )
        self._issuer = issuer
        self._audiences = frozenset(audiences)
        self._algorithm = algorithm
        self._keys = Keys(issuer, algorithm, keys)
        self._jws = jwt.PyJWS([algorithm])  # knows no other algorithm

    def identify(self, token: str) -> Identity:
        """Who an access token speaks for.

        Raises:
            Unauthorized: it is not good here.
            StoreFailed: the keys of the issuer cannot be fetched.
        """
        if len(token) > LONGEST:
            raise Unauthorized("the token is too long")
        claims = _read(self._verified(token))
        self._check(claims)
        if not claims.sub:
            raise Unauthorized("the token names no subject")
        user = clock.parse_id(claims.sub) or str(uuid5(NAMESPACE_URL, f"{self._issuer}#{claims.sub}"))
        scopes = _words(claims.scope) | _words(claims.scp)
        return Identity(
            user=user, projects=claims.satchel_projects, is_read_only=_READ in scopes and _WRITE not in scopes
        )

    def _verified(self, token: str) -> bytes:
        """The payload of a token that one of the issuer's keys has signed."""
        header = self._header(token)
        if header.get("alg") != self._algorithm:
            raise Unauthorized("the token is signed with another algorithm")
        candidates = self._keys.named(header.get("kid"))
        if not candidates:
            raise Unauthorized("the token is signed with an unknown key")
        for key in candidates:
            try:
                payload: bytes = self._jws.decode(token, key.public, algorithms=[self._algorithm])
            except jwt.InvalidTokenError:
                continue
            return payload
        raise Unauthorized("the signature of the token is wrong")

    def _header(self, token: str) -> dict[str, Any]:
        try:
            return self._jws.get_unverified_header(token)
        except (jwt.InvalidTokenError, UnicodeEncodeError):
            raise Unauthorized("the token is malformed") from None

    def _check(self, claims: _Claims) -> None:
        now = time.time()
        if claims.iss != self._issuer:
            raise Unauthorized("the token is of another issuer")
        if self._audiences.isdisjoint([claims.aud] if isinstance(claims.aud, str) else claims.aud or []):
            raise Unauthorized("the token is for another audience")
        if claims.exp is None:
            raise Unauthorized("the token has no expiry")
        if claims.exp <= now - _LEEWAY:
            raise Unauthorized("the token has expired")
        if max(claims.nbf or 0, claims.iat or 0) > now + _LEEWAY:
            raise Unauthorized("the token is not valid yet")


def _read(payload: bytes) -> _Claims:
    try:
        return msgspec.json.decode(payload, type=_Claims)
    except (msgspec.DecodeError, RecursionError):
        raise Unauthorized("the claims of the token are malformed") from None


def _words(scopes: str | list[str] | None) -> set[str]:
    return set(scopes.split()) if isinstance(scopes, str) else set(scopes or ())
