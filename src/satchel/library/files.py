"""Reads inside one folder: follows no link, and opens only regular files that have no name elsewhere."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Non-blocking: opening a FIFO would otherwise wait for a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class TooLarge(Exception):
    """A file is larger than the caller's limit."""


@contextmanager
def open_folder(path: str, *folders: str) -> Iterator[int]:
    """Open a folder below a trusted path; `folders` are not trusted, so none of them may be a link.

    Raises:
        OSError: there is no such folder.
    """
    file = os.open(path, _FOLDER)
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=file)
            os.close(file)
            file = below
        yield file
    finally:
        os.close(file)


def read(folder: int, name: str, limit: int) -> bytes:
    """Read a regular file in an open folder.

    Raises:
        OSError: there is no such file, or it is something else.
        TooLarge: it has more than `limit` bytes.
    """
    file = os.open(name, _FILE, dir_fd=folder)
    try:
        if not _is_plain(os.fstat(file)):
            raise FileNotFoundError(name)
        content = b""
        while chunk := os.read(file, limit + 1 - len(content)):
            content += chunk
            if len(content) > limit:
                raise TooLarge(name)
        return content
    finally:
        os.close(file)


def read_start(folder: int, name: str, size: int) -> bytes:
    """The first bytes of a regular file in an open folder.

    Raises:
        OSError: there is no such file, or it is something else.
    """
    file = os.open(name, _FILE, dir_fd=folder)
    try:
        if not _is_plain(os.fstat(file)):
            raise FileNotFoundError(name)
        return os.read(file, size)
    finally:
        os.close(file)


def decode(content: bytes) -> str:
    """A text in UTF-8, without its byte order mark.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    return content.decode().removeprefix("\ufeff")


def folders_in(folder: int) -> tuple[list[str], list[str]]:
    """The names of the folders in an open folder, and of its links, sorted; those that begin with a dot are left out.

    What a link leads to is not looked at.
    """
    with os.scandir(folder) as entries:
        shown = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    folders = [entry.name for entry in shown if entry.is_dir(follow_symlinks=False)]
    return folders, [entry.name for entry in shown if entry.is_symlink()]


def printable(text: str) -> str:
    """A text with what may be in the name of a file, without characters that end a line or are not Unicode."""
    return "".join(one if one.isprintable() else "?" for one in text)


def files_in(folder: int) -> frozenset[str]:
    """The names of the regular files in an open folder that have no other name."""
    with os.scandir(folder) as entries:
        return frozenset(entry.name for entry in entries if _is_plain(entry.stat(follow_symlinks=False)))


def _is_plain(found: os.stat_result) -> bool:
    """Whether this is a regular file with one name.

    A hard link may be another name of a file elsewhere, which the owner of the folder could not read themselves.
    """
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def find_obstacle(folder: int, name: str) -> str | None:
    """Why a name in an open folder is not that of a regular file; None where nothing has that name."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    if stat.S_ISLNK(found.st_mode):
        return "is a symbolic link, and links are not followed"
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        return "has another name (a hard link), and such files are not read: copy it"
    return "is not a regular file"


def signature(folder: int, name: str) -> tuple[int, ...] | None:
    """Numbers that change when a file changes; None where there is no such regular file with one name."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    if not _is_plain(found):
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
