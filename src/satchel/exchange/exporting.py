"""Writes what a project, or a store, holds into files: our own folder, JSON Lines, or the format of another tool."""

import os

from msgspec import Struct, field
from msgspec.structs import replace

from satchel.exchange import folder, snapshot, sources, writing
from satchel.exchange.entries import KINDS, Entry, Kind, Unreadable
from satchel.exchange.formats.shared import Format, Written
from satchel.model import Scope
from satchel.services import projects
from satchel.storage.database import Database

_OURS = ("satchel", "jsonl")


class ExportReport(Struct, kw_only=True):
    """What an export wrote."""

    where: str
    counts: dict[Kind, int]
    files: int
    changed: int
    removed: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)  # files of items that are gone, which were kept
    notes: list[str] = field(default_factory=list)


class Export(Struct, frozen=True):
    """The files of an export by path, before they are written."""

    files: dict[str, bytes]
    counts: dict[Kind, int]
    notes: tuple[str, ...]


def make(database: Database, scope: Scope, format: Format, *, is_whole: bool = False) -> Export:
    """The files of the scope's project, or of all projects."""
    entries, notes, by_project = _read(database, scope, is_whole=is_whole)
    if format.name == "satchel":
        written = Written(_write_folders(by_project) if is_whole else folder.write(entries, scope.project))
    else:
        assert format.write is not None, "every format in the table can be written"
        written = format.write(_name_projects(by_project) if is_whole else entries)
    counts = {kind: sum(one.kind == kind for one in entries if kind in format.kinds) for kind in KINDS}
    return Export(written.files, counts, (*notes, *written.notes))


def _read(
    database: Database, scope: Scope, *, is_whole: bool
) -> tuple[list[Entry], list[str], dict[str | None, list[Entry]]]:
    notes: list[str] = []
    by_project: dict[str | None, list[Entry]] = {}
    with database.read(scope) as tx:
        loose = snapshot.take_loose_tasks(tx, scope)
        names = [one.name for one, _ in projects.list_all(tx, scope)] if is_whole else [scope.project]
        for name in names:
            taken = snapshot.take(tx, projects.enter(scope, name))
            by_project[name] = taken.entries
            if taken.outside:
                notes.append(f"{taken.outside} dependencies on tasks outside of project '{name}' are left out.")
    if is_whole:
        by_project[None] = list(loose)
    elif loose:
        notes.append(f"{len(loose)} tasks that are in no project are left out; --all has them.")
    return [one for entries in by_project.values() for one in entries], notes, by_project


def _write_folders(by_project: dict[str | None, list[Entry]]) -> dict[str, bytes]:
    files = {sources.MARKER: folder.write_marker(None)}
    paths = folder.name_files("", [name for name in by_project if name])
    for name, entries in by_project.items():
        if name is None:
            tasks = folder.write(entries, "").get(folder.TASKS)
            files |= {folder.TASKS: tasks} if tasks else {}
        else:
            base = paths[name].lstrip("/")
            files |= {f"{base}/{path}": data for path, data in folder.write(entries, name).items()}
    return files


def _name_projects(by_project: dict[str | None, list[Entry]]) -> list[Entry]:
    """All entries, each with its project; the keys of tasks are numbers of the store, which differ in all projects."""
    return [replace(one, project=name or "") for name, entries in by_project.items() for one in entries]


def write_folder(
    export: Export, root: str, format: Format, *, prunes: bool = False, forces: bool = False
) -> ExportReport:
    """Write an export into a folder.

    Raises:
        Unreadable: the folder holds something else, or cannot be written.
    """
    _check_folder(root, format, forces=forces)
    report = ExportReport(where=root, counts=export.counts, files=len(export.files), changed=0, notes=[*export.notes])
    report.changed = writing.write_all(root, export.files)
    stale = sorted(_list_own(root) - {*export.files}) if format.name == "satchel" else []
    if prunes:
        for path in stale:
            writing.remove_file(root, path)
        report.removed = stale
    else:
        report.stale = stale
    return report


def _check_folder(root: str, format: Format, *, forces: bool) -> None:
    if os.path.lexists(root) and not os.path.isdir(root):
        raise Unreadable(f"{root} is no folder")
    try:
        names = os.listdir(root) if os.path.isdir(root) else []
    except OSError as error:
        raise Unreadable(f"{root} cannot be read: {error.strerror}") from error
    is_ours = format.name == "satchel" and (sources.MARKER in names or not [one for one in names if one[0] != "."])
    if names and not is_ours and not forces and [one for one in names if one != ".git"]:
        raise Unreadable(f"{root} is not empty. Name another folder, or say --force to write into it")


def _list_own(root: str) -> set[str]:
    """The files in the parts of a folder that are ours alone."""
    found: set[str] = set()
    bases = [""] + [name for name in os.listdir(root) if os.path.isfile(os.path.join(root, name, sources.MARKER))]
    for base in bases:
        for part, ending in ((folder.PROMPTS, ".md"), (folder.DOCUMENTS, "")):
            paths = folder.list_files(os.path.join(root, base), part, ending)
            found |= {f"{base}/{path}".lstrip("/") for path in paths}
        for name in (folder.DETAILS, folder.TASKS):
            if os.path.isfile(os.path.join(root, base, name)):
                found.add(f"{base}/{name}".lstrip("/"))
    return found
