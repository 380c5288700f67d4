"""`satchel board`: the tasks of a project on the terminal, live, with keys to move and complete them."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from satchel.cli.printing import to_json
from satchel.cli.store import Session, command
from satchel.errors import SatchelError

if TYPE_CHECKING:
    from satchel.cli.board_view import Board
    from satchel.cli.keyboard import Terminal

_MOST = 500  # open tasks on a board
_DONE = 30
_REFRESH = 15.0  # seconds, after which claims that ran out are seen; changes are seen at once
_PRIORITIES = ("low", "normal", "high", "urgent")
_MOVES = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
_MOVES |= {"h": (-1, 0), "l": (1, 0), "k": (0, -1), "j": (0, 1), "home": (0, -_MOST), "end": (0, _MOST)}


@click.command()
@command(needs_project=False, as_user=True, reads=True)
def cli(session: Session) -> None:
    """Show the tasks of a project as a board: ready, in progress, blocked, done.

    On a terminal it is live, and shows within a second what others change; ? lists its keys. Elsewhere it prints the
    board once.
    """
    from satchel.cli import board_view  # with rich, which `--help` need not wait for

    board = board_view.Board(session.scope.project)
    _load(session, board)
    if session.as_json:
        click.echo(to_json(board_view.describe(board)))
    elif sys.stdout.isatty() and sys.stdin.isatty() and _has_terminals():
        _run(session, board)
    else:
        import shutil

        for line in board_view.write_picture(board, shutil.get_terminal_size().columns):
            click.echo(line)


def _has_terminals() -> bool:
    """Whether this system has terminals that give single keys; Windows has others."""
    try:
        import termios  # noqa: F401
    except ImportError:
        return False
    return True


def _load(session: Session, board: "Board") -> None:
    """Read the tasks of the board."""
    from satchel.cli.calls import Page

    project = session.scope.project
    pending = session.list("list_tasks", "tasks", Page(_MOST), status="pending", project=project)
    done = session.list("list_tasks", "tasks", Page(_DONE), status="completed", project=project)
    board.fill([*pending.value["tasks"], *done.value["tasks"]])


def _run(session: Session, board: "Board") -> None:
    from satchel.cli.keyboard import Terminal

    with Terminal() as terminal:
        session.database.watch(lambda _changes: terminal.wake())
        _Live(session, board, terminal).run()


class _Live:
    """A board on a terminal, until it is left."""

    def __init__(self, session: Session, board: "Board", terminal: "Terminal") -> None:
        self._session = session
        self._board = board
        self._terminal = terminal
        self._message = ""
        self._text: tuple[str, list[str]] | None = None  # shown in place of the board

    def run(self) -> None:
        """Show the board and act on keys, until one leaves it."""
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
        from satchel.cli.board_view import draw, draw_text
        from satchel.cli.colors import has_colors

        width, height = self._terminal.size
        if self._text is not None:
            lines = draw_text(*self._text, width, height)
        else:
            lines = draw(self._board, width, height, self._message)
        # Without colours, only the mark shows which task is chosen.
        self._terminal.show(lines if has_colors() else [click.unstyle(line) for line in lines])

    def _act(self, key: str) -> None:
        from satchel.cli.board_view import HELP

        if key in _MOVES:
            self._board.go(*_MOVES[key])
        elif key == "?":
            self._text = ("Keys", list(HELP))
        elif self._board.chosen is not None:
            number = self._board.chosen["number"]
            act = self._find_action(key, number)
            if act is not None and self._attempt(act):
                self._attempt(lambda: _load(self._session, self._board))
                self._board.choose(number)

    def _find_action(self, key: str, number: int) -> Callable[[], object] | None:
        """What a key does to the chosen task."""
        from satchel.cli.board_view import find_column

        assert self._board.chosen is not None
        call, task, column = self._session.call, str(number), find_column(self._board.chosen)

        def complete() -> object:
            return call("complete_task", task=task)

        def reopen() -> object:
            return call("update_task", task=task, status="pending")

        moves: dict[tuple[str, str], Callable[[], object]] = {
            (">", "ready"): lambda: call("claim_task", task=task),
            (">", "blocked"): lambda: call("claim_task", task=task),
            (">", "progress"): complete,
            ("<", "progress"): lambda: call("claim_task", task=task, release=True),
            ("<", "done"): reopen,
        }
        if key in ("space", "x"):
            return reopen if column == "done" else complete
        if key == "enter":
            return lambda: self._show(task)
        if key == "p":
            now: str = self._board.chosen.get("priority", "normal")
            after = _PRIORITIES[(_PRIORITIES.index(now) + 1) % len(_PRIORITIES)]
            return lambda: call("update_task", task=task, priority=after)
        return moves.get(({".": ">", ",": "<"}.get(key, key), column))

    def _show(self, task: str) -> None:
        from satchel.cli.tasks_shown import format_whole
        from satchel.log import escape_line

        text = format_whole(self._session.call("get_task", task=task))
        self._text = (f"Task {task}", [escape_line(line) for line in text.splitlines()])

    def _attempt(self, act: Callable[[], object]) -> bool:
        """Do something; where it fails, the board says why."""
        from satchel.cli.explain import explain

        try:
            act()
        except SatchelError as error:
            self._message = explain(error, self._session.database, self._session.scope)
            return False
        return True
