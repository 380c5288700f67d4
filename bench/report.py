"""Writes `docs/dev/benchmarks.md` and its plots from the stored results."""

from bench import goals, plots
from bench.measuring import show
from bench.parts import PARTS
from bench.results import Result, render_table
from bench.surroundings import ROOT

PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
PICTURES = ROOT / "docs" / "dev" / "benchmarks"
HEAD = """# Benchmarks

<!-- made by `make bench`; edit bench/report.py instead -->

This page compares Satchel with three kinds of servers:

- a **bare loop** with two tools on SQLite, the least that a server in Python can do;
- the same two tools on the **official SDK** and on **fastmcp**;
- seven **peers**: published servers for tasks or notes.

Each table comes from one run that measured all servers in rotation, so other load affects all of them alike. **Read the
ratios**: milliseconds depend on the machine. Figures are medians, with quartiles where there are few samples; a
percentile is shown if at least ten samples lie above it.

A **get** always reads one item by its id and returns all of it: a prompt from the bare loop, the SDK, fastmcp and the
contract `prompt-store`, a task from the contract `satchel`, and the item that was just added from a peer.

`make bench` repeats everything, `make bench PARTS="start calls"` some parts. [bench/README.md](../../bench/README.md)
explains the parts. Parts that were measured on 19 November 2026 or later have their raw samples in
`bench/results/samples/`.
"""

_OWN_LOAD = 3  # of our own clients and servers; a higher one is of other programs


def write(found: dict[str, Result]) -> None:
    """Write the page and its pictures."""
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
    """Describe the machine, and when and under which load each part was measured."""
    newest = max(ordered, key=lambda result: result.taken_at)
    lines = ["## Machine and versions\n", *(f"- {name}: {value}" for name, value in newest.machine.items()), ""]
    busy = [result for result in ordered if max(result.load) > _OWN_LOAD]
    if busy:
        worst = max(max(result.load) for result in busy)
        lines.append(
            f"**The machine had other load** during {len(busy)} of {len(ordered)} parts, up to {worst:.0f}: their "
            "milliseconds are too long, and their ratios less exact.\n"
        )
    lines.append(
        "| part | measured | sources | took | load before and after | share of full size | fsync of 4 KiB, ms |"
    )
    lines.append("|---|---|---|---:|---:|---:|---:|")
    for result in ordered:
        load, took = f"{result.load[0]} → {result.load[1]}", f"{show(result.seconds)} s"
        sync = "not measured"
        if result.sync_ms is not None:
            lower, median, upper = map(show, result.sync_ms)
            sync = f"{median} ({lower}–{upper})"
        cells = [result.part, result.taken_at, result.sources, took, load, f"{result.share:.0%}", sync]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def render_part(result: Result) -> str:
    """Render the section of one part."""
    lines = [f"## {result.part.capitalize()}: {PARTS[result.part]}\n"]
    lines += [f"![{plot.title}](benchmarks/{plot.name}.svg)\n" for plot in result.plots]
    for table in result.tables:
        lines += [f"### {table.title}\n", render_table(table), ""]
        lines += [f"{table.note}\n"] if table.note else []
    lines += [f"- {' '.join(note.split())}" for note in result.notes]
    return "\n".join(lines).rstrip() + "\n"
