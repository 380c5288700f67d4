"""The store, the server and the callers of the cross-user matrix."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.matrix import Asker, Connect
from tests.attacks.worlds import Cast, find_addresses
from tests.support.http import HttpServer


@pytest.fixture(params=["sqlite", "postgres"])
def cast(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cast]:
    """The store of the matrix, on each engine in turn; a test may ask for others of ENGINES."""
    cast = Cast(*find_addresses(request, tmp_path))
    yield cast
    cast.close()


@pytest.fixture
def cast_server(cast: Cast) -> Iterator[HttpServer]:
    """A server of that store which asks for tokens."""
    with HttpServer("--database", cast.address, "--auth", "token", "--project", "pub") as server:
        yield server


@pytest.fixture
def connect(cast_server: HttpServer) -> Iterator[Connect]:
    """Opens a connection with a token, and closes all of them at the end."""
    opened: list[Asker] = []

    def open_connection(token: str | None) -> Asker:
        opened.append(Asker(cast_server.port, token))
        return opened[-1]

    yield open_connection
    for asker in opened:
        asker.close()
