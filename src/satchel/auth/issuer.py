"""Finds, fetches and caches the keys of an OAuth issuer."""

import threading
from collections.abc import Callable
from time import monotonic, perf_counter
from urllib.parse import urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from satchel.auth.fetch import MAX_DOCUMENT, FetchFailed, fetch, is_fetchable
from satchel.auth.jwks import Key, parse_keys
from satchel.errors import AuthUnavailable, AuthUnusable
from satchel.log import log

_MAX_AGE = 600.0  # seconds for which fetched keys are used while the issuer answers
_REFRESH_AGE = 300.0  # seconds after which they are fetched again beside the requests
_REFRESH_WAIT = 2.0  # seconds to wait for keys that are overdue, or for the first ones
_FETCH_WAIT = 10.0  # seconds that a request waits for the fetch it has caused, for a key that is not known
_ABANDONED = 60.0  # seconds after which a fetch that hangs does not keep another from being started
_UNKNOWN_KEY_INTERVAL = 30.0  # seconds between fetches for an unknown key id; a forged token can name any
_RETRY_INTERVAL = 5.0  # seconds before a failed fetch is repeated while there are no keys


class _Metadata(Struct):
    issuer: str
    jwks_uri: str


class _Fetch:
    """A fetch that runs in a thread of its own."""

    def __init__(self, started_at: float) -> None:
        self.started_at = started_at
        self.is_done = threading.Event()


class IssuerKeys:
    """The cached keys of one issuer. Thread-safe.

    A request whose key is known never waits for an issuer that does not answer, and any other only for the fetch that
    it has caused itself.
    """

    def __init__(self, issuer: str, algorithm: str, location: str | None) -> None:
        self._issuer = issuer
        self._algorithm = algorithm
        self._read_source = _make_source(issuer, location)
        self._keys: tuple[Key, ...] = ()
        self._failure: str | None = None  # of the last fetch
        self._is_slow = False  # the last fetch took longer than a request waits
        self._tried_at = self._fetched_at = self._searched_at = float("-inf")
        self._running: _Fetch | None = None
        self._lock = threading.Lock()  # never held while something is fetched
        if location is not None and _is_file(location):
            self._load_file(location)

    def find(self, key_id: str | None) -> tuple[Key, ...]:
        """The keys that may have signed a token with this key id, or without one; empty where none is known.

        Raises:
            AuthUnavailable: the keys cannot be fetched, or are being fetched by another request.
        """
        started = monotonic()
        self._refresh(started)
        found = self._select(key_id)
        if found or self._fetched_at >= started:
            return found
        if self._keys:
            self._search(started)
            found = self._select(key_id)
        if not found and (self._failure is not None or self._running is not None):
            raise self._unavailable()
        return found

    def _refresh(self, now: float) -> None:
        """Fetch the keys where they are old, beside this request. Only where they are too old, wait a little."""
        age = now - self._fetched_at
        if age <= _REFRESH_AGE:
            return
        fetch = self._begin(now, _UNKNOWN_KEY_INTERVAL if self._keys else _RETRY_INTERVAL)
        if fetch is None and not self._keys and self._failure is None:
            fetch = self._running  # without any keys, all wait for the first
        if fetch is not None and age > _MAX_AGE and not (self._keys and self._is_slow):
            self._is_slow = not fetch.is_done.wait(_REFRESH_WAIT)

    def _search(self, now: float) -> None:
        """Fetch the keys because one is not known, and wait for them; not too often, as a forged token can name any."""
        if now - self._searched_at < _UNKNOWN_KEY_INTERVAL:
            return
        fetch = self._begin(now, 0.0)
        if fetch is not None:
            self._searched_at = now
            fetch.is_done.wait(_FETCH_WAIT)

    def _begin(self, now: float, pause: float) -> _Fetch | None:
        """Start a fetch in a thread of its own; None where one runs, or was tried less than the pause ago."""
        with self._lock:
            is_running = self._running is not None and now - self._running.started_at < _ABANDONED
            if is_running or now - self._tried_at < pause:
                return None
            self._tried_at = now
            fetch = self._running = _Fetch(now)
        threading.Thread(target=self._fetch, args=(fetch,), name="satchel-keys", daemon=True).start()
        return fetch

    def _fetch(self, fetch: _Fetch) -> None:
        """Fetch the keys; on failure, keep those in the cache."""
        began = perf_counter()
        try:
            keys, failure = self._load(), None
        except (FetchFailed, ValueError) as error:
            keys, failure = (), str(error)
            log(f"the keys of the issuer {self._issuer}: {error}")
        with self._lock:
            if self._running is fetch:  # else it was abandoned
                self._keys, self._failure = keys or self._keys, failure
                self._fetched_at = self._fetched_at if failure else monotonic()
                self._is_slow = perf_counter() - began > _REFRESH_WAIT
                self._running = None
        fetch.is_done.set()

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

    def _load(self) -> tuple[Key, ...]:
        keys = parse_keys(self._read_source(), self._algorithm)
        if not keys:
            raise ValueError(f"there is no key for {self._algorithm}")
        return keys

    def _unavailable(self) -> AuthUnavailable:
        why = self._failure or "it has not answered yet"
        return AuthUnavailable(f"cannot fetch the keys of the issuer {self._issuer}: {why}")


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
