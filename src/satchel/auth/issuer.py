"""An OAuth issuer: its metadata and its public keys, fetched over https and cached."""

import asyncio
import threading
from collections.abc import Callable
from concurrent import futures
from http.client import HTTPException
from pathlib import Path
from time import monotonic
from typing import IO, Any, Generic, TypeVar
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

import jwt
import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from msgspec import Struct

from satchel.auth.callers import is_loopback
from satchel.errors import AuthUnavailable, AuthUnusable
from satchel.log import log

_MAX_AGE = 300.0  # seconds after which metadata and keys are fetched again
_PAUSE = 10.0  # seconds between fetches, after a failure or for unknown keys: a forged token can name any key
_WAIT = 5.0  # seconds that a request waits for a fetch
_ABANDONED = 60.0  # seconds after which a hanging fetch no longer prevents the next one
_FETCH_TIMEOUT = 5.0  # seconds
_MAX_DOCUMENT = 1024 * 1024  # bytes

# Private members are excluded, because an issuer may publish them by mistake.
_PUBLIC_MEMBERS = ("kty", "crv", "n", "e", "x", "y")
_MIN_RSA_BITS = 2048  # RFC 7518, 3.3
_CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}

# Asymmetric algorithms only. With HS256 the public key would be the secret, and `none` has no signature at all.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", *_CURVES, "EdDSA")

Value = TypeVar("Value")


class FetchFailed(Exception):
    """A document cannot be fetched or used; the message has its URL and the reason."""


class Metadata(Struct):
    """The members of an issuer's metadata that Satchel uses."""

    issuer: str
    jwks_uri: str = ""
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    code_challenge_methods_supported: list[str] = []


class Key(Struct, frozen=True):
    """One public key and its key id."""

    id: str | None  # None matches any key id
    public: Any


class Cached(Generic[Value]):
    """A value that a thread of its own fetches, once at a time; the old value serves until a fetch succeeds.

    Thread-safe.
    """

    def __init__(self, name: str, load: Callable[[], Value]) -> None:
        self._name = name
        self._load = load
        self._lock = threading.Lock()  # not held during a fetch
        self._fetch: futures.Future[None] | None = None  # the running fetch, or the last one
        self._changed_at = 0.0  # the time of its beginning, or of its end
        self.value: Value | None = None
        self.failure = ""  # why the last finished fetch failed

    @property
    def is_running(self) -> bool:
        """Whether a fetch is running."""
        return self._fetch is not None and not self._fetch.done()

    def refresh(self, max_age: float = _MAX_AGE) -> bool:
        """Start a fetch if the last one ended more than `max_age` seconds ago; return whether this call started one."""
        with self._lock:
            now = monotonic()
            pause = _ABANDONED if self.is_running else _PAUSE if self.failure else max_age
            if self._fetch is not None and now - self._changed_at < pause:
                return False
            self._changed_at = now
            fetch = self._fetch = futures.Future()
        # A daemon, so that a fetch that hangs does not delay the end of the process.
        threading.Thread(target=self._run, args=(fetch,), name="satchel-issuer", daemon=True).start()
        return True

    def wait(self, timeout: float) -> None:
        """Wait for the running fetch, in a thread."""
        if self._fetch is not None:
            futures.wait([self._fetch], timeout)

    async def wait_async(self, timeout: float) -> None:
        """Wait for the running fetch, in an event loop."""
        if self._fetch is not None:
            await asyncio.wait([asyncio.wrap_future(self._fetch)], timeout=timeout)

    def _run(self, fetch: "futures.Future[None]") -> None:
        value, failure = None, ""
        try:
            value = self._load()
        except FetchFailed as error:
            failure = str(error)
            log(f"cannot fetch the {self._name}: {failure}")
        with self._lock:
            if self._fetch is fetch:  # else it was abandoned
                self.value = self.value if value is None else value
                self.failure, self._changed_at = failure, monotonic()
        fetch.set_result(None)


