"""`satchel board`: the tasks of a project on the terminal, live, with keys to move and complete them.

Like the page's board, it shows the tasks of its project and those of no project, or with --all every task.
"""

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import click
from msgspec import to_builtins
from rich.cells import cell_len, set_cell_size

from satchel.cli.errors import explain
from satchel.cli.examples import Command
from satchel.cli.output import count, has_colors, to_json
from satchel.cli.session import Session, command
from satchel.cli.task import PRIORITIES, Row, format_whole, list_blockers
from satchel.cli.terminal import Terminal
from satchel.errors import SatchelError
from satchel.log import escape_line
from satchel.services import tasks

COLUMNS = tasks.BOARD
KEYS = "arrows choose  > < move  space done  p priority  enter show  ? help  q quit"
HELP = (
    "arrows, h j k l   choose a task",
    ">                 move on: claim it, then mark it as done",
    "<                 move back: open it again, or release it",
    "space or x        done; or open again",
    "p                 the next priority",
    "enter             show the task, and back",
    "q or Ctrl-C       leave",
)

_MOST = 500  # the limit of open tasks on a board
_DONE = 30
_LEAST = 15  # minimum columns of a card beside others
_GAP = 1
_HEAD, _FOOT = 2, 2  # lines
_TITLE_LINES = 2  # the lines for a card's title
_COLORS = {"ready": "green", "progress": "yellow", "blocked": "red", "done": "blue"}
_REFRESH = 15.0  # seconds between refreshes, which show expired claims; changes show at once
_MOVES = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
_MOVES |= {"h": (-1, 0), "l": (1, 0), "k": (0, -1), "j": (0, 1), "home": (0, -_MOST), "end": (0, _MOST)}


@dataclass
class Board:
    """The tasks by column, and the chosen one."""

    project: str | None  # None: every project
    cards: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name, _ in COLUMNS})
    column: int = 0
    row: int = 0

    @property
    def chosen(self) -> Row | None:
        """Return the chosen task."""
        cards = self.cards[COLUMNS[self.column][0]]
        return cards[self.row] if cards else None

    def fill(self, cards: dict[str, list[Row]]) -> None:
        """Replace the tasks; keep the choice if the chosen task is still there."""
        before = self.chosen
        self.cards = cards
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
        """Choose another task, `columns` to the right and `rows` down, within the bounds of the board."""
        self.column = min(max(self.column + columns, 0), len(COLUMNS) - 1)
        self.row = min(max(self.row + rows, 0), max(len(self.cards[COLUMNS[self.column][0]]) - 1, 0))

    @property
    def title(self) -> str:
        """Return the title of the board."""
        return "All projects" if self.project is None else f"Project {escape_line(self.project)}"


# -- the command ------------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.option("--all", "is_everything", is_flag=True, help="Tasks of every project.")
@command(as_user=True, reads=True)
def cli(session: Session, is_everything: bool) -> None:
    """Show a project's tasks and those of no project as a board: ready, in progress, blocked, done.

    On a terminal it is live and shows others' changes within a second; ? lists its keys. Elsewhere it is printed
    once.
    """
    board = Board(None if is_everything else session.scope.project)
    _load(session, board)
    if session.as_json:
        click.echo(to_json({"project": board.project, "columns": board.cards}))
    elif sys.stdout.isatty() and sys.stdin.isatty():
        _run(session, board)
    else:
        for line in write_picture(board, shutil.get_terminal_size().columns):
            click.echo(line)


def _load(session: Session, board: Board) -> None:
    """Read the tasks of the board."""
    from satchel.contracts.satchel import task_answers  # takes 50 ms with the contract; `--help` does not need it

    with session.read() as tx:
        found = tasks.list_board(tx, session.scope, board.project, most_open=_MOST, most_done=_DONE)
    here = session.scope.project
    board.fill(
        {name: [to_builtins(task_answers.make_row(one, here)) for one in cards] for name, cards in found.cards.items()}
    )


def _run(session: Session, board: Board) -> None:
    with Terminal() as terminal:
        session.database.watch(lambda _changes: terminal.wake())
        _Live(session, board, terminal).run()


