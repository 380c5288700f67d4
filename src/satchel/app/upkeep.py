"""A thread that prunes history and trash, and removes the remembered values of deleted prompts."""

import threading
from collections.abc import Callable, Sequence

from satchel.errors import StoreError
from satchel.log import log, log_surprise
from satchel.storage.database import Database

FIRST = 60.0  # seconds after the start; short sessions never prune
_INTERVAL = 3600.0
_PAUSE = 0.02  # seconds between two steps, so that writers come first


def start(
    database: Database, list_templates: Callable[[], Sequence[str] | None] = lambda: None, *, first: float = FIRST
) -> Callable[[], None]:
    """Start pruning at intervals; return a function that stops it.

    `list_templates` returns the names of the prompts in libraries, or None if this process reads no libraries.
    """
    stopped = threading.Event()

    def work() -> None:
        delay = first
        while not stopped.wait(delay):
            delay = _INTERVAL
            # This imports every service, which short sessions never need.
            from satchel.services.history import forget_values, prune

            try:
                prune(database, pause=lambda: stopped.wait(_PAUSE))
                forget_values(database, list_templates())
            except StoreError as error:
                log(f"pruning: {error}")
            except Exception:
                log_surprise("pruning")

    threading.Thread(target=work, name="satchel-upkeep", daemon=True).start()
    return stopped.set
