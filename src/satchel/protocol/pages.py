"""Opaque cursors for the list methods."""

import re
from binascii import Error, a2b_base64, b2a_base64
from typing import TypeVar

from satchel.protocol.messages import invalid_params

Item = TypeVar("Item")

_MARK = b"satchel:"
_PLACE = r"-?[0-9]{1,18}"  # what a database can count


def page(items: list[Item], cursor: str | None, size: int) -> tuple[list[Item], str | None]:
    """The page that a cursor points at, and the cursor of the next, None after the last.

    Raises:
        ProtocolError: we never gave out such a cursor.
    """
    start = 0 if cursor is None else decode_cursor(cursor)
    if cursor is not None and not 0 < start < len(items):
        raise invalid_params("Unknown cursor")
    end = start + size
    return items[start:end], encode_cursor(end) if end < len(items) else None


def refuse_cursor(cursor: str | None) -> None:
    """Refuse any cursor, for a list that is always answered whole."""
    if cursor is not None:
        raise invalid_params("Unknown cursor")


def encode_cursor(position: int) -> str:
    """The cursor of a page that begins there."""
    return encode_text(str(position))


def decode_cursor(cursor: str) -> int:
    """Where the page of a cursor begins.

    Raises:
        ProtocolError: we never gave out such a cursor.
    """
    place = decode_text(cursor)
    if re.fullmatch(_PLACE, place) is None:
        raise invalid_params("Unknown cursor")
    return int(place)


def encode_text(place: str) -> str:
    """The cursor of a page whose place takes more than a number to tell."""
    return b2a_base64(_MARK + place.encode(), newline=False).decode()


def decode_text(cursor: str) -> str:
    """What a cursor tells of its page.

    Raises:
        ProtocolError: it is no cursor of ours.
    """
    try:
        plain = a2b_base64(cursor, strict_mode=True)
        if not plain.startswith(_MARK):
            raise invalid_params("Unknown cursor")
        return plain[len(_MARK) :].decode()
    except (Error, ValueError):
        raise invalid_params("Unknown cursor") from None
