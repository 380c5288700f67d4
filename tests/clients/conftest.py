"""A machine with an empty home, for tests of the files of clients."""

from pathlib import Path

import pytest

from satchel.clients.places import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Linux with an empty home and an empty folder of a project; no command is on the PATH."""
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    environment = {"HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "bin")}
    return Machine(platform="linux", environment=environment, folder=str(tmp_path / "project"))
