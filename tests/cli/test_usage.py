"""Mistakes in the words of a command, colours, and tables on terminals of any width."""

import json
from datetime import date
from pathlib import Path

import pytest

from satchel import config
from satchel.clock import read_day
from tests.support.command import run
from tests.support.terminal import on_terminal


def test_a_mistyped_word_gets_a_suggestion(tmp_path: Path) -> None:
    for words, near in [
        ("taks list", ["task", "trash"]),
        ("tasks", ["task"]),
        ("doc list", ["document"]),
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
        ("list", ["satchel prompt list", "satchel document list", "satchel task list"]),
        ("new", ["satchel prompt add", "satchel document add", "satchel task add"]),
        ("task restore 1", ["satchel restore"]),
        ("install claude-cod", None),
        ("log --all --format jsnl", ["jsonl"]),
    ]:
        home = {"SATCHEL_HOME": str(tmp_path)}
        said = run(*words.split(), environment=home)
        assert (said.returncode, said.stdout) == (2, b"") and b"Did you mean " in said.stderr
        as_json = run(*words.split(), "--json", environment=home)
        error = json.loads(as_json.stderr)["error"]
        assert (as_json.returncode, as_json.stdout, error["code"]) == (2, b"", "invalid_argument")
        if near is not None:
            assert error["near"][: len(near)] == near
            assert error["hint"] == f"Did you mean {' or '.join(error['near'])}?" and "Did you" not in error["message"]


def test_a_usage_error_is_json_where_json_was_asked_for(tmp_path: Path) -> None:
    for words in ["task add", "prompt list --limit x", "task list --limit 0", "nothing-like-it"]:
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


def test_a_missing_word_is_named(tmp_path: Path) -> None:
    for words, said in [
        ("document add @docs/guide.md", "NAME is missing. Try 'satchel document add guide.md @docs/guide.md'."),
        (
            "document add url.md https://example.com",
            "https://example.com was read as the URI, so CONTENT is missing. "
            "Give CONTENT as text, @FILE, or - for stdin.",
        ),
    ]:
        ended = run(*words.split(), environment={"SATCHEL_HOME": str(tmp_path)})
        assert (ended.returncode, ended.stdout) == (2, b"")
        assert ended.stderr.decode().splitlines()[-1].removeprefix("Error: ") == said


def test_a_flag_for_http_needs_that_transport_and_a_variable_does_not(tmp_path: Path) -> None:
    home = {"SATCHEL_HOME": str(tmp_path)}
    with pytest.raises(config.SettingsError, match=r"^--port needs --transport http\.$"):
        config.load({"port": "8301"}, home)
    assert config.load({"port": "8301", "transport": "stdio"}, home).http is None  # both are said
    assert config.load({}, home | {"SATCHEL_PORT": "8301"}).http is None
    assert config.load({"port": "8301"}, home | {"SATCHEL_TRANSPORT": "http"}).http is not None


def test_a_day_is_written_as_people_do() -> None:
    friday = date(2026, 11, 20)
    words = {"today": "2026-11-20", "Tomorrow": "2026-11-21", "3d": "2026-11-23", "+2w": "2026-12-04"}
    words |= {"monday": "2026-11-23", "Sun": "2026-11-22", "fri": "2026-11-27", "thur": "2026-11-26"}
    assert {word: read_day(word, friday) for word in words} == words
    for other in ("2026-12-31", "", "t", "someday", "999999d"):
        assert read_day(other, friday) is None
    assert read_day("friday", friday, is_past=True) == "2026-11-13"
    assert read_day("yesterday", friday) == "2026-11-19"


def test_colours_are_for_terminals_that_want_them(tmp_path: Path) -> None:
    home = {"SATCHEL_HOME": str(tmp_path)}
    run("task", "add", "One", environment=home)
    assert "\x1b[1m" in on_terminal("task", "list", environment=home)[1]
    assert "\x1b[" not in on_terminal("task", "list", environment=home | {"NO_COLOR": "1"})[1]
    assert "\x1b[" not in on_terminal("task", "list", environment=home | {"TERM": "dumb"})[1]
    assert "\x1b[" not in on_terminal("--color", "never", "task", "list", environment=home)[1]
    assert "\x1b[1m" in on_terminal("task", "list", "--color", "always", environment=home | {"NO_COLOR": "1"})[1]
    assert b"\x1b[" not in run("board", environment=home).stdout
    assert b"\x1b[" in run("board", "--color", "always", environment=home).stdout


def test_a_table_is_as_wide_as_the_terminal_and_ids_stay_whole(tmp_path: Path) -> None:
    home = {"SATCHEL_HOME": str(tmp_path)}
    name, title = (
        "a-long-name-of-a-document.md",
        "A [red]description[/red] longer than a narrow terminal is wide",
    )
    run("document", "add", name, "x", "--description", title, environment=home)
    for columns in (40, 80):
        lines = on_terminal("resource", "list", columns=columns, environment=home | {"NO_COLOR": "1"})[1].splitlines()
        assert any(line.startswith(f"{name} ") for line in lines)
        assert columns < 80 or max(map(len, lines)) <= columns, lines
        assert "narrow" in "".join("".join(lines).split())
    assert "[red]" in "".join(lines)


def test_help_and_version_are_commands_too(tmp_path: Path) -> None:
    home = {"SATCHEL_HOME": str(tmp_path)}
    version = run("--version", environment=home).stdout
    assert version == run("-V", environment=home).stdout == run("version", environment=home).stdout
    assert run("help", environment=home).stdout == run("--help", environment=home).stdout
    assert run("help", "task", "add", environment=home).stdout == run("task", "add", "--help", environment=home).stdout
    assert b"Did you mean task" in run("help", "tsk", environment=home).stderr
    for command in ("install", "uninstall", "doctor", "library add"):
        assert run(*command.split(), "--help", environment=home).stdout.count(b"\nExamples:") == 1
    added = run("library", "add", "--help", environment=home).stdout
    assert added.count(b"  satchel library add ") == 1


def test_document_and_resource_are_the_same_command(tmp_path: Path) -> None:
    home = {"SATCHEL_HOME": str(tmp_path)}
    assert run("document", "add", "notes.md", "Known", environment=home).stdout.startswith(b"Added document 'notes.md'")
    for noun in ("document", "resource"):
        assert run(noun, "show", "notes.md", environment=home).stdout == b"Known"
    assert json.loads(run("log", "notes.md", "--json", environment=home).stdout)["kind"] == "document"
    assert run("document", "show", "note", environment=home).stderr.startswith(b"satchel: document 'note' is not in ")
