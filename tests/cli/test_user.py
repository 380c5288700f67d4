"""`satchel user`: the user of the environment, the local user, and the local user of who moves to a shared store."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.command import run
from tests.support.postgres import PostgresServer

ADA = "550e8400-e29b-41d4-a716-446655440000"


def satchel(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return run(*arguments, environment={"SATCHEL_HOME": str(home), **environment}, cwd=home)


def user_of(home: Path, *arguments: str, **environment: str) -> str:
    done = satchel(home, "user", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().strip()


def test_the_user_of_the_environment_comes_before_the_local_one(store: str, tmp_path: Path) -> None:
    local = user_of(tmp_path, "-d", store)
    assert user_of(tmp_path, "-d", store, SATCHEL_USER=ADA.upper()) == ADA
    (tmp_path / "satchel.toml").write_text(f'user = "{ADA}"\n')
    assert user_of(tmp_path, "-d", store) == ADA
    (tmp_path / "satchel.toml").unlink()
    assert user_of(tmp_path, "-d", store) == local != ADA


@pytest.fixture
def shared(postgres: PostgresServer) -> str:
    """The address of a PostgreSQL store."""
    return postgres.fresh()


def test_who_moves_to_a_shared_store_stays_the_same_user(shared: str, tmp_path: Path) -> None:
    embedded = user_of(tmp_path)
    assert satchel(tmp_path, "task", "add", "Kept").returncode == 0
    for _ in range(2):
        assert user_of(tmp_path, "-d", shared) == embedded
    assert (tmp_path / "user").read_text() == f"{embedded}\n"
    assert os.stat(tmp_path / "user").st_mode & 0o777 == 0o600
    assert user_of(tmp_path) == embedded


def test_without_an_embedded_store_or_its_user_a_new_one_is_made(shared: str, tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    for home in (first, second, third):
        home.mkdir()
    assert satchel(second, "database", "migrate").returncode == 0  # a store in which nobody asked for the user
    assert (second / "satchel.db").exists()
    (third / "user").write_text(f"{ADA}\n")  # who is known already stays, whatever store is there
    other = user_of(third)
    made = [user_of(home, "-d", shared) for home in (first, second, third)]
    assert len({*made, other}) == 4 and made[2] == ADA
    assert not (first / "satchel.db").exists()


def test_an_embedded_store_that_cannot_be_read_is_reported(shared: str, tmp_path: Path) -> None:
    (tmp_path / "satchel.db").write_bytes(b"not a database")
    done = satchel(tmp_path, "user", "-d", shared)
    assert (done.returncode, done.stdout) == (1, b"")
    text = done.stderr.decode()
    assert text.startswith(f"satchel: cannot read the local user from {tmp_path}/satchel.db: ")
    assert text.endswith(f"Move it away, or write the UUID into {tmp_path}/user. Nothing was changed.\n")
    assert not (tmp_path / "user").exists()
