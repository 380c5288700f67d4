"""Log lines for the operator on stderr: name, outcome and duration of calls, never their content."""

import os
import re
import select
import stat
import sys
import time
from functools import cache

from satchel import clock

STDERR = 2
_MAX_NAME = 64  # characters of a name, which a client may make up


# Characters that move the cursor, change colours, reverse the direction or are invisible: control characters, direction
# and zero-width marks, unpaired surrogates. Line ends, with or without a carriage return, and tabs are harmless.
_HARMFUL = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]|\r(?!\n)"
)
_LINE_ENDS = "[\r\n\t]"


def escape(text: str) -> str:
    """Escape the harmful characters of a text for a terminal, as `\\x1b` or `\\u202e`; keep newlines and tabs."""
    return text if text.isascii() and text.isprintable() else re.sub(_HARMFUL, _write_escape, text)


def escape_line(text: str) -> str:
    """Escape a text for one line of a terminal: newlines and tabs, and what `escape` escapes."""
    return text if text.isascii() and text.isprintable() else re.sub(_LINE_ENDS, _write_escape, escape(text))


def _write_escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def log(line: str) -> None:
    """Write one line; drop it if stderr is a full pipe, because a client that does not read must not block Satchel."""
    _write(f"{clock.now()} {escape_line(line)}".encode()[: select.PIPE_BUF - 1] + b"\n")


def log_call(name: str, outcome: str, started: float) -> None:
    """Log the outcome of a call that began at a `perf_counter` time. An unsafe name is escaped and shortened."""
    is_plain = name.isascii() and name.isidentifier() and len(name) <= _MAX_NAME
    milliseconds = (time.perf_counter() - started) * 1000
    log(f"{name if is_plain else ascii(name[:_MAX_NAME])} {outcome} {milliseconds:.1f} ms")


def _write(raw: bytes) -> None:
    try:
        if _never_blocks() or select.select([], [STDERR], [], 0)[1]:
            os.write(STDERR, raw)  # up to this size, a pipe is written at once or not at all
    except (OSError, ValueError):
        return


@cache
def _never_blocks() -> bool:
    """Return whether stderr is a file or /dev/null."""
    status = os.fstat(STDERR)
    return stat.S_ISREG(status.st_mode) or status.st_rdev == os.makedev(1, 3)


def log_surprise(where: str, error: BaseException | None = None) -> None:
    """Log the origin of an unexpected exception, by default the one being handled.

    Its message is left out, because it may quote the content of a call.
    """
    import traceback  # takes 2 ms of a start, and only a bug needs it

    log(f"surprise in {where}:")
    found = error or sys.exception()
    while found is not None:
        for line in "".join(traceback.format_tb(found.__traceback__)).splitlines():
            log(line)
        log(f"{type(found).__module__}.{type(found).__qualname__}")
        found = found.__cause__ or found.__context__
