"""Writes files whole or not at all, below a folder that the user named, and never through a link."""

import os
from collections.abc import Mapping

from satchel import clock
from satchel.exchange.entries import Unreadable


def write_file(root: str, path: str, data: bytes) -> bool:
    """Write a file below a folder; whether it had to change.

    Raises:
        Unreadable: a part of the path is a link or no folder, or it cannot be written.
    """
    target = os.path.join(root, *path.split("/"))
    if any(part in ("", ".", "..") for part in path.split("/")):
        raise Unreadable(f"{path} is no path below the folder")
    try:
        _make_folders(root, path.split("/")[:-1])
        if os.path.islink(target):
            raise Unreadable(f"{path} is a symbolic link, and links are not followed")
        if os.path.isfile(target) and os.path.getsize(target) == len(data) and _read(target) == data:
            return False
        part = os.path.join(os.path.dirname(target), f".{clock.new_id()[:8]}.tmp")
        try:
            with open(part, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target)
        except BaseException:
            _remove_quietly(part)
            raise
    except OSError as error:
        raise Unreadable(f"{path} cannot be written: {error.strerror}") from error
    return True


def write_all(root: str, files: Mapping[str, bytes]) -> int:
    """Write several files; how many had to change.

    Raises:
        Unreadable: as `write_file`.
    """
    return sum(write_file(root, path, data) for path, data in files.items())


def remove_file(root: str, path: str) -> None:
    """Remove a file below a folder, where it exists.

    Raises:
        Unreadable: it cannot be removed.
    """
    try:
        os.unlink(os.path.join(root, *path.split("/")))
    except FileNotFoundError:
        pass
    except OSError as error:
        raise Unreadable(f"{path} cannot be removed: {error.strerror}") from error


def _make_folders(root: str, folders: list[str]) -> None:
    os.makedirs(root, exist_ok=True)
    here = root
    for folder in folders:
        here = os.path.join(here, folder)
        if os.path.islink(here):
            raise Unreadable(f"{here} is a symbolic link, and links are not followed")
        os.makedirs(here, exist_ok=True)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _remove_quietly(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
