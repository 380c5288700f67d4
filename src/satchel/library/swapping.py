"""Exchanges two folders in one step, where the system can do that."""

import ctypes
import os
import sys

_HERE = -100  # AT_FDCWD: paths are relative to the working directory
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, and RENAME_SWAP of macOS


def swap(new: str, old: str) -> None:
    """Put the folder `new` in the place of `old`, and `old` in that of `new`.

    Where the system, or the file system, cannot exchange two folders, these are two steps, and the first is undone if
    the second fails.

    Raises:
        OSError: it cannot be done; nothing has changed.
    """
    if _exchange(os.fsencode(new), os.fsencode(old)):
        return
    aside = f"{new}.old"
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except BaseException:
        os.rename(aside, old)
        raise


def _exchange(first: bytes, second: bytes) -> bool:
    try:
        system = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            return bool(system.renamex_np(first, second, _EXCHANGE) == 0)
        return bool(system.renameat2(_HERE, first, _HERE, second, _EXCHANGE) == 0)
    except (AttributeError, OSError):
        return False  # an older system
