"""Several processes on one socket: started, started again when they die, and ended together."""

import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from satchel.log import log, log_surprise

GRACE = 15.0  # seconds that workers have to finish
_TOO_SOON = 2.0  # a worker that dies this early after its start has a reason that will not go away
_PATIENCE = 5  # of those in a row
_ENDING = (signal.SIGTERM, signal.SIGINT)
_COUNTS = "PROMETHEUS_MULTIPROC_DIR"


@contextmanager
def shared_counts(count: int) -> Iterator[None]:
    """Let several workers count in files that they share; before anything that counts is imported."""
    if count == 1:
        yield
        return
    os.environ[_COUNTS] = tempfile.mkdtemp(prefix="satchel-metrics-")
    try:
        yield
    finally:
        shutil.rmtree(os.environ.pop(_COUNTS), ignore_errors=True)


class Workers:
    """The processes of one server."""

    def __init__(self, count: int, listening: socket.socket, work: Callable[[int], None]) -> None:
        self._count = count
        self._listening = listening
        self._work = work  # what a worker does, given a pipe that closes when we are gone
        self._started: dict[int, float] = {}
        self._is_stopping = False
        self._early_deaths = 0
        self._alive, self._ours = os.pipe()

    def run(self, ready: Callable[[], None]) -> int:
        """Keep the workers going until a signal comes; the exit status. `ready` is called once signals are heard."""
        for number in _ENDING:
            signal.signal(number, self._stop)
        ready()
        while len(self._started) < self._count and not self._is_stopping:
            self._start()
        return self._mind()

    def _start(self) -> None:
        # A signal in between would find a worker that nobody tells, or one that takes itself for us.
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        pid = os.fork()
        if pid:
            self._started[pid] = time.monotonic()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
            return
        status = 1
        try:
            os.close(self._ours)
            for number in _ENDING:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
            self._work(self._alive)
            status = 0
        except BaseException:
            log_surprise("a worker")
        finally:
            sys.stderr.flush()
            os._exit(status)

    def _mind(self) -> int:
        deadline: float | None = None
        while self._started:
            pid = self._ended()
            if self._is_stopping:
                deadline = deadline or time.monotonic() + GRACE
                if time.monotonic() > deadline:
                    self._tell(signal.SIGKILL)
            elif pid is not None:
                log(f"worker {pid} has died; starting another")
                _forget(pid)
                if self._early_deaths >= _PATIENCE:
                    log("workers die as soon as they are started; giving up")
                    self._tell(signal.SIGTERM)
                    return 1
                self._start()
        return 0

    def _ended(self) -> int | None:
        """The worker that ended, after a short wait for one."""
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if not pid:
            time.sleep(0.05)
            return None
        started = self._started.pop(pid, 0.0)
        self._early_deaths = self._early_deaths + 1 if time.monotonic() - started < _TOO_SOON else 0
        return pid

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._is_stopping = True
        self._listening.close()  # or whoever comes now would wait for workers that take in nobody any more
        self._tell(signal.SIGTERM)

    def _tell(self, number: int) -> None:
        for pid in self._started:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue


def _forget(pid: int) -> None:
    """Count nothing as open any more that a worker had open when it died."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(os.environ[_COUNTS], f"gauge_livesum_{pid}.db"))
