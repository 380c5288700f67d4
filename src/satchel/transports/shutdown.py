"""Ends the process soon after a SIGTERM, or after its input is closed, even if a request is stuck.

A thread watches for both, because a signal handler of Python cannot run while a call into the database lasts. The
database rolls back what is not committed by then.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# Seconds for the current request after a signal, and for a request that makes no progress after the input was closed.
REQUEST_TIMEOUT = 0.6


class Stop(Exception):
    """Raised by a signal while the process waits for input."""


class Shutdown:
    """Tracks what the process is doing, and ends it in time."""

    def __init__(self, reader: int) -> None:
        self.is_stopping = False
        self._reader = reader
        self._is_idle = False
        self._has_started = False
        self._busy_since = time.monotonic()
        self._wakeup_reader, self._wakeup_writer = os.pipe()
        os.set_blocking(self._wakeup_writer, False)
        signal.set_wakeup_fd(self._wakeup_writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        threading.Thread(target=self._watch, name="satchel-shutdown", daemon=True).start()

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Mark the wait for input; a signal ends it by raising Stop."""
        self._has_started = self._is_idle = True
        try:
            if self.is_stopping:  # the signal came just before
                raise Stop
            yield
        finally:
            self._busy_since = time.monotonic()
            self._is_idle = False

    def mark_progress(self) -> None:
        """Restart the timeout: the next request begins."""
        self._busy_since = time.monotonic()

    def _on_signal(self, *_: object) -> None:
        self.is_stopping = True
        if self._is_idle:
            raise Stop
        if not self._has_started:  # there is no request to finish
            os._exit(0)

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._wakeup_reader, select.POLLIN)
        poll.register(self._reader, 0)  # POLLHUP is always reported
        closed_at: float | None = None
        while True:
            for file, _ in poll.poll(100 if closed_at is not None else None):
                if file == self._wakeup_reader:
                    time.sleep(REQUEST_TIMEOUT)
                    os._exit(0)
                poll.unregister(self._reader)
                closed_at = time.monotonic()
            # Requests that are still in the pipe are answered, however many: only a request without progress ends the
            # process. Before the first read, none of them has begun.
            if closed_at is None or not self._has_started:
                continue
            if time.monotonic() - max(self._busy_since, closed_at) > REQUEST_TIMEOUT:
                os._exit(0)
