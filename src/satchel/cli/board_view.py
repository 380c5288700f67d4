"""What the board shows: the tasks of a project in columns, as a screen of a size or as one picture."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import click
from rich.cells import cell_len, set_cell_size

from satchel.cli.tasks_shown import Row, list_blockers
from satchel.log import escape_line

COLUMNS = (("ready", "Ready"), ("progress", "In progress"), ("blocked", "Blocked"), ("done", "Done"))
KEYS = "arrows choose  > < move  space done  p priority  enter show  ? help  q quit"
HELP = (
    "arrows, h j k l   choose a task",
    ">                 move on: claim it, then mark it as done",
    "<                 move back: open it again, or give it back",
    "space or x        done; or open again",
    "p                 the next priority",
    "enter             show the task, and back",
    "q or Ctrl-C       leave",
)

_LEAST = 15  # columns of a card beside others
_GAP = 1
_HEAD, _FOOT = 2, 2  # lines
_TITLE_LINES = 2  # of a card
_COLORS = {"ready": "green", "progress": "yellow", "blocked": "red", "done": "blue"}


@dataclass
class Board:
    """The tasks of a project by column, and which is chosen."""

    project: str
    cards: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name, _ in COLUMNS})
    column: int = 0
    row: int = 0

    @property
    def chosen(self) -> Row | None:
        """The chosen task."""
        cards = self.cards[COLUMNS[self.column][0]]
        return cards[self.row] if cards else None

    def fill(self, rows: Sequence[Row]) -> None:
        """Show other tasks; the chosen one stays chosen, where it is still there."""
        before = self.chosen
        self.cards = {name: [] for name, _ in COLUMNS}
        for row in rows:
            self.cards[find_column(row)].append(row)
        if before is not None:
            self.choose(before["number"])
        self.go(0, 0)

    def choose(self, number: int) -> None:
        """Choose a task by its number."""
        for column, (name, _) in enumerate(COLUMNS):
            for row, card in enumerate(self.cards[name]):
                if card["number"] == number:
                    self.column, self.row = column, row

    def go(self, columns: int, rows: int) -> None:
        """Choose a neighbour of the chosen task, as far as there is one."""
        self.column = min(max(self.column + columns, 0), len(COLUMNS) - 1)
        self.row = min(max(self.row + rows, 0), max(len(self.cards[COLUMNS[self.column][0]]) - 1, 0))


def find_column(task: Row) -> str:
    """The column of a task."""
    status = task.get("status", "pending")
    if status in ("completed", "cancelled"):
        return "done"
    if status == "in_progress":
        return "progress"
    return "blocked" if list_blockers(task) else "ready"


# -- screens ----------------------------------------------------------------------------------------------------


def draw(board: Board, width: int, height: int, message: str = "") -> list[str]:
    """A screen: at most so many lines, none wider than the terminal."""
    room = max(height - _HEAD - _FOOT, 1)
    shown = max(min(len(COLUMNS), (width + _GAP) // (_LEAST + _GAP)), 1)
    first = 0 if shown == len(COLUMNS) else min(board.column, len(COLUMNS) - shown)
    size = (width - _GAP * (shown - 1)) // shown
    parts = [_draw_column(board, place, size, room) for place in range(first, first + shown)]
    count = sum(map(len, board.cards.values()))
    place = "" if shown == len(COLUMNS) else f"  {board.column + 1}/{len(COLUMNS)}"
    head = _fit(f"Project {escape_line(board.project)}: {count} task{'' if count == 1 else 's'}{place}", width)
    lines = [click.style(head, bold=True)]
    for number in range(room + 1):
        lines.append((" " * _GAP).join(part[number] for part in parts))
    foot = [_fit(escape_line(message), width), _dim(_fit(KEYS if width >= len(KEYS) else "? help  q quit", width))]
    return [*lines, *foot][:height]


def draw_text(title: str, lines: Sequence[str], width: int, height: int) -> list[str]:
    """A screen with a text."""
    pieces = [piece for line in lines for piece in _wrap(line, width, 10**6)]
    body = [_fit(piece, width) for piece in pieces[: max(height - 2, 0)]]
    return [click.style(_fit(title, width), bold=True), *body, _dim(_fit("any key: back", width))][:height]


def _draw_column(board: Board, place: int, size: int, room: int) -> list[str]:
    """A column: its title, and as many cards as there is room for, the chosen one among them."""
    name, title = COLUMNS[place]
    cards = board.cards[name]
    is_here = place == board.column
    mark = ">" if is_here and not cards else ""
    head = _fit(f"{mark}{title} {len(cards)}", size)
    blocks = [_draw_card(card, size, is_chosen=is_here and number == board.row) for number, card in enumerate(cards)]
    start = _find_start([len(block) for block in blocks], board.row if is_here else 0, room)
    lines = [line for block in blocks[start:] for line in block]
    if len(lines) > room:
        lines = [*lines[: room - 1], _dim(_fit("...", size))] if room > _TITLE_LINES else lines[:room]
    lines += [" " * size] * (room - len(lines))
    return [click.style(head, fg=_COLORS[name], bold=True, underline=is_here), *lines]


def _find_start(heights: Sequence[int], chosen: int, room: int) -> int:
    """The first card to show, so that the chosen one is seen whole and a line is left for what follows."""
    start = chosen
    used = heights[chosen] if heights else 0
    while start > 0 and used + heights[start - 1] <= room - 1:
        start -= 1
        used += heights[start]
    return start


def _draw_card(task: Row, size: int, *, is_chosen: bool) -> list[str]:
    mark = ">" if is_chosen else " "
    title = _wrap(f"#{task['number']} {escape_line(task['title'])}", size - 1, _TITLE_LINES)
    lines = [_fit(f"{mark}{line}", size) for line in title]
    facts = describe_facts(task)
    styled = [click.style(line, reverse=True) if is_chosen else line for line in lines]
    return [*styled, _dim(_fit(f"  {facts}", size))] if facts else styled


def describe_facts(task: Row) -> str:
    """What is to know about a task beside its title, the most important first."""
    facts = [
        "cancelled" if task.get("status") == "cancelled" else "",
        task.get("priority", ""),
        f"due {task['due']}" if task.get("due") else "",
        f"after {', '.join(list_blockers(task))}" if list_blockers(task) else "",
        task.get("holder", ""),
        ", ".join(task.get("tags", ())),
    ]
    return escape_line("  ".join(filter(None, facts)))


# -- one picture ------------------------------------------------------------------------------------------------


def describe(board: Board) -> dict[str, Any]:
    """The board for programs."""
    return {"project": board.project, "columns": board.cards}


def write_picture(board: Board, width: int) -> list[str]:
    """The board as lines, one column below the other; titles are wrapped, nothing is left out."""
    lines = [click.style(f"Project {escape_line(board.project)}", bold=True)]
    for name, title in COLUMNS:
        lines += ["", click.style(f"{title} {len(board.cards[name])}", fg=_COLORS[name], bold=True)]
        for task in board.cards[name]:
            pieces = _wrap(f"#{task['number']} {escape_line(task['title'])}", max(width - 4, 1), 10**6)
            facts = _wrap(describe_facts(task), max(width - 6, 1), 10**6) if describe_facts(task) else []
            lines += [f"  {pieces[0]}", *(f"    {piece}" for piece in pieces[1:])]
            lines += [_dim(f"      {piece}") for piece in facts]
    return lines


# -- pieces -----------------------------------------------------------------------------------------------------


def _fit(text: str, size: int) -> str:
    """A text in exactly so many columns of the terminal."""
    if cell_len(text) <= size:
        return set_cell_size(text, size)
    return set_cell_size(text, max(size - 1, 0)) + ("…" if size else "")


def _wrap(text: str, size: int, most: int) -> list[str]:
    """A text in lines of a width; what does not fit into the last of them stays on it, to be cut."""
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(joined) <= size or not lines[-1] or len(lines) == most:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines


def _dim(text: str) -> str:
    return click.style(text, dim=True)
