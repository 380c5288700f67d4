"""Times as people and models write them: a day, a day and a time, or an age."""

import re
from datetime import UTC, datetime, timedelta

from satchel import clock
from satchel.model import Timestamp

_AGE = r"([0-9]{1,6})(m|h|d|w)"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_past(text: str, now: Timestamp) -> Timestamp | None:
    """The time that a text names: `2026-11-17`, `2026-11-17T12:30`, or `30m`, `12h`, `7d`, `2w` before now.

    A time without a zone is UTC. None for any other text.
    """
    age = re.fullmatch(_AGE, text.strip())
    try:
        if age:
            return clock.write(datetime.fromisoformat(now) - timedelta(**{_UNITS[age[2]]: int(age[1])}))
        moment = datetime.fromisoformat(text.strip())
        return clock.write(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None
