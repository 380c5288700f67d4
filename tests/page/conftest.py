"""A server with a page, and people who visit it."""

from collections.abc import Iterator

import pytest

from tests.page.visitor import Visitor
from tests.support.in_process_http import WebInProcess


@pytest.fixture
def server(store: str) -> Iterator[WebInProcess]:
    """A server without authentication."""
    with WebInProcess("--database", store) as server:
        yield server


@pytest.fixture
def ada(server: WebInProcess) -> Visitor:
    """A person at that server."""
    return Visitor(server)
