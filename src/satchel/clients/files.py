"""Reads a client's settings file, and replaces it after a backup. Symbolic links are followed and kept."""

import os
import time
from contextlib import suppress

from satchel import files

MAX_SIZE = 16 * 2**20  # bytes; more than any client needs, and parsed within seconds
MAX_BACKUPS = 5  # for one file; the oldest are removed

_PREFIX, _SUFFIX = ".satchel-", ".bak"


class UnusableFile(Exception):
    """A file cannot be read or written; the message has its path, the reason and the remedy."""


def read(path: str) -> str | None:
    """Return the text of a file, with its line endings as they are; None if there is no such file.

    Raises:
        UnusableFile: the path is not a regular file, too large, not UTF-8, or cannot be read.
    """
    try:
        content = files.read_file(path, MAX_SIZE, follows_links=True)
        return content.decode("utf-8")
    except FileNotFoundError:
        return None
    except files.TooLarge as error:
        limit = f"{MAX_SIZE // 2**20} MiB"
        raise UnusableFile(f"{path} has more than {limit}, and is not changed. Use --print instead.") from error
    except files.NotAFile as error:
        raise UnusableFile(f"{path} is not a file. Move it away, and try again.") from error
    except OSError as error:
        raise UnusableFile(f"cannot read {path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnusableFile(f"{path}: line {line} is not UTF-8. Save it as UTF-8, and try again.") from error


def replace(path: str, before: str | None, after: str, *, mode: int) -> str | None:
    """Replace a file's text, and return the path of the backup; a new file gets `mode`.

    Raises:
        UnusableFile: the file cannot be written, or has changed since it was read.
    """
    target = os.path.realpath(path)
    backups: list[str] = []

    def check_and_back_up() -> None:
        # Check as late as possible: a client may write its file at any time, and its change must not be lost.
        if read(path) != before:
            raise UnusableFile(f"{path} was changed by another program just now. Try again.")
        if before is not None:
            backups.append(_back_up(target, before))

    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        files.write_file(target, after.encode(), mode=mode, before=check_and_back_up)
    except OSError as error:
        raise UnusableFile(f"cannot write {path}: {error.strerror}.") from error
    return backups[0] if backups else None


def _back_up(target: str, text: str) -> str:
    mode = os.stat(target).st_mode & 0o7777
    folder, name = os.path.split(target)
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    for number in range(1000):
        backup = f"{target}{_PREFIX}{moment}{f'-{number}' if number else ''}{_SUFFIX}"
        try:
            files.create_file(backup, text.encode(), mode=mode)
        except FileExistsError:
            continue
        break
    else:
        raise UnusableFile(f"{folder} has too many backups of {name}. Remove some.")
    others = [one for one in os.listdir(folder) if one.startswith(name + _PREFIX) and one.endswith(_SUFFIX)]
    by_age = sorted(others, key=lambda one: os.stat(os.path.join(folder, one)).st_mtime_ns)
    for old in by_age[:-MAX_BACKUPS]:
        with suppress(OSError):
            os.unlink(os.path.join(folder, old))
    return backup
