"""Time and ids: now, new ids, the one timestamp format. Timestamps are texts of equal length that sort by time."""

import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

_TICK = timedelta(microseconds=1)
_last = 0  # microseconds
_written = (0, "")  # the last second, and how it is written: every call of a tool asks for the time


def now() -> str:
    """The present as UTC ISO 8601 with six fractional digits, later than any answer before in this process."""
    global _last, _written
    _last = max(time.time_ns() // 1000, _last + 1)
    second, fraction = divmod(_last, 1_000_000)
    known, text = _written
    if known != second:
        text = written(datetime.fromtimestamp(second, UTC))[:19]
        _written = second, text
    return f"{text}.{fraction:06}Z"


def after(moment: str) -> str:
    """The present, or the tick after a moment that is not yet past."""
    return max(now(), written(datetime.fromisoformat(moment) + _TICK))


def day_before(moment: str) -> str:
    """The moment 24 hours before another."""
    return written(datetime.fromisoformat(moment) - timedelta(days=1))


def new_id() -> str:
    """A new random UUID in lower case."""
    return str(uuid4())


def written(moment: datetime) -> str:
    """A moment, in whatever time zone it is given, in the one format."""
    # Not strftime, which writes the year 999 with three digits, and then it sorts behind the present.
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def parse_id(text: str) -> str | None:
    """A UUID as we store it, given in the form 8-4-4-4-12 in either case; None for anything else."""
    if len(text) != 36 or text[8:24:5] != "----" or not text.isascii():
        return None
    digits = text.replace("-", "")
    try:  # ten times faster than uuid.UUID, which reads other forms besides
        is_hex = len(digits) == 32 and len(bytes.fromhex(digits)) == 16
    except ValueError:
        return None
    return text.lower() if is_hex else None
