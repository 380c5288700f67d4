"""Reading a store that is not there says so, and makes none."""

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from satchel.storage.database import open_database
from tests.support.command import run
from tests.support.postgres import PostgresServer

READING = [
    ("project", "list"),
    ("prompt", "list"),
    ("prompt", "search", "x"),
    ("prompt", "show", "x"),
    ("resource", "list"),
    ("resource", "show", "x"),
    ("task", "list"),
    ("task", "show", "1"),
    ("log",),
    ("log", "x"),
    ("log", "--all", "--format", "jsonl"),
    ("diff", "x"),
    ("trash", "list"),
    ("history", "size"),
    ("token", "list"),
    ("database", "status"),
    ("backup", "copy"),
    ("dump",),
]


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_command_that_reads_makes_no_store(tmp_path: Path, command: tuple[str, ...]) -> None:
    home = tmp_path / "home"
    done = run(*command, environment={"SATCHEL_HOME": str(home)}, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert f"there is no store {home}/satchel.db" in done.stderr.decode()
    assert "satchel database migrate" in done.stderr.decode() or "Check --database" in done.stderr.decode()
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_a_store_stays_as_it_is(tmp_path: Path, postgres: PostgresServer) -> None:
    store = postgres.fresh()
    for command in READING[:-3]:
        done = run(*command, environment={"SATCHEL_HOME": str(tmp_path), "SATCHEL_DATABASE": store})
        assert (done.returncode, done.stdout) == (1, b"") and b"has no store" in done.stderr
    with psycopg.connect(store) as connection:
        assert connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall() == []


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("contract", ["satchel", "prompt-store", "tasks"])
def test_a_server_that_changes_nothing_makes_no_store(tmp_path: Path, transport: str, contract: str) -> None:
    store = tmp_path / "data" / "s.db"
    command = [sys.executable, "-m", "satchel", "serve", "--read-only", "-d", str(store), "-c", contract]
    command += ["-t", transport, "--port", "0"]
    done = subprocess.run(command, capture_output=True, check=False, input=b"", timeout=60)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith(f"satchel: there is no store {store}. ")
    assert list(tmp_path.iterdir()) == []


def test_commands_that_write_and_servers_still_make_it(tmp_path: Path) -> None:
    added = run("prompt", "add", "T", "text", environment={"SATCHEL_HOME": str(tmp_path / "one")})
    assert added.returncode == 0 and (tmp_path / "one" / "satchel.db").exists()
    command = [sys.executable, "-m", "satchel", "serve", "-d", str(tmp_path / "two.db")]
    assert subprocess.run(command, check=False, input=b"", capture_output=True).returncode == 0
    assert (tmp_path / "two.db").exists()


def test_an_empty_list_of_a_store_that_is_there_is_no_error(tmp_path: Path) -> None:
    open_database(str(tmp_path / "satchel.db")).close()
    done = run("prompt", "list", environment={"SATCHEL_HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"No prompts in project 'default' yet. Add one: satchel prompt add ")
