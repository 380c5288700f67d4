"""Reads a client's file within bounds, keeps a backup of it, and replaces it atomically.

Links are followed, and stay links; the mode of a file stays as it is.
"""

import os
import stat
import time
from contextlib import suppress

MAX_SIZE = 16 * 2**20  # bytes of a file that we read; more than any client needs, and parsed within seconds
MAX_BACKUPS = 5  # of one file; the oldest are removed

_BACKUP = ".satchel-{time}.bak"


class UnusableFile(Exception):
    """A file cannot be read or written; the message says which, why, and what to do."""


def read(path: str) -> str | None:
    """The text of a file, with its line ends as they are; None where there is no such file.

    Raises:
        UnusableFile: it is no regular file, too large, not UTF-8, or cannot be read.
    """
    try:
        # Without waiting, or opening a named pipe would never end.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnusableFile(f"cannot read {path}: {error.strerror}.") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise UnusableFile(f"{path} is not a file. Move it away, and try again.")
    with open(descriptor, "rb") as file:
        if status.st_size > MAX_SIZE:
            size = f"{status.st_size / 2**20:.0f} MiB"
            limit = f"{MAX_SIZE // 2**20} MiB"
            raise UnusableFile(f"{path} has {size}; Satchel changes files of at most {limit}. Use --print instead.")
        try:
            content = file.read(MAX_SIZE + 1)
        except OSError as error:
            raise UnusableFile(f"cannot read {path}: {error.strerror}.") from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnusableFile(f"{path}: line {line} is not UTF-8. Save it as UTF-8, and try again.") from error


def replace(path: str, before: str | None, after: str, *, mode: int) -> str | None:
    """Replace a file by a new text, and return the path of the backup; `mode` is for a file that does not exist yet.

    Raises:
        UnusableFile: it cannot be written, or is no longer what was read.
    """
    target = os.path.realpath(path)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if before is not None:
            mode = stat.S_IMODE(os.stat(target).st_mode)
        temporary = f"{target}.satchel-{os.getpid()}.tmp"
        with suppress(FileNotFoundError):
            os.remove(temporary)  # of a process that was killed, and had our number
        try:
            _create(temporary, after, mode)
            _keep_owner(target, temporary)
            # As late as possible: clients write their own files at any time, and nothing of that may be lost.
            if read(path) != before:
                raise UnusableFile(f"{path} was changed by another program just now. Try again.")
            backup = None if before is None else _back_up(target, before, mode)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.remove(temporary)
            raise
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        raise UnusableFile(f"cannot write {path}: {error.strerror}.") from error
    return backup


def remove(path: str) -> None:
    """Remove a file that is empty now."""
    with suppress(OSError):
        os.remove(path)


def _back_up(target: str, text: str, mode: int) -> str:
    folder, name = os.path.split(target)
    prefix, suffix = _BACKUP.split("{time}")
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    for number in range(1000):
        backup = f"{target}{prefix}{moment}{f'-{number}' if number else ''}{suffix}"
        try:
            _create(backup, text, mode)
        except FileExistsError:
            continue
        break
    else:
        raise UnusableFile(f"{folder} has too many backups of {name}. Remove some.")
    others = [one for one in os.listdir(folder) if one.startswith(name + prefix) and one.endswith(suffix)]
    by_age = sorted(others, key=lambda one: os.stat(os.path.join(folder, one)).st_mtime_ns)
    for old in by_age[:-MAX_BACKUPS]:
        remove(os.path.join(folder, old))
    return backup


def _create(path: str, text: str, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    # Readable by others only once it has its mode: the file may have secrets in it.
    with open(os.open(path, flags, 0o600), "wb") as file:
        file.write(text.encode("utf-8"))
        file.flush()
        if hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def _keep_owner(target: str, temporary: str) -> None:
    """Give a new file the owner of the old one, where root replaces the file of a user."""
    if not hasattr(os, "chown"):
        return
    with suppress(OSError):
        old, new = os.stat(target), os.stat(temporary)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            os.chown(temporary, old.st_uid, old.st_gid)


def _sync_folder(folder: str) -> None:
    with suppress(OSError):  # not on Windows
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
