"""Renders templates in worker processes, at most one per core, which are started on demand.

A worker that misses its deadline or dies is replaced at once, and its caller gets an error. One user occupies at most
half of the workers, so that other users never wait for all of them.

Messages are JSON, preceded by their length in four bytes.
"""

import json
import os
import select
import signal
import subprocess  # nosec B404
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import Struct, structs

from satchel.library.roles import Message
from satchel.work import LOCAL, Work

RENDER_TIMEOUT = 0.5  # seconds of processor time, after which the system ends the worker
TOML_TIMEOUT = 0.3
MAX_TEMPLATE = 64 * 1024
_START_TIMEOUT = 60.0  # seconds of wall-clock time; long, because a busy machine is not the template's fault
_CLOCK_FACTOR = 10  # the ratio of wall-clock time to processor time that a job may take
_MAX_ANSWER = 8 * 1024 * 1024  # bytes
_MOST_WORKERS = 4  # the limit of workers, regardless of cores; each takes about 15 MB
_KEPT = 1  # workers to keep when nothing is rendered
_IDLE_SECONDS = 10.0  # seconds after which other idle workers end

# Satchel is imported from the folder of this copy, everything else from Python's usual path.
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
    """A template cannot be rendered, or a manifest cannot be parsed; `line` is None if it is unknown."""

    def __init__(
        self, what: str, line: int | None = None, *, is_exhausted: bool = False, is_include: bool = False
    ) -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        self.is_exhausted = is_exhausted  # out of time or memory, or the worker died: a retry may succeed
        self.is_include = is_include  # the template is valid, but an included text is not


class TemplateNames(Struct, frozen=True):
    """The names that a template uses without setting them first, each with the line of its first use."""

    variables: dict[str, int]
    empty: dict[str, int]  # variables that are never set, not even under a condition
    functions: dict[str, int]  # unknown functions
    optional: dict[str, int] = {}  # variables that are only read if they have a value
    # Syntax that also occurs in texts for other programs: attributes and calls of variables, comments, raw blocks.
    unusual: dict[str, int] = {}
    files: dict[str, str] = {}  # the file or text of each name that an included one uses
    includes: bool = False  # the template includes other texts

    def shift(self, offset: int) -> "TemplateNames":
        """Return the same names with their lines increased by `offset`, for a template that begins further down."""
        shifted = {
            field: {name: line if name in self.files else line + offset for name, line in getattr(self, field).items()}
            for field in ("variables", "empty", "functions", "optional", "unusual")
        }
        return structs.replace(self, **shifted)


class Parts(Struct, frozen=True):
    """The path of a template in its library, and the texts of the files that it includes; None for a missing file.

    With `is_stored`, the name of a stored prompt, if it has one, and the texts of the store that it includes, by name.
    """

    path: str = ""
    files: Mapping[str, str | None] = {}
    is_stored: bool = False


NO_PARTS = Parts(is_stored=True)  # for a template that includes nothing


