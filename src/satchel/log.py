"""Lines for the operator on stderr: what was called, how it ended, how long it took; never what it was about."""

import os
import select
import stat
import sys
from functools import cache

from satchel import clock

STDERR = 2


def log(line: str) -> None:
    """Write one line, or drop it where nobody reads: a client that ignores our stderr must not stop us."""
    raw = f"{clock.now()} {line}\n".encode("utf-8", "replace")
    try:
        if _takes_all() or select.select([], [STDERR], [], 0)[1]:
            os.write(STDERR, raw[: select.PIPE_BUF])  # no longer than what a pipe with room takes at once
    except (OSError, ValueError):
        return


@cache
def _takes_all() -> bool:
    """Whether stderr is a file, or nothing at all, so that writing never waits."""
    status = os.fstat(STDERR)
    return stat.S_ISREG(status.st_mode) or status.st_rdev == os.makedev(1, 3)


def log_surprise(where: str) -> None:
    """Write the exception being handled with its traceback: a mistake of ours."""
    import traceback  # only for surprises

    for line in [f"surprise in {where}:", *traceback.format_exception(*sys.exc_info())]:
        log(line.rstrip())