class _Live:
    """A live board on a terminal."""

    def __init__(self, session: Session, board: Board, terminal: Terminal) -> None:
        self._session = session
        self._board = board
        self._terminal = terminal
        self._message = ""
        self._text: tuple[str, list[str]] | None = None  # shown instead of the board
        self._asked: tuple[str, int] | None = None  # the key and the task of a change that waits for a confirmation

    def run(self) -> None:
        """Show the board and act on keys until the user leaves it."""
        self._draw()
        while True:
            key = self._terminal.read_key(_REFRESH)
            if key == "q" or (key == "escape" and self._text is None):
                return
            if not key:
                self._attempt(lambda: _load(self._session, self._board))
            elif self._text is not None:
                self._text = None
            else:
                self._message = ""
                self._act(key)
            self._draw()

    def _draw(self) -> None:
        width, height = self._terminal.size
        if self._text is not None:
            lines = draw_text(*self._text, width, height)
        else:
            lines = draw(self._board, width, height, self._message)
        # Without colours, only the mark shows which task is chosen.
        self._terminal.show(lines if has_colors() else [click.unstyle(line) for line in lines])

    def _act(self, key: str) -> None:
        if key in _MOVES:
            self._board.go(*_MOVES[key])
        elif key == "?":
            self._text = ("Keys", list(HELP))
        elif self._board.chosen is not None:
            number = self._board.chosen["number"]
            act = self._find_action(key, number)
            if act is not None and key != "enter" and self._asks(key, self._board.chosen):
                return
            if act is not None and self._attempt(act):
                self._attempt(lambda: _load(self._session, self._board))
                self._board.choose(number)

    def _asks(self, key: str, task: Row) -> bool:
        """Ask the user to press the key again, if it changes a task that an agent holds; return whether it asked."""
        own = tasks.make_holder(self._session.scope.author.client, "", self._session.scope).name
        asked, self._asked = self._asked, None
        if task.get("holder", own) == own or asked == (key, task["number"]):
            return False
        self._asked = (key, task["number"])
        until = task["until"][11:16]
        self._message = f"#{task['number']} is held by {task['holder']} until {until}: press {key} again to go on"
        return True

    def _find_action(self, key: str, number: int) -> Callable[[], object] | None:
        """Return what a key does to the chosen task; None for a key that does nothing."""
        assert self._board.chosen is not None
        call, task, column = self._session.call, str(number), COLUMNS[self._board.column][0]
        is_reviewed = self._board.chosen.get("status") == "review"

        def complete() -> object:
            return call("complete_task", task=task)

        def reopen() -> object:
            return call("update_task", task=task, status="pending")

        moves: dict[tuple[str, str], Callable[[], object]] = {
            (">", "ready"): lambda: call("claim_task", task=task),
            (">", "blocked"): lambda: call("claim_task", task=task),
            (">", "progress"): complete,
            ("<", "progress"): reopen if is_reviewed else lambda: call("claim_task", task=task, release=True),
            ("<", "done"): reopen,
        }
        if key in ("space", "x"):
            return reopen if column == "done" else complete
        if key == "enter":
            return lambda: self._show(task)
        if key == "p":
            now: str = self._board.chosen.get("priority", "normal")
            after = PRIORITIES[(PRIORITIES.index(now) + 1) % len(PRIORITIES)]
            return lambda: call("update_task", task=task, priority=after)
        return moves.get(({".": ">", ",": "<"}.get(key, key), column))

    def _show(self, task: str) -> None:
        text = format_whole(self._session.call("get_task", task=task))
        self._text = (f"Task {task}", [escape_line(line) for line in text.splitlines()])

    def _attempt(self, act: Callable[[], object]) -> bool:
        """Run an action; show an error on the board; return whether it succeeded."""
        try:
            act()
        except SatchelError as error:
            self._message = explain(error, self._session.database, self._session.scope)
            return False
        return True


# -- screens ----------------------------------------------------------------------------------------------------


def draw(board: Board, width: int, height: int, message: str = "") -> list[str]:
    """Return the board as lines for a terminal of this width and height."""
    room = max(height - _HEAD - _FOOT, 1)
    shown = max(min(len(COLUMNS), (width + _GAP) // (_LEAST + _GAP)), 1)
    first = 0 if shown == len(COLUMNS) else min(board.column, len(COLUMNS) - shown)
    size = (width - _GAP * (shown - 1)) // shown
    parts = [_draw_column(board, place, size, room) for place in range(first, first + shown)]
    number = sum(map(len, board.cards.values()))
    place = "" if shown == len(COLUMNS) else f"  {board.column + 1}/{len(COLUMNS)}"
    head = _fit(f"{board.title}: {count(number, 'task')}{place}", width)
    lines = [click.style(head, bold=True)]
    for number in range(room + 1):
        lines.append((" " * _GAP).join(part[number] for part in parts))
    foot = [_fit(escape_line(message), width), _dim(_fit(KEYS if width >= len(KEYS) else "? help  q quit", width))]
    return [*lines, *foot][:height]


def draw_text(title: str, lines: Sequence[str], width: int, height: int) -> list[str]:
    """Return a screen, as lines, that shows only a text."""
    pieces = [piece for line in lines for piece in _wrap(line, width, 10**6)]
    body = [_fit(piece, width) for piece in pieces[: max(height - 2, 0)]]
    return [click.style(_fit(title, width), bold=True), *body, _dim(_fit("any key: back", width))][:height]


def _draw_column(board: Board, place: int, size: int, room: int) -> list[str]:
    """Return the lines of a column: its title and as many cards as fit, the chosen one among them."""
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
    """Return the index of the first card to show, so that the chosen one is entirely visible."""
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
    """Return the facts about a task, most important first."""
    facts = [
        {"cancelled": "cancelled", "review": "in review"}.get(task.get("status", ""), ""),
        f"subtasks {task['subtasks']}" if task.get("subtasks") else "",
        f"in #{task['parent']}" if task.get("parent") else "",
        task.get("priority", ""),
        f"due {task['due']}" if task.get("due") else "",
        f"after {', '.join(list_blockers(task))}" if list_blockers(task) else "",
        task.get("holder", ""),
        ", ".join(task.get("tags", ())),
    ]
    return escape_line("  ".join(filter(None, facts)))


# -- one picture ------------------------------------------------------------------------------------------------


def write_picture(board: Board, width: int) -> list[str]:
    """Return the whole board as lines, one column below the other."""
    lines = [click.style(board.title, bold=True)]
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
    """Return `text`, cut or padded to `size` cells."""
    if cell_len(text) <= size:
        return set_cell_size(text, size)
    return set_cell_size(text, max(size - 1, 0)) + ("…" if size else "")


def _wrap(text: str, size: int, most: int) -> list[str]:
    """Wrap a text into at most `most` lines of `size` cells; the last line may be longer."""
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
