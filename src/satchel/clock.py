"""Time and ids. Timestamps are texts of equal length that sort by time."""

import threading
import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

_TICK = timedelta(microseconds=1)
_lock = threading.Lock()
_last = 0  # the microsecond of the last answer of `now`
_last_second = (0, "")  # and its second with its text, because every call of a tool asks for the time


def now() -> str:
    """Return the present as UTC ISO 8601 with six fractional digits, later than every earlier answer."""
    global _last, _last_second
    with _lock:
        _last = max(time.time_ns() // 1000, _last + 1)
        second, fraction = divmod(_last, 1_000_000)
        if _last_second[0] != second:
            _last_second = second, write(datetime.fromtimestamp(second, UTC))[:19]
        return f"{_last_second[1]}.{fraction:06}Z"


def after(moment: str) -> str:
    """Return the present, or the next microsecond after a moment that is not past yet."""
    return max(now(), write(datetime.fromisoformat(moment) + _TICK))


def days_before(moment: str, days: int = 1) -> str:
    """Return the moment some days of 24 hours before another."""
    return write(datetime.fromisoformat(moment) - timedelta(days=days))


def minutes_after(moment: str, minutes: int) -> str:
    """Return the moment some minutes after another."""
    return write(datetime.fromisoformat(moment) + timedelta(minutes=minutes))


def new_id() -> str:
    """Return a new random UUID in lower case."""
    return str(uuid4())


def write(moment: datetime) -> str:
    """Return a moment of any time zone as a timestamp."""
    # Not strftime, which writes the year 999 with three digits, so that it would sort after the present.
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def parse_id(text: str) -> str | None:
    """Return a UUID of the form 8-4-4-4-12 in lower case, as it is stored, or None for anything else."""
    if len(text) != 36 or text[8:24:5] != "----" or not text.isascii():
        return None
    digits = text.replace("-", "")
    try:  # ten times faster than uuid.UUID, which also accepts other forms
        is_hex = len(digits) == 32 and len(bytes.fromhex(digits)) == 16
    except ValueError:
        return None
    return text.lower() if is_hex else None
