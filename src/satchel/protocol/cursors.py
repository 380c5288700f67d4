"""Opaque cursors of paged lists: the key of the last entry of a page, in base64 with a check sum.

Models copy cursors letter by letter; the check sum keeps a wrong copy from leading to some other page.
"""

import re
from binascii import Error, a2b_base64, b2a_base64, crc_hqx
from typing import TypeVar

from satchel.protocol.messages import ProtocolError, invalid_params

Item = TypeVar("Item")

NUMBER = "([1-9][0-9]{0,17})"  # a positive number that fits into 64 bits, as a group of a cursor's form

_POSITION = f"at {NUMBER}"


def encode_cursor(*key: str | int) -> str:
    """The cursor of the page behind a key."""
    plain = " ".join(map(str, key))
    check_sum = f"{crc_hqx(plain.encode(), 0):04x}"
    return b2a_base64(f"{plain} {check_sum}".encode(), newline=False).decode()


def decode_cursor(cursor: str, form: str) -> tuple[str, ...]:
    """The key that a cursor holds: the groups that matched of a form, which is a regular expression.

    Raises:
        ProtocolError: this server never issued such a cursor for such a list.
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
    """The page of a list behind a cursor, and the cursor of the next page; None after the last.

    Raises:
        ProtocolError: this server never issued such a cursor, or the list has become shorter.
    """
    start = 0 if cursor is None else int(decode_cursor(cursor, _POSITION)[0])
    if start and start >= len(items):
        raise _unknown_cursor()
    end = start + size
    return items[start:end], encode_cursor("at", end) if end < len(items) else None


def refuse_cursor(cursor: str | None) -> None:
    """Refuse any cursor, for a list that is always answered whole.

    Raises:
        ProtocolError: there is one.
    """
    if cursor is not None:
        raise _unknown_cursor()


def _unknown_cursor() -> ProtocolError:
    return invalid_params("Unknown cursor")
