"""Safe files: reads are bounded and follow no link, writes replace a file as a whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from satchel.files import NotAFile, TooLarge, create_file, read_file, write_file


def test_a_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_file(str(path), 5) == b"12345"
    with pytest.raises(TooLarge):
        read_file(str(path), 4)
    with pytest.raises(FileNotFoundError):
        read_file(str(tmp_path / "none"), 4)


def test_only_regular_files_are_read_and_a_pipe_does_not_block(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "folder"), str(tmp_path / "pipe"), os.devnull):
        with pytest.raises(NotAFile):
            read_file(path, 10)


def test_links_are_followed_only_if_asked_for(tmp_path: Path) -> None:
    target, soft, hard = tmp_path / "target", tmp_path / "soft", tmp_path / "hard"
    target.write_bytes(b"x")
    soft.symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        read_file(str(soft), 10)
    assert read_file(str(soft), 10, follows_links=True) == b"x"
    assert read_file(str(target), 10, is_single=True) == b"x"
    hard.hardlink_to(target)
    with pytest.raises(NotAFile):
        read_file(str(target), 10, is_single=True)


def test_a_written_file_keeps_its_mode_and_a_new_one_is_private(tmp_path: Path) -> None:
    new, old, public, usual = (tmp_path / name for name in ("new", "old", "public", "usual"))
    old.write_bytes(b"before")
    old.chmod(0o640)
    umask = os.umask(0o027)
    try:
        write_file(str(new), b"after")
        for path, mode in ((old, 0o600), (public, 0o644), (usual, None)):
            write_file(str(path), b"after", mode=mode)
    finally:
        os.umask(umask)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"new": 0o600, "old": 0o640, "public": 0o644, "usual": 0o640}
    assert [path.read_bytes() for path in (new, old, public, usual)] == [b"after"] * 4


def test_a_write_that_fails_changes_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")

    def refuse() -> None:
        assert sorted(os.listdir(tmp_path))[-1] == "file"
        raise ValueError

    with pytest.raises(ValueError):
        write_file(str(path), b"after", before=refuse)
    with pytest.raises(IsADirectoryError):
        write_file(str(tmp_path), b"after")
    with pytest.raises(FileExistsError):
        create_file(str(path), b"after")
    assert path.read_bytes() == b"before" and os.listdir(tmp_path) == ["file"]
