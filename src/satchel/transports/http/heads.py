"""The head of a request: its address and its headers, read from bytes."""

import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote

import httptools

_SMALL = 32 * 1024  # bytes of a body that will be there in a moment
_SHORT = 64  # bytes of a header that is remembered; many long ones would take much memory, and some are secrets

_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")

Headers = Sequence[tuple[str, str]]  # names in lower case


class Head(list[tuple[str, str]]):
    """The headers of a request, which are looked at many times."""

    def __init__(self, headers: Headers) -> None:
        super().__init__(headers)
        self.last = dict(headers)  # by name; of those sent several times, the last
        self.has_repeats = len(self.last) != len(self)

    @property
    def is_plain(self) -> bool:
        """Whether they say of the body what nearly all say of theirs: some JSON, neither long nor packed."""
        last = self.last
        return (
            not self.has_repeats
            and last.get("content-type") == "application/json"
            and "content-encoding" not in last
            and "expect" not in last
            and _is_short(last.get("content-length", ""))
        )


def _is_short(length: str) -> bool:
    """Whether a body of a length will be there in a moment."""
    return length.isdecimal() and len(length) <= 5 and int(length) <= _SMALL


def read_head(raw: list[tuple[bytes, bytes]], host: str | None) -> Head:
    """Headers as they came. If the address says which host is meant, that counts, whatever the header says."""
    headers = [
        _known_header(one) if len(one[0]) + len(one[1]) <= _SHORT else _read_header(one)  # most are known
        for one in raw
    ]
    return Head(headers if host is None else [(name, host if name == "host" else value) for name, value in headers])


def read_address(url: bytes) -> tuple[str, str, str | None]:
    """The path and the query of an address, and the host where it names one.

    Raises:
        ValueError: it is none, or has characters that belong into none.
    """
    return _known_address(url) if len(url) <= _SHORT else _read_address(url)


def value(headers: Headers, name: str) -> str | None:
    """The value of a header; of one that was sent several times, the last."""
    found = values(headers, name)
    return found[-1] if found else None


def values(headers: Headers, name: str) -> list[str]:
    """Every value that was sent of a header."""
    if isinstance(headers, Head) and not headers.has_repeats:
        found = headers.last.get(name)
        return [] if found is None else [found]
    return [content for key, content in headers if key == name]


def _read_header(header: tuple[bytes, bytes]) -> tuple[str, str]:
    # White space behind a value is no part of it; the parser takes away what is in front.
    return header[0].decode("latin-1").lower(), header[1].decode("latin-1").strip(" \t")


def _read_address(url: bytes) -> tuple[str, str, str | None]:
    absolute = _ABSOLUTE.match(url)
    try:
        parsed = httptools.parse_url(url)
    except httptools.HttpParserInvalidURLError as error:
        raise ValueError("no address") from error
    if parsed.path is None:
        raise ValueError("an address without a path")
    path = parsed.path.decode("ascii")
    query = (parsed.query or b"").decode("latin-1")
    return unquote(path) if "%" in path else path, query, absolute[1].decode("latin-1") if absolute else None


_known_header = lru_cache(maxsize=1024)(_read_header)
_known_address = lru_cache(maxsize=256)(_read_address)
