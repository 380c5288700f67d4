"""The worker process: parses TOML and renders templates, so that a crash or a limit ends only this process.

It is run by its path and imports nothing of Satchel. Messages on stdin and stdout are JSON, preceded by their length in
four bytes; the first message it sends says that it is ready.
"""

import json
import os
import resource
import sys
import tomllib
from typing import Any

import minijinja

MEMORY = 256 * 1024 * 1024
FUEL = 100_000
MAX_OUTPUT = 1024 * 1024


def main() -> None:
    """Run jobs until stdin is closed."""
    reader, writer = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # a crashing engine must not write to the caller's streams
        os.dup2(nothing, standard)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    environment = minijinja.Environment(
        undefined_behavior="chainable", keep_trailing_newline=True, fuel=FUEL, auto_escape_callback=lambda _: False
    )
    environment.remove_global("debug")
    send(writer, {"ready": True})
    while (job := receive(reader)) is not None:
        try:
            answer = JOBS[job["job"]](environment, job)
        except (MemoryError, RecursionError):
            answer = {"error": "it needs too much memory"}
        send(writer, answer)


def render(environment: minijinja.Environment, job: dict[str, Any]) -> dict[str, Any]:
    """Render a template."""
    values: dict[str, str] = job["values"]
    self_value = values.pop("self", None)  # `self` is a parameter of render_str and cannot be a keyword argument
    if self_value is not None:
        environment.add_global("self", self_value)
    try:
        text = environment.render_str(job["template"], **values)
    except minijinja.TemplateError as error:
        if error.kind == "OutOfFuel":
            return {"error": "it takes too many steps"}
        return {"error": str(error.detail or error.kind), "line": error.line}
    finally:
        if self_value is not None:
            environment.remove_global("self")
    if len(text.encode()) > MAX_OUTPUT:
        return {"error": f"the result is larger than {MAX_OUTPUT} bytes"}
    return {"text": text}


def check(environment: minijinja.Environment, job: dict[str, Any]) -> dict[str, Any]:
    """Parse a template without rendering it: the variables that it reads and does not set."""
    try:
        variables = environment.undeclared_variables_in_str(job["template"])
    except minijinja.TemplateError as error:
        return {"error": str(error.detail or error.kind), "line": error.line}
    return {"variables": sorted(variables)}


def parse_toml(_: minijinja.Environment, job: dict[str, Any]) -> dict[str, Any]:
    """Parse a manifest."""
    try:
        return {"toml": tomllib.loads(job["text"])}
    except tomllib.TOMLDecodeError as error:
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


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
