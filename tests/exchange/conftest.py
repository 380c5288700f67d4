"""The store of imports, exports and syncs."""

import pytest


@pytest.fixture
def engine() -> str:
    """SQLite only: what depends on the engine is tested with storage, services, search and history."""
    return "sqlite"
