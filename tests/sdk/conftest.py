"""Stores for servers that are compared with each other: as many as a test needs, all without rows."""

import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from tests.support.postgres import ReusedDatabase

MakeStore = Callable[[], str]


@pytest.fixture(params=["sqlite", "postgres"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    """Makes a store without rows, on each engine in turn; on PostgreSQL it empties the one before."""
    if request.param == "postgres":
        reused: ReusedDatabase = request.getfixturevalue("reused_database")
        return reused.emptied
    template, numbers = request.getfixturevalue("sqlite_template"), count()
    return lambda: str(shutil.copy(template, tmp_path / f"{next(numbers)}.db"))
