"""Fetches small documents over https, or over http from this machine, within a time and a size limit."""

from http.client import HTTPException
from ipaddress import ip_address
from time import monotonic
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

FETCH_TIMEOUT = 5.0  # seconds
MAX_DOCUMENT = 1024 * 1024  # bytes


class FetchFailed(Exception):
    """A document cannot be fetched; the message says which and why."""


def is_fetchable(url: str) -> bool:
    """Whether an address is https, or http on this machine."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and _is_local(url)))
    except ValueError:
        return False


def fetch(url: str, timeout: float = FETCH_TIMEOUT, form: dict[str, str] | None = None) -> bytes:
    """Fetch the document at an address; with a form, what the server answers to it.

    Raises:
        FetchFailed: the address is not allowed, or the document is not there, too large or too slow.
    """
    if not is_fetchable(url):
        raise FetchFailed(f"{url} is neither https nor on this machine")
    deadline = monotonic() + timeout
    body = None if form is None else urlencode(form).encode()
    request = Request(url, body, {"Accept": "application/json", "User-Agent": "satchel"})  # noqa: S310 - see above
    try:
        with _make_opener(url).open(request, timeout=timeout) as response:
            document = bytearray()
            while piece := response.read1(64 * 1024):
                document += piece
                if len(document) > MAX_DOCUMENT:
                    raise FetchFailed(f"{url} is larger than {MAX_DOCUMENT} bytes")
                if monotonic() > deadline:  # open() applies its timeout to each read
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
            raise FetchFailed(f"{req.full_url} redirects to an address that is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _make_opener(url: str) -> OpenerDirector:
    proxies = [ProxyHandler({})] if _is_local(url) else []  # no proxy for this machine; else those of the environment
    return build_opener(_SameSchemeRedirects, *proxies)


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
