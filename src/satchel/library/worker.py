"""The worker process: parses TOML and renders templates, so that a crash or a limit ends only this process.

It imports nothing of Satchel but `templates` and what that needs. Messages on stdin and stdout are JSON, preceded by
their length in four bytes; the first message it sends says that it is ready.
"""

import json
import os
import resource
import signal
import tomllib
from collections.abc import Callable
from typing import Any

from satchel.library.parts import NeedsFiles
from satchel.library.templates import TemplateFailed, Templates

MEMORY = 256 * 1024 * 1024
_WORN = 96 * 1024 * 1024  # bytes that a worker may keep: what one template leaves behind must not fail the next
_LONGEST_JOB = 10.0  # seconds by the clock; the caller ends a worker earlier, unless it was killed itself
_NICENESS = 10
_MAX_ERROR = 1000  # characters of an error, which may quote a value


def main() -> None:
    """Run jobs until stdin is closed."""
    os.nice(_NICENESS)  # templates of one user compute beside the calls of the others, and must not hold them up
    reader, writer = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # a crashing engine must not write to the caller's streams
        os.dup2(nothing, standard)
    templates, measure = Templates(), open_memory_meter()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # A template that broke out of the sandbox could still open no file and no connection, and start no process.
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC):
        resource.setrlimit(limit, (0, 0))
    send(writer, {"ready": True})
    while (job := receive(reader)) is not None:
        signal.setitimer(signal.ITIMER_REAL, _LONGEST_JOB)  # SIGALRM ends the process
        try:
            answer = JOBS[job["job"]](templates, job)
        except TemplateFailed as failure:
            answer = {"error": failure.what[:_MAX_ERROR], "line": failure.line}
        except NeedsFiles as more:
            answer = {"needs": more.paths}
        except (MemoryError, RecursionError):
            answer = {"error": "it needs too much memory"}
        signal.setitimer(signal.ITIMER_REAL, 0)
        send(writer, {**answer, "is_worn": measure() > _WORN})


def open_memory_meter() -> Callable[[], int]:
    """What tells how many bytes this process keeps; 0 where the system has no such file.

    Not getrusage: its maximum includes what the caller had in memory when it started this process.
    """
    try:
        meter = os.open("/proc/self/statm", os.O_RDONLY)  # now, because later the process can open no file
    except OSError:
        return lambda: 0
    return lambda: int(os.pread(meter, 100, 0).split()[1]) * resource.getpagesize()


def render(templates: Templates, job: dict[str, Any]) -> dict[str, Any]:
    """Render a template, as one text or as the messages of its sections."""
    if not job["in_messages"]:
        return {"text": templates.render(job["template"], job["values"], job["path"], job["files"])}
    return {"messages": templates.render_messages(job["template"], job["values"], job["path"], job["files"])}


def check(templates: Templates, job: dict[str, Any]) -> dict[str, Any]:
    """Compile a template without rendering it: the names that it uses and does not set."""
    names, files = templates.find_names(job["template"], job["path"], job["files"])
    return {"names": {**names, "files": files}}


def parse_toml(_: Templates, job: dict[str, Any]) -> dict[str, Any]:
    """Parse a manifest."""
    try:
        return {"toml": tomllib.loads(job["text"])}
    except ValueError as error:  # TOMLDecodeError, and that of an integer with thousands of digits
        return {"error": str(error)}


JOBS = {"render": render, "check": check, "toml": parse_toml}


def receive(reader: int) -> Any:
    """Read the next job; None at the end of the input."""
    head = read_exactly(reader, 4)
    body = read_exactly(reader, int.from_bytes(head, "big")) if head else b""
    return json.loads(body) if body else None


def send(writer: int, answer: dict[str, Any]) -> None:
    """Write an answer."""
    try:
        body = json.dumps(answer, default=str).encode()
    except (ValueError, RecursionError):
        body = b'{"error": "it is nested too deep"}'
    rest = memoryview(len(body).to_bytes(4, "big") + body)
    while rest:
        rest = rest[os.write(writer, rest) :]


def read_exactly(reader: int, size: int) -> bytes:
    """Read that many bytes; none at the end of the input."""
    content = bytearray()
    while len(content) < size:
        chunk = os.read(reader, min(size - len(content), 65536))
        if not chunk:
            return b""
        content += chunk
    return bytes(content)
