"""Changes on their way between processes: their encoding, and passing them to a listener."""

import msgspec

from satchel.log import log_surprise
from satchel.model import StoreChange
from satchel.storage.database import Listener

EVERYTHING = StoreChange("everything")

_CHANGES = msgspec.json.Decoder(list[StoreChange])


def encode(changes: list[StoreChange]) -> str:
    """Changes as JSON."""
    return msgspec.json.encode(changes).decode()


def decode(text: str) -> list[StoreChange]:
    """Changes from JSON; `everything` where a newer Satchel wrote what this one does not know."""
    try:
        return _CHANGES.decode(text)
    except msgspec.DecodeError:
        return [EVERYTHING]


def notify(listen: Listener, changes: list[StoreChange]) -> None:
    """Pass changes to a listener; when it raises, log that, so that it still gets the next ones."""
    try:
        listen(changes)
    except Exception:
        log_surprise("watching the store")
