"""Mistakes in the words of a command, colours, and tables on terminals of any width."""

import json
import os
import pty
import struct
import subprocess
import sys
import termios
from datetime import date
from fcntl import ioctl
from pathlib import Path

import pytest

from satchel.cli.days import read_day
from satchel.cli.tables import lay_out
from tests.support.command import run


@pytest.mark.parametrize(
    ("words", "near"),
    [
        ("taks list", ["task", "trash"]),
        ("tasks", ["task"]),
        ("document list", ["resource"]),
        ("task lst", ["list"]),
        ("task complete 1", ["done"]),
        ("prompt rm x", ["delete"]),
        ("task start 1", ["claim"]),
        ("library validat", ["validate"]),
        ("prompt list --limt 3", ["--limit"]),
        ("task list --satus open", ["--status"]),
        ("task list --status opn", ["open"]),
        ("task add X --priority urgnt", ["urgent"]),
        ("search x --kind promt", ["prompt"]),
        ("install claude-cod", None),
        ("log --all --format jsnl", ["jsonl"]),
    ],
)
def test_a_typing_mistake_is_answered_with_what_was_meant(tmp_path: Path, words: str, near: list[str] | None) -> None:
    home = {"SATCHEL_HOME": str(tmp_path)}
    said = run(*words.split(), environment=home)
    assert (said.returncode, said.stdout) == (2, b"") and b"Did you mean " in said.stderr
    as_json = run(*words.split(), "--json", environment=home)
    error = json.loads(as_json.stderr)["error"]
    assert (as_json.returncode, as_json.stdout, error["code"]) == (2, b"", "invalid_argument")
    if near is not None:
        assert error["near"][: len(near)] == near
        assert error["hint"] == f"Did you mean {' or '.join(error['near'])}?" and "Did you" not in error["message"]


@pytest.mark.parametrize("words", ["task add", "prompt list --limit x", "task list --limit 0", "nothing-like-it"])
def test_a_usage_error_is_json_where_json_was_asked_for(tmp_path: Path, words: str) -> None:
    said = run(*words.split(), "--json", environment={"SATCHEL_HOME": str(tmp_path)})
    error = json.loads(said.stderr)["error"]
    assert (said.returncode, said.stdout, sorted(error)) == (2, b"", ["code", "hint", "message"])
    assert error["hint"].startswith("See: satchel") and error["hint"].endswith("--help")


def test_words_without_quotes_and_a_group_alone_say_what_to_do(tmp_path: Path) -> None:
    home = {"SATCHEL_HOME": str(tmp_path)}
    said = run("task", "add", "Fix", "the", "bug", environment=home)
    assert said.returncode == 2 and said.stderr.endswith(b"(the bug). Put a text with spaces into quotes.\n")
    alone = run("task", environment=home)
    assert (alone.returncode, alone.stdout) == (2, b"") and alone.stderr.startswith(b"Usage: satchel task [OPTIONS]")
    assert b"Error" not in alone.stderr
    assert json.loads(run("task", "--json", environment=home).stderr)["error"]["code"] == "invalid_argument"


def test_a_day_is_written_as_people_do() -> None:
    friday = date(2026, 11, 20)
    words = {"today": "2026-11-20", "Tomorrow": "2026-11-21", "3d": "2026-11-23", "+2w": "2026-12-04"}
    words |= {"monday": "2026-11-23", "Sun": "2026-11-22", "fri": "2026-11-27", "thur": "2026-11-26"}
    assert {word: read_day(word, friday) for word in words} == words
    for other in ("2026-12-31", "", "t", "someday", "999999d"):
        assert read_day(other, friday) == other


def on_terminal(columns: int, *words: str, **environment: str) -> str:
    """What a command writes to a terminal of a width."""
    main, terminal = pty.openpty()
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    given = {name: one for name, one in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "satchel", *words],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
        env=given | {"TERM": "xterm"} | environment,
    )
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(main, 65536):
            shown += chunk
    except OSError:  # the end, on Linux
        pass
    os.close(main)
    assert process.wait() == 0
    return shown.decode().replace("\r\n", "\n")


def test_colours_are_for_terminals_that_want_them(tmp_path: Path) -> None:
    home = {"SATCHEL_HOME": str(tmp_path)}
    run("task", "add", "One", environment=home)
    assert "\x1b[1m" in on_terminal(80, "task", "list", **home)
    assert "\x1b[" not in on_terminal(80, "task", "list", **home, NO_COLOR="1")
    assert "\x1b[" not in on_terminal(80, "task", "list", **(home | {"TERM": "dumb"}))
    assert "\x1b[" not in on_terminal(80, "--color", "never", "task", "list", **home)
    assert "\x1b[1m" in on_terminal(80, "task", "list", "--color", "always", **home, NO_COLOR="1")
    assert b"\x1b[" not in run("board", environment=home).stdout
    assert b"\x1b[" in run("board", "--color", "always", environment=home).stdout


def test_a_table_is_as_wide_as_the_terminal_and_ids_stay_whole(tmp_path: Path) -> None:
    home = {"SATCHEL_HOME": str(tmp_path)}
    name, title = "a-long-name-of-a-document.md", "A description that is longer than a narrow terminal is wide"
    run("resource", "add", name, "x", "--description", title, environment=home)
    for columns in (30, 80):
        lines = on_terminal(columns, "resource", "list", **home, NO_COLOR="1").splitlines()
        assert any(name in line for line in lines) and any(f"satchel://resource/{name}" in line for line in lines)
        longest = max(map(len, lines))
        assert longest <= max(columns, len(f"    satchel://resource/{name}")), lines
        assert " ".join(" ".join(lines).split()).find("longer") > 0


def test_columns_share_the_width_and_wide_letters_count_twice() -> None:
    columns, rows = (
        ("NAME", "TAGS", "TITLE"),
        [["漢字-漢字", "a, b", "one two three four five six"], ["x", "", "y" * 40]],
    )
    for width in (10, 20, 24, 30, 45, 100):
        lines = lay_out(columns, rows, width)
        assert any("漢字-漢字" in line for line in lines)
        assert "".join("".join(lines).split()).count("y") == 40
    assert lay_out(columns, rows, 100)[1] == "漢字-漢字  a, b  one two three four five six"
    assert lay_out(("NAME", "TITLE"), [["n", ""]], 20) == ["\x1b[1mNAME\x1b[0m", "n"]
