"""`satchel board` in a pseudo-terminal: what it shows, its keys, changes by others, and the terminal afterwards."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from satchel.model import Holder, Scope
from satchel.services import tasks
from satchel.storage.database import open_database
from tests.support.command import done, value
from tests.support.command import run as run_command

Command = Callable[..., str]
BOUND = 60.0  # seconds until a test that waits for a screen fails


class Board:
    """A running board, and the screen that its terminal shows."""

    def __init__(self, environment: dict[str, str], columns: int, lines: int, *options: str) -> None:
        self.main, terminal = pty.openpty()
        self.before = termios.tcgetattr(terminal)
        _set_size(self.main, columns, lines)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "satchel", "board", *options],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=os.environ | {"TERM": "xterm"} | environment,
            start_new_session=True,
        )
        self.terminal = terminal
        self.output = ""

    def resize(self, columns: int, lines: int) -> None:
        _set_size(self.main, columns, lines)
        self.process.send_signal(signal.SIGWINCH)  # as the kernel does for the terminal that controls a session

    @property
    def screen(self) -> list[str]:
        """The last whole screen, without colours."""
        frames = self.output.split("\x1b[H")
        whole = [frame for frame in frames[1:] if "\x1b[J" in frame]
        text = whole[-1].split("\x1b[J")[0] if whole else ""
        return [re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line) for line in text.replace("\r", "").split("\n")]

    def wait_for(self, holds: Callable[[str], bool]) -> list[str]:
        """Return the first screen for which something holds."""
        until = time.monotonic() + BOUND
        while not holds("\n".join(self.screen)):
            assert time.monotonic() < until, "\n".join(self.screen) or self.output
            if select.select([self.main], [], [], 0.5)[0]:
                self.output += os.read(self.main, 65536).decode(errors="replace")
        return self.screen

    def press(self, keys: str) -> None:
        os.write(self.main, keys.encode())

    def end(self) -> int:
        """Wait for the process; its status. What it wrote until then is read."""
        until = time.monotonic() + BOUND
        while self.process.poll() is None:
            assert time.monotonic() < until, "the board does not end"
            if select.select([self.main], [], [], 0.1)[0]:
                self.output += os.read(self.main, 65536).decode(errors="replace")
        while select.select([self.main], [], [], 0)[0]:
            self.output += os.read(self.main, 65536).decode(errors="replace")
        return self.process.returncode

    def assert_restored(self) -> None:
        """The terminal is as it was: its mode, its screen, its cursor."""
        assert termios.tcgetattr(self.terminal) == self.before
        assert self.output.index("\x1b[?1049h") < self.output.rindex("\x1b[?1049l")
        assert self.output.rindex("\x1b[?25l") < self.output.rindex("\x1b[?25h")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.main)
        os.close(self.terminal)


def _set_size(terminal: int, columns: int, lines: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"SATCHEL_HOME": str(tmp_path / "home")}


@pytest.fixture
def satchel(home: dict[str, str]) -> Command:
    return lambda *words: done(run_command(*words, environment=home))


@pytest.fixture
def open_board(home: dict[str, str], satchel: Command) -> Iterator[Callable[..., Board]]:
    opened: list[Board] = []

    def start(columns: int = 80, lines: int = 24, *options: str) -> Board:
        opened.append(Board(home, columns, lines, *options))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def fill(satchel: Command) -> None:
    satchel("task", "add", "Write the docs", "--priority", "high", "-t", "docs")
    satchel("task", "add", "Ship it", "--after", "1")
    satchel("task", "add", "Buy milk")
    satchel("task", "done", "3")


@pytest.mark.process
def test_a_board_shows_the_columns_and_its_keys_move_a_task(
    satchel: Command, home: dict[str, str], open_board: Callable[..., Board]
) -> None:
    fill(satchel)
    board = open_board()
    screen = board.wait_for(lambda text: "q quit" in text)
    assert len(screen) == 24 and all(len(line) <= 80 for line in screen)
    assert screen[0].strip() == "Project default: 3 tasks"
    assert re.split(r"  +", screen[1].strip()) == ["Ready 1", "In progress 0", "Blocked 1", "Done 1"]
    assert screen[2].startswith(">#1 Write the docs") and "#2 Ship it" in screen[2] and "#3 Buy milk" in screen[2]
    board.press(">")
    board.wait_for(lambda text: "In progress 1" in text and "Ready 0" in text)
    board.press("<")
    board.wait_for(lambda text: "Ready 1" in text)
    board.press(" ")  # done, so that the other is ready
    board.wait_for(lambda text: "Done 2" in text and "Blocked 0" in text)
    board.press(" ")  # open again
    board.wait_for(lambda text: "Done 1" in text and "Blocked 1" in text)
    board.press("p")
    board.wait_for(lambda text: "urgent" in text)
    board.press("\r")
    board.wait_for(lambda text: "urgent priority" in text and "any key: back" in text)
    board.press("x")
    board.wait_for(lambda text: "Ready 1" in text)
    board.press("\x1b[C\x1b[C")
    board.wait_for(lambda text: ">#2 Ship it" in text)
    board.press("?")
    board.wait_for(lambda text: "mark it as done" in text)
    board.press("?")
    board.press("q")
    assert board.end() == 0
    board.assert_restored()
    shown = value(run_command("task", "show", "1", "--json", environment=home))["task"]
    assert (shown["status"], shown["priority"]) == ("pending", "urgent")


@pytest.mark.process
def test_a_key_asks_before_it_changes_what_an_agent_holds(
    satchel: Command, home: dict[str, str], open_board: Callable[..., Board]
) -> None:
    satchel("task", "add", "One")
    database = open_database(str(Path(home["SATCHEL_HOME"]) / "satchel.db"))
    with database.read() as tx:
        scope = Scope(user=tx.value("select owner from tasks"))
    with database.write(scope) as tx:
        tasks.claim(tx, scope, 1, Holder("cursor 3f2a", "k"), 30)
    database.close()
    board = open_board()
    board.wait_for(lambda text: "In progress 1" in text)
    board.press("l")
    board.press("x")
    board.wait_for(lambda text: "#1 is held by cursor 3f2a until " in text and "press x again to go on" in text)
    board.press("x")
    board.wait_for(lambda text: "Done 1" in text)
    board.press("q")
    assert board.end() == 0


@pytest.mark.process
def test_a_board_shows_what_others_change(satchel: Command, open_board: Callable[..., Board]) -> None:
    fill(satchel)
    board = open_board()
    board.wait_for(lambda text: "Ready 1" in text)
    satchel("task", "add", "From elsewhere")
    board.wait_for(lambda text: "Ready 2" in text and "#4 From" in text)
    satchel("task", "claim", "4")
    board.wait_for(lambda text: "In progress 1" in text)
    board.resize(40, 10)
    narrow = board.wait_for(lambda text: len(text.splitlines()) <= 10)
    assert len(narrow) == 10 and all(len(line) <= 40 for line in narrow)
    board.press("\x1b")
    assert board.end() == 0
    board.assert_restored()


@pytest.mark.process
@pytest.mark.parametrize(("one", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_the_terminal_as_it_was(
    satchel: Command, open_board: Callable[..., Board], one: signal.Signals, status: int
) -> None:
    satchel("task", "add", "One")
    board = open_board()
    board.wait_for(lambda text: "Ready 1" in text)
    board.process.send_signal(one)
    assert board.end() == status
    board.assert_restored()
    assert "Traceback" not in board.output


@pytest.mark.process
def test_a_lost_store_is_reported_and_the_board_stays(
    satchel: Command, home: dict[str, str], open_board: Callable[..., Board]
) -> None:
    satchel("task", "add", "One")
    board = open_board()
    board.wait_for(lambda text: "Ready 1" in text)
    store = Path(home["SATCHEL_HOME"], "satchel.db")
    store.rename(store.with_name("away.db"))
    board.press(">")
    board.wait_for(lambda text: text.splitlines()[-2].startswith("the store "))
    board.press("q")
    assert board.end() == 0
    board.assert_restored()


def test_long_columns_scroll_and_ids_stay_whole_at_any_size() -> None:
    from satchel.cli import board as module

    board = module.Board("web")
    cards = [{"number": 10_000 + place, "title": "Überlänge 漢字 " * 9 + str(place)} for place in range(50)]
    board.fill({"ready": cards, "progress": [], "blocked": [], "done": []})
    for width in (8, 15, 20, 40, 59, 80, 200):
        for height in (1, 3, 5, 10, 24):
            board.column = 0
            for row in (0, 7, 49):
                board.row = row
                lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in module.draw(board, width, height, "m" * 300)]
                assert len(lines) <= height and all(cell_len(line) <= width for line in lines)
                if width >= 8 and height >= 5:
                    assert any(line.startswith(f">#{10_000 + row}") for line in lines)


def test_without_a_terminal_the_board_is_one_picture(satchel: Command, home: dict[str, str]) -> None:
    fill(satchel)
    assert satchel("board") == (
        "Project default\n"
        "\nReady 1\n  #1 Write the docs\n      high  docs\n"
        "\nIn progress 0\n"
        "\nBlocked 1\n  #2 Ship it\n      after #1\n"
        "\nDone 1\n  #3 Buy milk\n"
    )
    shown = value(run_command("board", "--json", environment=home))
    assert shown["project"] == "default" and [len(rows) for rows in shown["columns"].values()] == [1, 0, 1, 1]
    missing = run_command("board", "-p", "nowhere", environment=home)
    assert missing.returncode == 3 and b"project 'nowhere' does not exist" in missing.stderr


def test_a_board_shows_the_tasks_of_its_project_and_those_of_no_project(satchel: Command) -> None:
    for name in ("web", "gone", "shop"):
        satchel("project", "create", name)
    for title, project in (("Of web", "web"), ("Of gone", "gone"), ("Of shop", "shop")):
        satchel("task", "add", title, "-p", project)
    satchel("project", "delete", "gone", "--yes")  # its tasks are in no project then
    assert [line for line in satchel("board", "-p", "web").splitlines() if "#" in line] == [
        "  #1 Of web",
        "  #2 Of gone",
    ]
    every = satchel("board", "--all")
    assert every.startswith("All projects\n") and [f"#{number} Of" in every for number in (1, 2, 3)] == [True] * 3
