"""One run: its folder, sizes, rivals, progress and samples; the machine it runs on."""

import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench.measuring import Case, interleave

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SCRATCH = ROOT / ".bench"  # rivals; not in git
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
    samples: dict[str, list[float]] = field(default_factory=dict)  # of the part, by case

    def amount(self, quick: int, full: int) -> int:
        """Return a size, scaled by how long the run may take."""
        return max(quick, round(full * self.share))

    def interleave(
        self, label: str, cases: Sequence[Case], rounds: int, *, warmup: int = 1, budget: float = 60
    ) -> None:
        """Measure cases in rotation, and keep their samples under a label."""
        interleave(cases, rounds, warmup=warmup, budget=budget, step=self.step)
        for case in cases:
            self.samples[f"{label}: {case.name}" if label != case.name else label] = case.values

    @property
    def is_quick(self) -> bool:
        """Whether this run only tries the code."""
        return self.share == 0

    def make_folder(self, name: str) -> Path:
        """Make a new folder."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        return folder


def environment(cache: Path, **more: str) -> dict[str, str]:
    """Return the environment of a server: without our own settings, and with a folder for its bytecode.

    An installed package has its bytecode beside it; a checkout has it after one start, unless
    PYTHONDONTWRITEBYTECODE is set, as it is in many containers. A warm-up fills the folder for all rivals alike.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SATCHEL_"))}
    return {**kept, "PYTHONPYCACHEPREFIX": str(cache), **more}


def describe_machine() -> dict[str, str]:
    """Describe the machine, and the versions of interpreters and engines."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": f"{_read_processor()}, {os.cpu_count()} cores",
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "Python": platform.python_version(),
        "SQLite": f"{version('apsw')} (apsw), {sqlite3.sqlite_version} (Python)",
    }


def measure_sync(folder: Path) -> tuple[float, float, float]:
    """Return the quartiles of the milliseconds of a write of 4 KiB and its fsync in a folder, of 60 of them."""
    taken = []
    with open(folder / "sync", "wb", buffering=0) as file:
        for _ in range(60):
            started = time.perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            taken.append((time.perf_counter() - started) * 1000)
    lower, median, upper = statistics.quantiles(taken, n=4)
    return lower, median, upper


def name_sources() -> str:
    """Return the commit that last changed Satchel's sources."""
    return _ask("git", "-C", str(ROOT), "log", "-1", "--format=%h", "--", "src")


def tell_time() -> str:
    """Return the time in UTC, to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


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
