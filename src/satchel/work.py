"""One call in progress: whose share it uses, and how it is ended before it is done.

A call that is cancelled, because its client left, ends at once while it reads or renders; a write that has begun is
finished. A transaction that takes too long is ended by its deadline.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Protocol

from satchel.errors import Abandoned, StoreFailed, TooCostly

READ_SECONDS: Final = 5.0  # that the statements of a reading transaction may take together
WRITE_SECONDS: Final = 20.0  # of a transaction that writes, and so holds up other writers

_TICK = 0.1  # seconds between looks at the deadlines, while something runs

LOCAL: Final = ""  # the user of calls that are not counted against a share: those of a process with one owner


class Work:
    """One call, or a batch of them. It is made by a transport, and may be cancelled from any thread."""

    def __init__(self, user: str = LOCAL) -> None:
        self.user = user
        self.is_cancelled = False
        self._lock = threading.Lock()
        self._stops: list[Callable[[], None]] = []  # end what runs now

    def cancel(self) -> None:
        """Have the call end as soon as it can."""
        with self._lock:
            self.is_cancelled = True
            for stop in self._stops:
                stop()

    def check(self) -> None:
        """Go on only if the answer is still awaited.

        Raises:
            Abandoned: the call was cancelled.
        """
        if self.is_cancelled:
            raise Abandoned

    def add_stop(self, stop: Callable[[], None]) -> None:
        """Have `stop` called when this is cancelled: now, if it is already."""
        with self._lock:
            self._stops.append(stop)
            if self.is_cancelled:
                stop()

    def remove_stop(self, stop: Callable[[], None]) -> None:
        """Never call `stop` again: what it ends is over."""
        with self._lock:
            self._stops.remove(stop)


class Interruptible(Protocol):
    """What a deadline ends: a transaction."""

    is_interrupted: bool

    def interrupt(self) -> None:
        """End it; called from another thread, and returns at once."""

    def end_interrupt(self) -> None:
        """Wait until an interrupt that has begun can hit nothing else."""


class Deadline:
    """A block in a transaction, which is interrupted when it takes too long or, while it reads, is cancelled.

    Raises:
        TooCostly: it took too long.
        Abandoned: it was cancelled.
    """

    def __init__(self, work: Work, transaction: Interruptible, *, writes: bool) -> None:
        self._work = work
        self._transaction: Interruptible | None = transaction
        self._stops_early = not writes
        self._seconds = WRITE_SECONDS if writes else READ_SECONDS
        self._is_late = False
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if self._stops_early:
            self._work.add_stop(self._interrupt)
        self.at = time.monotonic() + self._seconds
        _watch.add(self)

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        _watch.remove(self)
        if self._stops_early:
            self._work.remove_stop(self._interrupt)
        with self._lock:  # an interrupt that has begun must not hit the next user of the connection
            transaction, self._transaction = self._transaction, None
        if transaction is not None and transaction.is_interrupted:
            transaction.end_interrupt()
        if isinstance(error, StoreFailed):
            if self._stops_early:
                self._work.check()
            if self._is_late:
                raise TooCostly(self._seconds) from error

    def expire(self) -> None:
        """The time is up."""
        self._is_late = True
        self._interrupt()

    def _interrupt(self) -> None:
        with self._lock:
            if self._transaction is not None and not self._transaction.is_interrupted:
                self._transaction.interrupt()


class _Watch:
    """One thread that looks at all deadlines; it sleeps while nothing runs."""

    def __init__(self) -> None:
        self._running: dict[Deadline, None] = {}
        self._is_needed = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, deadline: Deadline) -> None:
        self._running[deadline] = None
        if not self._is_needed.is_set():
            self._wake()

    def remove(self, deadline: Deadline) -> None:
        del self._running[deadline]

    def _wake(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._look, name="satchel-deadlines", daemon=True)
                self._thread.start()
        self._is_needed.set()

    def _look(self) -> None:
        while True:
            self._is_needed.wait()
            time.sleep(_TICK)
            now = time.monotonic()
            for deadline in list(self._running):
                if deadline.at < now:
                    deadline.expire()
            self._is_needed.clear()
            if self._running:  # also what was added just before
                self._is_needed.set()


_watch = _Watch()
