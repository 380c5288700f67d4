"""The head of a request: its address and its headers, read from bytes."""

import re
from functools import lru_cache
from urllib.parse import unquote

import httptools

_SMALL = 32 * 1024  # bytes of a body that will be there in a moment
_SHORT = 64  # bytes of a header that is remembered; many long ones would take much memory, and some are secrets
_MANY = 1024  # of them

_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")


class Head:
    """The headers of a request, by their names in lower case."""

    __slots__ = ("_lines", "last", "repeated")

    def __init__(self, lines: list[tuple[str, str]]) -> None:
        self._lines = lines
        self.last = dict(lines)  # of those sent several times, the last
        self.repeated = _repeated(lines) if len(self.last) != len(lines) else frozenset()

    def all(self, name: str) -> list[str]:
        """Every value that was sent of a header."""
        if name not in self.repeated:
            return [self.last[name]] if name in self.last else []
        return [value for key, value in self._lines if key == name]

    @property
    def is_plain(self) -> bool:
        """Whether they say of the body what nearly all say of theirs: some JSON, neither long nor packed."""
        last = self.last
        return (
            not self.repeated
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
    known = _KNOWN.get
    lines = [known(line) or _read_header(line) for line in raw]
    return Head(lines if host is None else [(name, host if name == "host" else value) for name, value in lines])


def read_address(url: bytes) -> tuple[str, str, str | None]:
    """The path and the query of an address, and the host where it names one.

    Raises:
        ValueError: it is none, or has characters that belong into none.
    """
    return _known_address(url) if len(url) <= _SHORT else _read_address(url)


def _repeated(lines: list[tuple[str, str]]) -> frozenset[str]:
    names = [name for name, _ in lines]
    return frozenset(name for name in names if names.count(name) > 1)


# Headers that came before: most come again and again.
_KNOWN: dict[tuple[bytes, bytes], tuple[str, str]] = {}


def _read_header(line: tuple[bytes, bytes]) -> tuple[str, str]:
    name, value = line
    # White space behind a value is no part of it; the parser takes away what is in front.
    read = name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")
    if len(name) + len(value) <= _SHORT:
        if len(_KNOWN) >= _MANY:
            _KNOWN.clear()
        _KNOWN[line] = read
    return read


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
    # A slash that is written otherwise is not one that parts a path, or proxies and we would read it differently.
    if "%" in path and "%2f" not in path.lower():
        path = unquote(path)
    return path, query, absolute[1].decode("latin-1") if absolute else None


_known_address = lru_cache(maxsize=256)(_read_address)
