"""Stores for servers that are compared with each other: as many as a test needs, all without rows."""

import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

MakeStore = Callable[[], str]


@pytest.fixture
def make_store(sqlite_template: Path, tmp_path: Path) -> MakeStore:
    """Makes a SQLite store without rows."""
    numbers = count()
    return lambda: str(shutil.copy(sqlite_template, tmp_path / f"{next(numbers)}.db"))
