"""Cursors of the tools that list: by what the last of a page is sorted, opaque to clients.

Whatever comes and goes between two pages, the next begins behind that place. A cursor says which list it is of, and has
a check sum: models copy it letter by letter, and a wrong one must not lead to a page that nobody asked for.
"""

import re
from binascii import crc_hqx
from typing import Literal

from msgspec import UNSET, UnsetType

from satchel.errors import WrongArgument
from satchel.protocol import ProtocolError
from satchel.protocol.pages import decode_text, encode_text

List = Literal["p", "l", "r", "o", "d", "a"]  # prompts, libraries, resources; tasks that are open, done, all

_NUMBER = "([1-9][0-9]{0,17})"  # what a database can count
_MOMENT = "([0-9TZ:.-]{1,40})"
_TASK = f"{_MOMENT} {_NUMBER} ([0-4]) ([0-9-]*)"
_FORMS: dict[List, str] = {
    "p": f"(p) {_MOMENT} {_NUMBER}",
    "l": r"(l) ([\w:]+)",
    "r": f"(r) {_NUMBER}",
    "o": f"(o) {_TASK}",
    "d": f"(d) {_TASK}",
    "a": f"(a) {_TASK}",
}


def cursor(of: List, *key: str | int) -> str:
    """The cursor of the page behind a key of a list."""
    plain = " ".join(map(str, (of, *key)))
    return encode_text(f"{plain} {_check_sum(plain)}")


def place(cursor: str | UnsetType, *of: List) -> tuple[str, ...] | None:
    """The list that a cursor is of, one of some, and the key that it tells; None where there is no cursor.

    Raises:
        WrongArgument: we never gave out such a cursor, or not for these lists.
    """
    if cursor is UNSET or not cursor:
        return None
    try:
        plain = decode_text(cursor).rpartition(" ")[0]
    except ProtocolError:
        plain = ""
    found = re.fullmatch("|".join(_FORMS[one] for one in of), plain)
    if found is None or encode_text(f"{plain} {_check_sum(plain)}") != cursor:
        raise WrongArgument("cursor", "format", value=cursor)
    return tuple(part for part in found.groups() if part is not None)


def _check_sum(text: str) -> str:
    return f"{crc_hqx(text.encode(), 0):04x}"
