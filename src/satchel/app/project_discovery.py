"""Which project is meant by where we are: the nearest folder above that says so, or is a repository named like one."""

import os

from satchel.services import rules

MARK = ".satchel"
_LONGEST = 300  # bytes of a mark that are read: a name has at most 255 characters


def named_above(folder: str) -> list[tuple[str, str]]:
    """The names that the folders from here up suggest, the nearest first, each with the reason.

    A file `.satchel` names a project by its first line; without one, its folder does. So does the root of a repository,
    after such a file in the same folder.
    """
    names: list[tuple[str, str]] = []
    while True:
        mark = os.path.join(folder, MARK)
        own = os.path.basename(folder)
        if os.path.isfile(mark):
            names.append((_first_line(mark) or own, f"the file {mark}"))
        if os.path.exists(os.path.join(folder, ".git")):
            names.append((own, f"the repository {folder}"))
        parent = os.path.dirname(folder)
        if parent == folder:
            return [(name, why) for name, why in names if name and rules.is_storable(name)]
        folder = parent


def here() -> str | None:
    """The working directory; None where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _first_line(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(_LONGEST).split(b"\n")[0].decode("utf-8-sig", "replace").strip()
    except OSError:
        return ""
