"""Keeps history and trash of a store within the retention, in a thread beside the work."""

import threading
from collections.abc import Callable

from satchel.errors import StoreError
from satchel.log import log, log_surprise
from satchel.storage.database import Database

FIRST = 60.0  # seconds after the start: a server that lives shorter leaves the work to others
_INTERVAL = 3600.0
_PAUSE = 0.02  # between two steps, so that writers come first


def start(database: Database, *, first: float = FIRST) -> Callable[[], None]:
    """Prune now and then, from some seconds after now; returns what stops it."""
    stopped = threading.Event()

    def work() -> None:
        delay = first
        while not stopped.wait(delay):
            delay = _INTERVAL
            from satchel.services.pruning import prune  # it imports every service, which a short session never needs

            try:
                prune(database, pause=lambda: stopped.wait(_PAUSE))
            except StoreError as error:
                log(f"pruning: {error}")
            except Exception:
                log_surprise("pruning")

    threading.Thread(target=work, name="satchel-upkeep", daemon=True).start()
    return stopped.set
