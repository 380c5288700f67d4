"""`satchel import`, `export` and `sync` as commands: what they print, and how they end."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from satchel.exchange import importing, storing
from tests.cli.conftest import Command
from tests.exchange.corpora import write_files
from tests.support.command import done, failed, value
from tests.support.command import run as run_command
from tests.support.process import eventually
from tests.support.terminal import on_terminal


def test_an_import_is_reported_by_kind_and_state(satchel: Command, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "in/prompts.csv": 'act,prompt\nOne,"Write ${x}"\nOne,other\nMine,theirs\nTwo,{{x}}\n',
        "in/todo.txt": "(A) Dig +garden\n",
        "in/bad.md": b"\xff",
        "in/picture.png": b"\x89PNG",
    }
    write_files(tmp_path, files)
    done(satchel("prompt", "add", "Mine", "mine"))
    report = satchel("import", "in")
    assert (report.returncode, report.stderr) == (1, b"")
    assert report.stdout.decode() == (
        "Imported into project 'default':\n"
        "  prompts    2 new, 1 clashing, 1 renamed\n"
        "  tasks      1 new\n"
        "Projects that were made: garden\n"
        "In conflict with existing items, and left out (see --on-clash rename and replace):\n"
        "  prompt 'mine' (in/prompts.csv, row 4)\n"
        "Renamed, because the name or title was taken:\n"
        "  prompt 'one-2' (in/prompts.csv, row 3)\n"
        "Not imported:\n"
        "  in/bad.md: it is not a text in UTF-8 (byte 0xff at 0). Convert it first, for example with: "
        "iconv -f latin1 -t utf-8\n"
        "Files of unknown format, skipped: 1 (in/picture.png)\n"
    )
    (tmp_path / "in" / "bad.md").unlink()
    again = value(satchel("import", "in", "--json", "--dry-run"))
    assert again["prompts"] == {"new": 0, "same": 3, "repeated": 0, "clashing": 1, "renamed": 0, "replaced": 0}
    assert (again["dry_run"], again["tasks"]["same"], again["problems"]) == (True, 1, [])
    assert again["formats"] == {"prompts-chat": 1, "todo-txt": 1}


def test_a_file_of_no_known_format_is_left_alone_with_the_formats_to_try(satchel: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"TODO.md": "# Tasks\n\n- [ ] Buy milk !high\n"})
    report = satchel("import", "TODO.md")
    assert (report.returncode, report.stdout.decode()) == (
        1,
        "Imported into project 'default':\n  nothing\n"
        "Files of unknown format, skipped: 1 (TODO.md)\n"
        "If they have one of these formats, add --format NAME: skills, vscode-prompts, fabric, backlog, basic-memory, "
        "claude-agents, claude-commands, markdown\n",
    )


def test_wrong_arguments_are_reported_with_an_exit_status(satchel: Command, tmp_path: Path) -> None:
    assert "there is no file or folder nothing" in failed(satchel("import", "nothing"), 3)
    assert "Did you mean taskwarrior?" in failed(satchel("import", ".", "--format", "taskwarior"), 2)
    assert "Invalid value for '--on-clash'" in failed(satchel("import", ".", "--on-clash", "ask"), 2)
    (tmp_path / "empty").mkdir()
    assert satchel("import", "empty").returncode == 1
    assert json.loads(satchel("import", "nothing", "--json").stderr)["error"]["code"] == "not_found"


def test_stdin_is_imported_in_the_format_that_is_named(satchel: Command) -> None:
    issues = b'[{"number": 3, "title": "Crash", "state": "OPEN"}]'
    assert "  tasks      1 new" in done(satchel("import", "-", "--format", "github", input=issues))
    assert "Crash" in done(satchel("task", "list"))


def test_an_export_goes_to_a_folder_a_file_or_stdout(satchel: Command, tmp_path: Path) -> None:
    done(satchel("prompt", "add", "Code review", "Review it.", "--tag", "x", "--description", "Two\nlines"))
    done(satchel("document", "add", "notes.md", "file:///notes.md", "# Notes", "--mime-type", "text/markdown"))
    assert done(satchel("export", "out")) == (
        "Exported 1 prompt, 1 document of project 'default' to out (4 files, of which 4 changed).\n"
    )
    assert (tmp_path / "out/prompts/code-review.md").read_text() == (
        "---\ntitle: Code review\ndescription: |-\n  Two\n  lines\ntags: [x]\n---\nReview it.\n"
    )
    assert (tmp_path / "out/documents/notes.md").read_text() == "# Notes"
    assert json.loads((tmp_path / "out/documents.json").read_text()) == {"notes.md": {"uri": "file:///notes.md"}}
    assert "0 changed" in done(satchel("export", "out"))
    done(satchel("prompt", "delete", "code-review"))
    assert "--prune removes them" in done(satchel("export", "out"))
    assert "Removed the files of items that are gone: prompts/code-review.md" in done(
        satchel("export", "out", "--prune")
    )
    assert done(satchel("export", "-", "--format", "jsonl")).startswith('{"kind": "document", "name": "notes.md"')
    assert "1 document of" in done(satchel("export", "all.jsonl", "--format", "jsonl"))
    report = value(satchel("export", "tasks", "-f", "todo.txt", "--json"))
    assert (report["target"], report["notes"]) == (
        "tasks/todo.txt",
        ["Left out, because todo.txt has no place for it: 1 of other kinds."],
    )


def test_a_document_has_one_type_from_a_file_and_from_stdin(satchel: Command, tmp_path: Path) -> None:
    text = b"select 1"
    for ending in ("js", "rs", "ts", "go", "sql", "md", "sh", "unknown", "txt"):
        (tmp_path / f"f.{ending}").write_bytes(text)
        added = value(satchel("document", "add", f"a.{ending}", f"a:{ending}", f"@f.{ending}", "--json"))
        piped = value(satchel("document", "add", f"b.{ending}", f"b:{ending}", "-", "--json", input=text))
        assert added["resource"].get("mime_type") == piped["resource"].get("mime_type"), ending
        renamed = value(satchel("document", "add", f"c.{ending}", "@f.js", "--json"))
        unlike = "text/javascript" if ending == "unknown" else added["resource"].get("mime_type")
        assert renamed["resource"].get("mime_type") == unlike, "the name counts before that of the file"
    done(satchel("export", "out"))
    details = json.loads((tmp_path / "out/documents.json").read_text())
    types = {name: one["mime_type"] for name, one in details.items() if "mime_type" in one}
    assert types == {"c.unknown": "text/javascript"}, "the folder guesses the same types"


def test_an_export_refuses_to_guess_between_a_file_and_a_folder(satchel: Command, tmp_path: Path) -> None:
    told = {
        ("csv",): "export prompts.csv --format prompts-chat` or `satchel export csv/`",
        ("x.json",): "export x.json --format taskwarrior` or `satchel export x`",
        ("x.jsonl",): "export x.jsonl --format jsonl` or `satchel export x`",
        ("out.txt",): "export out.txt --format todo-txt` or `satchel export out`",
        ("out.md", "-f", "skills"): "export out.jsonl --format jsonl` or `satchel export out --format skills`",
        ("-",): "export - --format jsonl` or `satchel export FOLDER`",
        ("skills",): "export FOLDER --format skills` or `satchel export skills/`",
    }
    for words, commands in told.items():
        assert f"Use `satchel {commands}." in failed(satchel("export", *words), 2)
    assert "Satchel reads the format github, but does not write it." in failed(
        satchel("export", "x.json", "-f", "github"), 2
    )
    assert not {"csv", "x", "out", "skills", "x.json"} & {one.name for one in tmp_path.iterdir()}
    assert "to csv/ (1 file" in done(satchel("export", "csv/"))
    assert "to csv (1 file" in done(satchel("export", "csv")), "the folder exists now"


def test_an_export_never_overwrites_foreign_files(satchel: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"mine/file.txt": "x", "file": "x"})
    assert "mine is not empty" in failed(satchel("export", "mine"), 1)
    assert "file is not a folder" in failed(satchel("export", "file"), 1)
    assert "file.txt exists" in failed(satchel("export", "mine/file.txt", "--format", "jsonl"), 1)
    done(satchel("prompt", "add", "One", "x"))
    (tmp_path / "outside").mkdir()
    done(satchel("export", "out"))
    (tmp_path / "out/prompts/one.md").unlink()
    (tmp_path / "out/prompts").rmdir()
    (tmp_path / "out/prompts").symlink_to(tmp_path / "outside")
    assert "symbolic link" in failed(satchel("export", "out"), 1)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_check_says_by_its_status_whether_both_are_the_same(satchel: Command, tmp_path: Path) -> None:
    done(satchel("prompt", "add", "One", "x"))
    check = satchel("sync", "notes", "--check")
    assert (check.returncode, check.stdout.decode().splitlines()) == (
        1,
        [
            "store → folder: new prompt 'one'",
            "notes and project 'default' differ. Sync them without --check.",
        ],
    )
    assert not (tmp_path / "notes").exists()
    done(satchel("sync", "notes"))
    assert done(satchel("sync", "notes", "--check")) == "notes and project 'default' are the same (1 item).\n"
    (tmp_path / "notes/prompts/one.md").write_text("---\ntitle: One\n---\ny\n")
    assert value(satchel("sync", "notes", "--json")) == {
        "check": False,
        "same": 0,
        "changes": ["folder → store: changed prompt 'one'"],
        "clashes": [],
        "problems": [],
        "refused": "",
    }
    assert done(satchel("prompt", "show", "one")) == "y"
    assert "exclude each other" in failed(satchel("sync", "notes", "--check", "--watch"), 2)


Watch = Callable[[], Any]


@pytest.fixture
def watch(satchel: Command, environment: dict[str, str], tmp_path: Path) -> Watch:
    """Starts `satchel sync --watch` on a folder that is in sync; Ctrl-C at the end ends it with status 0."""
    done(satchel("prompt", "add", "One", "x"))
    done(satchel("sync", "notes"))

    @contextmanager
    def start() -> Iterator[subprocess.Popen[bytes]]:
        words = [sys.executable, "-u", "-m", "satchel", "sync", "notes", "--watch"]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, env=environment, cwd=tmp_path, stdout=pipe, stderr=pipe) as process:
            try:
                yield process
            finally:
                process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0, process.stderr and process.stderr.read()

    return start


@pytest.mark.process
def test_a_watching_sync_copies_changes_of_both_sides(watch: Watch, satchel: Command, tmp_path: Path) -> None:
    file = tmp_path / "notes/prompts/one.md"
    with watch() as process:
        assert process.stdout.readline() == b"notes and project 'default' are the same (1 item).\n"
        file.write_text("---\ntitle: One\n---\nfrom the folder\n")
        assert eventually(lambda: done(satchel("prompt", "show", "one")) == "from the folder")
        done(satchel("prompt", "edit", "one", "from the store"))
        assert eventually(lambda: file.read_text().endswith("---\nfrom the store\n"))


@pytest.mark.process
def test_a_watching_sync_waits_for_another_sync_to_end(watch: Watch, satchel: Command, tmp_path: Path) -> None:
    lock = os.open(tmp_path / "notes", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert "another sync of notes is running" in failed(satchel("sync", "notes"), 1)
    with watch() as process:
        assert process.stderr.readline() == b"Waiting for another sync of notes to end.\n"
        os.close(lock)
        assert process.stdout.readline() == b"notes and project 'default' are the same (1 item).\n"
        (tmp_path / "notes/prompts/one.md").write_text("---\ntitle: One\n---\ny\n")
        assert process.stdout.readline().decode() == "folder → store: changed prompt 'one'\n"


def test_a_clash_is_named_with_its_copy_and_a_status(satchel: Command, tmp_path: Path) -> None:
    done(satchel("prompt", "add", "One", "x"))
    done(satchel("sync", "notes"))
    done(satchel("prompt", "edit", "one", "store"))
    (tmp_path / "notes/prompts/one.md").write_text("---\ntitle: One\n---\nfolder\n")
    check, clash = satchel("sync", "notes", "--check"), satchel("sync", "notes")
    assert (check.returncode, clash.returncode) == (1, 1)
    assert "Both sides changed prompt 'one': a sync keeps both.\n" in check.stdout.decode()
    assert clash.stdout.decode() == (
        "both changed prompt 'one'\n"
        "Both sides changed prompt 'one': the store's version stays, the folder's is now prompt 'one-2'.\n"
    )
    assert "are the same (2 items)" in done(satchel("sync", "notes"))


def test_an_interrupted_import_reports_what_is_committed(
    satchel: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {"p.csv": "act,prompt\n" + "".join(f"P {number},x\n" for number in range(35))})
    monkeypatch.setattr(importing, "BATCH", 10)
    made: list[object] = []

    def add(*given: Any) -> Any:
        made.append(given)
        if len(made) == 25:
            raise KeyboardInterrupt
        return add_entry(*given)

    add_entry = storing.add
    monkeypatch.setattr(storing, "add", add)
    ended = satchel("import", "p.csv")
    assert (ended.returncode, ended.stderr, ended.stdout.decode()) == (
        130,
        b"",
        "Interrupted. The items counted here are in the store; run the same command again to continue.\n"
        "Imported into project 'default':\n  prompts    20 new\n",
    )
    assert value(satchel("project", "list", "--json"))["projects"][0]["prompts"] == 20


def test_a_terminal_gets_a_progress_bar_and_a_file_does_not(environment: dict[str, str], tmp_path: Path) -> None:
    write_files(tmp_path, {"p.csv": "act,prompt\nOne,x\n"})
    plain = run_command("import", "p.csv", environment=environment, cwd=tmp_path)
    assert (plain.returncode, plain.stderr) == (0, b"")
    status, shown = on_terminal("import", "p.csv", environment=environment, cwd=tmp_path)
    assert status == 0 and "Importing" in shown
