"""A clock that the tests of pruning turn."""

from datetime import UTC, datetime, timedelta

from satchel import clock


class Calendar:
    """A clock that tests turn: each answer is later than the one before, and days pass when they are told to."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin again."""
        self.day = 0
        self._tick = 0

    def __call__(self) -> str:
        self._tick += 1
        return clock.write(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=self.day, microseconds=self._tick))
