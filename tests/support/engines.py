"""Tests in folders that use SQLite otherwise, on both engines."""

import pytest

both_engines = pytest.mark.parametrize("engine", ["sqlite", "postgres"])
