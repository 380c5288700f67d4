"""The keys of an issuer: finding where they are, fetching them, and keeping them while they are good."""

import threading
from collections.abc import Callable
from time import monotonic
from urllib.parse import urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from satchel.auth.fetch import LARGEST, FetchFailed, fetch, is_fetchable
from satchel.auth.jwks import Key, read_keys
from satchel.errors import StoreFailed, StoreUnusable
from satchel.log import log

_FRESH = 600.0  # seconds that keys are used without another look
_BETWEEN_ASKING = 30.0  # seconds between looks for a key that is not there; anybody can make up a name
_BETWEEN_TRIES = 5.0  # seconds before a fetch that failed is tried again


class _Metadata(Struct):
    issuer: str
    jwks_uri: str


class Keys:
    """The keys of one issuer, for any number of threads; only one of them fetches, and nobody waits who need not."""

    def __init__(self, issuer: str, algorithm: str, where: str | None) -> None:
        self._issuer = issuer
        self._algorithm = algorithm
        self._source = _source(issuer, where)
        self._held: tuple[Key, ...] = ()
        self._failure: str | None = None  # of the last try
        self._tried_at = self._fetched_at = self._asked_at = float("-inf")
        self._fetching = threading.Lock()
        if where is not None and _is_file(where):
            self._start(where)

    def named(self, name: str | None) -> tuple[Key, ...]:
        """The keys that a token may be signed with which names its key, or does not; none, where it is unknown.

        Raises:
            StoreFailed: the keys cannot be fetched.
        """
        began = monotonic()
        if began - self._fetched_at > _FRESH:
            self._refresh()
        found = self._look(name)
        if found or self._fetched_at >= began:
            return found
        with self._fetching:
            found = self._look(name)  # somebody may have fetched it while we waited
            if not found and monotonic() - self._asked_at >= _BETWEEN_ASKING:
                self._asked_at = monotonic()
                self._fetch()
                found = self._look(name)
        if not found and self._failure is not None:
            raise self._unreachable()
        return found

    def _start(self, file: str) -> None:
        """Look at keys that are on this machine at once; an issuer may come up later than we do."""
        try:
            self._held = self._load()
        except ValueError as error:
            raise StoreUnusable(f"cannot use the keys in {file}: {error}. Check --oauth-keys.") from error
        self._fetched_at = monotonic()

    def _look(self, name: str | None) -> tuple[Key, ...]:
        held = self._held
        if name is None:
            return held if len(held) == 1 else ()
        return tuple(key for key in held if key.name in (name, None))

    def _refresh(self) -> None:
        # Whoever has keys goes on with them while another fetches.
        if not self._fetching.acquire(blocking=not self._held):
            return
        try:
            is_due = monotonic() - self._fetched_at > _FRESH
            pause = _BETWEEN_ASKING if self._held else _BETWEEN_TRIES
            if is_due and monotonic() - self._tried_at >= pause:
                self._fetch()
        finally:
            self._fetching.release()
        if not self._held and self._failure is not None:
            raise self._unreachable()

    def _fetch(self) -> None:
        """Fetch the keys, or keep those that we have."""
        self._tried_at = monotonic()
        try:
            self._held = self._load()
        except (FetchFailed, ValueError) as error:
            self._failure = str(error)
            log(f"the keys of the issuer {self._issuer}: {error}")
            return
        self._failure = None
        self._fetched_at = monotonic()

    def _load(self) -> tuple[Key, ...]:
        keys = read_keys(self._source(), self._algorithm)
        if not keys:
            raise ValueError(f"there is no key for {self._algorithm}")
        return keys

    def _unreachable(self) -> StoreFailed:
        return StoreFailed(f"cannot fetch the keys of the issuer {self._issuer}: {self._failure}")


def _source(issuer: str, where: str | None) -> Callable[[], bytes]:
    if where is not None and _is_file(where):
        return lambda: _read(where)
    url = issuer if where is None else where
    if not is_fetchable(url):
        flag = "--oauth-issuer" if where is None else "--oauth-keys"
        raise StoreUnusable(f"{url} must start with https:// (http:// only on this machine). Check {flag}.")
    return (lambda: fetch(url)) if where is not None else (lambda: fetch(_discover(issuer)))


def _is_file(where: str) -> bool:
    return "://" not in where


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            document = file.read(LARGEST + 1)
    except OSError as error:
        raise ValueError(error.strerror) from error
    if len(document) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST} bytes")
    return document


def _discover(issuer: str) -> str:
    """Where an issuer says that its keys are: RFC 8414, then OpenID Connect Discovery."""
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
    """Where the metadata of an issuer may be."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    first = urlunsplit((parts.scheme, parts.netloc, f"/.well-known/oauth-authorization-server{path}", "", ""))
    return first, urlunsplit((parts.scheme, parts.netloc, f"{path}/.well-known/openid-configuration", "", ""))
