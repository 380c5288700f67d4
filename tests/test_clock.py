"""Timestamps and ids."""

import sys
import threading
import time
from datetime import UTC, datetime

import pytest

from satchel import clock


def test_no_two_threads_get_the_same_time_and_no_thread_sees_it_go_back() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    answers: list[list[str]] = [[] for _ in range(4)]
    start = threading.Barrier(len(answers))

    def ask(mine: list[str]) -> None:
        start.wait()
        mine.extend(clock.now() for _ in range(5000))

    threads = [threading.Thread(target=ask, args=(mine,)) for mine in answers]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert all(mine == sorted(mine) for mine in answers)
    assert len({moment for mine in answers for moment in mine}) == 4 * 5000


def test_time_goes_on_where_the_machine_sets_its_clock_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = clock.now()
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    first, second = clock.now(), clock.now()
    assert before < first < second
    assert clock.after(second) > second and clock.after("9998-12-31T23:59:59.999999Z") == "9999-01-01T00:00:00.000000Z"


def test_timestamps_have_one_length() -> None:
    assert clock.write(datetime(999, 1, 1, tzinfo=UTC)) == "0999-01-01T00:00:00.000000Z"
    assert len(clock.now()) == 27
    assert clock.days_before("2026-03-01T12:00:00.000001Z") == "2026-02-28T12:00:00.000001Z"


def test_only_the_usual_form_of_a_uuid_is_an_id() -> None:
    id = clock.new_id()
    assert clock.parse_id(id) == clock.parse_id(id.upper()) == id
    for wrong in ("", id[:-1], id.replace("-", ""), f"{{{id}}}", f"{id[:-1]}g", f" {id[1:]}", f"{id[:-1]}é"):
        assert clock.parse_id(wrong) is None


NOW = "2030-01-31T12:00:00.000000Z"


def test_a_time_ago_and_a_time_from_now() -> None:
    for text, past, future in [
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
    ]:
        assert (clock.parse_past(text, NOW), clock.parse_future(text, NOW)) == (past, future)
