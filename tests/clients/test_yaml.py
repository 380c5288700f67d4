"""An entry of a YAML document is set or removed by its lines; all others stay."""

from pathlib import Path

import pytest
import yaml

from satchel.clients.changes import plan_install, plan_uninstall
from satchel.clients.entries import Local, Remote
from satchel.clients.files import UnusableFile
from satchel.clients.table import BY_NAME

GOOSE = BY_NAME["goose"]
TEXT = """\
# Mine
GOOSE_MODEL: "gpt"  # the large one
extensions:
  # What it can do
  developer:
    enabled: true
    envs:
      KEY: secret

  memory:
    type: builtin

# The end
GOOSE_MODE: auto
"""


def change(path: Path, target: Local | Remote) -> str:
    done = plan_install(GOOSE, str(path), "satchel", target, "user")
    done.make()
    return done.diff


@pytest.mark.parametrize(
    "text", [TEXT, TEXT.replace("  ", "    "), TEXT.replace("\n", "\r\n"), "", "extensions: {}\n", "A: 1\n"]
)
def test_an_entry_is_added_changed_and_removed_and_every_other_line_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(text.encode())
    before = yaml.safe_load(text) or {}
    assert "secret" not in change(path, Local("/opt/satchel", ("serve",)))
    added = path.read_bytes().decode()
    assert set(text.splitlines()) - {"extensions: {}"} <= set(added.splitlines())
    assert {**yaml.safe_load(added)["extensions"]}.pop("satchel")["cmd"] == "/opt/satchel"
    change(path, Remote("http://127.0.0.1:8000/mcp"))
    entries = yaml.safe_load(path.read_text())["extensions"]
    assert entries.pop("satchel") == {
        "name": "satchel",
        "type": "streamable_http",
        "uri": "http://127.0.0.1:8000/mcp",
        "enabled": True,
        "timeout": 300,
    }
    assert entries == (before.get("extensions") or {})
    removed = plan_uninstall(GOOSE, str(path), "satchel", "user")
    assert removed is not None
    removed.make()
    left = path.read_bytes().decode()
    assert left == (text if "developer" in text else left) and yaml.safe_load(left) == {"extensions": {}, **before}


def test_a_document_whose_entries_are_not_blocks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    for text in ("extensions: {developer: {enabled: true}}\n", "extensions: [a]\n", "- extensions\n", "a: b: c\n"):
        path.write_text(text)
        with pytest.raises(UnusableFile):
            plan_install(GOOSE, str(path), "satchel", Local("/opt/satchel", ("serve",)), "user")
    path.write_text("extensions:\n  satchel: {cmd: old}\n")
    with pytest.raises(UnusableFile):
        plan_uninstall(GOOSE, str(path), "satchel", "user")
