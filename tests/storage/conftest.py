"""The tests of the storage begin with stores that have no schema yet."""

import pytest


@pytest.fixture
def store(empty_store: str) -> str:
    """The address of a new store without a schema, on each engine in turn."""
    return empty_store
