"""Logs a browser in with an OAuth issuer: the authorization code flow with PKCE, as a public client."""

import secrets
import threading
from base64 import urlsafe_b64encode
from hashlib import sha256
from hmac import compare_digest
from time import monotonic
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from satchel.auth.fetch import FetchFailed, fetch, is_fetchable
from satchel.auth.issuer import discovery_urls
from satchel.errors import AuthUnavailable, Unauthorized

_MAX_AGE = 600.0  # seconds for which the metadata of an issuer is used
_SCOPE = "satchel:read satchel:write"


class _Metadata(Struct):
    issuer: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    code_challenge_methods_supported: list[str] = []


class _Granted(Struct):
    access_token: str


class Begun(Struct, frozen=True):
    """A login that has begun: where the browser goes, and what it brings back in a cookie."""

    url: str
    cookie: str


class CodeFlow:
    """How browsers log in with one issuer. Thread-safe; keeps nothing about a login but in the browser's cookie."""

    def __init__(self, issuer: str, client_id: str | None, url: str) -> None:
        self._issuer = issuer
        self._client_id = client_id
        self._redirect_uri = f"{url}/login/callback"
        self._resource = f"{url}/mcp"
        self._lock = threading.Lock()
        self._metadata: _Metadata | None = None
        self._fetched_at = 0.0

    def find_obstacle(self) -> str:
        """Why a login this way is not possible, in a sentence; empty where it is."""
        if self._client_id is None:
            return f"This server has no client id at the issuer {self._issuer}: set --oauth-client-id."
        try:
            metadata = self._read_metadata()
        except AuthUnavailable as error:
            return f"The issuer {self._issuer} cannot be asked: {error}."
        if not (is_fetchable(metadata.authorization_endpoint) and is_fetchable(metadata.token_endpoint)):
            return f"The issuer {self._issuer} offers no authorization code flow."
        if "S256" not in metadata.code_challenge_methods_supported:
            return f"The issuer {self._issuer} does not offer PKCE with S256."
        return ""

    def begin(self) -> Begun:
        """Begin a login.

        Raises:
            AuthUnavailable: the issuer cannot be asked.
        """
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        fields = {
            "response_type": "code",
            "client_id": self._client_id or "",
            "redirect_uri": self._redirect_uri,
            "scope": _SCOPE,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": self._resource,
        }
        endpoint = self._read_metadata().authorization_endpoint
        return Begun(f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(fields)}", f"{state}.{verifier}")

    def finish(self, answer: dict[str, str], cookie: str) -> str:
        """The access token for what an issuer sent the browser back with.

        Raises:
            Unauthorized: it is not the answer to the login that the cookie is of, or the issuer refused.
            AuthUnavailable: the issuer cannot be asked.
        """
        state, _, verifier = cookie.partition(".")
        if not verifier or not compare_digest(state.encode(), answer.get("state", "").encode()):
            raise Unauthorized("the login was not begun in this browser, or took too long")
        if answer.get("iss", self._issuer) != self._issuer:
            raise Unauthorized("the answer is of another issuer")
        if not answer.get("code"):
            raise Unauthorized("the issuer did not let you in")
        form = {
            "grant_type": "authorization_code",
            "code": answer["code"],
            "redirect_uri": self._redirect_uri,
            "client_id": self._client_id or "",
            "code_verifier": verifier,
            "resource": self._resource,
        }
        try:
            granted = fetch(self._read_metadata().token_endpoint, form=form)
            return msgspec.json.decode(granted, type=_Granted).access_token
        except (FetchFailed, msgspec.DecodeError, RecursionError):
            raise Unauthorized("the issuer gave no token for this login") from None

    def _read_metadata(self) -> _Metadata:
        with self._lock:
            if self._metadata is not None and monotonic() - self._fetched_at < _MAX_AGE:
                return self._metadata
        problems: list[str] = []
        for url in discovery_urls(self._issuer):
            try:
                found = msgspec.json.decode(fetch(url), type=_Metadata)
            except FetchFailed as error:
                problems.append(str(error))
                continue
            except (msgspec.DecodeError, RecursionError):
                problems.append(f"{url} is no metadata of an issuer")
                continue
            if found.issuer != self._issuer:
                problems.append(f"{url} is about another issuer")
                continue
            with self._lock:
                self._metadata, self._fetched_at = found, monotonic()
            return found
        raise AuthUnavailable("; ".join(problems))
