"""Stores on each engine in turn."""

from tests.support.variants import each_engine as each_engine
