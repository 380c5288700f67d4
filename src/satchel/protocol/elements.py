"""Counts the elements of a JSON text before it is decoded: a few bytes of text become a hundred bytes of objects."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

MAX_ELEMENTS = 200_000  # values, objects and lists of one message; a hundred messages of a hundred items have fewer

_PIECE = 64 * 1024  # bytes that are looked at in one step, so that other threads run in between
_MARKS = b",[{"
_INSIDE = rb'(?:[^"\\]++|\\.)*+'  # of a string, up to its end
_STRING = b'"' + _INSIDE + b'"'
_WHOLE = b'(?:[^"]++|' + _STRING + b")*+"  # as many whole strings as there are

Bytes = bytes | bytearray


def has_too_many_elements(raw: Bytes) -> bool:
    """Whether a JSON text has more than MAX_ELEMENTS elements; it need not be valid."""
    # Every element but the first follows a comma or opens with a bracket. Most texts have too few such bytes, wherever.
    if len(raw) <= MAX_ELEMENTS or _count(raw) <= MAX_ELEMENTS:
        return False
    found = place = 0
    while place < len(raw) and found <= MAX_ELEMENTS:
        whole = _compile(_WHOLE).match(raw, place, place + _PIECE)
        assert whole is not None  # it matches nothing, too
        found += _count(_compile(_STRING).sub(b"", whole.group()))
        place = whole.end()
        if raw[place : place + 1] == b'"':  # a string that goes beyond this piece
            place = _skip_string(raw, place + 1)
    return found > MAX_ELEMENTS


@cache
def _compile(pattern: bytes) -> "re.Pattern[bytes]":
    import re  # 1 ms of a start with the patterns, and hardly any message needs it

    return re.compile(pattern, re.DOTALL)


def _count(raw: Bytes) -> int:
    """How many marks there are: what is gone without them, which takes half the time of counting each of the three."""
    pieces = (raw[place : place + _PIECE] for place in range(0, len(raw), _PIECE))
    return len(raw) - sum(len(piece.translate(None, _MARKS)) for piece in pieces)


def has_more_brackets(raw: Bytes, limit: int) -> bool:
    """Whether a JSON text has more opening brackets than a limit, inside of strings or outside.

    A search for the next one skips a long text many times as fast as counting does.
    """
    found = 0
    for bracket in (b"[", b"{"):
        place = raw.find(bracket)
        while place >= 0 and found <= limit:
            found += 1
            place = raw.find(bracket, place + 1)
    return found > limit


def _skip_string(raw: Bytes, place: int) -> int:
    """Where a string ends that begins at a place: behind its quote, or at the end of a text that breaks off."""
    while True:
        inside = _compile(_INSIDE).match(raw, place, place + _PIECE)
        assert inside is not None
        if inside.end() == place:
            return place + 1 if raw[place : place + 1] == b'"' else len(raw)
        place = inside.end()
