"""A rule of a service is the same on both engines; the model and the tests of the storage compare these."""

import pytest


@pytest.fixture
def engine() -> str:
    """Only SQLite."""
    return "sqlite"
