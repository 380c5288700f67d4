"""Access tokens of an OAuth 2.1 issuer. Satchel is a resource server: it verifies tokens and issues none.

Only `--auth oauth` imports this module, because it needs the oauth extra.
"""

import time
from collections.abc import Collection
from typing import Annotated
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec import Meta, Struct

from satchel.errors import AuthUnusable, Unauthorized
from satchel.extras import install_command

try:
    import cryptography  # noqa: F401 - without it jwt can be imported, but verifies nothing
    import jwt
except ImportError as error:
    raise AuthUnusable(f"OAuth needs an extra. Install it with: {install_command('oauth')}") from error

from satchel import clock
from satchel.auth.issuer import ALGORITHMS, Issuer
from satchel.model import Identity

_MAX_TOKEN = 16 * 1024  # characters

_CLOCK_LEEWAY = 60  # the allowed difference of clocks in seconds
_READ, _WRITE = "satchel:read", "satchel:write"

# The name of a project in a claim; separators and wildcards are not allowed.
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
    """Verifies the access tokens of one trusted issuer. Thread-safe."""

    def __init__(
        self,
        issuer: str,
        audiences: Collection[str],
        algorithm: str = "RS256",
        keys: str | None = None,
        *,
        is_any_scope_enough: bool = False,
    ) -> None:
        """Trust an issuer. A token may write only with the scope `satchel:write`, unless any scope is accepted.

        Raises:
            AuthUnusable: the settings cannot work.
        """
        if not issuer or not all(audiences):
            raise AuthUnusable("OAuth needs an issuer and an audience. Check --oauth-issuer and --oauth-audience.")
        if algorithm not in ALGORITHMS:
            known = ", ".join(ALGORITHMS)
            raise AuthUnusable(f"tokens signed with '{algorithm}' cannot be trusted. Check --oauth-algorithm: {known}.")
        self._audiences = frozenset(audiences)
        self._algorithm = algorithm
        self.issuer = Issuer(issuer, algorithm, keys)
        self._is_any_scope_enough = is_any_scope_enough
        self._jws = jwt.PyJWS([algorithm])  # rejects every other algorithm

    def identify(self, token: str) -> Identity:
        """Return the user and the rights of an access token.

        Raises:
            Unauthorized: the token is not valid here.
            AuthUnavailable: the token's key is unknown, and the keys of the issuer cannot be fetched.
        """
        if len(token) > _MAX_TOKEN:
            raise Unauthorized("the token is too long")
        payload = self._verify(token)
        try:
            claims = msgspec.json.decode(payload, type=_Claims)
        except (msgspec.DecodeError, RecursionError):
            raise Unauthorized("the claims of the token are malformed") from None
        self._check_claims(claims)
        if not claims.sub:
            raise Unauthorized("the token names no subject")
        user = clock.parse_id(claims.sub) or str(uuid5(NAMESPACE_URL, f"{self.issuer.url}#{claims.sub}"))
        scopes = _split_scopes(claims.scope) | _split_scopes(claims.scp)
        may_write = _WRITE in scopes or (self._is_any_scope_enough and _READ not in scopes)
        return Identity(user=user, projects=claims.satchel_projects, is_read_only=not may_write)

    def _verify(self, token: str) -> bytes:
        """Check that one of the issuer's keys signed a token, and return the token's payload."""
        try:
            header = self._jws.get_unverified_header(token)
        except (jwt.InvalidTokenError, UnicodeEncodeError):
            raise Unauthorized("the token is malformed") from None
        if header.get("alg") != self._algorithm:
            raise Unauthorized("the token is signed with another algorithm")
        candidates = self.issuer.find_keys(header.get("kid"))
        if not candidates:
            raise Unauthorized("the token is signed with an unknown key")
        for key in candidates:
            try:
                payload: bytes = self._jws.decode(token, key.public, algorithms=[self._algorithm])
            except jwt.InvalidTokenError:
                continue
            return payload
        raise Unauthorized("the signature of the token is wrong")

    def _check_claims(self, claims: _Claims) -> None:
        now = time.time()
        if claims.iss != self.issuer.url:
            raise Unauthorized("the token is from another issuer")
        if self._audiences.isdisjoint([claims.aud] if isinstance(claims.aud, str) else claims.aud or []):
            raise Unauthorized("the token is for another audience")
        if claims.exp is None:
            raise Unauthorized("the token has no expiry")
        if claims.exp <= now - _CLOCK_LEEWAY:
            raise Unauthorized("the token has expired")
        if max(claims.nbf or 0, claims.iat or 0) > now + _CLOCK_LEEWAY:
            raise Unauthorized("the token is not valid yet")


def _split_scopes(scopes: str | list[str] | None) -> set[str]:
    return set(scopes.split()) if isinstance(scopes, str) else set(scopes or ())
