"""Where a run takes place: its folders, sizes, rivals and progress; the machine it runs on."""

import os
import platform
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SCRATCH = ROOT / ".bench"  # not in git: rivals, and the Satchel of before
PYTHON = sys.executable
SATCHEL = str(Path(sys.executable).parent / "satchel")


@dataclass
class Run:
    """One run of some parts."""

    folder: Path  # temporary
    stack: ExitStack  # what ends with the part
    share: float = 1.0  # of the full sizes; 0: as small as can be, to try the code
    rivals: tuple[str, ...] | None = None  # only these peers; None: all
    step: Callable[[], None] = lambda: None  # tells the progress bar that a round is done
    expect: Callable[[int], None] = lambda _: None  # tells it how many rounds a part has

    def amount(self, quick: int, full: int) -> int:
        """A size, by how long the run may take."""
        return max(quick, round(full * self.share))

    @property
    def is_quick(self) -> bool:
        """Whether this run only tries the code."""
        return self.share == 0

    def make_folder(self, name: str) -> Path:
        """A new folder."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        return folder


def environment(cache: Path, **more: str) -> dict[str, str]:
    """The surroundings of a server: nothing of ours leaks in, and bytecode is kept, in a folder of the run's own.

    An installed package has its bytecode beside it; a checkout has it after one start, unless
    PYTHONDONTWRITEBYTECODE is set, as it is in many containers. A warm-up fills the folder for all rivals alike.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SATCHEL_"))}
    return {**kept, "PYTHONPYCACHEPREFIX": str(cache), **more}


def describe_machine() -> list[tuple[str, str]]:
    """What a reader must know about the machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        ("processor", f"{_read_processor()}, {os.cpu_count()} cores"),
        ("memory", f"{memory:.0f} GiB"),
        ("system", f"{platform.system()} {platform.release().split('-')[0]}"),
        ("Python", platform.python_version()),
        ("SQLite", f"{_read_version('apsw')} (apsw), {sqlite3.sqlite_version} (rivals)"),
    ]


def name_sources() -> str:
    """The commit that last changed Satchel's sources."""
    return _ask("git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", "src")


def tell_time() -> str:
    """Now, in UTC, to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _read_version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def _read_processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _ask(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
