"""The results of the parts, and the files in `bench/results/` that store them and their raw samples."""

import json
from pathlib import Path

import msgspec

FOLDER = Path(__file__).resolve().parent / "results"
SAMPLES = FOLDER / "samples"


class Table(msgspec.Struct):
    """A table of the report; all cells are text."""

    title: str
    head: list[str]
    rows: list[list[str]]
    note: str = ""


class Plot(msgspec.Struct):
    """A picture of the report: bars of one value each, or lines through points."""

    name: str  # of its file
    title: str
    unit: str
    bars: dict[str, float] = {}
    lines: dict[str, list[tuple[float, float]]] = {}
    across: str = ""  # what the horizontal axis of lines counts
    is_log: bool = False


class Result(msgspec.Struct):
    """The findings of one part, and when, how long, where and beside which load it ran."""

    part: str
    taken_at: str = ""
    sources: str = ""  # the commit that last changed Satchel's sources
    seconds: float = 0
    load: tuple[float, float] = (0, 0)  # the machine's load average before and after
    share: float = 1.0  # of the full sizes
    sync_ms: tuple[float, float, float] | None = None  # of a write and an fsync of 4 KiB: lower quartile, median, upper
    machine: dict[str, str] = {}  # processor, system, versions of interpreters, engines and rivals
    tables: list[Table] = []
    plots: list[Plot] = []
    figures: dict[str, float] = {}  # what goals are judged by
    notes: list[str] = []


def save(result: Result, samples: dict[str, list[float]]) -> None:
    """Store a result, and beside it the raw samples of each case, one case a line."""
    FOLDER.mkdir(exist_ok=True)
    SAMPLES.mkdir(exist_ok=True)
    raw = msgspec.json.format(msgspec.json.encode(_rounded(result)), indent=1)
    (FOLDER / f"{result.part}.json").write_bytes(raw + b"\n")
    lines = [
        f"{json.dumps(name, ensure_ascii=False)}: {json.dumps([_round(value) for value in values])}"
        for name, values in samples.items()
    ]
    (SAMPLES / f"{result.part}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def load_all() -> dict[str, Result]:
    """Read the stored results, by part."""
    found = [msgspec.json.decode(file.read_bytes(), type=Result) for file in sorted(FOLDER.glob("*.json"))]
    return {result.part: result for result in found}


def render_table(table: Table) -> str:
    """Render a table in Markdown: the first column aligned to the left, the others to the right."""
    lines = [table.head, *table.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.head))]

    def render(cells: list[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return f"| {' | '.join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])} |"

    rule = ["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])]
    return "\n".join([render(table.head), f"|{'|'.join(rule)}|", *map(render, table.rows)])


def _rounded(result: Result) -> Result:
    """Round all figures to four significant digits."""
    figures = {name: _round(value) for name, value in result.figures.items()}
    plots = [
        msgspec.structs.replace(
            plot,
            bars={name: _round(value) for name, value in plot.bars.items()},
            lines={name: [(x, _round(y)) for x, y in points] for name, points in plot.lines.items()},
        )
        for plot in result.plots
    ]
    return msgspec.structs.replace(result, figures=figures, plots=plots)


def _round(value: float) -> float:
    return float(f"{value:.4g}")
