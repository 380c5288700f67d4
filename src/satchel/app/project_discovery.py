"""Finds the project that the working directory names: by a file `.satchel`, or by the name of a repository."""

import os

from satchel.services import rules

FILE = ".satchel"
_MAX_FILE = 300  # bytes that are read: the name of a project has at most 255 characters


def find_names() -> list[tuple[str, str]]:
    """The project names that the working directory suggests; see `find_names_above`."""
    try:
        return find_names_above(os.getcwd())
    except OSError:  # the working directory was deleted
        return []


def find_names_above(folder: str) -> list[tuple[str, str]]:
    """The project names that a folder and those above suggest, nearest first, each with the reason.

    A file `.satchel` names a project by its first line; an empty one names that of its folder. The root of a repository
    names the project of its folder, after a `.satchel` file in the same folder.
    """
    names: list[tuple[str, str]] = []
    while True:
        path = os.path.join(folder, FILE)
        folder_name = os.path.basename(folder)
        if os.path.isfile(path):
            names.append((_read_first_line(path) or folder_name, f"the file {path}"))
        if os.path.exists(os.path.join(folder, ".git")):
            names.append((folder_name, f"the repository {folder}"))
        parent = os.path.dirname(folder)
        if parent == folder:
            return [(name, why) for name, why in names if name and rules.is_storable(name)]
        folder = parent


def _read_first_line(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_FILE).split(b"\n")[0].decode("utf-8-sig", "replace").strip()
    except OSError:
        return ""
