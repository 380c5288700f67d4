"""Finds the current project, alike for servers and commands: by `.satchel` file, repository or default."""

import os
import re
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from satchel.model import ALL_PROJECTS, NAMED_BY_FILE, Scope
from satchel.services import rules

FILE = ".satchel"
_MAX_FILE = 300  # bytes to read: the name of a project has at most 255 characters
_MAX_LINK = 4096  # bytes of the file `.git` of a worktree or a submodule
# The target of the file `.git` of a worktree or a submodule, inside the main repository.
_INSIDE_MAIN = r"(?s)(.+?)[/\\](?:\.git[/\\](?:worktrees|modules)[/\\].+|worktrees[/\\][^/\\]+)"


class NamedProject(Struct, frozen=True):
    """A project that the working directory names, with the words that tell people what names it."""

    name: str
    why: str
    folder: str  # of the file or the repository
    is_repository: bool = False  # the first write creates its project


def find_current(scope: Scope, exists: Callable[[str], bool]) -> Scope:
    """Return `scope` in the project of the working directory, for settings that name no project.

    The nearest `.satchel` file decides; its project must exist. Without one, the nearest repository decides; the
    first write creates its project. Without either, the scope does not change.
    """
    names = find_names()
    found = next((one for one in names if one.why.startswith(NAMED_BY_FILE)), names[0] if names else None)
    if found is None or not (found.is_repository or found.why.startswith(NAMED_BY_FILE) or exists(found.name)):
        return scope
    return replace(scope, project=found.name, why=found.why, makes=found.name if found.is_repository else "")


def find_names() -> list[NamedProject]:
    """Return the projects named by the working directory; see `find_names_above`."""
    try:
        return find_names_above(os.getcwd(), os.path.expanduser("~"))
    except OSError:  # the working directory was deleted
        return []


def find_names_above(folder: str, home: str = "") -> list[NamedProject]:
    """Return the projects named by a folder and the folders above it, nearest first.

    The first line of a file `.satchel` names a project; if it is empty, the name of its folder does. A repository names
    the project of its folder; a worktree or submodule, that of its main repository. A file takes precedence.
    A home folder that is a repository holds settings, and names no project.
    """
    names: list[NamedProject] = []
    while True:
        path, folder_name = os.path.join(folder, FILE), os.path.basename(folder)
        if os.path.isfile(path):
            names.append(NamedProject(_read_start(path, _MAX_FILE) or folder_name, f"{NAMED_BY_FILE}{path}", folder))
        if os.path.exists(os.path.join(folder, ".git")):
            main = find_main_repository(folder)
            name = make_name(os.path.basename(main))
            if name:
                names.append(NamedProject(name, f"the repository {main}", folder, is_repository=main != home))
        parent = os.path.dirname(folder)
        if parent == folder:
            return names
        folder = parent


def find_main_repository(folder: str) -> str:
    """Return the main repository's folder for a worktree or submodule, and the repository's own folder for others."""
    path = os.path.join(folder, ".git")
    if not os.path.isfile(path):
        return folder
    target = _read_start(path, _MAX_LINK).removeprefix("gitdir:").strip()
    found = re.fullmatch(_INSIDE_MAIN, os.path.normpath(os.path.join(folder, target))) if target else None
    if found is None:
        return folder
    main = found[1].removesuffix(".git")  # for a bare repository
    return os.path.dirname(main) if os.path.basename(main).startswith(".") else main


def make_name(folder_name: str) -> str:
    """Make a project name from a folder name: characters other than letters, digits, . _ - become hyphens.

    It is empty if too little is left, or if the name stands for all projects.
    """
    made = re.sub(r"[^A-Za-z0-9._-]+", "-", folder_name).strip("-")[: rules.MAX_NAME]
    return "" if made.lower() == ALL_PROJECTS else made


def _read_start(path: str, size: int) -> str:
    """Return the first line of a file, cut to `size` bytes; empty if the file cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(size).split(b"\n")[0].decode("utf-8", "replace").removeprefix("\ufeff").strip()
    except OSError:
        return ""
