"""Safe access to files that others may have written: bounded reads, folders without links, atomic writes."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from satchel import clock

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # non-blocking: opening a FIFO would wait for a writer


class TooLarge(Exception):
    """A file is larger than the caller's limit."""


class NotAFile(OSError):
    """A path names a folder, a device, a pipe or a link instead of a regular file."""


# -- reading ----------------------------------------------------------------------------------------------------


def read_file(
    path: str, limit: int, *, folder: int | None = None, follows_links: bool = False, is_single: bool = False
) -> bytes:
    """Read a regular file of at most `limit` bytes, relative to an open folder if one is given.

    If `is_single`, a file with a second name (a hard link) is refused: the other name may be outside the folder, in a
    place that the owner of the folder cannot read.

    Raises:
        NotAFile: the path names something else.
        TooLarge: the file has more than `limit` bytes.
        OSError: the file cannot be read.
    """
    with _open(path, folder, follows_links=follows_links, is_single=is_single) as file:
        content = bytearray()
        while chunk := os.read(file, min(limit + 1 - len(content), 1024 * 1024)):
            content += chunk
            if len(content) > limit:
                raise TooLarge(path)
        return bytes(content)


def read_start(path: str, size: int, *, folder: int) -> bytes:
    """Read the first `size` bytes of a regular file without hard links in an open folder.

    Raises:
        OSError: the file cannot be read.
    """
    with _open(path, folder, follows_links=False, is_single=True) as file:
        return os.read(file, size)


@contextmanager
def _open(path: str, folder: int | None, *, follows_links: bool, is_single: bool) -> Iterator[int]:
    file = os.open(path, _FILE | (0 if follows_links else os.O_NOFOLLOW), dir_fd=folder)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or (is_single and status.st_nlink != 1):
            raise NotAFile(f"{path} is not a regular file")
        yield file
    finally:
        os.close(file)


def decode(content: bytes) -> str:
    """Decode UTF-8 without its byte order mark.

    Raises:
        UnicodeDecodeError: the content is not UTF-8.
    """
    return content.decode().removeprefix("\ufeff")


def printable(text: str) -> str:
    """Replace the characters of a file name that end a line, control a terminal or are not valid Unicode."""
    return "".join(one if one.isprintable() else "?" for one in text)


# -- folders whose content is not trusted -----------------------------------------------------------------------


@contextmanager
def open_folder(path: str, *folders: str) -> Iterator[int]:
    """Open a folder below a trusted path. The `folders` below it are not trusted: none may be a link.

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


def list_folders(folder: int) -> tuple[list[str], list[str]]:
    """List the folders and the links in an open folder by name, except hidden ones."""
    with os.scandir(folder) as entries:
        shown = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    folders = [entry.name for entry in shown if entry.is_dir(follow_symlinks=False)]
    return folders, [entry.name for entry in shown if entry.is_symlink()]


def list_files(folder: int) -> frozenset[str]:
    """List the names of the regular files without hard links in an open folder."""
    with os.scandir(folder) as entries:
        return frozenset(entry.name for entry in entries if _is_single_file(entry.stat(follow_symlinks=False)))


def sign(folder: int, name: str) -> tuple[int, ...] | None:
    """Return numbers that change whenever the file does; None if it is not a regular file or has hard links."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    if not _is_single_file(found):
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def find_obstacle(folder: int, name: str) -> str | None:
    """Return the reason why a path is not a regular file; None if it does not exist."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    if stat.S_ISLNK(found.st_mode):
        return "is a symbolic link, and links are not followed"
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        return "has another name (a hard link), and such files are not read: copy it"
    return "is not a regular file"


def _is_single_file(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


# -- writing ----------------------------------------------------------------------------------------------------


def write_file(
    path: str, content: bytes, *, mode: int | None = 0o600, before: Callable[[], None] | None = None
) -> None:
    """Replace or create a whole file, and wait until it is on the disk.

    A file keeps its mode, and its owner if the system allows it. A new one gets `mode`, by default from the umask.
    `before` runs when the new content is complete, just before it replaces the old one; if it raises, nothing changes.

    Raises:
        OSError: the file cannot be written; nothing has changed.
    """
    folder = os.path.dirname(path) or "."
    part = os.path.join(folder, f".{os.path.basename(path)[:100]}.{clock.new_id()}.tmp")
    old = None
    with suppress(FileNotFoundError):
        old = os.stat(path)
    try:
        create_file(part, content, mode=mode if old is None else stat.S_IMODE(old.st_mode))
        if old is not None and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(OSError):
                os.chown(part, old.st_uid, old.st_gid)
        if before is not None:
            before()
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
    with suppress(OSError):  # some network file systems do not support it
        sync(folder)


def create_file(path: str, content: bytes, *, mode: int | None = 0o600) -> None:
    """Create a file and wait until its content is on the disk. The umask decides the default mode.

    Raises:
        FileExistsError: the path is taken.
        OSError: the file cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o666 if mode is None else 0o600), "wb") as file:
        file.write(content)
        file.flush()
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def sync(path: str) -> None:
    """Wait until a file, or the entries of a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