class Issuer:
    """One trusted issuer: its keys and its metadata. Thread-safe."""

    def __init__(self, url: str, algorithm: str, keys: str | None) -> None:
        """Read the keys from a file or a URL, by default from the URL in the metadata of the issuer.

        Raises:
            AuthUnusable: the settings cannot work.
        """
        self.url = url
        self._algorithm = algorithm
        self._location = keys
        self._metadata = Cached(f"metadata of the issuer {url}", lambda: _discover(url))
        self.keys = Cached(f"keys of the issuer {url}", self._load_keys)
        if keys is not None and _is_file(keys):
            try:
                self._load_keys()  # so that a mistake is reported at the start
            except FetchFailed as error:
                raise AuthUnusable(f"cannot use the keys in {keys}: {error}. Check --oauth-keys.") from error
        elif not is_fetchable(keys or url):
            flag = "--oauth-issuer" if keys is None else "--oauth-keys"
            raise AuthUnusable(f"{keys or url} must start with https:// (http:// only on this machine). Check {flag}.")

    def find_keys(self, key_id: str | None) -> tuple[Key, ...]:
        """Return the keys that may have signed a token: those with its key id, or all if it has none.

        A known key never waits for the issuer. An unknown one waits only for a fetch that this call
        started, or for the very first fetch, so that tokens with invented key ids do not occupy all threads.

        Raises:
            AuthUnavailable: the key is unknown, and the keys cannot be fetched or are being fetched.
        """
        has_started = self.keys.refresh()
        found = self._select(key_id)
        if found:
            return found
        has_started = has_started or self.keys.refresh(_PAUSE)
        if has_started or (self.keys.value is None and not self.keys.failure):
            self.keys.wait(_WAIT)
        found = self._select(key_id)
        if not found and (self.keys.failure or self.keys.is_running):
            raise AuthUnavailable(f"cannot fetch the keys of the issuer {self.url}: {_why(self.keys)}")
        return found

    async def read_metadata(self) -> Metadata:
        """Return the metadata of the issuer without occupying a thread.

        Raises:
            AuthUnavailable: the metadata is not cached, and cannot be fetched.
        """
        self._metadata.refresh()
        if self._metadata.value is None:
            await self._metadata.wait_async(_WAIT)
        if self._metadata.value is None:
            raise AuthUnavailable(_why(self._metadata))
        return self._metadata.value

    def _select(self, key_id: str | None) -> tuple[Key, ...]:
        keys = self.keys.value or ()
        if key_id is None:
            return keys if len(keys) == 1 else ()
        return tuple(key for key in keys if key.id in (key_id, None))

    def _load_keys(self) -> tuple[Key, ...]:
        try:
            is_file = self._location is not None and _is_file(self._location)
            document = Path(self._location or "").read_bytes() if is_file else fetch(self._location or self._find_url())
        except OSError as error:
            raise FetchFailed(error.strerror) from error
        keys = _parse_keys(document, self._algorithm)
        if not keys:
            raise FetchFailed(f"there is no key for {self._algorithm}")
        return keys

    def _find_url(self) -> str:
        self._metadata.refresh()
        self._metadata.wait(_ABANDONED)
        if self._metadata.value is None:
            raise FetchFailed(_why(self._metadata))
        return self._metadata.value.jwks_uri


def _why(cached: Cached[Any]) -> str:
    return cached.failure or "it has not answered yet"


# Fetching


