"""The store, the server and the callers of the cross-user matrix."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.matrix import Asker, Connect
from tests.attacks.worlds import Cast, find_addresses
from tests.support.in_process_http import HttpInProcess


@pytest.fixture(params=["sqlite", pytest.param("role", marks=pytest.mark.soak)])
def cast(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cast]:
    """The store of the matrix: a file, and in `make soak` PostgreSQL under row-level security."""
    cast = Cast(*find_addresses(request, tmp_path))
    yield cast
    cast.close()


@pytest.fixture
def cast_server(cast: Cast) -> Iterator[HttpInProcess]:
    """A server of that store which asks for tokens."""
    with HttpInProcess("--database", cast.address, "--auth", "token", "--project", "pub") as server:
        yield server


@pytest.fixture
def connect(cast_server: HttpInProcess) -> Iterator[Connect]:
    """Opens a connection with a token, and closes all of them at the end."""
    opened: list[Asker] = []

    def open_connection(token: str | None) -> Asker:
        opened.append(Asker(cast_server.port, token))
        return opened[-1]

    yield open_connection
    for asker in opened:
        asker.close()
