"""Days as people write them: 2026-12-31, today, tomorrow, friday, 3d, 2w."""

import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from datetime import date

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_AGE = r"\+?([0-9]{1,3})([dw])"


class _Day(click.types.StringParamType):
    """A day as the tools take it; what is none goes on as it is, and the store says so."""

    name = "day"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from datetime import date  # which `--help` need not wait for

        return read_day(str(super().convert(value, param, ctx)), date.today())


DAY = _Day()


def read_day(text: str, today: "date") -> str:
    """A day as YYYY-MM-DD, seen from another; a text that is none stays as it is."""
    from datetime import timedelta  # which `--help` need not wait for

    word = text.strip().lower()
    if word in ("today", "tomorrow"):
        return (today + timedelta(days=word == "tomorrow")).isoformat()
    if found := re.fullmatch(_AGE, word):
        return (today + timedelta(days=int(found[1]) * (7 if found[2] == "w" else 1))).isoformat()
    matches = [place for place, name in enumerate(_WEEKDAYS) if len(word) > 2 and name.startswith(word)]
    if len(matches) == 1:
        return (today + timedelta(days=(matches[0] - today.weekday() - 1) % 7 + 1)).isoformat()  # the next, not today
    return text
