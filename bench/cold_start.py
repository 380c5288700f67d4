"""How long a client waits for `initialize`, and what the server then weighs, beside a bare loop in the same run.

Every round starts each rival once, in rotation, so that a busy moment of the machine hits them alike.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from client import HERE, PYTHON, SATCHEL, Client, environment, median, quantile, table

TIME_GOAL = 1.5  # times the bare loop
MEMORY_GOAL = 1.4


@dataclass
class Rival:
    """One way to start a server, and what was measured of it."""

    name: str
    start: Callable[[], Client]
    times: list[float] = field(default_factory=list)
    rss: list[float] = field(default_factory=list)
    pss: list[float] = field(default_factory=list)


def main() -> int:
    """Measure, print, and with --check judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25, help="starts of each rival that count (default: 25)")
    parser.add_argument("--warmup", type=int, default=3, help="starts of each rival before (default: 3)")
    parser.add_argument("--no-sdk", action="store_true", help="leave the official SDK out")
    parser.add_argument("--check", action="store_true", help="exit 1 when a goal is missed")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="satchel-bench-") as folder:
        rivals = prepare(Path(folder), with_sdk=not options.no_sdk)
        for round in range(-options.warmup, options.rounds):
            turn = round % len(rivals)
            for rival in rivals[turn:] + rivals[:turn]:
                measure(rival, counts=round >= 0)
    print(report(rivals))
    return judge(rivals) if options.check else 0


def prepare(folder: Path, *, with_sdk: bool) -> list[Rival]:
    """Make the files and name the rivals; the first is what the others are compared with."""
    plain = environment(folder / "bytecode")
    store, bare_store, fresh = folder / "store.db", folder / "bare.db", folder / "fresh"
    serve = [SATCHEL, "serve", "--contract", "satchel"]
    Client([*serve, "--database", str(store)], plain).close()
    shutil.copy(store, bare_store)

    def first_start() -> Client:
        shutil.rmtree(fresh, ignore_errors=True)
        return Client(serve, {**plain, "SATCHEL_HOME": str(fresh)})

    rivals = [
        Rival("bare loop", lambda: Client([PYTHON, str(HERE / "bare_loop.py"), str(bare_store)], plain)),
        Rival("satchel", lambda: Client([*serve, "--database", str(store)], plain)),
        Rival("satchel, first start ever", first_start),
    ]
    if with_sdk:
        peer = [PYTHON, str(HERE / "sdk_server.py"), str(folder / "peer.db")]
        rivals.append(Rival("official SDK", lambda: Client(peer, plain)))
    return rivals


def measure(rival: Rival, *, counts: bool) -> None:
    """Start a rival once."""
    client = rival.start()
    memory = client.memory_kb()
    client.close()
    if counts:
        rival.times.append(client.start_ms)
        rival.rss.append(memory["rss"] / 1024)
        rival.pss.append(memory.get("pss", 0) / 1024)


def report(rivals: list[Rival]) -> str:
    """A table with the ratios to the first rival."""
    bare = rivals[0]
    rows = [
        (
            rival.name,
            f"{median(rival.times):.1f}",
            f"{quantile(rival.times, 0.25):.1f}–{quantile(rival.times, 0.75):.1f}",
            f"{median(rival.times) / median(bare.times):.2f}",
            f"{median(rival.rss):.1f}",
            f"{median(rival.rss) / median(bare.rss):.2f}",
            f"{median(rival.pss):.1f}",
            f"{median(rival.pss) / median(bare.pss):.2f}" if median(bare.pss) else "",
        )
        for rival in rivals
    ]
    head = ("start to `initialize`", "ms", "quartiles", "ratio", "RSS MB", "ratio", "PSS MB", "ratio")
    return table(head, rows)


def judge(rivals: list[Rival]) -> int:
    """Compare the second rival with the goals; the exit status."""
    bare, satchel = rivals[:2]
    ratios = {
        "time": (median(satchel.times) / median(bare.times), TIME_GOAL),
        "memory": (median(satchel.rss) / median(bare.rss), MEMORY_GOAL),
    }
    missed = [f"{what} {ratio:.2f} > {goal}" for what, (ratio, goal) in ratios.items() if ratio > goal]
    print(f"missed: {', '.join(missed)}" if missed else "all goals met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
