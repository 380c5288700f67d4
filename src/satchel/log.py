"""Lines for the operator on stderr: what was called, how it ended, how long it took; never what it was about."""

import os
import select
import stat
import sys
from collections import deque
from functools import cache

from satchel import clock

STDERR = 2


_gathered: deque[bytes] | None = None  # lines to be written together; None: each is written at once


def log(line: str) -> None:
    """Write one line, or drop it where nobody reads: a client that ignores our stderr must not stop us."""
    raw = f"{clock.now()} {line}\n".encode("utf-8", "replace")[: select.PIPE_BUF]
    if _gathered is None:
        _write(raw)
    else:
        _gathered.append(raw)  # of too many, the oldest go


def gather() -> None:
    """From now on, keep lines until `flush`: a busy server would spend more time on them than on some of its calls."""
    global _gathered
    _gathered = deque(maxlen=10_000)


def flush() -> None:
    """Write what was gathered."""
    while _gathered:
        lines = [_gathered.popleft()]
        while _gathered and sum(map(len, lines)) + len(_gathered[0]) <= select.PIPE_BUF:
            lines.append(_gathered.popleft())
        _write(b"".join(lines))


def _write(raw: bytes) -> None:
    try:
        if _takes_all() or select.select([], [STDERR], [], 0)[1]:
            os.write(STDERR, raw)  # no longer than what a pipe with room takes at once
    except (OSError, ValueError):
        return


@cache
def _takes_all() -> bool:
    """Whether stderr is a file, or nothing at all, so that writing never waits."""
    status = os.fstat(STDERR)
    return stat.S_ISREG(status.st_mode) or status.st_rdev == os.makedev(1, 3)


def log_surprise(where: str, error: BaseException | None = None) -> None:
    """Write an exception, or the one being handled, with its traceback: a mistake of ours."""
    import traceback  # only for surprises

    found = error or sys.exception()
    for line in [f"surprise in {where}:", *(traceback.format_exception(found) if found else ())]:
        log(line.rstrip())
    flush()
