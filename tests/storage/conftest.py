"""Fixtures for storage tests, whose stores have no schema yet."""

import pytest

from tests.support.variants import each_engine as each_engine


@pytest.fixture
def store(empty_store: str) -> str:
    """Return the address of a new store without a schema."""
    return empty_store
