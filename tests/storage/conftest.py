"""The tests of the storage begin with stores that have no schema yet."""

import pytest


@pytest.fixture
def store(empty_store: str) -> str:
    """Return the address of a new store without a schema."""
    return empty_store
