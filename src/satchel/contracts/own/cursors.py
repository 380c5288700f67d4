"""Cursors of the tools that list: where the next page begins, opaque to clients."""

from msgspec import UNSET, UnsetType

from satchel.errors import WrongArgument
from satchel.protocol import ProtocolError
from satchel.protocol.pages import decode_cursor, encode_cursor


def cursor(position: int) -> str:
    """The cursor of a page that begins there."""
    return encode_cursor(position)


def position(cursor: str | UnsetType) -> int:
    """Where the page of a cursor begins; at 0 without one.

    Raises:
        WrongArgument: we never gave out such a cursor.
    """
    if cursor is UNSET or not cursor:
        return 0
    try:
        place = decode_cursor(cursor)
    except ProtocolError:
        place = 0
    if place < 1:
        raise WrongArgument("cursor", "format", value=cursor)
    return place
