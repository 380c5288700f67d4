"""The command of the tests, on a store of their own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel import config
from tests.support.command import run as run_command

Command = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def environment(store: str, tmp_path: Path) -> dict[str, str]:
    """The environment of a command on a new store in an empty home."""
    home = tmp_path / "home of mine"
    environment = {"SATCHEL_HOME": str(home), "SATCHEL_DATABASE": store, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    environment["PYTHONPATH"] = str(Path(config.__file__).parents[1])  # the code that is tested, not what is installed
    return environment


@pytest.fixture
def satchel(environment: dict[str, str], tmp_path: Path) -> Command:
    """Runs `satchel` on a new store in an empty home."""

    def run(*arguments: str, input: bytes = b"", **more: str) -> subprocess.CompletedProcess[bytes]:
        given = environment | more
        if arguments[0] != "serve" and "PYTHONIOENCODING" not in more:
            return run_command(*arguments, environment=given, cwd=tmp_path, input=input)
        words = [sys.executable, "-m", "satchel", *arguments]
        return subprocess.run(words, input=input, capture_output=True, check=False, env=given, cwd=tmp_path)

    return run
