"""Leaving in time: whatever holds the process up, it ends soon after a SIGTERM or after its input is closed.

A thread watches, because a signal handler of Python's waits as long as a call into the database does. What is not
acknowledged by then is undone by the database.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# For the request at hand after a signal, and for a request that is stuck after the input was closed.
GRACE = 0.6


class Stop(Exception):
    """Raised by a signal while we wait for input, and only then."""


class Shutdown:
    """What the process is doing, so that it can be told when and how to end."""

    def __init__(self, reader: int) -> None:
        self.is_stopping = False
        self._reader = reader
        self._is_waiting = False
        self._is_serving = False
        self._busy_since = time.monotonic()
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        threading.Thread(target=self._watch, name="satchel-shutdown", daemon=True).start()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While this lasts we are idle, and a signal ends the wait by raising Stop."""
        self._is_serving = self._is_waiting = True
        try:
            if self.is_stopping:  # the signal came a moment before we began to wait
                raise Stop
            yield
        finally:
            self._busy_since = time.monotonic()
            self._is_waiting = False

    def is_at_work(self) -> None:
        """Say that there is progress: the next request begins."""
        self._busy_since = time.monotonic()

    def _signalled(self, *_: object) -> None:
        self.is_stopping = True
        if self._is_waiting:
            raise Stop
        if not self._is_serving:  # still starting, so that nothing is at hand
            os._exit(0)

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        poll.register(self._reader, 0)  # being closed is always reported
        closed_at: float | None = None
        while True:
            for file, _ in poll.poll(100 if closed_at is not None else None):
                if file == self._woken:
                    time.sleep(GRACE)
                    os._exit(0)
                poll.unregister(self._reader)
                closed_at = time.monotonic()
            # Requests that are still in the pipe are served, as long as they are: only being stuck ends it.
            # While we start, what is in the pipe has not even been looked at.
            if closed_at is None or not self._is_serving:
                continue
            if time.monotonic() - max(self._busy_since, closed_at) > GRACE:
                os._exit(0)
