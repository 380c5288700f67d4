"""Starts one worker process and exchanges messages with it: JSON, preceded by its length in four bytes."""

import os
import select
import sys
import time
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    import subprocess

_MAX_ANSWER = 8 * 1024 * 1024  # bytes
_CLOCK_FACTOR = 10  # by which a job may take longer by the clock than on the processor

# Satchel itself comes from where this module is, everything else from where Python finds it.
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import satchel.library
del sys.path[0]
from satchel.library.worker import main
main()
"""


class Worker(Struct, kw_only=True, eq=False):
    """A worker process, and how long it has been idle."""

    process: "subprocess.Popen[bytes]"
    is_ready: bool = False
    idle_since: float = 0.0


class Limit:
    """How long a worker may take for a job: so many seconds of the processor, and ten times as many by the clock.

    A template is not at fault for a machine that is busy. Where the system does not tell what another process has used,
    only the clock counts.
    """

    def __init__(self, worker: Worker, seconds: float) -> None:
        self._pid, self._seconds = worker.process.pid, seconds
        self._used = _read_used(self._pid)
        self._end = time.monotonic() + seconds * (1 if self._used is None else _CLOCK_FACTOR)

    def left(self) -> float:
        """For how many seconds it is worth waiting before asking again; none are left at 0."""
        left = self._end - time.monotonic()
        used = _read_used(self._pid)
        if self._used is None or used is None:
            return left
        return min(left, self._seconds - (used - self._used))


def _read_used(pid: int) -> float | None:
    """The seconds of the processor that a process has used; None where that cannot be known."""
    if sys.platform != "linux":
        return None
    try:
        return time.clock_gettime((~pid << 3) | 2)  # as clock_getcpuclockid(3) numbers the clock of a process
    except OSError:  # it has ended
        return None


def start() -> Worker:
    """Start a worker process; the first message that it sends says that it is ready."""
    # -I and an empty environment: a template must not see secrets, nor import from the working directory.
    command = [sys.executable, "-I", "-c", _PROGRAM, _ROOT]
    import subprocess  # 3 ms of a start, and only a render needs it

    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, bufsize=0, env={"LANG": "C.UTF-8"})  # noqa: S603  # nosec B603
    assert process.stdin is not None and process.stdout is not None
    os.set_blocking(process.stdin.fileno(), False)
    return Worker(process=process)


def end(worker: Worker) -> None:
    """Kill a worker and forget it."""
    process = worker.process
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def write(worker: Worker, message: bytes, limit: Limit) -> None:
    """Send a message to a worker.

    Raises:
        TimeoutError: it did not read it in time.
        OSError: it has ended.
    """
    assert worker.process.stdin is not None
    file = worker.process.stdin.fileno()
    rest = memoryview(message)
    while rest:
        try:
            rest = rest[os.write(file, rest) :]
        except BlockingIOError:
            _wait_for(file, select.POLLOUT, limit)


def read(worker: Worker, limit: Limit) -> dict[str, Any]:
    """The next message of a worker.

    Raises:
        TimeoutError: there was none in time.
        EOFError: it has ended, or says too much.
    """
    assert worker.process.stdout is not None
    file = worker.process.stdout.fileno()
    content, size = bytearray(), 4
    while len(content) < size:
        _wait_for(file, select.POLLIN, limit)
        chunk = os.read(file, 65536)  # no more than one message: the next is sent for the next job
        if not chunk:
            raise EOFError
        content += chunk
        if size == 4 and len(content) >= 4:
            size += int.from_bytes(content[:4], "big")
        if size > _MAX_ANSWER or len(content) > size:
            raise EOFError
    import json  # 1.5 ms of a start, and only a render needs it

    answer: dict[str, Any] = json.loads(content[4:])  # msgspec rejects the infinities that TOML may contain
    return answer


def _wait_for(file: int, event: int, limit: Limit) -> None:
    poll = select.poll()
    poll.register(file, event)
    while (left := limit.left()) > 0:
        if poll.poll(left * 1000 + 1):
            return
    raise TimeoutError
