"""The write lock of a SQLite store: a kernel file lock on a file beside the database.

SQLite's busy handler starves writers: of eight, one made 1 commit while another made 5,436. The kernel's queue is fair.
"""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from satchel.errors import StoreFailed


class WriteLock:
    """A lock that one writer among all threads and processes of this machine holds at a time."""

    def __init__(self, store: str) -> None:
        self._path = f"{store}-gate"
        self._threads = threading.Lock()

    @contextmanager
    def hold(self, timeout: float = 30.0) -> Iterator[None]:
        """Wait for the lock, and hold it for the block.

        Raises:
            StoreFailed: the holder did not release it in time (it may be stopped).
        """
        if not self._threads.acquire(timeout=timeout):
            raise StoreFailed("another thread holds the write lock of the store")
        try:
            file = self._lock_file(timeout)
            try:
                yield
            finally:
                os.close(file)  # which releases the lock
        finally:
            self._threads.release()

    def _lock_file(self, timeout: float) -> int:
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreFailed(f"cannot open {self._path}: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._wait(file, timeout)
        return file

    def _wait(self, file: int, timeout: float) -> None:
        # The kernel queues only blocking calls fairly, and they have no timeout. So a thread makes the call.
        is_locked = threading.Event()
        handover = threading.Lock()
        has_given_up = False

        def queue() -> None:
            fcntl.flock(file, fcntl.LOCK_EX)
            with handover:
                if has_given_up:
                    os.close(file)
                else:
                    is_locked.set()

        threading.Thread(target=queue, name="satchel-write-lock", daemon=True).start()
        if is_locked.wait(timeout):
            return
        with handover:
            if not is_locked.is_set():
                has_given_up = True
                raise StoreFailed(f"another process has held the write lock of the store for {timeout:.0f} s")
