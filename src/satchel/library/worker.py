"""The worker: parses TOML and renders templates in a process that may die of it. Run by its path; imports no Satchel.

It speaks JSON behind a length of four bytes, on stdin and stdout. The first thing it says is that it is ready.
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
    """Do what comes in until nothing more does."""
    reader, writer = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # a dying engine's last words would outlast the deadline
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
    """Fill in a template."""
    values: dict[str, str] = job["values"]
    himself = values.pop("self", None)  # which Python would take for its own
    if himself is not None:
        environment.add_global("self", himself)
    try:
        text = environment.render_str(job["template"], **values)
    except minijinja.TemplateError as error:
        if error.kind == "OutOfFuel":
            return {"error": "it takes too many steps"}
        return {"error": str(error.detail or error.kind), "line": error.line}
    finally:
        if himself is not None:
            environment.remove_global("self")
    if len(text.encode()) > MAX_OUTPUT:
        return {"error": f"the result is larger than {MAX_OUTPUT} bytes"}
    return {"text": text}


def check(environment: minijinja.Environment, job: dict[str, Any]) -> dict[str, Any]:
    """Parse a template without filling it in."""
    try:
        environment.undeclared_variables_in_str(job["template"])
    except minijinja.TemplateError as error:
        return {"error": str(error.detail or error.kind), "line": error.line}
    return {"text": ""}


def parse_toml(_: minijinja.Environment, job: dict[str, Any]) -> dict[str, Any]:
    """Read a manifest."""
    try:
        return {"toml": tomllib.loads(job["text"])}
    except tomllib.TOMLDecodeError as error:
        return {"error": str(error)}


JOBS = {"render": render, "check": check, "toml": parse_toml}


def receive(reader: int) -> Any:
    """The next job, or None when there is none to come."""
    head = read_exactly(reader, 4)
    body = read_exactly(reader, int.from_bytes(head, "big")) if head else b""
    return json.loads(body) if body else None


def send(writer: int, answer: dict[str, Any]) -> None:
    """Give an answer."""
    try:
        body = json.dumps(answer, default=str).encode()
    except (ValueError, RecursionError):
        body = b'{"error": "it is nested too deep"}'
    rest = memoryview(len(body).to_bytes(4, "big") + body)
    while rest:
        rest = rest[os.write(writer, rest) :]


def read_exactly(reader: int, size: int) -> bytes:
    """That many bytes, or none at the end."""
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