class NeedsParts(Exception):
    """A template includes files of its library, and the worker lacks those at `paths`."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__()
        self.paths = paths


# -- one worker -------------------------------------------------------------------------------------------------


class Worker:
    """A worker process, and the messages to and from it."""

    def __init__(self) -> None:
        # -I and an empty environment keep a template from seeing secrets and importing from the working directory.
        command = [sys.executable, "-I", "-c", _PROGRAM, _ROOT]
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(  # noqa: S603  # nosec B603
            command, stdin=pipe, stdout=pipe, stderr=null, bufsize=0, env={"LANG": "C.UTF-8"}
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        os.set_blocking(self._stdin.fileno(), False)
        self.is_ready = False  # set by the first message from the process
        self.idle_since = 0.0

    def write(self, message: bytes, deadline: float) -> None:
        """Send a message.

        Raises:
            TimeoutError: the worker did not read it in time.
            OSError: the worker has ended.
        """
        file = self._stdin.fileno()
        rest = memoryview(message)
        while rest:
            try:
                rest = rest[os.write(file, rest) :]
            except BlockingIOError:
                _wait_for(file, select.POLLOUT, deadline)

    def read(self, deadline: float) -> dict[str, Any]:
        """Receive the next message.

        Raises:
            TimeoutError: there was none in time.
            EOFError: the worker has ended, or its message is too long.
        """
        file = self._stdout.fileno()
        content, size = bytearray(), 4
        while len(content) < size:
            _wait_for(file, select.POLLIN, deadline)
            chunk = os.read(file, 65536)  # at most one message, because the next one belongs to the next job
            if not chunk:
                raise EOFError
            content += chunk
            if size == 4 and len(content) >= 4:
                size += int.from_bytes(content[:4], "big")
            if size > _MAX_ANSWER or len(content) > size:
                raise EOFError
        answer: dict[str, Any] = json.loads(content[4:])  # msgspec rejects the infinities that TOML may contain
        return answer

    def end(self) -> None:
        """Kill the process and release its streams."""
        self.process.kill()
        self.process.wait()
        self._stdin.close()
        self._stdout.close()


def _wait_for(file: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(file, event)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise TimeoutError


# -- all workers ------------------------------------------------------------------------------------------------


class Renderer:
    """Sends each job to a free worker, or lets it wait for one."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most or min(_MOST_WORKERS, max(2, os.cpu_count() or 1))
        self._share = max(1, self._most // 2)  # the limit for one user
        self._changed = threading.Condition()
        self._rendering: Counter[str] = Counter()  # running jobs by user
        self._idle: list[Worker] = []  # the most recently used one is last
        self._alive: set[Worker] = set()
        self._is_closed = False

    def render(self, template: str, values: dict[str, str], work: Work | None = None, files: Parts = NO_PARTS) -> str:
        """Render a template.

        Raises:
            RenderFailed: the template is wrong, or exceeds a limit.
            NeedsParts: the template includes files that were not given.
            Abandoned: the work was cancelled.
        """
        job = {**_describe("render", template, files), "values": values, "in_messages": False}
        text: str = self._ask(job, RENDER_TIMEOUT, work)["text"]
        return text

    def render_messages(
        self, template: str, values: dict[str, str], work: Work | None = None, files: Parts = NO_PARTS
    ) -> list[Message]:
        """Render a template that may have sections of several roles. Raises what `render` raises."""
        job = {**_describe("render", template, files), "values": values, "in_messages": True}
        return [(role, text) for role, text in self._ask(job, RENDER_TIMEOUT, work)["messages"]]

    def check(self, template: str, work: Work | None = None, files: Parts = NO_PARTS) -> TemplateNames:
        """Return the names that a template uses without setting them first. Raises what `render` raises."""
        return TemplateNames(**self._ask(_describe("check", template, files), RENDER_TIMEOUT, work)["names"])

    def parse_toml(self, text: str) -> dict[str, Any]:
        """Parse a manifest.

        Raises:
            RenderFailed: the text is not TOML, or exceeds a limit.
        """
        parsed: dict[str, Any] = self._ask({"job": "toml", "text": text}, TOML_TIMEOUT)["toml"]
        return parsed

    def warm_up(self) -> None:
        """Start a worker if none is idle, so that the next job need not wait for its start."""
        with self._changed:
            is_needed = not self._idle and len(self._alive) < self._most and not self._is_closed
        if is_needed:
            worker = self._start_worker()
            worker.idle_since = time.monotonic()
            with self._changed:
                self._idle.insert(0, worker)

    def close(self) -> None:
        """End the workers; later jobs fail, so that no worker is started again."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            idle, self._idle = self._idle, []
            for worker in self._alive.difference(idle):
                worker.process.kill()  # the thread that waits for its answer discards it
        for worker in idle:
            self._discard(worker)

    def _ask(self, job: dict[str, Any], timeout: float, work: Work | None = None) -> dict[str, Any]:
        body = msgspec.json.encode({**job, "seconds": timeout})
        work = work or Work()
        with self._hold_place(work):
            worker = self._get_worker()
            stop = worker.process.kill
            answer: dict[str, Any] = {}
            failure: Exception | None = None
            work.add_stop(stop)
            try:
                deadline = time.monotonic() + timeout * _CLOCK_FACTOR
                worker.write(len(body).to_bytes(4, "big") + body, deadline)
                answer = worker.read(deadline)
            except (EOFError, OSError) as error:  # a TimeoutError is one
                failure = error
            finally:
                work.remove_stop(stop)
            if failure is not None or work.is_cancelled or answer.pop("is_worn", False):
                self._discard(worker)
                self.warm_up()
            else:
                self._put_back(worker)
        work.check()
        if isinstance(failure, TimeoutError) or worker.process.returncode == -signal.SIGPROF:
            raise RenderFailed(f"it took longer than {timeout * 1000:.0f} ms", is_exhausted=True)
        if failure is not None:
            raise RenderFailed("it took too much memory, or broke the engine", is_exhausted=True)
        if "error" in answer:
            raise RenderFailed(answer["error"], answer.get("line"), is_include=answer.get("is_include", False))
        if "needs" in answer:
            raise NeedsParts(answer["needs"])
        return answer

    @contextmanager
    def _hold_place(self, work: Work) -> Iterator[None]:
        """Wait for a free slot, and hold it while a job runs; one user holds at most half of the slots."""

        def may_go() -> bool:
            has_share = work.user == LOCAL or self._rendering[work.user] < self._share
            return (has_share and self._rendering.total() < self._most) or work.is_cancelled or self._is_closed

        work.add_stop(self._wake)
        try:
            with self._changed:
                self._changed.wait_for(may_go)
                self._rendering[work.user] += 1
        finally:
            work.remove_stop(self._wake)
        try:
            work.check()
            yield
        finally:
            with self._changed:
                self._rendering -= Counter((work.user,))  # drops users without a job
                self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _get_worker(self) -> Worker:
        """Return a ready worker, idle or new."""
        for _ in range(3):
            with self._changed:
                idle = self._idle.pop() if self._idle else None
            worker = idle or self._start_worker()
            try:
                if not worker.is_ready:
                    worker.read(time.monotonic() + _START_TIMEOUT)
                    worker.is_ready = True
                if worker.process.poll() is None:
                    return worker
            except (EOFError, OSError):
                pass
            self._discard(worker)
        raise RenderFailed("no worker can be started", is_exhausted=True)

    def _start_worker(self) -> Worker:
        worker = Worker()
        with self._changed:
            if not self._is_closed:
                self._alive.add(worker)
                return worker
        worker.end()
        raise RenderFailed("the server is stopping", is_exhausted=True)

    def _put_back(self, worker: Worker) -> None:
        """Keep a worker for the next job, and end workers that have been idle for a while."""
        worker.idle_since = time.monotonic()
        with self._changed:
            self._idle.append(worker)
            since = worker.idle_since - _IDLE_SECONDS
            extra = self._idle if self._is_closed else [one for one in self._idle[:-_KEPT] if one.idle_since < since]
            self._idle = [one for one in self._idle if one not in extra]
        for one in extra:
            self._discard(one)

    def _discard(self, worker: Worker) -> None:
        with self._changed:
            self._alive.discard(worker)
        worker.end()


def _describe(job: str, template: str, parts: Parts) -> dict[str, Any]:
    return {"job": job, "template": template, **structs.asdict(parts)}
