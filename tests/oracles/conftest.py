"""Stores on SQLite: what clients see does not depend on the engine."""

import pytest


@pytest.fixture
def engine() -> str:
    """The engine of the store."""
    return "sqlite"
