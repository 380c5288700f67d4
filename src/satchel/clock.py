"""Time and ids: timestamps (texts of equal length that sort by time), and days and times as people write them."""

import re
import threading
import time
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

_TICK = timedelta(microseconds=1)
_lock = threading.Lock()
_last = 0  # the microsecond of the last result of `now`
_last_second = (0, "")  # the last second and its text, because every tool call asks for the time


def now() -> str:
    """Return the current time in UTC, ISO 8601 with six fractional digits; each result is later than all before."""
    global _last, _last_second
    with _lock:
        _last = max(time.time_ns() // 1000, _last + 1)
        second, fraction = divmod(_last, 1_000_000)
        if _last_second[0] != second:
            _last_second = second, write(datetime.fromtimestamp(second, UTC))[:19]
        return f"{_last_second[1]}.{fraction:06}Z"


def after(moment: str) -> str:
    """Return the current time or, if `moment` is later, the microsecond after `moment`."""
    return max(now(), write(datetime.fromisoformat(moment) + _TICK))


def days_before(moment: str, days: int = 1) -> str:
    """Return the moment `days` times 24 hours before `moment`."""
    return write(datetime.fromisoformat(moment) - timedelta(days=days))


def days_after(day: str, days: int) -> str:
    """Return the day, YYYY-MM-DD, that is `days` days after `day`."""
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def minutes_after(moment: str, minutes: int) -> str:
    """Return the moment `minutes` minutes after `moment`."""
    return write(datetime.fromisoformat(moment) + timedelta(minutes=minutes))


def new_id() -> str:
    """Return a new random UUID in lower case."""
    return str(uuid4())


def write(moment: datetime) -> str:
    """Return a moment, in any time zone, as a timestamp."""
    # Not strftime: it writes the year 999 with three digits, which would sort after the present.
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def to_second(moment: str) -> str:
    """Return a timestamp without its fraction, for contracts that print times like that."""
    return f"{moment[:19]}Z"


def parse_id(text: str) -> str | None:
    """Return a UUID of the form 8-4-4-4-12 in lower case, as it is stored; None for anything else."""
    if len(text) != 36 or text[8:24:5] != "----" or not text.isascii():
        return None
    digits = text.replace("-", "")
    try:  # ten times faster than uuid.UUID, which also accepts other forms
        is_hex = len(digits) == 32 and len(bytes.fromhex(digits)) == 16
    except ValueError:
        return None
    return text.lower() if is_hex else None


# -- as people and models write them; a time without a zone is UTC ---------------------------------------------------

_DURATION = r"([0-9]{1,6})([mhdw])(?: ago)?"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAYS = r"\+?([0-9]{1,3})([dw])"
_NAMED = {"yesterday": -1, "today": 0, "tomorrow": 1}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = 10  # the maximum length of a day; a time of day makes a text longer


def parse_past(text: str, now: str) -> str | None:
    """Return the time that a text denotes; None for any other text.

    `2026-11-17`, `yesterday` and `monday` (the last one) mean the beginning of that day, `2026-11-17T12:30` is a
    time, and `30m`, `12h`, `7d`, `2w` are durations before now.
    """
    return _parse(text.strip(), now, -1)


def parse_end(text: str, now: str) -> str | None:
    """Parse a moment as `parse_past` does, but return the end of a day or of a minute that the text names."""
    moment = parse_past(text, now)
    if moment is None or re.fullmatch(_DURATION, text.strip().lower()):
        return moment
    if ":" not in text:
        return days_before(moment, -1)
    return minutes_after(moment, 1) if text.count(":") == 1 else moment


def parse_future(text: str, now: str) -> str | None:
    """Parse a moment as `parse_past` does, but in the future: the next weekday, the end of a day, `30m` from now."""
    return _parse(text.strip(), now, 1)


def read_day(text: str, today: date, *, is_past: bool = False) -> str | None:
    """Return the day, YYYY-MM-DD, that a word denotes: tomorrow, 3d, friday (next or last); None for any other word."""
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


def _parse(text: str, now: str, sign: int) -> str | None:
    duration = re.fullmatch(_DURATION, text.lower())
    try:
        if duration:
            distance = timedelta(**{_UNITS[duration[2]]: int(duration[1])})
            return write(datetime.fromisoformat(now) + sign * distance)
        text = read_day(text, datetime.fromisoformat(now).date(), is_past=sign < 0) or text
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return write(moment + timedelta(days=1) if sign > 0 and len(text) <= _DAY else moment)
    except (ValueError, OverflowError):
        return None
