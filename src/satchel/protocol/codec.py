"""JSON of messages: strict decoding, compact encoding on one line."""

from typing import Any

import msgspec

from satchel.protocol.elements import MAX_ELEMENTS, Bytes, has_more_brackets, has_too_many_elements

MAX_MESSAGE_BYTES = 32 * 1024 * 1024  # a text of 4 MiB takes up to 24 MiB with escapes, and there may be several
MAX_DEPTH = 64

_decode_strictly = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode

# Allowed inside JSON strings, but line ends for some readers (Node's readline, Python's splitlines).
_LINE_ENDS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))


class BadJson(ValueError):
    """The bytes are not JSON, or nested too deep; `value` is the decoded value where there is one."""

    def __init__(self, value: object = None) -> None:
        super().__init__("bad JSON")
        self.value = value


class TooManyElements(BadJson):
    """The message has more elements than are decoded."""

    def __str__(self) -> str:
        return f"a message has at most {MAX_ELEMENTS} values, objects and lists"


def decode(raw: Bytes) -> Any:
    """Decode one message.

    Raises:
        TooManyElements: it has more than MAX_ELEMENTS; nothing of it was decoded.
        BadJson: not JSON, not UTF-8, a NaN, or nested deeper than MAX_DEPTH.
    """
    if has_too_many_elements(raw):
        raise TooManyElements
    try:
        value = _decode_strictly(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _decode_tolerantly(raw)
    except RecursionError:
        raise BadJson from None
    # Only a message with many brackets is walked to find its depth.
    if has_more_brackets(raw, MAX_DEPTH) and _is_deeper_than(MAX_DEPTH, value):
        raise BadJson(value)
    return value


def encode(value: object) -> bytes:
    """Encode one message as a single line, without the newline."""
    try:
        raw = _encode(value)
    except UnicodeEncodeError:
        # An error message quotes a lone surrogate that the client sent.
        raw = _encode(_without_surrogates(value))
    if raw.isascii():
        return raw
    for plain, escaped in _LINE_ENDS:
        if plain in raw:
            raw = raw.replace(plain, escaped)
    return raw


def has_surrogates(text: str) -> bool:
    """Whether a text contains a lone surrogate, which UTF-8 cannot encode."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _decode_tolerantly(raw: Bytes) -> Any:
    # msgspec rejects an escaped lone surrogate and 1e999, which JSON's grammar allows. The value is decoded anyway, so
    # that the error response can carry the id of the request.
    def reject_constant(constant: str) -> None:
        raise ValueError(constant)

    def parse_integer(digits: str) -> int:
        # Python parses at most 4,300 digits. A longer number becomes another that is also out of every bound.
        return int(digits) if len(digits) < 4000 else int(f"{digits[:1].strip('0123456789')}1{'0' * 400}")

    try:
        import json  # 1.5 ms of a start, and only such messages need it

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


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if has_surrogates(value) else value
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value
