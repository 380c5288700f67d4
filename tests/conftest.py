"""Fixtures for all tests: stores on both engines, and servers on them."""

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg_pool.base
import pytest
from hypothesis import settings

from satchel.storage.database import Database, open_database
from tests.support.postgres import PostgresServer
from tests.support.stdio import NEWEST, Server

# A busy machine is no failure, and what a run says depends on the code alone; SATCHEL_EXPLORE looks further each time.
settings.register_profile("satchel", deadline=None, derandomize=not os.environ.get("SATCHEL_EXPLORE"))
settings.load_profile("satchel")

# The threads of a pool draw random numbers when they like. Hypothesis must not take that for the doing of a test.
psycopg_pool.base.random = random.Random().random  # type: ignore[attr-defined]


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """With `-n auto`: one more than there are processors, for tests wait nearly as long as they work."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server that the tests start by themselves."""
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new, empty store, on each engine in turn."""
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        return server.fresh()
    return str(tmp_path / "satchel.db")


@pytest.fixture
def database(store: str) -> Iterator[Database]:
    """An open store, on each engine in turn."""
    database = open_database(store)
    yield database
    database.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Starts servers on a store and ends them: `serve("todo", store, revision)`."""
    servers: list[Server] = []

    def start(contract: str, store: str, revision: str = NEWEST, *more: str) -> Server:
        server = Server("--contract", contract, "--database", store, *more)
        servers.append(server)
        if revision != NEWEST:
            server.initialize(revision)
        return server

    yield start
    for server in servers:
        assert server.close() == 0, server.stderr
        assert "surprise in" not in server.stderr, server.stderr
