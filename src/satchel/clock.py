"""Time and ids: now, new ids, the one timestamp format. Timestamps are texts of equal length that sort by time."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

_last = datetime.min.replace(tzinfo=UTC)
_TICK = timedelta(microseconds=1)


def now() -> str:
    """The present as UTC ISO 8601 with six fractional digits, later than any answer before in this process."""
    global _last
    _last = max(datetime.now(UTC), _last + _TICK)
    return written(_last)


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
    if len(text) != 36 or not text.isascii():
        return None
    try:
        canonical = str(UUID(text))
    except ValueError:
        return None
    # UUID() also reads braces, urn: and hyphens in odd places; only the plain form is ours.
    return canonical if canonical == text.lower() else None
