"""Fixtures for storage tests, whose stores have no schema yet."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from satchel.storage.database import Database, open_database
from tests.support.postgres import PostgresServer
from tests.support.variants import each_engine as each_engine


@pytest.fixture
def store(empty_store: str) -> str:
    """Return the address of a new store without a schema."""
    return empty_store


@pytest.fixture
def address(postgres: PostgresServer) -> str:
    """Return the address of a PostgreSQL store for one test only."""
    return postgres.with_schema()


@pytest.fixture
def opened(address: str) -> Iterator[Database]:
    database = open_database(address)
    yield database
    database.close()


@pytest.fixture
def app(roles: tuple[str, str]) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection of the application role of a module; the changes of a test are rolled back."""
    with psycopg.connect(roles[1]) as connection:
        yield connection
        connection.rollback()
