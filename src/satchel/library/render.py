"""The keeper of render workers: one at work, one warm spare, both started only when first needed.

A worker that is late or dies is replaced; whoever asked gets an error, and everything else goes on.
"""

import os
import select
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    import subprocess

DEADLINE = 0.5
TOML_DEADLINE = 0.3
MAX_TEMPLATE = 64 * 1024
_START_DEADLINE = 10.0  # a machine may be busy; it is not a template's fault
_MAX_ANSWER = 8 * 1024 * 1024

_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")


class RenderFailed(Exception):
    """A template or a manifest could not be worked on; the line is None where none is to blame."""

    def __init__(self, what: str, line: int | None = None, *, is_exhausted: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        self.is_exhausted = is_exhausted  # time, memory or the worker's life ran out, so that another try may do


class _Worker(Struct, kw_only=True):
    process: "subprocess.Popen[bytes]"
    is_ready: bool = False


class Renderer:
    """Hands jobs to a worker, one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._spare: _Worker | None = None
        self._is_closed = False

    def render(self, template: str, values: dict[str, str]) -> str:
        """Fill in a template.

        Raises:
            RenderFailed: it is wrong, or took too much of anything.
        """
        text: str = self._ask({"job": "render", "template": template, "values": values}, DEADLINE)["text"]
        return text

    def check(self, template: str) -> None:
        """Parse a template.

        Raises:
            RenderFailed: it is wrong, or took too much of anything.
        """
        self._ask({"job": "check", "template": template}, DEADLINE)

    def parse_toml(self, text: str) -> dict[str, Any]:
        """Read a manifest.

        Raises:
            RenderFailed: it is wrong, or took too much of anything.
        """
        parsed: dict[str, Any] = self._ask({"job": "toml", "text": text}, TOML_DEADLINE)["toml"]
        return parsed

    def close(self) -> None:
        """End the workers; what is asked from now on fails, so that no worker is started again."""
        with self._lock:
            self._is_closed = True
            for worker in (self._worker, self._spare):
                if worker is not None:
                    _end(worker)
            self._worker = self._spare = None

    def _ask(self, job: dict[str, Any], deadline: float) -> dict[str, Any]:
        body = msgspec.json.encode(job)
        with self._lock:
            worker = self._take()
            try:
                _write(worker, len(body).to_bytes(4, "big") + body, time.monotonic() + deadline)
                answer = _read(worker, time.monotonic() + deadline)
            except TimeoutError:
                self._lose(worker)
                raise RenderFailed(f"it took longer than {deadline * 1000:.0f} ms", is_exhausted=True) from None
            except (EOFError, OSError):
                self._lose(worker)
                raise RenderFailed("it took too much memory, or broke the engine", is_exhausted=True) from None
        if "error" in answer:
            raise RenderFailed(answer["error"], answer.get("line"))
        return answer

    def _take(self) -> _Worker:
        if self._is_closed:
            raise RenderFailed("the server is stopping", is_exhausted=True)
        for _ in range(3):
            worker = self._worker or self._spare or _start()
            if worker is self._spare:
                self._spare = None
            self._worker = worker
            if self._spare is None:
                self._spare = _start()  # it warms up while we go on
            try:
                if not worker.is_ready:
                    _read(worker, time.monotonic() + _START_DEADLINE)
                    worker.is_ready = True
                if worker.process.poll() is None:
                    return worker
            except (EOFError, OSError, TimeoutError):
                pass
            self._lose(worker)
        raise RenderFailed("no worker can be started", is_exhausted=True)

    def _lose(self, worker: _Worker) -> None:
        _end(worker)
        self._worker = None


def _start() -> _Worker:
    # Isolated from the environment, which may hold secrets, and from the working directory.
    command = [sys.executable, "-I", _WORKER]
    import subprocess  # not before there is something to render

    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, bufsize=0, env={"LANG": "C.UTF-8"})  # noqa: S603
    assert process.stdin is not None and process.stdout is not None
    os.set_blocking(process.stdin.fileno(), False)
    return _Worker(process=process)


def _end(worker: _Worker) -> None:
    process = worker.process
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def _write(worker: _Worker, message: bytes, until: float) -> None:
    assert worker.process.stdin is not None
    file = worker.process.stdin.fileno()
    rest = memoryview(message)
    while rest:
        try:
            rest = rest[os.write(file, rest) :]
        except BlockingIOError:
            _await([], [file], until)


def _read(worker: _Worker, until: float) -> dict[str, Any]:
    assert worker.process.stdout is not None
    file = worker.process.stdout.fileno()
    content, size = bytearray(), 4
    while len(content) < size:
        _await([file], [], until)
        chunk = os.read(file, min(size - len(content), 65536))
        if not chunk:
            raise EOFError
        content += chunk
        if size == 4 and len(content) == 4:
            size += int.from_bytes(content, "big")
            if size > _MAX_ANSWER:
                raise EOFError
    import json  # whose numbers may be infinite, as those of TOML may

    answer: dict[str, Any] = json.loads(content[4:])
    return answer


def _await(readers: list[int], writers: list[int], until: float) -> None:
    poll = select.poll()
    for file in readers:
        poll.register(file, select.POLLIN)
    for file in writers:
        poll.register(file, select.POLLOUT)
    left = until - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise TimeoutError
