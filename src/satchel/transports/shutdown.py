"""The end of a stdio process: after SIGTERM, SIGINT or the end of its input, in bounded time and with status 0.

Python runs signal handlers in the main thread, which a call into the database or a write to a full pipe may hold for
long. So another thread waits for the byte that Python writes for each signal, and the handlers do nothing.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Callable

TIMEOUT = 1.5  # seconds for the running call after a signal, and for each call after the end of the input


class Shutdown:
    """Tells a server to stop, and ends the process if it does not stop in time.

    The database rolls back what is not committed by then, and none of that was acknowledged.
    """

    def __init__(self) -> None:
        self.is_stopping = False  # run no further call
        self.on_signal: Callable[[], None] | None = None  # None: the server has not started
        self._progress = 0
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)
        threading.Thread(target=self._wait_for_signal, args=(reader,), name="satchel-shutdown", daemon=True).start()

    def mark_progress(self) -> None:
        """Restart the timeout after the end of the input."""
        self._progress += 1

    def watch_progress(self) -> None:
        """End the process once it makes no progress; call this in its own thread at the end of the input."""
        while True:
            before = self._progress
            time.sleep(TIMEOUT)
            if self._progress == before:
                os._exit(0)

    def _wait_for_signal(self, reader: int) -> None:
        os.read(reader, 1)
        self.is_stopping = True
        if self.on_signal is not None:
            self.on_signal()
            select.select([reader], [], [], TIMEOUT)  # a second signal ends the process at once
        os._exit(0)
