"""Stores on SQLite; for the contract satchel, a folder of libraries and a client of a store with two projects.

test_real_transports.py, and tests marked `@both_engines`, also use PostgreSQL.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.services import projects
from satchel.storage.database import Database
from tests.support.satchel import make_library
from tests.support.stdio import NEWEST, Client

ANN = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def revision() -> str:
    """Return the revision of MCP that clients use, unless a test is marked `@oldest_too`."""
    return NEWEST


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """Return a folder of libraries."""
    root = tmp_path / "libraries"
    make_library(root, "desk", {"letter": ("Dear {{ to }}, {{ news }}", ["to!", "news"]), "plain": ("Just so.", [])})
    return root


@pytest.fixture
def client(store: str, database: Database, shelf: Path, serve: Callable[..., Client]) -> Client:
    """Return a client of a store with the projects default and garden, and the library desk."""
    with database.write() as tx:
        projects.add(tx, "garden")
    return serve("satchel", store, NEWEST, "--libraries", str(shelf))


@pytest.fixture
def own(store: str, serve: Callable[..., Client]) -> Client:
    """Return a client of the user Ann."""
    return serve("satchel", store, NEWEST, "--user", ANN)
