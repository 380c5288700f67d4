"""Report what a plain install weighs: its packages, their size on disk, and how long `satchel --help` takes."""

import os
import subprocess
import sys
import time
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

MOST_PACKAGES, MOST_MEGABYTES, MOST_SECONDS = 30, 60, 0.15
TRIES = 10


def find_packages() -> dict[str, Distribution]:
    """Return Satchel and what it needs without extras, by name."""
    found: dict[str, Distribution] = {}
    waiting = ["satchel"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = distribution(name)
            for line in found[name].requires or ():
                wanted = Requirement(line)
                if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                    waiting.append(canonicalize_name(wanted.name))
    return found


def measure(package: Distribution) -> int:
    """Return the bytes of a package on disk, without compiled modules and commands."""
    files = [
        package.locate_file(file) for file in package.files or () if ".pyc" not in file.name and ".." not in file.parts
    ]
    return sum(os.path.getsize(str(file)) for file in files if os.path.isfile(str(file)))


def time_help() -> float:
    """Return the seconds that the fastest of several `satchel --help` takes."""
    took = []
    for _ in range(TRIES):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "satchel", "--help"], capture_output=True, check=True)
        took.append(time.perf_counter() - started)
    return min(took)


def main() -> None:
    """Print the figures beside their goals."""
    packages = find_packages()
    own = os.path.dirname(os.path.abspath(__file__)) + "/../src/satchel"
    size = sum(measure(one) for name, one in packages.items() if name != "satchel")
    size += sum(
        os.path.getsize(os.path.join(at, one)) for at, _, names in os.walk(own) for one in names if ".pyc" not in one
    )
    print(f"packages of a plain install: {len(packages)} (goal {MOST_PACKAGES}): {', '.join(sorted(packages))}")
    print(f"size on disk: {size / 1e6:.0f} MB (goal {MOST_MEGABYTES})")
    print(f"satchel --help: {time_help():.2f} s at best (goal {MOST_SECONDS})")


if __name__ == "__main__":
    main()
