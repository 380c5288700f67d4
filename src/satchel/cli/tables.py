"""Tables on a terminal: as wide as the terminal, with ids, names and addresses in one piece.

Where these leave no room for the rest of a row, the rest stands below them.
"""

import shutil
import sys
from collections.abc import Sequence

import click

# Columns of text for people. Their words are broken where they are too long; those of other columns never are.
PROSE = {"TITLE", "DESCRIPTION", "TEXT", "WHAT", "WHO", "WITH", "ABOUT"}

_GAP = 2  # columns between two cells
_LEAST = 12  # columns of text that are worth a place beside the rest
_INDENT = "    "


def draw(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    width = shutil.get_terminal_size().columns
    for line in lay_out(columns, rows, width):
        click.echo(line)


def fold(text: str) -> str:
    """A text with its lines as wide as the terminal, where there is one; words stay whole."""
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(part for line in text.split("\n") for part in _wrap(line, width, ""))


def lay_out(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The lines of a table. An empty column is left out, unless it is the first."""
    used = [place for place in range(len(columns)) if place == 0 or any(row[place] for row in rows)]
    columns, rows = [columns[place] for place in used], [[row[place] for place in used] for row in rows]
    widths = _choose_widths(columns, rows, width)
    if widths is None:
        return [line for row in rows for line in _stack(columns, row, width)]
    head = [
        click.style(column, bold=True) + " " * (size - len(column))
        for column, size in zip(columns, widths, strict=True)
    ]
    lines = [(" " * _GAP).join(head).rstrip()]
    for row in rows:
        cells = [_wrap(cell, size, column) for cell, size, column in zip(row, widths, columns, strict=True)]
        for place in range(max(map(len, cells))):
            parts = [
                _pad(cell[place] if place < len(cell) else "", size) for cell, size in zip(cells, widths, strict=True)
            ]
            lines.append((" " * _GAP).join(parts).rstrip())
    return lines


def _choose_widths(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """The width of each column; None where they do not fit beside each other."""
    cells = list(zip(*rows, strict=True)) or [()] * len(columns)
    most = [max(map(measure, (column, *column_cells))) for column, column_cells in zip(columns, cells, strict=True)]
    least = [
        min(size, _LEAST)
        if column in PROSE
        else max(measure(word) for cell in (column, *held) for word in cell.split() or [""])
        for column, size, held in zip(columns, most, cells, strict=True)
    ]
    room = width - _GAP * (len(columns) - 1)
    if sum(least) > room:
        return None
    sizes = list(least)
    # What is left goes first to the columns that lack least, so that only long texts are wrapped.
    left = room - sum(sizes)
    waiting = sorted(range(len(columns)), key=lambda place: most[place] - least[place])
    for done, place in enumerate(waiting):
        share = min(most[place] - least[place], left // (len(waiting) - done))
        sizes[place] += share
        left -= share
    return sizes


def _stack(columns: Sequence[str], row: Sequence[str], width: int) -> list[str]:
    """A row below its first cell: texts in lines of their own, then the other cells side by side."""
    room = max(width - len(_INDENT), 1)
    cells = [(column, cell) for column, cell in zip(columns[1:], row[1:], strict=True) if cell]
    lines = [part for column, cell in cells if column in PROSE for part in _wrap(cell, room, column)]
    facts = [""]
    for cell in (cell for column, cell in cells if column not in PROSE):
        joined = f"{facts[-1]}{' ' * _GAP}{cell}" if facts[-1] else cell
        facts = [*facts[:-1], joined] if measure(joined) <= room or not facts[-1] else [*facts, cell]
    return [row[0], *(f"{_INDENT}{line}" for line in [*lines, *facts] if line)]


def _wrap(cell: str, size: int, column: str) -> list[str]:
    """A cell in lines of a width; a word that is longer stays whole, unless it is prose."""
    lines: list[str] = []
    line = ""
    for word in cell.split(" "):
        joined = f"{line} {word}" if line else word
        if measure(joined) <= size:
            line = joined
            continue
        lines += [line] if line else []
        pieces = _break(word, size) if column in PROSE else [word]
        lines += pieces[:-1]
        line = pieces[-1]
    return [*lines, line]


def _break(word: str, size: int) -> list[str]:
    pieces = [""]
    for character in word:
        if measure(pieces[-1] + character) > size and pieces[-1]:
            pieces.append("")
        pieces[-1] += character
    return pieces


def _pad(text: str, size: int) -> str:
    return text + " " * (size - measure(text))


def measure(text: str) -> int:
    """The columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # only where it is needed: 20 ms

    return cell_len(text)
