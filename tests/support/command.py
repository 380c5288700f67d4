"""The command `satchel` in the test process, which saves the start of an interpreter for each command.

`run` returns what `subprocess.run` would; `terminal.on_terminal` runs a command on a terminal. A command that takes
over the process (`serve`), or depends on how the interpreter was started, needs a process of its own.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from unittest import mock

from satchel.__main__ import main


def run(
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    input: bytes = b"",
    is_alone: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command; return its status and output. `environment` is added to ours, or replaces it if `is_alone`."""
    assert arguments[:1] != ("serve",), "serving takes over the process's streams and signals"
    command = ["satchel", *arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with (
            mock.patch.dict(os.environ, environment or {}, clear=is_alone),
            mock.patch.object(sys, "argv", command),
            working_directory(cwd),
            redirected(1, out),
            redirected(2, err),
            mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(input), encoding="utf-8")),
            text_stream("stdout", 1),
            text_stream("stderr", 2),
        ):
            status = status_of(main)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, status, out.read(), err.read())


def done(process: subprocess.CompletedProcess[bytes]) -> str:
    """Return the output of a command that must have succeeded."""
    assert process.returncode == 0, process.stderr
    return process.stdout.decode()


def value(process: subprocess.CompletedProcess[bytes]) -> Any:
    """Return the decoded JSON output of a command."""
    return json.loads(done(process))


def failed(process: subprocess.CompletedProcess[bytes], status: int = 1) -> str:
    """Return the error message of a command that must have failed."""
    assert process.returncode == status, (process.returncode, process.stderr)
    assert process.stdout == b"" and b"Traceback" not in process.stderr
    return process.stderr.decode()


def status_of(call: Callable[[], int | None]) -> int:
    try:
        return call() or 0
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)


@contextmanager
def working_directory(folder: Path | None) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder or before)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def redirected(descriptor: int, file: IO[bytes]) -> Iterator[None]:
    """Redirect a file descriptor to a file, for code that uses its number."""
    kept = os.dup(descriptor)
    os.dup2(file.fileno(), descriptor)
    try:
        yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)


@contextmanager
def text_stream(name: str, descriptor: int) -> Iterator[None]:
    with (
        open(descriptor, "w", encoding="utf-8", errors="backslashreplace", closefd=False) as stream,
        mock.patch.object(sys, name, stream),
    ):
        yield
