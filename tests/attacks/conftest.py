"""The store, the server and the callers of the cross-user matrix."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
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
def connect(cast: Cast) -> Iterator[Connect]:
    """Opens a connection with a token to a server that asks for one, and closes all of them at the end."""
    with ExitStack() as stack:
        server = HttpInProcess("--database", cast.address, "--auth", "token", "--project", "pub")
        stack.enter_context(server)
        yield lambda token: stack.enter_context(closing(Asker(server.port, token)))
