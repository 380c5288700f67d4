"""Runs worker processes: one in use and one spare, both started when first needed.

A worker that misses its deadline or dies is replaced; its caller gets an error.
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

RENDER_TIMEOUT = 0.5  # seconds
TOML_TIMEOUT = 0.3
MAX_TEMPLATE = 64 * 1024
_START_TIMEOUT = 10.0  # long, because a busy machine is not the fault of a template
_MAX_ANSWER = 8 * 1024 * 1024

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


class RenderFailed(Exception):
    """A template could not be rendered, or a manifest could not be parsed; the line is None where it is unknown."""

    def __init__(self, what: str, line: int | None = None, *, is_exhausted: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        self.is_exhausted = is_exhausted  # out of time or memory, or the worker died: a retry may succeed


class TemplateNames(Struct, frozen=True):
    """The names that a template uses without setting them first, each with the line where it is read first."""

    variables: dict[str, int]
    empty: dict[str, int]  # the variables that are not even set under a condition
    functions: dict[str, int]  # that do not exist
    optional: dict[str, int] = {}  # the variables that are only read where the template asks whether they have a value
    # What texts for other programs have, too: parts and calls of variables, comments, raw blocks.
    unusual: dict[str, int] = {}


class _Worker(Struct, kw_only=True):
    process: "subprocess.Popen[bytes]"
    is_ready: bool = False


class Renderer:
    """Sends jobs to a worker, one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._spare: _Worker | None = None
        self._is_closed = False

    def render(self, template: str, values: dict[str, str]) -> str:
        """Render a template.

        Raises:
            RenderFailed: the template is wrong, or exceeds a limit.
        """
        text: str = self._ask({"job": "render", "template": template, "values": values}, RENDER_TIMEOUT)["text"]
        return text

    def check(self, template: str) -> TemplateNames:
        """The names that a template uses without setting them first.

        Raises:
            RenderFailed: the template is wrong, or exceeds a limit.
        """
        return TemplateNames(**self._ask({"job": "check", "template": template}, RENDER_TIMEOUT)["names"])

    def parse_toml(self, text: str) -> dict[str, Any]:
        """Parse a manifest.

        Raises:
            RenderFailed: it is not TOML, or exceeds a limit.
        """
        parsed: dict[str, Any] = self._ask({"job": "toml", "text": text}, TOML_TIMEOUT)["toml"]
        return parsed

    def close(self) -> None:
        """End the workers; what is asked from now on fails, so that no worker is started again."""
        with self._lock:
            self._is_closed = True
            for worker in (self._worker, self._spare):
                if worker is not None:
                    _end(worker)
            self._worker = self._spare = None

    def _ask(self, job: dict[str, Any], timeout: float) -> dict[str, Any]:
        body = msgspec.json.encode(job)
        with self._lock:
            worker = self._get_worker()
            try:
                _write(worker, len(body).to_bytes(4, "big") + body, time.monotonic() + timeout)
                answer = _read(worker, time.monotonic() + timeout)
            except TimeoutError:
                self._discard(worker)
                raise RenderFailed(f"it took longer than {timeout * 1000:.0f} ms", is_exhausted=True) from None
            except (EOFError, OSError):
                self._discard(worker)
                raise RenderFailed("it took too much memory, or broke the engine", is_exhausted=True) from None
            if answer.pop("is_worn", False):
                self._discard(worker)
        if "error" in answer:
            raise RenderFailed(answer["error"], answer.get("line"))
        return answer

    def _get_worker(self) -> _Worker:
        if self._is_closed:
            raise RenderFailed("the server is stopping", is_exhausted=True)
        for _ in range(3):
            worker = self._worker or self._spare or _start()
            if worker is self._spare:
                self._spare = None
            self._worker = worker
            try:
                if not worker.is_ready:
                    _read(worker, time.monotonic() + _START_TIMEOUT)
                    worker.is_ready = True
                if worker.process.poll() is None:
                    if self._spare is None:
                        self._spare = _start()  # now, because it would have slowed down the start of the other
                    return worker
            except (EOFError, OSError, TimeoutError):
                pass
            self._discard(worker)
        raise RenderFailed("no worker can be started", is_exhausted=True)

    def _discard(self, worker: _Worker) -> None:
        _end(worker)
        self._worker = None


def _start() -> _Worker:
    # -I and an empty environment: a template must not see secrets, nor import from the working directory.
    command = [sys.executable, "-I", "-c", _PROGRAM, _ROOT]
    import subprocess  # 3 ms of a start, and only a render needs it

    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, bufsize=0, env={"LANG": "C.UTF-8"})  # noqa: S603  # nosec B603
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


def _write(worker: _Worker, message: bytes, deadline: float) -> None:
    assert worker.process.stdin is not None
    file = worker.process.stdin.fileno()
    rest = memoryview(message)
    while rest:
        try:
            rest = rest[os.write(file, rest) :]
        except BlockingIOError:
            _wait_for(file, select.POLLOUT, deadline)


def _read(worker: _Worker, deadline: float) -> dict[str, Any]:
    assert worker.process.stdout is not None
    file = worker.process.stdout.fileno()
    content, size = bytearray(), 4
    while len(content) < size:
        _wait_for(file, select.POLLIN, deadline)
        chunk = os.read(file, min(size - len(content), 65536))
        if not chunk:
            raise EOFError
        content += chunk
        if size == 4 and len(content) == 4:
            size += int.from_bytes(content, "big")
            if size > _MAX_ANSWER:
                raise EOFError
    import json  # 1.5 ms of a start, and only a render needs it

    answer: dict[str, Any] = json.loads(content[4:])  # msgspec rejects the infinities that TOML may contain
    return answer


def _wait_for(file: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(file, event)
    left = deadline - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise TimeoutError
