"""Folders in which the blocks of the pages run, each with a home of its own that has one client."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT

EXCHANGED = {
    "prompts.csv": 'act,prompt\nPoet,"Write about ${topic}"\n',
    ".claude/commands/commit.md": "---\ndescription: Commit\n---\nCommit $ARGUMENTS\n",
    ".cursor/rules/ts.mdc": "---\nglobs: *.ts\n---\nStrict.\n",
    "patterns/sum/system.md": "Summarise {{input}}.\n",
    "todo.txt": "(A) Dig\n",
    "tasks.json": '{"tasks": [{"id": 1, "title": "Plan", "status": "done", "dependencies": []}]}',
    "notes/a.md": "---\ntitle: A\npermalink: a\n---\nText\n",
}


class Place:
    """A folder, its home, and the variables for what runs there."""

    def __init__(self, base: Path, name: str) -> None:
        self.home = base / "home"
        self.folder = base / "folder"
        self.home.mkdir()
        _FOLDERS[name](self.folder)
        (self.home / ".claude.json").write_text("{}\n")  # of a client that was used before
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SATCHEL_", "XDG_"))}
        paths = [Path(sys.executable).parent, self.home / ".local" / "bin"]
        self.environment = {
            **kept,
            "HOME": str(self.home),
            "PATH": os.pathsep.join([*map(str, paths), os.environ["PATH"]]),
            "SATCHEL_PORT": "0",  # any free one; several tests serve at the same time
            # Packages that were fetched before are not fetched again.
            "UV_CACHE_DIR": str(Path.home() / ".cache" / "uv"),
            "npm_config_cache": str(Path.home() / ".npm"),
            # The repository of the README is this one, as it was committed.
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{ROOT.as_uri()}.insteadOf",
            "GIT_CONFIG_VALUE_0": "https://github.com/satchel-mcp/satchel",
        }


def _make_empty(folder: Path) -> None:
    folder.mkdir()


def _copy_checkout(folder: Path) -> None:
    """Copy the files of the checkout and use the environment of the tests, as if `make run` had set it up."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    for path in (name.decode() for name in tracked if name and not name.startswith(b"tests/")):
        if (ROOT / path).is_file():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, folder / path)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    stamp = "cat locks/run.txt pyproject.toml | cksum | tr -d '\\n' > .venv/.installed-run"  # as tools/setup writes it
    subprocess.run(["sh", "-c", stamp], cwd=folder, check=True)


def _make_files_of_other_tools(folder: Path) -> None:
    for path, content in EXCHANGED.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)


_FOLDERS = {
    "empty": _make_empty,
    "checkout": _copy_checkout,
    "registry": _copy_checkout,  # the same, for lines that fetch packages
    "served": _copy_checkout,  # the same, beside `make run`
    "imports": _make_files_of_other_tools,
}
