"""The command `satchel` on a pseudo-terminal, in the test process."""

import os
import pty
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ
from unittest import mock

from satchel.__main__ import main
from tests.support.command import redirected, status_of, text_stream, working_directory


def on_terminal(
    *arguments: str, answer: str = "", columns: int = 80, cwd: Path | None = None, environment: Mapping[str, str]
) -> tuple[int, str]:
    """Run a command whose input, output and errors are a terminal; return its status and the terminal's content."""
    own, terminal = pty.openpty()
    ioctl(terminal, TIOCSWINSZ, pack("HHHH", 24, columns, 0, 0))
    os.write(own, answer.encode())
    shown: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # Linux raises this at the end
            while chunk := os.read(own, 65536):
                shown.append(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    kept = {name: one for name, one in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    with (
        open(terminal, "rb", buffering=0) as file,
        mock.patch.dict(os.environ, kept | {"TERM": "xterm"} | {**environment}, clear=True),
        mock.patch.object(sys, "argv", ["satchel", *arguments]),
        working_directory(cwd),
        redirected(0, file),
        redirected(1, file),
        redirected(2, file),
        open(0, encoding="utf-8", closefd=False) as stdin,
        mock.patch.object(sys, "stdin", stdin),
        text_stream("stdout", 1),
        text_stream("stderr", 2),
    ):
        status = status_of(main)
    reader.join()
    os.close(own)
    return status, b"".join(shown).decode().replace("\r\r\n", "\n").replace("\r\n", "\n")
