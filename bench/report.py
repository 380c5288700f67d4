"""Writes `docs/dev/benchmarks.md` and its plots from the results that are kept."""

from bench import goals, plots
from bench.measuring import show
from bench.parts import PARTS
from bench.results import Result, render_table
from bench.surroundings import ROOT, describe_machine

PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
PICTURES = ROOT / "docs" / "dev" / "benchmarks"
HEAD = """# Benchmarks

<!-- made by `make bench`; edit bench/report.py instead -->

Satchel beside a bare loop, which is the limit of a server in Python, the same two tools on the official SDK and on
fastmcp, and published servers for the same job. Each table was measured in one run, in rotation, so other work affects
all alike. **Read the ratios**: milliseconds depend on the machine. `make bench` repeats everything, `make bench
PARTS="start calls"` some parts; [bench/README.md](../../bench/README.md) explains the figures.
"""

_OWN_LOAD = 3  # of our own clients and servers; a higher one is of other programs


def write(found: dict[str, Result]) -> None:
    """The page and its pictures."""
    PICTURES.mkdir(exist_ok=True)
    ordered = [found[part] for part in PARTS if part in found]
    drawn = [plot for result in ordered for plot in result.plots]
    for old in PICTURES.glob("*.svg"):
        if old.stem not in {plot.name for plot in drawn}:
            old.unlink()
    for plot in drawn:
        (PICTURES / f"{plot.name}.svg").write_text(plots.draw(plot))
    sections = [HEAD, "## Goals\n", render_table(goals.tabulate(found)), "", describe(ordered)]
    sections += [render_part(result) for result in ordered]
    PAGE.write_text("\n".join(sections).rstrip() + "\n")


def describe(ordered: list[Result]) -> str:
    """The machine, and when and beside how much other work each part was measured."""
    lines = ["## Machine\n", *(f"- {name}: {value}" for name, value in describe_machine()), ""]
    busy = [result for result in ordered if max(result.load) > _OWN_LOAD]
    if busy:
        worst = max(max(result.load) for result in busy)
        lines.append(
            f"**The machine was busy with other work** during {len(busy)} of {len(ordered)} parts, with a load of up "
            f"to {worst:.0f}: their milliseconds are too long, and their ratios less exact.\n"
        )
    lines.append("| part | measured | sources | took | load before and after | share of full size |")
    lines.append("|---|---|---|---:|---:|---:|")
    for result in ordered:
        load, took = f"{result.load[0]} → {result.load[1]}", f"{show(result.seconds)} s"
        cells = [result.part, result.taken_at, result.sources, took, load, f"{result.share:.0%}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def render_part(result: Result) -> str:
    """The section of one part."""
    lines = [f"## {result.part.capitalize()}: {PARTS[result.part]}\n"]
    lines += [f"![{plot.title}](benchmarks/{plot.name}.svg)\n" for plot in result.plots]
    for table in result.tables:
        lines += [f"### {table.title}\n", render_table(table), ""]
        lines += [f"{table.note}\n"] if table.note else []
    lines += [f"- {' '.join(note.split())}" for note in result.notes]
    return "\n".join(lines).rstrip() + "\n"
