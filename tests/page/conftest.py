"""A server with a page, and people who visit it."""

from collections.abc import Iterator

import pytest

from tests.page.visitor import Visitor
from tests.support.in_process_http import WebInProcess


@pytest.fixture
def engine() -> str:
    """SQLite only: what depends on the engine is tested with storage, services, search and history."""
    return "sqlite"


@pytest.fixture
def server(store: str) -> Iterator[WebInProcess]:
    """A server without authentication."""
    with WebInProcess("--database", store) as server:
        yield server


@pytest.fixture
def ada(server: WebInProcess) -> Visitor:
    """A person at that server."""
    return Visitor(server)
