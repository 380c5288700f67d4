"""Variants of a test: each engine, or older revisions. Other tests run once, on SQLite and in the newest revision."""

import pytest

from tests.support.stdio import NEWEST, OLDEST


@pytest.fixture(name="engine", params=["sqlite", "postgres"])
def each_engine(request: pytest.FixtureRequest) -> str:
    """Return each engine in turn, for all tests of a folder whose conftest.py imports this fixture."""
    return str(request.param)


both_engines = pytest.mark.parametrize("engine", ["sqlite", "postgres"])
oldest_too = pytest.mark.parametrize("revision", [NEWEST, OLDEST])
