"""Files that only their owner may read: new ones appear whole or not at all; loose permissions are tightened."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from satchel import clock
from satchel.errors import StoreFailed, StoreUnusable
from satchel.log import log

_BESIDE = ("-wal", "-shm", "-gate")  # the files of SQLite and of our write lock beside a store


@contextmanager
def make_part(file: str) -> Iterator[str]:
    """Yield the path of an empty file with mode 0600, which gets the name of a new file when the block ends.

    Raises:
        StoreUnusable: the file is there already, or another process made it meanwhile.
        StoreFailed: it cannot be written.
    """
    taken = f"{file} is already there, and is never replaced. Name another file."
    if os.path.lexists(file):
        raise StoreUnusable(taken)
    part = f"{file}.{clock.new_id()}.part"
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        yield part
        sync(part)
        os.link(part, file)  # fails where another process was first, and never shows half a file
        sync(os.path.dirname(file) or ".")
    except FileExistsError:
        raise StoreUnusable(taken) from None
    except OSError as error:
        raise StoreFailed(f"cannot write {file}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            os.unlink(part)


@contextmanager
def open_new(file: str) -> Iterator[BinaryIO]:
    """Write a new file with mode 0600. Raises as `make_part`."""
    with make_part(file) as part, open(part, "wb") as opened:
        yield opened


def sync(path: str) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def check_owner(path: str) -> None:
    """Check that a store and the files beside it belong to this user, and that no other user can replace it.

    Raises:
        StoreUnusable: the store or its folder belongs to another user.
    """
    us = os.geteuid()
    for file, found in _stat_files(path):
        if found.st_uid != us:
            raise StoreUnusable(
                f"{file} belongs to another user (uid {found.st_uid}; this is uid {us}), who could change it, or be "
                "locked out of it. Run satchel as that user, make the file yours with chown, or name another store "
                "with --database or SATCHEL_DATABASE."
            )
    folder = os.path.dirname(path)
    owner = os.stat(folder).st_uid
    # A folder of root is fine. For root, so is a folder of another user: in a container it belongs to the host.
    if owner not in (us, 0) and us != 0:
        raise StoreUnusable(
            f"the folder {folder} belongs to another user (uid {owner}), who could replace the store. Name a store "
            "in a folder of yours with --database or SATCHEL_DATABASE."
        )


def tighten_modes(path: str) -> None:
    """Remove group and world access to the store's files, and write access to its folder; log each change.

    Raises:
        StoreUnusable: a mode cannot be changed.
    """
    for file, found in _stat_files(path):
        if found.st_mode & 0o077 and stat.S_ISREG(found.st_mode):
            _tighten(file, stat.S_IMODE(found.st_mode), 0o600)
    folder = os.path.dirname(path)
    found = os.stat(folder)
    mode = stat.S_IMODE(found.st_mode)
    if not mode & 0o022 or mode & stat.S_ISVTX:  # in a sticky folder others cannot replace our files
        return
    if found.st_uid == os.geteuid():
        _tighten(folder, mode, mode & ~0o022)
    elif mode & 0o002:
        log(f"everyone may replace files in the folder of the store, {folder}: use one that only you can write to")


def _stat_files(path: str) -> list[tuple[str, os.stat_result]]:
    """Return the files of a store that exist."""
    found = []
    for file in (path, *(f"{path}{end}" for end in _BESIDE)):
        with suppress(FileNotFoundError):
            found.append((file, os.lstat(file)))
    return found


def _tighten(path: str, mode: int, private: int) -> None:
    try:
        os.chmod(path, private)
    except OSError as error:
        raise StoreUnusable(
            f"others may use {path} (mode {mode:04o}), and its mode cannot be changed: {error.strerror}. "
            f"Change it with: chmod {private:04o}, or name another store."
        ) from error
    log(f"others could use {path} (mode {mode:04o}); its mode is {private:04o} now")
