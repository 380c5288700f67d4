"""Which project a command works in: the rule of servers, and `satchel project current` tells it."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel.model import PromptDraft, Scope
from satchel.services import projects, prompts
from satchel.storage.database import open_database
from satchel.storage.sqlite import SqliteDatabase
from tests.support.command import run as run_command
from tests.support.process import SERVE, ServerProcess
from tests.support.satchel import ok
from tests.support.stdio import NEWEST, Server

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def run(store: str, tmp_path: Path) -> Run:
    """Runs `satchel` in a folder on a store with some projects."""
    database = open_database(store)
    with database.write() as tx:
        for name in ("default", "marked", "told"):
            projects.add(tx, name)
    database.close()
    environment = {"SATCHEL_HOME": str(tmp_path / "home"), "SATCHEL_DATABASE": store}

    def started(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        return run_command(*arguments, environment={**environment, **more}, cwd=folder)

    return started


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in a repository."""
    folder = tmp_path / "web" / "deep"
    folder.mkdir(parents=True)
    (tmp_path / "web" / ".git").mkdir()
    return folder


def current(run: Run, folder: Path, *arguments: str, **environment: str) -> Any:
    process = run(folder, "project", "current", "--json", *arguments, **environment)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_the_order_of_who_decides(run: Run, folder: Path, tmp_path: Path) -> None:
    assert current(run, tmp_path) == {"project": "default", "why": "the default", "exists": True}
    web = tmp_path / "web"
    why = f"the repository {web}, made by the first write"
    assert current(run, folder) == {"project": "web", "why": why, "exists": False}
    (web / ".satchel").write_text("marked\n")
    assert current(run, folder) == {"project": "marked", "why": f"the file {web / '.satchel'}", "exists": True}
    assert current(run, folder, SATCHEL_PROJECT="told")["why"] == "the environment variable SATCHEL_PROJECT"
    assert current(run, folder, "-p", "default", SATCHEL_PROJECT="told")["why"] == "the flag --project"
    told = run(folder, "project", "current").stdout.decode()
    assert told == f"marked (the file {web / '.satchel'})\n"


def test_a_renamed_project_says_how_its_repository_and_settings_keep_it(run: Run, folder: Path, tmp_path: Path) -> None:
    web = tmp_path / "web"
    run(folder, "prompt", "add", "A", "x")
    renamed = run(folder, "project", "rename", "web", "site", "--json")
    note = f"the repository {web} still names project 'web'. To work in 'site' here: echo site > {web}/.satchel"
    assert json.loads(renamed.stdout)["notes"] == [note]
    (web / ".satchel").write_text("site\n")
    assert run(folder, "prompt", "show", "a").stdout == b"x"
    renamed = run(folder, "project", "rename", "site", "shop")
    said = f"the file {web}/.satchel still names project 'site'. To work in 'shop' here: echo shop > {web}/.satchel\n"
    assert (renamed.stdout, renamed.stderr.decode()) == (b"Renamed project 'site' to 'shop'.\n", said)
    renamed = run(tmp_path, "project", "rename", "shop", "web", SATCHEL_PROJECT="shop")
    assert (
        renamed.stderr == b"the environment variable SATCHEL_PROJECT still names project 'shop': write 'web' there.\n"
    )
    assert run(tmp_path, "project", "rename", "web", "site").stderr == b""


