"""Keeps history and trash of a store within the retention, and forgets the values of prompts that are gone."""

import threading
from collections.abc import Callable, Sequence

from satchel.errors import StoreError
from satchel.log import log, log_surprise
from satchel.storage.database import Database

FIRST = 60.0  # seconds after the start: a server that lives shorter leaves the work to others
_INTERVAL = 3600.0
_PAUSE = 0.02  # between two steps, so that writers come first


def start(
    database: Database, list_templates: Callable[[], Sequence[str] | None] = lambda: None, *, first: float = FIRST
) -> Callable[[], None]:
    """Prune now and then, from some seconds after now; returns what stops it.

    `list_templates` gives the names of the prompts in libraries, or None where it is not known which there are.
    """
    stopped = threading.Event()

    def work() -> None:
        delay = first
        while not stopped.wait(delay):
            delay = _INTERVAL
            # It imports every service, which a short session never needs.
            from satchel.services.pruning import forget_values, prune

            try:
                prune(database, pause=lambda: stopped.wait(_PAUSE))
                forget_values(database, list_templates())
            except StoreError as error:
                log(f"pruning: {error}")
            except Exception:
                log_surprise("pruning")

    threading.Thread(target=work, name="satchel-upkeep", daemon=True).start()
    return stopped.set
