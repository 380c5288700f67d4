"""One call in progress: its user, its cancellation, and the time limit of its statements.

A cancelled call that reads or renders ends at once. A write that has begun is finished.
"""

import threading
from collections.abc import Callable
from typing import Final

from satchel.errors import Abandoned

READ_SECONDS: Final = 5.0  # for one statement of a reading transaction
WRITE_SECONDS: Final = 20.0  # for one statement of a writing transaction, which holds up other writers

LOCAL: Final = ""  # the user in a process with one owner, where no limits per user apply


def seconds_for(*, writes: bool) -> float:
    """Return the number of seconds that one statement of a transaction may take."""
    return WRITE_SECONDS if writes else READ_SECONDS


class Work:
    """One call, or a batch of calls. A transport creates it; any thread may cancel it."""

    def __init__(self, user: str = LOCAL) -> None:
        self.user = user
        self.is_cancelled = False
        self._lock = threading.Lock()
        self._stops: list[Callable[[], None]] = []

    def cancel(self) -> None:
        """Make the call end as soon as possible; do not wait for it."""
        with self._lock:
            self.is_cancelled = True
            for stop in self._stops:
                stop()

    def check(self) -> None:
        """Return if a client still waits for the answer; otherwise raise Abandoned.

        Raises:
            Abandoned: the call was cancelled.
        """
        if self.is_cancelled:
            raise Abandoned

    def add_stop(self, stop: Callable[[], None]) -> None:
        """Call `stop` when the call is cancelled, or at once if it already is; `stop` must not block."""
        with self._lock:
            self._stops.append(stop)
            if self.is_cancelled:
                stop()

    def remove_stop(self, stop: Callable[[], None]) -> None:
        """Never call `stop` from now on, because its work is over."""
        with self._lock:
            self._stops.remove(stop)
