"""Fetching small documents: over https, or over plain http from this machine; nothing large, and not for long."""

from http.client import HTTPException
from ipaddress import ip_address
from time import monotonic
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

_PATIENCE = 5.0  # seconds
LARGEST = 1024 * 1024  # bytes


class FetchFailed(Exception):
    """A document cannot be had; the message says which and why."""


def is_fetchable(url: str) -> bool:
    """Whether an address is https, or http on this machine."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and _is_local(url)))
    except ValueError:
        return False


def fetch(url: str) -> bytes:
    """The document at an address.

    Raises:
        FetchFailed: it cannot be had, is too large, or is nowhere we look.
    """
    if not is_fetchable(url):
        raise FetchFailed(f"{url} is neither https nor on this machine")
    deadline = monotonic() + _PATIENCE
    request = Request(url, headers={"Accept": "application/json", "User-Agent": "satchel"})  # noqa: S310 - see above
    try:
        with _opener(url).open(request, timeout=_PATIENCE) as response:
            read = bytearray()
            while piece := response.read1(64 * 1024):
                read += piece
                if len(read) > LARGEST:
                    raise FetchFailed(f"{url} is larger than {LARGEST} bytes")
                if monotonic() > deadline:  # the timeout is that of one piece
                    raise FetchFailed(f"{url} takes longer than {_PATIENCE:g} seconds")
            return bytes(read)
    except HTTPError as error:
        error.close()
        raise FetchFailed(f"{url}: status {error.code}") from None
    except (OSError, HTTPException, ValueError) as error:  # URLError is an OSError
        raise FetchFailed(f"{url}: {error}") from error


class _SameScheme(HTTPRedirectHandler):
    max_redirections = 3

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        target = urljoin(req.full_url, newurl)
        if not is_fetchable(target) or urlsplit(target).scheme != urlsplit(req.full_url).scheme:
            fp.close()
            raise FetchFailed(f"{req.full_url} leads somewhere that is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(url: str) -> OpenerDirector:
    proxies = [ProxyHandler({})] if _is_local(url) else []  # none for this machine; else those of the environment
    return build_opener(_SameScheme, *proxies)


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
