"""Finds, fetches and caches the keys of an OAuth issuer."""

import threading
from collections.abc import Callable
from time import monotonic
from urllib.parse import urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from satchel.auth.fetch import MAX_DOCUMENT, FetchFailed, fetch, is_fetchable
from satchel.auth.jwks import Key, parse_keys
from satchel.errors import AuthUnavailable, AuthUnusable
from satchel.log import log

_MAX_AGE = 600.0  # seconds for which fetched keys are used
_UNKNOWN_KEY_INTERVAL = 30.0  # seconds between fetches for an unknown key id; a forged token can name any
_RETRY_INTERVAL = 5.0  # seconds before a failed fetch is repeated while there are no keys


class _Metadata(Struct):
    issuer: str
    jwks_uri: str


class IssuerKeys:
    """The cached keys of one issuer. Thread-safe: one thread fetches while the others use the keys there are."""

    def __init__(self, issuer: str, algorithm: str, location: str | None) -> None:
        self._issuer = issuer
        self._algorithm = algorithm
        self._read_source = _make_source(issuer, location)
        self._keys: tuple[Key, ...] = ()
        self._failure: str | None = None  # of the last fetch
        self._tried_at = self._fetched_at = self._searched_at = float("-inf")
        self._fetching = threading.Lock()
        if location is not None and _is_file(location):
            self._load_file(location)

    def find(self, key_id: str | None) -> tuple[Key, ...]:
        """The keys that may have signed a token with this key id, or without one; empty where none is known.

        Raises:
            AuthUnavailable: the keys cannot be fetched.
        """
        started = monotonic()
        if started - self._fetched_at > _MAX_AGE:
            self._refresh()
        found = self._select(key_id)
        if found or self._fetched_at >= started:
            return found
        with self._fetching:
            found = self._select(key_id)  # another thread may have fetched it while we waited
            if not found and monotonic() - self._searched_at >= _UNKNOWN_KEY_INTERVAL:
                self._searched_at = monotonic()
                self._fetch()
                found = self._select(key_id)
        if not found and self._failure is not None:
            raise self._unavailable()
        return found

    def _load_file(self, file: str) -> None:
        """Read keys in a file at once, so that a mistake is reported at the start."""
        try:
            self._keys = self._load()
        except ValueError as error:
            raise AuthUnusable(f"cannot use the keys in {file}: {error}. Check --oauth-keys.") from error
        self._fetched_at = monotonic()

    def _select(self, key_id: str | None) -> tuple[Key, ...]:
        keys = self._keys
        if key_id is None:
            return keys if len(keys) == 1 else ()
        return tuple(key for key in keys if key.id in (key_id, None))

    def _refresh(self) -> None:
        # With keys in the cache, only one thread fetches; the others go on with those.
        if not self._fetching.acquire(blocking=not self._keys):
            return
        try:
            is_due = monotonic() - self._fetched_at > _MAX_AGE
            pause = _UNKNOWN_KEY_INTERVAL if self._keys else _RETRY_INTERVAL
            if is_due and monotonic() - self._tried_at >= pause:
                self._fetch()
        finally:
            self._fetching.release()
        if not self._keys and self._failure is not None:
            raise self._unavailable()

    def _fetch(self) -> None:
        """Fetch the keys; on failure, keep those in the cache."""
        self._tried_at = monotonic()
        try:
            self._keys = self._load()
        except (FetchFailed, ValueError) as error:
            self._failure = str(error)
            log(f"the keys of the issuer {self._issuer}: {error}")
            return
        self._failure = None
        self._fetched_at = monotonic()

    def _load(self) -> tuple[Key, ...]:
        keys = parse_keys(self._read_source(), self._algorithm)
        if not keys:
            raise ValueError(f"there is no key for {self._algorithm}")
        return keys

    def _unavailable(self) -> AuthUnavailable:
        return AuthUnavailable(f"cannot fetch the keys of the issuer {self._issuer}: {self._failure}")


def _make_source(issuer: str, location: str | None) -> Callable[[], bytes]:
    """A function that reads the keys from a file, a URL, or where the metadata of the issuer says."""
    if location is not None and _is_file(location):
        return lambda: _read_file(location)
    url = issuer if location is None else location
    if not is_fetchable(url):
        flag = "--oauth-issuer" if location is None else "--oauth-keys"
        raise AuthUnusable(f"{url} must start with https:// (http:// only on this machine). Check {flag}.")
    return (lambda: fetch(url)) if location is not None else (lambda: fetch(_discover(issuer)))


def _is_file(location: str) -> bool:
    return "://" not in location


def _read_file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            document = file.read(MAX_DOCUMENT + 1)
    except OSError as error:
        raise ValueError(error.strerror) from error
    if len(document) > MAX_DOCUMENT:
        raise ValueError(f"it is larger than {MAX_DOCUMENT} bytes")
    return document


def _discover(issuer: str) -> str:
    """Find the address of an issuer's keys: by RFC 8414, then by OpenID Connect Discovery."""
    problems: list[str] = []
    for url in discovery_urls(issuer):
        try:
            metadata = msgspec.json.decode(fetch(url), type=_Metadata)
        except FetchFailed as error:
            problems.append(str(error))
        except (msgspec.DecodeError, RecursionError):
            problems.append(f"{url} names no issuer and jwks_uri")
        else:
            if metadata.issuer == issuer:
                return metadata.jwks_uri
            problems.append(f"{url} is about another issuer")
    raise FetchFailed("; ".join(problems))


def discovery_urls(issuer: str) -> tuple[str, str]:
    """The addresses at which an issuer may publish its metadata."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    first = urlunsplit((parts.scheme, parts.netloc, f"/.well-known/oauth-authorization-server{path}", "", ""))
    return first, urlunsplit((parts.scheme, parts.netloc, f"{path}/.well-known/openid-configuration", "", ""))
