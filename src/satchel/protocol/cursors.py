"""Opaque cursors of paged lists: the key of the last entry of a page, in base64 with a checksum.

Models copy cursors character by character; the checksum detects a wrong copy, which could point to another page.
"""

import re
from binascii import Error, a2b_base64, b2a_base64, crc_hqx
from typing import TypeVar

from satchel.protocol.messages import ProtocolError, invalid_params

Item = TypeVar("Item")

NUMBER = "([1-9][0-9]{0,17})"  # a group for the form of a cursor: a positive number that fits into 64 bits

_POSITION = f"at {NUMBER}"


def encode_cursor(*key: str | int) -> str:
    """Return the cursor of the page that follows an entry with this key."""
    plain = " ".join(map(str, key))
    checksum = f"{crc_hqx(plain.encode(), 0):04x}"
    return b2a_base64(f"{plain} {checksum}".encode(), newline=False).decode()


def decode_cursor(cursor: str, form: str) -> tuple[str, ...]:
    """Return the key in a cursor: the groups matched by `form`, a regular expression.

    Raises:
        ProtocolError: this server issues no such cursor for a list with keys of this form.
    """
    try:
        plain = a2b_base64(cursor, strict_mode=True).decode().rpartition(" ")[0]
    except (Error, ValueError):
        raise _unknown_cursor() from None
    found = re.fullmatch(form, plain)
    if found is None or encode_cursor(plain) != cursor:
        raise _unknown_cursor()
    return tuple(part for part in found.groups() if part is not None)


def page(items: list[Item], cursor: str | None, size: int) -> tuple[list[Item], str | None]:
    """Return the page of a list that a cursor points to, and the cursor of the next page, if there is one.

    Raises:
        ProtocolError: this server issues no such cursor, or the list has become shorter.
    """
    start = 0 if cursor is None else int(decode_cursor(cursor, _POSITION)[0])
    if start and start >= len(items):
        raise _unknown_cursor()
    end = start + size
    return items[start:end], encode_cursor("at", end) if end < len(items) else None


def refuse_cursor(cursor: str | None) -> None:
    """Refuse any cursor, because the list has one page.

    Raises:
        ProtocolError: there is a cursor.
    """
    if cursor is not None:
        raise _unknown_cursor()


def _unknown_cursor() -> ProtocolError:
    return invalid_params("Unknown cursor")
