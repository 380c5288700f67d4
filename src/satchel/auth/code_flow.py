"""The login of a browser with an OAuth issuer: the authorization code flow with PKCE, as a public client."""

import secrets
from base64 import urlsafe_b64encode
from hashlib import sha256
from hmac import compare_digest
from urllib.parse import urlencode

import msgspec
from anyio import CapacityLimiter, fail_after
from anyio.to_thread import run_sync
from msgspec import Struct

from satchel.auth.issuer import FetchFailed, fetch, is_fetchable
from satchel.auth.oauth import OAuth
from satchel.errors import AuthUnavailable, Unauthorized
from satchel.model import Identity

_SCOPE = "satchel:read satchel:write"
_PATIENCE = 10.0  # seconds that a login waits for its turn and for the issuer


class _Granted(Struct):
    access_token: str


class LoginStart(Struct, frozen=True):
    """The address at the issuer to send a browser to, and the cookie to set."""

    url: str
    cookie: str


class CodeFlow:
    """The logins with one issuer; the state of a login is kept in the browser's cookie only.

    An issuer that hangs occupies one thread for its metadata and one for all logins, but no thread of other requests.
    """

    def __init__(self, oauth: OAuth, client_id: str | None, url: str) -> None:
        self._oauth = oauth
        self._issuer = oauth.issuer
        self._client_id = client_id
        self._redirect_uri = f"{url}/login/callback"
        self._resource = f"{url}/mcp"
        self._limiter = CapacityLimiter(1)

    async def find_obstacle(self) -> str:
        """Return a sentence that explains why login is impossible; empty if it is possible."""
        issuer = self._issuer.url
        if self._client_id is None:
            return f"This server has no client id at the issuer {issuer}: set --oauth-client-id."
        try:
            metadata = await self._issuer.read_metadata()
        except AuthUnavailable as error:
            return f"The issuer {issuer} cannot be reached: {error}."
        if not (is_fetchable(metadata.authorization_endpoint) and is_fetchable(metadata.token_endpoint)):
            return f"The issuer {issuer} offers no authorization code flow."
        if "S256" not in metadata.code_challenge_methods_supported:
            return f"The issuer {issuer} does not offer PKCE with S256."
        return ""

    async def begin(self) -> LoginStart:
        """Begin a login.

        Raises:
            AuthUnavailable: the issuer cannot be reached.
        """
        endpoint = (await self._issuer.read_metadata()).authorization_endpoint
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        fields = {
            "response_type": "code",
            "client_id": self._client_id or "",
            "redirect_uri": self._redirect_uri,
            "scope": _SCOPE,
            "state": state,
            "code_challenge": urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "resource": self._resource,
        }
        return LoginStart(f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(fields)}", f"{state}.{verifier}")

    async def finish(self, query: dict[str, str], cookie: str) -> Identity:
        """Return the user who has logged in, given the query of the issuer's redirect.

        Raises:
            Unauthorized: query and cookie belong to different logins, or the issuer refused the login.
            AuthUnavailable: the issuer cannot be reached.
        """
        state, _, verifier = cookie.partition(".")
        if not verifier or not compare_digest(state.encode(), query.get("state", "").encode()):
            raise Unauthorized("the login was not started in this browser, or took too long")
        if query.get("iss", self._issuer.url) != self._issuer.url:
            raise Unauthorized("the answer is from another issuer")
        if not query.get("code"):
            raise Unauthorized("the issuer refused the login")
        form = {
            "grant_type": "authorization_code",
            "code": query["code"],
            "redirect_uri": self._redirect_uri,
            "client_id": self._client_id or "",
            "code_verifier": verifier,
            "resource": self._resource,
        }
        endpoint = (await self._issuer.read_metadata()).token_endpoint
        try:
            with fail_after(_PATIENCE):
                return await run_sync(self._redeem, endpoint, form, limiter=self._limiter)
        except TimeoutError:
            raise AuthUnavailable("the issuer has not answered in time") from None

    def _redeem(self, endpoint: str, form: dict[str, str]) -> Identity:
        """Exchange an authorization code for an access token, and verify the token."""
        try:
            token = msgspec.json.decode(fetch(endpoint, form=form), type=_Granted).access_token
        except (FetchFailed, msgspec.DecodeError, RecursionError):
            raise Unauthorized("the issuer returned no token for this login") from None
        return self._oauth.identify(token)
