"""Tests that run more than once in a folder where the others run on SQLite and in the newest revision."""

import pytest

from tests.support.stdio import NEWEST, OLDEST


@pytest.fixture(name="engine", params=["sqlite", "postgres"])
def each_engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn, for all tests of a folder whose conftest.py imports this."""
    return str(request.param)


both_engines = pytest.mark.parametrize("engine", ["sqlite", "postgres"])
oldest_too = pytest.mark.parametrize("revision", [NEWEST, OLDEST])
