"""The whole `satchel.toml` of docs/reference/settings.md."""

import re
import tomllib
from pathlib import Path

import pytest

from satchel import config
from tests.docs.blocks import ROOT

FILE = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "reference" / "settings.md").read_text(), re.S)[0]
LINES = re.findall(r"^# (\w+ = .*)$", FILE, re.M)


def test_it_has_every_setting_once() -> None:
    assert list(tomllib.loads("\n".join(LINES))) == [setting.name for setting in config.SETTINGS]


def test_every_line_of_it_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path))
    for line in LINES:
        (tmp_path / "satchel.toml").write_text(f"{line}\n")
        config.load({})
