"""Files that are not what they claim: bombs, loops, links, devices. A clear message each, and nothing else happens."""

import os
import time
from pathlib import Path

import pytest

from satchel.exchange.entries import PromptEntry
from tests.exchange.corpora import read, write_files


def test_links_devices_and_unreadable_folders_are_reported(tmp_path: Path) -> None:
    outside = write_files(tmp_path / "outside", {"secret.md": "secret"})
    folder = write_files(tmp_path / "in", {"fine.md": "fine", "closed/x.md": "x"})
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "folder").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.md")
    (folder / "a\nb\x1b[31m.md").write_text("odd name")
    entries, problems = read(folder)
    assert sorted(one.title for one in entries) == ["A b[31m", "Fine", "X"]
    told = {Path(one.where).name: one.what for one in problems}
    assert told == {
        "link.md": "it is a symbolic link, and links are not followed",
        "folder": "it is a symbolic link, and links are not followed",
        "loop": "it is a symbolic link, and links are not followed",
        "pipe.md": "it is not a regular file",
    }
    assert all("\n" not in one.where and "\x1b" not in one.where for one in entries)


def test_huge_and_binary_files_are_refused_without_being_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from satchel.exchange import sources

    huge = tmp_path / "huge.md"
    with huge.open("wb") as file:
        file.truncate(sources.MAX_FILE + 1)
    write_files(
        tmp_path, {"nul.md": b"a\0b", "bad.csv": b"act,prompt\n\xff,x", "cut.md": "---\ntitle: x".encode("utf-16")}
    )
    entries, problems = read(tmp_path)
    told = {Path(one.where).name: one.what.partition(" (")[0] for one in problems}
    assert told == {
        "huge.md": f"it has more than {sources.MAX_FILE} bytes",
        "nul.md": "it is not a text: it contains NUL",
        "bad.csv": "it is not a text in UTF-8",
    }
    assert [one.label for one in entries] == ["cut"]


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("deep.json", "[" * 100_000, "github"),
        ("deep.json", '{"tasks":' * 50_000, "task-master"),
        ("x.json", '"text"', "langfuse"),
        ("x.json", "[1, null, {}]", "taskwarrior"),
        ("x.jsonl", "null\n[]\n3\n", "beads"),
        ("x.csv", "a,b\n1,2\n", "prompts-chat"),
        ("x.yaml", "a: [", "llm"),
        ("x.prompt", "---\ninput: 3\nx: [\n---\n", "dotprompt"),
        ("x.prompty", "---\ninputs: 3\nsample: [1]\nmodel: {}\n---\n", "prompty"),
        ("todo.txt", "x\n(A)\nx 2026-99-99\n", "todo-txt"),
        ("todo.txt", "x due:9999-12-31T23:59:59-23:59\n", "todo-txt"),
    ],
)
def test_a_file_that_is_not_what_it_claims_is_reported_or_skipped(
    tmp_path: Path, name: str, text: str, format: str
) -> None:
    for chosen in (format, None):
        entries, problems = read(write_files(tmp_path, {name: text}), chosen)
        assert not [one for one in entries if isinstance(one, PromptEntry)]
        assert chosen is None or problems or entries


def test_half_a_character_in_a_title_is_left_out(tmp_path: Path) -> None:
    text = '[{"number":1,"title":"a\\ud800b","state":"OPEN"},{"number":2,"title":"fine","state":"OPEN"}]'
    entries, problems = read(write_files(tmp_path, {"i.json": text}))
    assert ([one.label for one in entries], problems) == (["ab", "fine"], [])
    assert entries[0].notes == ("Invisible characters were removed from the title.",)


def test_line_ends_and_marks_of_other_systems_change_nothing(tmp_path: Path) -> None:
    texts = {
        "prompts.csv": "act,prompt\nA,Hello ${name}\nB,Bye\n",
        "todo.txt": "(A) Call\nx 2026-01-02 Done\n",
        "notes/a.md": "---\ntitle: T\ntags: [a]\n---\nHello\n",
    }
    wanted, problems = read(write_files(tmp_path / "plain", texts))
    assert problems == [] and len(wanted) == 5
    labels = [one.label for one in wanted]
    for name, change in {
        "crlf": lambda text: text.replace("\n", "\r\n").encode(),
        "cr": lambda text: text.replace("\n", "\r").encode(),
        "mark": lambda text: text.encode("utf-8-sig"),
        "utf-16": lambda text: text.encode("utf-16"),
    }.items():
        files = {path: change(text) for path, text in texts.items()}
        entries, problems = read(write_files(tmp_path / name, files))
        assert ([one.label for one in entries], problems) == (labels, []), name


def test_long_runs_of_spaces_and_brackets_are_read_once(tmp_path: Path) -> None:
    """Read again from each of their characters, they would take hours."""
    run = " " * 100_000
    files = {
        "heading.md": f"# a{run}b\ntext",
        ".claude/commands/hint.md": f"---\nargument-hint: '[a] [{run}x'\n---\n$1",
        "brackets.md": f"---\nargument-hint: '{'<' * 200_000}'\n---\n$1",
        "field.md": f"---\na{run}\nb: *x\n---\ntext",
        "statements.prompty": "{{{%{#" * 10_000,
        "many.md": "{{a}}" * 10_000,
        "huge.md": "{{a}}" * 100_000,
        "spaces.prompt": "{{" + run[:60_000],
        "comments.prompt": "{{!--" * 12_000,
        "schema.prompt": f"---\ninput: {{schema: {{? 'a{run}(!' : string, ? 'b(enum,{run}x' : [c]}}}}\n---\n{{{{a}}}}",
    }
    started = time.process_time()
    entries, problems = read(write_files(tmp_path, files))
    assert time.process_time() - started < 5
    assert len(entries) + len(problems) == len(files)
