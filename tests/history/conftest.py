"""A store with the project `default`, on each engine in turn; and a clock that tests set."""

from collections.abc import Iterator

import pytest

from satchel import clock
from satchel.services import projects
from satchel.storage.database import Database, open_database
from tests.history.store import ADA, Calendar
from tests.support.variants import each_engine as each_engine


@pytest.fixture
def database(store: str) -> Iterator[Database]:
    """Yield an open store with its default project."""
    opened = open_database(store)
    projects.require(opened, ADA)
    yield opened
    opened.close()


@pytest.fixture
def calendar(monkeypatch: pytest.MonkeyPatch) -> Calendar:
    """Return a clock that advances only by ticks, until a test lets days pass."""
    calendar = Calendar()
    monkeypatch.setattr(clock, "now", calendar)
    return calendar
