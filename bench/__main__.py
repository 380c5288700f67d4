"""Measures parts by name, stores their results, and writes `docs/dev/benchmarks.md` from all stored results.

python -m bench [PART …] [--quick] [--rival NAME …]
python -m bench report       only the report
python -m bench smoke [--renew]
"""

import argparse
import importlib
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import report, results
from bench.installing import read_versions
from bench.parts import COUNTED, PARTS
from bench.results import Result, render_table
from bench.surroundings import Run, describe_machine, measure_sync, name_sources, tell_time


def main() -> int:
    """Run what the command line names; return 1 if a part could not be measured."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    known = "\n".join(f"{name:<12}{what}" for name, what in PARTS.items())
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"all by default:\n{known}")
    parser.add_argument(
        "--share", type=float, default=1.0, help="share of the full sizes, for a busy machine (default: 1)"
    )
    parser.add_argument(
        "--quick", action="store_const", dest="share", const=0, help="try the code in the smallest sizes; store nothing"
    )
    parser.add_argument("--rival", action="append", help="only this peer; may be repeated; `none`: no peer")
    parser.add_argument("--renew", action="store_true", help="with `smoke`: store the new figures")
    options = parser.parse_args()
    if options.parts == ["smoke"]:
        from bench import smoke

        return smoke.main(renews=options.renew)
    if options.parts == ["report"]:
        report.write(results.load_all())
        return 0
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")
    return measure_parts(options.parts or list(PARTS), options)


def measure_parts(parts: list[str], options: argparse.Namespace) -> int:
    """Measure each part, print its tables, and write the report."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    failed = []
    with Progress(*columns, console=console) as progress:
        whole = progress.add_task("all parts", total=len(parts))
        for name in parts:
            try:
                result, samples = measure_part(name, options, progress)
            except Exception as error:  # the other parts still count
                console.print_exception(max_frames=3)
                failed.append(f"{name}: {error}")
                continue
            finally:
                progress.advance(whole)
            for table in result.tables:
                print(f"\n{table.title}\n\n{render_table(table)}")
            print(*result.notes, sep="\n", flush=True)
            if options.share:
                results.save(result, samples)
    if options.share:
        report.write(results.load_all())
    print(*(f"not measured: {why}" for why in failed), sep="\n")
    return 1 if failed else 0


def measure_part(name: str, options: argparse.Namespace, progress: Progress) -> tuple[Result, dict[str, list[float]]]:
    """Measure one part in a temporary folder; return its result and its raw samples."""
    task = progress.add_task(name, total=None)
    load, started = os.getloadavg()[0], time.perf_counter()
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="satchel-bench-", ignore_cleanup_errors=True))
        )
        run = Run(folder, stack, options.share, tuple(options.rival) if options.rival else None)
        run.step = lambda: progress.advance(task)
        run.expect = lambda rounds: progress.update(task, total=rounds)
        sync = measure_sync(folder)
        result: Result = importlib.import_module(f"bench.parts.{name}").measure(run)
    result.taken_at, result.sources = tell_time(), name_sources()
    result.seconds = round(time.perf_counter() - started, 1)
    result.load = (round(load, 1), round(os.getloadavg()[0], 1))
    result.sync_ms, result.machine = sync, {**describe_machine(), **read_versions()}
    result.share = 1.0 if name in COUNTED else options.share
    progress.update(task, total=1, completed=1)
    return result, run.samples


if __name__ == "__main__":
    sys.exit(main())
