"""A server with a page on each engine, and people who visit it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.page.visitor import Visitor
from tests.support.in_process_http import WebInProcess


@pytest.fixture
def store(sqlite_template: Path, tmp_path: Path) -> str:
    """The address of a new SQLite store; tests of storage, search, history and contracts look at both engines."""
    return str(shutil.copy(sqlite_template, tmp_path / "satchel.db"))


@pytest.fixture
def server(store: str) -> Iterator[WebInProcess]:
    """A server without authentication."""
    with WebInProcess("--database", store) as server:
        yield server


@pytest.fixture
def ada(server: WebInProcess) -> Visitor:
    """A person at that server."""
    return Visitor(server)