def test_a_command_opens_one_transaction_before_its_own(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(folder, "prompt", "add", "First", "x", "-p", "told")
    assert first.returncode == 0, first.stderr
    opened: list[str] = []

    def watch(kind: str, open_one: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*given: Any, **named: Any) -> Any:
            opened.append(kind)
            return open_one(*given, **named)

        return noted

    for kind in ("read", "write"):
        monkeypatch.setattr(SqliteDatabase, kind, watch(kind, getattr(SqliteDatabase, kind)))
    assert run(folder, "prompt", "add", "Second", "x").returncode == 0
    assert opened == ["read", "write"]


def test_a_sync_remembers_the_project_that_it_made(run: Run, folder: Path) -> None:
    (folder / "notes" / "prompts").mkdir(parents=True)
    (folder / "notes" / "prompts" / "first.md").write_text("Written in the folder.")
    for action, sentence in (("sync", "folder → store: new prompt"), ("delete", ""), ("sync", "deleted prompt")):
        words = ("sync", "notes", "--yes") if action == "sync" else ("prompt", "delete", "first")
        done = run(folder, *words)
        assert (done.returncode, sentence in done.stdout.decode()) == (0, True), done


def test_a_file_that_names_no_project_is_an_error(run: Run, folder: Path) -> None:
    mark = folder / ".satchel"
    mark.write_text("markt\n")
    expected = (
        f"project 'markt' does not exist, but the file {mark} names it. Did you mean 'marked'? "
        "Make it with: satchel project create markt, or correct that file"
    )
    for command in (("prompt", "list"), ("prompt", "add", "A", "x"), ("project", "current"), ("resource", "list")):
        process = run(folder, *command)
        assert (process.returncode, process.stdout) == (2, b""), command
        assert expected in " ".join(process.stderr.decode().split()), command
    assert run(folder, "prompt", "list", "-p", "marked").returncode == 0
    assert run(folder, "project", "create", "markt").returncode == 0
    assert current(run, folder)["project"] == "markt"
    assert run(folder, "project", "delete", "markt", "--yes").returncode == 0
    expected = (
        f"project 'markt' is in the trash, but the file {mark} names it. "
        "Bring it back with: satchel restore satchel://project/markt, or correct that file"
    )
    for command in (("prompt", "list"), ("prompt", "add", "A", "x")):
        process = run(folder, *command)
        assert (process.returncode, process.stdout) == (2, b""), command
        assert expected in " ".join(process.stderr.decode().split()), command
    assert run(folder, "restore", "markt").returncode == 0
    assert current(run, folder)["project"] == "markt"


def test_a_command_and_a_server_in_one_folder_work_in_one_project(
    run: Run, folder: Path, store: str, serve: Callable[..., Server]
) -> None:
    before = os.getcwd()
    for mark in (None, "marked", ""):
        if mark is not None:
            (folder / ".satchel").write_text(mark)
        if mark == "":
            run(folder, "project", "create", "deep")
        os.chdir(folder)
        try:
            told = ok(serve("satchel", store, NEWEST), "list_projects")
        finally:
            os.chdir(before)
        here = current(run, folder)
        assert (told["project"], told["why"]) == (here["project"], here["why"])


def test_the_personal_project_is_mentioned_unless_it_is_turned_off(run: Run, tmp_path: Path, store: str) -> None:
    database = open_database(store)
    with database.write() as tx:
        projects.add(tx, "personal")
        prompts.add(tx, Scope(project="personal"), PromptDraft(title="Mine", content="x"))
    database.close()
    assert current(run, tmp_path)["personal"] == "personal"
    told = run(tmp_path, "project", "current").stdout.decode()
    assert told == "default (the default), with the items of project 'personal'\n"
    for off in ({"arguments": ("--no-personal",)}, {"SATCHEL_NO_PERSONAL": "yes"}):
        arguments = off.pop("arguments", ())
        assert "personal" not in current(run, tmp_path, *arguments, **off)
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "satchel.toml").write_text("no_personal = true\n")
    assert "personal" not in current(run, tmp_path)


def test_the_lines_of_a_server_started_in_a_new_repository_name_its_project(run: Run, store: str, folder: Path) -> None:
    environment = {"SATCHEL_HOME": str(folder.parent.parent / "home"), "SATCHEL_DATABASE": store}
    server = ServerProcess([*SERVE, "--transport", "http", "--port", "0"], environment, cwd=folder)
    assert "?project=web" in server.said(r"claude mcp add[^\n]*")[0]
    assert server.stop() == 0, server.stderr
    assert current(run, folder)["exists"], "a client that connects with the line finds it"


def test_an_installed_address_carries_the_project_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / ".satchel").write_text("web\n")
    words = ("install", "claude-code", "--url", "http://127.0.0.1:8000", "--print")
    home = {"SATCHEL_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "home")}
    of_folder = run_command(*words, "--scope", "project", environment=home, cwd=tmp_path)
    assert b'"url": "http://127.0.0.1:8000/mcp?project=web"' in of_folder.stdout
    of_setting = run_command(*words, environment=home | {"SATCHEL_PROJECT": "shop"}, cwd=tmp_path)
    assert b'"url": "http://127.0.0.1:8000/mcp?project=shop"' in of_setting.stdout
    of_user = run_command(*words, environment=home, cwd=tmp_path)
    assert b'"url": "http://127.0.0.1:8000/mcp"' in of_user.stdout
