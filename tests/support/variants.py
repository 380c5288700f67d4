"""Tests that run more than once in a folder where the others run on SQLite and in the newest revision."""

import pytest

from tests.support.stdio import NEWEST, OLDEST

both_engines = pytest.mark.parametrize("engine", ["sqlite", "postgres"])
oldest_too = pytest.mark.parametrize("revision", [NEWEST, OLDEST])
