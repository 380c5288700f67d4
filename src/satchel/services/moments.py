"""Days and times as people and models write them. A time without a zone is UTC."""

import re
from datetime import UTC, date, datetime, timedelta

from satchel import clock
from satchel.model import Timestamp

_DURATION = r"([0-9]{1,6})([mhdw])(?: ago)?"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAYS = r"\+?([0-9]{1,3})([dw])"
_NAMED = {"yesterday": -1, "today": 0, "tomorrow": 1}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = 10  # characters of a day, at most; a time of day makes it longer


def parse_past(text: str, now: Timestamp) -> Timestamp | None:
    """Return the time that a text names; None for a text that names none.

    `2026-11-17`, `yesterday` and `monday` (the last one) are the beginning of that day, `2026-11-17T12:30` is a time,
    and `30m`, `12h`, `7d`, `2w` are before now.
    """
    return _parse(text.strip(), now, -1)


def parse_future(text: str, now: Timestamp) -> Timestamp | None:
    """Parse a moment as `parse_past` does, but a weekday is the next one, a day its end, and `30m` is after now."""
    return _parse(text.strip(), now, 1)


def read_day(text: str, today: date, *, is_past: bool = False) -> str | None:
    """Return the day that a word names as YYYY-MM-DD: tomorrow, 3d, or friday (the next, or the last); else None."""
    word = text.strip().lower()
    if word in _NAMED:
        return (today + timedelta(days=_NAMED[word])).isoformat()
    if found := re.fullmatch(_DAYS, word):
        return (today + timedelta(days=int(found[1]) * (7 if found[2] == "w" else 1))).isoformat()
    matches = [place for place, name in enumerate(_WEEKDAYS) if len(word) > 2 and name.startswith(word)]
    if len(matches) != 1:
        return None
    if is_past:
        return (today - timedelta(days=(today.weekday() - matches[0] - 1) % 7 + 1)).isoformat()
    return (today + timedelta(days=(matches[0] - today.weekday() - 1) % 7 + 1)).isoformat()


def _parse(text: str, now: Timestamp, sign: int) -> Timestamp | None:
    duration = re.fullmatch(_DURATION, text.lower())
    try:
        if duration:
            distance = timedelta(**{_UNITS[duration[2]]: int(duration[1])})
            return clock.write(datetime.fromisoformat(now) + sign * distance)
        text = read_day(text, datetime.fromisoformat(now).date(), is_past=sign < 0) or text
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return clock.write(moment + timedelta(days=1) if sign > 0 and len(text) <= _DAY else moment)
    except (ValueError, OverflowError):
        return None
