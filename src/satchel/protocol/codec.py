"""JSON of messages: strict decoding within bounds, compact encoding on one line."""

import json
import re
from typing import Any

import msgspec

MAX_MESSAGE_BYTES = 32 * 1024 * 1024  # a text of 4 MiB takes up to 24 MiB with escapes, and there may be several
MAX_DEPTH = 64
MAX_ELEMENTS = 200_000  # values, objects and lists of one message; a hundred messages of a hundred items have fewer

Bytes = bytes | bytearray

_decode_strictly = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode

# Matches up to the next comma or opening bracket outside of strings; other threads can run between the steps.
_STEP = re.compile(rb'(?:[^",\[{]++|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)){0,9999}+([,\[{])?', re.DOTALL)

# JSON strings may contain these, but some readers end a line at them (Node's readline, Python's splitlines).
_LINE_ENDS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))


class BadJson(ValueError):
    """The bytes are not JSON, or are nested too deep; `value` is the part that could be decoded."""

    def __init__(self, value: object = None) -> None:
        super().__init__("bad JSON")
        self.value = value


class TooManyElements(BadJson):
    """The message has more than MAX_ELEMENTS elements, and was not decoded."""

    def __str__(self) -> str:
        return f"a message has at most {MAX_ELEMENTS} values, objects and lists"


def decode(raw: Bytes) -> Any:
    """Decode one message.

    Raises:
        TooManyElements: the message has more than MAX_ELEMENTS.
        BadJson: the message is not JSON or not UTF-8, contains NaN, or is nested deeper than MAX_DEPTH.
    """
    brackets = raw.count(b"[") + raw.count(b"{")
    # A few bytes of text become a hundred bytes of objects, so elements are counted first. Most texts have few marks.
    if len(raw) > MAX_ELEMENTS and brackets + raw.count(b",") > MAX_ELEMENTS and _has_too_many_elements(raw):
        raise TooManyElements
    try:
        value = _decode_strictly(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _decode_tolerantly(raw)
    except RecursionError:
        raise BadJson from None
    if brackets > MAX_DEPTH and _is_deeper_than(MAX_DEPTH, value):
        raise BadJson(value)
    return value


def encode(value: object) -> bytes:
    """Encode one message as a single line, without the newline."""
    try:
        raw = _encode(value)
    except UnicodeEncodeError:
        # An error message may quote a lone surrogate from the client.
        raw = _encode(_replace_surrogates(value))
    if raw.isascii():
        return raw
    for plain, escaped in _LINE_ENDS:
        if plain in raw:
            raw = raw.replace(plain, escaped)
    return raw


def has_surrogates(text: str) -> bool:
    """Return whether a text contains a lone surrogate, which UTF-8 cannot encode."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _has_too_many_elements(raw: Bytes) -> bool:
    """Return whether a text has too many elements, estimated by its commas and opening brackets."""
    found = place = 0
    while found <= MAX_ELEMENTS and place < len(raw):
        step = _STEP.match(raw, place)
        assert step is not None  # it also matches the empty text
        found += step.lastindex or 0
        place = step.end()
    return found > MAX_ELEMENTS


def _decode_tolerantly(raw: Bytes) -> Any:
    # msgspec rejects an escaped lone surrogate and 1e999, which JSON's grammar allows. The value is decoded anyway, so
    # that the error response can carry the id of the request.
    def reject_constant(constant: str) -> None:
        raise ValueError(constant)

    def parse_integer(digits: str) -> int:
        # Python parses at most 4,300 digits. A longer number becomes one that is also beyond every bound.
        return int(digits) if len(digits) < 4000 else int(f"{digits[:1].strip('0123456789')}1{'0' * 400}")

    try:
        return json.loads(raw.decode(), parse_constant=reject_constant, parse_int=parse_integer)
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


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if has_surrogates(value) else value
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace_surrogates(item) for item in value]
    return value
