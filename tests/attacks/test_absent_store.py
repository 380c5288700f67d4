"""Reading a store that is not there reads an empty one, and makes none."""

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.support.command import run
from tests.support.postgres import PostgresServer

EMPTY = [
    ("project", "list"),
    ("prompt", "list"),
    ("document", "list"),
    ("task", "list"),
    ("task", "ready"),
    ("board",),
    ("search", "x"),
    ("catch-up",),
    ("log",),
    ("log", "--all", "--format", "jsonl"),
    ("trash", "list"),
    ("history", "size"),
    ("token", "list"),
    ("sync", "notes", "--check"),
    ("import", "-", "--format", "todo-txt", "--dry-run"),
]
MISSING = [("prompt", "show", "x"), ("document", "show", "x"), ("task", "show", "1"), ("log", "x"), ("diff", "x")]
COPYING = [("database", "status"), ("backup", "copy"), ("dump",)]


def test_every_reading_command_treats_an_absent_store_as_empty_and_creates_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for command, status in [*((one, 0) for one in EMPTY), *((one, 3) for one in MISSING)]:
        done = run(*command, environment={"SATCHEL_HOME": str(home)}, cwd=tmp_path, input=b"Buy milk")
        assert done.returncode == status, (command, done.stderr)
        said = f"There is no store {home}/satchel.db yet: the first change makes it.\n"
        assert done.stderr.decode().startswith(said), command
        as_json = run(*command, "--json", environment={"SATCHEL_HOME": str(home)}, cwd=tmp_path, input=b"Buy milk")
        assert as_json.returncode == status, (command, as_json.stderr)
    for command in COPYING:
        done = run(*command, environment={"SATCHEL_HOME": str(home)}, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, b"")
        assert f"there is no store {home}/satchel.db" in done.stderr.decode()
    assert list(tmp_path.iterdir()) == []


def test_libraries_are_listed_without_a_store(tmp_path: Path) -> None:
    home = {"SATCHEL_HOME": str(tmp_path)}
    assert run("library", "new", "everyday", environment=home).returncode == 0
    assert run("prompt", "list", environment=home).stdout.startswith(b"everyday:review\t")
    assert not (tmp_path / "satchel.db").exists()


def test_a_database_without_a_store_stays_as_it_is(tmp_path: Path, postgres: PostgresServer) -> None:
    store = postgres.fresh()
    for command in EMPTY[:4]:
        done = run(*command, environment={"SATCHEL_HOME": str(tmp_path), "SATCHEL_DATABASE": store})
        assert (done.returncode, done.stdout) == (0, b"") and b"There is no store " in done.stderr
    with psycopg.connect(store) as connection:
        assert connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall() == []


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_read_only_server_creates_no_store(tmp_path: Path, transport: str) -> None:
    store = tmp_path / "data" / "s.db"
    command = [sys.executable, "-m", "satchel", "serve", "--read-only", "-d", str(store)]
    command += ["-t", transport, "--port", "0"]
    done = subprocess.run(command, capture_output=True, check=False, input=b"", timeout=60)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith(f"satchel: there is no store {store}. ")
    assert list(tmp_path.iterdir()) == []
