"""Times as people and models write them."""

import pytest

from satchel.services.moments import parse_future, parse_past

NOW = "2030-01-31T12:00:00.000000Z"


@pytest.mark.parametrize(
    ("text", "past", "future"),
    [
        ("30m", "2030-01-31T11:30:00.000000Z", "2030-01-31T12:30:00.000000Z"),
        (" 12h ", "2030-01-31T00:00:00.000000Z", "2030-02-01T00:00:00.000000Z"),
        ("7d", "2030-01-24T12:00:00.000000Z", "2030-02-07T12:00:00.000000Z"),
        ("2w", "2030-01-17T12:00:00.000000Z", "2030-02-14T12:00:00.000000Z"),
        ("2026-11-17", "2026-11-17T00:00:00.000000Z", "2026-11-18T00:00:00.000000Z"),
        ("2026-11-17T12:30", "2026-11-17T12:30:00.000000Z", "2026-11-17T12:30:00.000000Z"),
        ("2026-11-17T12:30+02:00", "2026-11-17T10:30:00.000000Z", "2026-11-17T10:30:00.000000Z"),
        ("yesterday", "2030-01-30T00:00:00.000000Z", "2030-01-31T00:00:00.000000Z"),
        ("Monday", "2030-01-28T00:00:00.000000Z", "2030-02-05T00:00:00.000000Z"),
        ("some day", None, None),
        ("", None, None),
        ("999999w", None, None),
        ("0001-01-01T00:00+14:00", None, None),
    ],
)
def test_a_time_ago_and_a_time_from_now(text: str, past: str | None, future: str | None) -> None:
    assert (parse_past(text, NOW), parse_future(text, NOW)) == (past, future)
