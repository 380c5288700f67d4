"""Lines for the operator on stderr: what was called, how it ended, how long it took; never the content of a call."""

import os
import select
import stat
import sys
import time
from functools import cache

from satchel import clock

STDERR = 2
_MAX_NAME = 64  # characters of a name that a client made up


def log(line: str) -> None:
    """Write one line, or drop it where stderr is a full pipe: a client that does not read it must not block us."""
    _write(f"{clock.now()} {line}".encode("utf-8", "replace")[: select.PIPE_BUF - 1] + b"\n")


def log_call(name: str, outcome: str, started: float) -> None:
    """Write how a call ended, which began at a time of `perf_counter`. A client may have made up the name."""
    is_plain = name.isascii() and name.isidentifier() and len(name) <= _MAX_NAME
    milliseconds = (time.perf_counter() - started) * 1000
    log(f"{name if is_plain else ascii(name[:_MAX_NAME])} {outcome} {milliseconds:.1f} ms")


def _write(raw: bytes) -> None:
    try:
        if _never_blocks() or select.select([], [STDERR], [], 0)[1]:
            os.write(STDERR, raw)  # a writable pipe takes that many bytes at once
    except (OSError, ValueError):
        return


@cache
def _never_blocks() -> bool:
    """Whether stderr is a file or /dev/null."""
    status = os.fstat(STDERR)
    return stat.S_ISREG(status.st_mode) or status.st_rdev == os.makedev(1, 3)


def log_surprise(where: str, error: BaseException | None = None) -> None:
    """Write an exception, or the one being handled, with its traceback: a bug of ours."""
    import traceback  # 2 ms of a start, and only a bug needs it

    found = error or sys.exception()
    for line in [f"surprise in {where}:", *(traceback.format_exception(found) if found else ())]:
        log(line.rstrip())
