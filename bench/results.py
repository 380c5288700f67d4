"""What a part of the measurements has found, and the files in `bench/results/` that keep it between runs."""

from pathlib import Path

import msgspec

FOLDER = Path(__file__).resolve().parent / "results"


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
    """All that one part has found, and when, how long and beside how much other work."""

    part: str
    taken_at: str = ""
    sources: str = ""  # the commit that last changed Satchel's sources
    seconds: float = 0
    load: tuple[float, float] = (0, 0)  # the machine's load average before and after
    share: float = 1.0  # of the full sizes
    tables: list[Table] = []
    plots: list[Plot] = []
    figures: dict[str, float] = {}  # what goals are judged by
    notes: list[str] = []


def save(result: Result) -> None:
    """Keep a result."""
    FOLDER.mkdir(exist_ok=True)
    raw = msgspec.json.format(msgspec.json.encode(_rounded(result)), indent=1)
    (FOLDER / f"{result.part}.json").write_bytes(raw + b"\n")


def load_all() -> dict[str, Result]:
    """The results that are kept, by part."""
    found = [msgspec.json.decode(file.read_bytes(), type=Result) for file in sorted(FOLDER.glob("*.json"))]
    return {result.part: result for result in found}


def render_table(table: Table) -> str:
    """A table in Markdown, with its columns aligned: the first to the left, the others to the right."""
    lines = [table.head, *table.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.head))]

    def render(cells: list[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return f"| {' | '.join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])} |"

    rule = ["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])]
    return "\n".join([render(table.head), f"|{'|'.join(rule)}|", *map(render, table.rows)])


def _rounded(result: Result) -> Result:
    """The same with four digits that count, so that a file does not change by what means nothing."""
    figures = {name: float(f"{value:.4g}") for name, value in result.figures.items()}
    plots = [
        msgspec.structs.replace(
            plot,
            bars={name: float(f"{value:.4g}") for name, value in plot.bars.items()},
            lines={name: [(x, float(f"{y:.4g}")) for x, y in points] for name, points in plot.lines.items()},
        )
        for plot in result.plots
    ]
    return msgspec.structs.replace(result, figures=figures, plots=plots)
