"""A server with a page on each engine, and people who visit it."""

from collections.abc import Iterator

import pytest

from tests.page.visitor import Visitor
from tests.support.web import WebServer


@pytest.fixture
def server(store: str) -> Iterator[WebServer]:
    """A server without authentication."""
    with WebServer("--database", store) as server:
        yield server


@pytest.fixture
def ada(server: WebServer) -> Visitor:
    """A person at that server."""
    return Visitor(server)
