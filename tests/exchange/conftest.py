"""The store of imports, exports and syncs."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def store(sqlite_template: Path, tmp_path: Path) -> str:
    """The address of a new SQLite store; tests of storage, search, history and contracts look at both engines."""
    return str(shutil.copy(sqlite_template, tmp_path / "satchel.db"))
