"""The cursors of the tools that list: which list a cursor belongs to, and the sort key of the last entry of its page.

The next page begins behind that key, whatever is added or deleted between two pages.
"""

from typing import Literal

from msgspec import UnsetType

from satchel.errors import WrongArgument
from satchel.protocol import ProtocolError
from satchel.protocol.cursors import NUMBER
from satchel.protocol.cursors import decode_cursor as decode_key

# prompts, personal ones, those of libraries; resources, personal ones; open, completed and all tasks; changes,
# versions, the newest change; hits
List = Literal["p", "q", "l", "r", "y", "o", "d", "a", "h", "v", "s", "f"]

_MOMENT = "([0-9TZ:.-]{1,40})"
_TASK = f"{_MOMENT} {NUMBER} ([0-4]) ([0-9-]*)"
_FORMS: dict[List, str] = {
    "p": f"(p) {_MOMENT} {NUMBER}",
    "q": f"(q) {_MOMENT} {NUMBER}",
    "l": r"(l) ([\w:.-]+)",
    "r": f"(r) {NUMBER}",
    "y": f"(y) {NUMBER}",
    "o": f"(o) {_TASK}",
    "d": f"(d) {_TASK}",
    "a": f"(a) {_TASK}",
    "h": f"(h) {NUMBER}",
    "v": f"(v) {NUMBER}",
    "s": f"(s) {NUMBER}",
    "f": f"(f) {NUMBER}",  # how many came before: the order of hits is not that of a key
}


def decode_cursor(cursor: str | UnsetType, *lists: List) -> tuple[str, ...] | None:
    """The list that a cursor belongs to, one of some, and the key that it holds; None if there is no cursor.

    Raises:
        WrongArgument: this server never issued such a cursor for these lists.
    """
    if isinstance(cursor, UnsetType) or not cursor:
        return None
    try:
        return decode_key(cursor, "|".join(_FORMS[one] for one in lists))
    except ProtocolError:
        raise WrongArgument("cursor", "format", value=cursor) from None
