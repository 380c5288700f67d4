"""What a missing extra is installed with, by how this copy of Satchel was installed."""

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from satchel.extras import find_extra, install_command


class _Distribution:
    def __init__(self, origin: dict[str, Any] | None) -> None:
        self._origin = origin

    def read_text(self, _name: str) -> str | None:
        return None if self._origin is None else json.dumps(self._origin)


@pytest.mark.parametrize(
    ("marker", "origin", "command"),
    [
        ("uv-receipt.toml", None, "uv tool install --force 'satchel[postgres]'"),
        (
            "uv-receipt.toml",
            {"url": "file:///src/satchel", "dir_info": {}},
            "uv tool install --force 'satchel[postgres] @ file:///src/satchel'",
        ),
        ("pipx_metadata.json", None, "pipx install --force 'satchel[postgres]'"),
        ("", None, f"{sys.executable} -m pip install 'satchel[postgres]'"),
        (
            "",
            {"url": "https://example.com/satchel.git", "vcs_info": {"vcs": "git", "commit_id": "1"}},
            f"{sys.executable} -m pip install 'satchel[postgres] @ git+https://example.com/satchel.git'",
        ),
        (
            "",
            {"url": "file:///src/my%20satchel", "dir_info": {"editable": True}},
            f"{sys.executable} -m pip install -e '/src/my satchel[postgres]'",
        ),
    ],
)
def test_an_extra_is_installed_as_this_copy_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: str, origin: dict[str, Any] | None, command: str
) -> None:
    if marker:
        (tmp_path / marker).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _name: _Distribution(origin))
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: object())
    assert install_command("postgres") == command


def test_only_modules_of_extras_are_explained() -> None:
    assert find_extra(ModuleNotFoundError(name="psycopg.rows")) == "postgres"
    assert find_extra(ModuleNotFoundError(name="satchel.typo")) is None


def test_a_store_on_postgresql_without_the_extra_says_how_to_install_it(tmp_path: Path) -> None:
    for words in (["task", "list"], ["dump"], ["backup", "copy"]):
        code = (
            "import sys; sys.modules['psycopg'] = None\n"
            f"sys.argv = {['satchel', *words, '-d', 'postgresql://nowhere/x']}\n"
            "from satchel.__main__ import main\nsys.exit(main())"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, cwd=tmp_path, text=True)
        assert done.returncode == 1 and done.stdout == "" and "Traceback" not in done.stderr
        assert "an extra. Install it with: " in done.stderr and "[postgres]" in done.stderr
