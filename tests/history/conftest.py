"""A store with the project `default`, on each engine in turn."""

from collections.abc import Iterator

import pytest

from satchel.services import projects
from satchel.storage.database import Database, open_database
from tests.history.store import ADA


@pytest.fixture
def database(store: str) -> Iterator[Database]:
    """An open store with its default project."""
    opened = open_database(store)
    projects.require(opened, ADA)
    yield opened
    opened.close()