def is_fetchable(url: str) -> bool:
    """Return whether a URL is https, or http on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))
    except ValueError:
        return False


def fetch(url: str, timeout: float = _FETCH_TIMEOUT, form: dict[str, str] | None = None) -> bytes:
    """Fetch the document at a URL; with a form, post it.

    Raises:
        FetchFailed: the URL is not allowed, or the document is missing, too large or too slow.
    """
    if not is_fetchable(url):
        raise FetchFailed(f"'{url}' is neither https nor on this machine")
    deadline = monotonic() + timeout
    body = None if form is None else urlencode(form).encode()
    request = Request(url, body, {"Accept": "application/json", "User-Agent": "satchel"})  # noqa: S310 - see above
    try:
        with _make_opener(url).open(request, timeout=timeout) as response:
            document = bytearray()
            while piece := response.read1(64 * 1024):
                document += piece
                if len(document) > _MAX_DOCUMENT:
                    raise FetchFailed(f"{url} is larger than {_MAX_DOCUMENT} bytes")
                if monotonic() > deadline:  # the timeout of open() applies to each read
                    raise FetchFailed(f"{url} takes longer than {timeout:g} seconds")
            return bytes(document)
    except HTTPError as error:
        error.close()
        raise FetchFailed(f"{url}: status {error.code}") from None
    except (OSError, HTTPException, ValueError) as error:  # URLError is an OSError
        raise FetchFailed(f"{url}: {error}") from error


class _SameSchemeRedirects(HTTPRedirectHandler):
    max_redirections = 3

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        target = urljoin(req.full_url, newurl)
        if not is_fetchable(target) or urlsplit(target).scheme != urlsplit(req.full_url).scheme:
            fp.close()
            raise FetchFailed(f"{req.full_url} redirects to a URL that is not allowed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _make_opener(url: str) -> OpenerDirector:
    # Use no proxy for this machine, and those of the environment otherwise.
    proxies = [ProxyHandler({})] if is_loopback(urlsplit(url).hostname or "") else []
    return build_opener(_SameSchemeRedirects, *proxies)


def _is_file(location: str) -> bool:
    return "://" not in location


def _discover(issuer: str) -> Metadata:
    """Fetch the metadata of an issuer by RFC 8414, else by OpenID Connect Discovery."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    paths = (f"/.well-known/oauth-authorization-server{path}", f"{path}/.well-known/openid-configuration")
    problems: list[str] = []
    for url in (urlunsplit((parts.scheme, parts.netloc, path, "", "")) for path in paths):
        try:
            metadata = msgspec.json.decode(fetch(url), type=Metadata)
        except FetchFailed as error:
            problems.append(str(error))
        except (msgspec.DecodeError, RecursionError):
            problems.append(f"{url} is not the metadata of an issuer")
        else:
            if metadata.issuer == issuer:
                return metadata
            problems.append(f"{url} describes another issuer")
    raise FetchFailed("; ".join(problems))


# Keys


class _Jwks(Struct):
    keys: list[Any]


def _parse_keys(document: bytes, algorithm: str) -> tuple[Key, ...]:
    """Parse a JWK set or a PEM text, and keep the keys that fit an algorithm."""
    if document.lstrip().startswith(b"-----BEGIN"):
        try:
            keys: list[Key | None] = [Key(None, load_pem_public_key(document))]
        except (ValueError, UnsupportedAlgorithm) as error:
            raise FetchFailed("not a public key in PEM") from error
    else:
        try:
            published = msgspec.json.decode(document, type=_Jwks).keys
        except (msgspec.DecodeError, RecursionError) as error:
            raise FetchFailed("neither a JWK set nor a public key in PEM") from error
        keys = [_parse_jwk(one, algorithm) for one in published if isinstance(one, dict)]
    return tuple(key for key in keys if key is not None and _fits(key.public, algorithm))


def _parse_jwk(jwk: dict[str, Any], algorithm: str) -> Key | None:
    operations = jwk.get("key_ops")
    is_for_signatures = operations is None or (isinstance(operations, list) and "verify" in operations)
    if not is_for_signatures or jwk.get("use") not in (None, "sig") or jwk.get("alg") not in (None, algorithm):
        return None
    public = {name: jwk[name] for name in _PUBLIC_MEMBERS if isinstance(jwk.get(name), str)}
    try:
        return Key(jwk.get("kid"), jwt.PyJWK(public, algorithm).key)
    except (jwt.PyJWTError, ValueError, UnsupportedAlgorithm):
        return None


def _fits(public: object, algorithm: str) -> bool:
    if algorithm in _CURVES:
        return isinstance(public, EllipticCurvePublicKey) and public.curve.name == _CURVES[algorithm]
    if algorithm == "EdDSA":
        return isinstance(public, Ed25519PublicKey | Ed448PublicKey)
    return isinstance(public, RSAPublicKey) and public.key_size >= _MIN_RSA_BITS
