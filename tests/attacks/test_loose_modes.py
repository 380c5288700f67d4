"""A store of another user is not adopted, and one that others could use is made private, with a warning."""

import os
import stat
from pathlib import Path

import pytest

from satchel.errors import StoreUnusable
from satchel.storage import sqlite_file
from satchel.storage.database import open_database
from tests.support.command import run

NOBODY = 65534


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store in a folder of its own."""
    open_database(str(tmp_path / "data" / "s.db")).close()
    return tmp_path / "data" / "s.db"


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a file belong to another user: root changes its owner, others pretend to be another."""
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: NOBODY)


@pytest.mark.parametrize("loose", [0o644, 0o660, 0o666, 0o777])
def test_group_and_world_access_to_our_files_is_removed(store: Path, loose: int) -> None:
    inside = open_database(str(store))  # so that the files beside it are there
    files = [store, *(store.with_name(f"s.db{end}") for end in ("-wal", "-shm", "-gate"))]
    with inside.write() as tx:
        tx.run("update projects set name = name")
    for file in files:
        file.chmod(loose)
    done = run("project", "list", environment={"SATCHEL_DATABASE": str(store)})
    inside.close()
    assert done.returncode == 0
    told = done.stderr.decode()
    for file in files[:1]:
        assert f"others could use {file} (mode {loose:04o}); its mode is 0600 now" in told
    assert [mode(file) for file in files if file.exists()] == [0o600] * len([file for file in files if file.exists()])
    again = run("project", "list", environment={"SATCHEL_DATABASE": str(store)})
    assert b"others could" not in again.stderr


@pytest.mark.parametrize(
    ("loose", "corrected"), [(0o777, 0o755), (0o770, 0o750), (0o722, 0o700), (0o1777, 0o1777), (0o755, 0o755)]
)
def test_a_folder_in_which_others_could_replace_the_store_is_corrected(store: Path, loose: int, corrected: int) -> None:
    store.parent.chmod(loose)
    done = run("project", "list", environment={"SATCHEL_DATABASE": str(store)})
    assert done.returncode == 0 and mode(store.parent) == corrected
    assert (f"others could use {store.parent}" in done.stderr.decode()) is (loose != corrected)


def test_a_file_that_is_not_a_store_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("not a database, " * 100)
    file.chmod(0o644)
    assert run("project", "list", environment={"SATCHEL_DATABASE": str(file)}).returncode == 1
    assert mode(file) == 0o644


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-gate"])
def test_a_file_of_another_user_is_refused(store: Path, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = Path(f"{store}{end}")
    if not beside.exists():
        beside.touch(0o600)
    give_away(beside, monkeypatch)
    before, owner = store.read_bytes(), beside.stat().st_uid
    with pytest.raises(StoreUnusable, match=r"belongs to another user \(uid \d+; .*chown"):
        open_database(str(store))
    assert (store.read_bytes(), beside.stat().st_uid) == (before, owner)


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir(0o700)
    give_away(tmp_path / "data", monkeypatch)
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    with pytest.raises(StoreUnusable, match=r"the folder .*data belongs to another user"):
        sqlite_file.check_owner(str(tmp_path / "data" / "s.db"))


def test_a_data_folder_may_be_a_symbolic_link(tmp_path: Path, store: Path) -> None:
    (tmp_path / "link").symlink_to(store.parent)
    done = run("project", "list", environment={"SATCHEL_DATABASE": str(tmp_path / "link" / "s.db")})
    assert done.returncode == 0 and b"others could" not in done.stderr
