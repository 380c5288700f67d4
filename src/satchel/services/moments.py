"""Times as people and models write them: a day, a day and a time, or a duration. A time without a zone is UTC."""

import re
from datetime import UTC, datetime, timedelta

from satchel import clock
from satchel.model import Timestamp

_DURATION = r"([0-9]{1,6})([mhdw])"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAY = 10  # characters of a day, at most; a time of day makes it longer


def parse_past(text: str, now: Timestamp) -> Timestamp | None:
    """The time that a text names: `2026-11-17`, `2026-11-17T12:30`, or `30m`, `12h`, `7d`, `2w` before now.

    A day is its beginning. None for any other text.
    """
    return _parse(text.strip(), now, -1)


def parse_future(text: str, now: Timestamp) -> Timestamp | None:
    """As `parse_past`, but `30m` is after now, and a day its end."""
    return _parse(text.strip(), now, 1)


def _parse(text: str, now: Timestamp, sign: int) -> Timestamp | None:
    duration = re.fullmatch(_DURATION, text)
    try:
        if duration:
            distance = timedelta(**{_UNITS[duration[2]]: int(duration[1])})
            return clock.write(datetime.fromisoformat(now) + sign * distance)
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return clock.write(moment + timedelta(days=1) if sign > 0 and len(text) <= _DAY else moment)
    except (ValueError, OverflowError):
        return None
