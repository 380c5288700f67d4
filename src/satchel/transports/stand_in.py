"""A thread that takes over some of the work of the main thread while a call of that takes long.

It costs a call no thread switch: it looks every 50 ms whether the main thread is still at the call it was at before.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress

_TICK = 0.05  # seconds between two looks; a call that takes longer than one to two of them takes long
_IDLE_TICKS = 4  # without any call, before the thread sleeps until the next


class StandIn:
    """Runs `work(is_needed)` in a thread, while one call takes long; it returns once it is no longer needed.

    A call of the main thread is a `with` block of this.
    """

    def __init__(self, work: Callable[[Callable[[], bool]], None]) -> None:
        self._work = work
        self._call = 0  # the number of the call that runs, or ran last
        self._is_calling = False
        self._is_closed = False
        self._is_awake = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        self._call += 1
        self._is_calling = True
        if not self._is_awake.is_set():
            self._wake_up()

    def __exit__(self, *_raised: object) -> None:
        self._is_calling = False

    def close(self) -> None:
        """End the thread soon."""
        self._is_closed = True
        self._is_awake.set()

    def _wake_up(self) -> None:
        self._is_awake.set()
        if self._thread is None:  # not before the first call, for a quick start
            self._thread = threading.Thread(target=self._watch, name="satchel-stand-in", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        idle_ticks = 0
        with suppress(OSError):  # the client has left
            while not self._is_closed:
                self._is_awake.wait()
                call, was_calling = self._call, self._is_calling
                time.sleep(_TICK)
                if call == self._call and was_calling and self._is_calling:
                    self._work(lambda call=call: self._is_at(call))  # type: ignore[misc]
                idle_ticks = 0 if call != self._call or self._is_calling else idle_ticks + 1
                if idle_ticks >= _IDLE_TICKS and not self._is_closed:
                    self._is_awake.clear()
                    if self._is_calling or self._is_closed:  # since just before
                        self._is_awake.set()

    def _is_at(self, call: int) -> bool:
        return self._is_calling and self._call == call and not self._is_closed
