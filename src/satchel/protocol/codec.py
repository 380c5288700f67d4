"""JSON on the wire: strict on the way in, compact and one line on the way out. Knows no method."""

import json
from typing import Any

import msgspec

MAX_MESSAGE_BYTES = 32 * 1024 * 1024  # 4 MiB of text can be 12 MiB of escapes, and more than one text
MAX_DEPTH = 64

_read_strictly = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode

# Legal inside JSON strings, but line ends to some readers (Node's readline, Python's splitlines).
_LINE_ENDS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))


class BadJson(ValueError):
    """The bytes are no JSON that we read; `value` is what was understood in spite of that, if anything."""

    def __init__(self, value: object = None) -> None:
        super().__init__("bad JSON")
        self.value = value


def decode(raw: bytes) -> Any:
    """Read one message.

    Raises:
        BadJson: not JSON, not UTF-8, a NaN, or nested deeper than MAX_DEPTH.
    """
    try:
        value = _read_strictly(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _read_tolerantly(raw)
    except RecursionError:
        raise BadJson from None
    # Counting brackets is fast and settles it for all but a few messages, mostly texts full of code.
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _is_deeper_than(MAX_DEPTH, value):
        raise BadJson(value)
    return value


def encode(value: object) -> bytes:
    """Write one message as a single line, without the newline."""
    try:
        raw = _write(value)
    except UnicodeEncodeError:
        # A lone surrogate of the client's, echoed in an error message.
        raw = _write(_without_surrogates(value))
    if raw.isascii():
        return raw
    for plain, escaped in _LINE_ENDS:
        if plain in raw:
            raw = raw.replace(plain, escaped)
    return raw


def has_surrogates(text: str) -> bool:
    """Whether a text has half a character in it, which no UTF-8 can carry."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _read_tolerantly(raw: bytes) -> Any:
    # The strict reader fails on an escaped lone surrogate and on 1e999, which are JSON by the grammar. Reading
    # on keeps the id, so that the refusal reaches whoever asked.
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    def whole(digits: str) -> int:
        # Python reads no more than 4,300 digits; beyond 2^53 all that counts is that it is far too much.
        return int(digits) if len(digits) < 4000 else int(f"{digits[:1].strip('0123456789')}1{'0' * 400}")

    try:
        return json.loads(raw.decode(), parse_constant=refuse, parse_int=whole)
    except (ValueError, RecursionError):
        raise BadJson from None


def _is_deeper_than(limit: int, value: object) -> bool:
    level = [value]
    for _ in range(limit + 1):
        containers = [item for item in level if isinstance(item, dict | list)]
        if not containers:
            return False
        level = [child for box in containers for child in (box.values() if isinstance(box, dict) else box)]
    return True


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if has_surrogates(value) else value
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value
