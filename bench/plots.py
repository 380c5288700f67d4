"""Plots as SVG text: bars and lines, in colours for light and dark backgrounds."""

import math
from xml.sax.saxutils import escape

from bench.measuring import show
from bench.results import Plot

WIDTH = 760
LABELS = 300  # the width of what stands left of bars
STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #24292f; }
.title { font-weight: 600; font-size: 15px; }
.small { font-size: 11px; fill: #57606a; }
.axis { stroke: #8c959f; stroke-width: 1; fill: none; }
.grid { stroke: #8c959f; stroke-opacity: .3; fill: none; }
.bar { fill: #8c959f; }
.ours { fill: #1f7a5c; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .small { fill: #9198a1; } .ours { fill: #3fb98f; } .bar { fill: #768390; }
}
</style>"""
COLOURS = ("#1f9e77", "#d9822b", "#7a6fd0", "#d6478f", "#4c8fd6", "#8a9a2b", "#c4a000", "#a06a3a", "#808890")


def draw(plot: Plot) -> str:
    """Draw a plot as SVG."""
    return draw_bars(plot) if plot.bars else draw_lines(plot)


def draw_bars(plot: Plot) -> str:
    """Draw one horizontal bar per value, smallest first; on a logarithmic scale if the plot asks for it."""
    bars = sorted(plot.bars.items(), key=lambda bar: bar[1])
    height = 50 + 24 * len(bars)
    most, least = bars[-1][1], bars[0][1]
    room = WIDTH - LABELS - 90

    def measure(value: float) -> float:
        if not plot.is_log:
            return room * value / most
        return room * (math.log10(value / least) + 0.3) / (math.log10(most / least) + 0.3)

    scale = ", logarithmic scale" if plot.is_log else ""
    parts = [f'<text class="title" x="10" y="24">{escape(plot.title)} ({plot.unit}{scale})</text>']
    for place, (name, value) in enumerate(bars):
        y = 44 + 24 * place
        kind = "ours" if name.startswith("satchel") else "bar"
        parts.append(f'<text x="{LABELS - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect class="{kind}" x="{LABELS}" y="{y}" width="{measure(value):.1f}" height="17" rx="2"/>')
        parts.append(f'<text x="{LABELS + measure(value) + 6:.1f}" y="{y + 13}">{show(value)}</text>')
    return _wrap(height, parts, plot.title)


def draw_lines(plot: Plot) -> str:
    """Draw one line per series, on logarithmic scales, with marks at its points and its name at the right."""
    height, left, top, right, bottom = 400, 70, 50, WIDTH - 300, 350
    lines = {name: [(x, y) for x, y in line if y > 0] for name, line in plot.lines.items()}  # 0 has no logarithm
    points = [point for line in lines.values() for point in line]
    x_low, x_high = _decades([x for x, _ in points])
    y_low, y_high = _decades([y for _, y in points])

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - x_low) / (x_high - x_low)
        up = (math.log10(y) - y_low) / (y_high - y_low)
        return left + across * (right - left), bottom - up * (bottom - top)

    parts = [f'<text class="title" x="10" y="24">{escape(plot.title)} ({plot.unit}, logarithmic scales)</text>']
    for power in range(y_low, y_high + 1):
        y = place(10**x_low, 10**power)[1]
        parts.append(f'<path class="grid" d="M{left} {y:.1f}H{right}"/>')
        parts.append(f'<text class="small" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{10**power:,g}</text>')
    for x in sorted({x for x, _ in points}) if len({x for x, _ in points}) <= 6 else []:
        across = place(x, 10**y_low)[0]
        parts.append(f'<text class="small" x="{across:.1f}" y="{bottom + 18}" text-anchor="middle">{x:,.0f}</text>')
    if len({x for x, _ in points}) > 6:
        for power in range(x_low, x_high + 1):
            across = place(10**power, 10**y_low)[0]
            parts.append(
                f'<text class="small" x="{across:.1f}" y="{bottom + 18}" text-anchor="middle">{10**power:,}</text>'
            )
    parts.append(f'<path class="axis" d="M{left} {top}V{bottom}H{right}"/>')
    parts.append(f'<text class="small" x="{right}" y="{bottom + 36}" text-anchor="end">{escape(plot.across)}</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        drawn = [place(x, y) for x, y in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        dash = ' stroke-dasharray="5 3"' if number >= len(COLOURS) else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in drawn]
        row = top + 8 + 22 * number
        parts.append(f'<path d="M{right + 12} {row - 4}h16" stroke="{colour}" stroke-width="3"{dash}/>')
        parts.append(f'<text class="small" x="{right + 34}" y="{row}">{escape(name)}</text>')
    return _wrap(max(height, top + 30 + 22 * len(lines)), parts, plot.title)


def _decades(values: list[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _wrap(height: int, parts: list[str], title: str) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    return "\n".join([head, f"<title>{escape(title)}</title>", STYLE, *parts, "</svg>", ""])
