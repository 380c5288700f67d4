"""Writes a project or a store into files: a folder of Satchel, JSON Lines, or the format of another tool."""

import os
import shlex

from msgspec import Struct, field
from msgspec.structs import replace

from satchel.exchange import folder, sources, storing
from satchel.exchange.entries import KINDS, Entry, Kind, Unreadable
from satchel.exchange.formats import BY_NAME, FORMATS, find_name
from satchel.exchange.formats.shared import Format, Written
from satchel.model import Scope
from satchel.services import projects
from satchel.storage.database import Database

STDOUT = "-"

_ENDINGS = frozenset(ending for one in FORMATS for ending in one.extensions)  # extensions that a format reads


class WrongTarget(Exception):
    """The target and the format of an export do not fit; the message names commands that work."""


class ExportReport(Struct, kw_only=True):
    """The result of an export."""

    where: str
    counts: dict[Kind, int]
    files: int
    changed: int
    removed: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)  # files of deleted items, which were kept
    notes: list[str] = field(default_factory=list)


class Export(Struct, frozen=True):
    """The files of an export by path, before they are written."""

    files: dict[str, bytes]
    counts: dict[Kind, int]
    notes: tuple[str, ...]


def choose_format(target: str, name: str | None) -> Format:
    """Return the format that --format names, if it suits the target: a folder, a file or stdout.

    Raises:
        WrongTarget: the format cannot be written, or the target is a file and the format a folder, or the reverse.
    """
    format = BY_NAME[name or "satchel"]
    if format.write is None:
        written = ", ".join(one.name for one in FORMATS if one.write is not None)
        raise WrongTarget(
            f"Satchel reads the format {format.name}, but does not write it. Formats to write are {written}."
        )
    is_folder = os.path.isdir(target) or target.endswith("/")
    if format.file or is_folder:
        return format
    option = f" --format {name}" if name else ""
    stem, dot, ending = target.rpartition(".")
    if target == STDOUT:
        what = f"The format {format.name} writes a folder, which stdout cannot take."
        return _refuse(what, "-", "jsonl", "FOLDER" + option)
    if dot and stem and ending.lower() in _ENDINGS:
        what = f"'{target}' is named like a file, and the format {format.name} writes a folder."
        names = [one.name for one in FORMATS if one.file.endswith(f".{ending.lower()}") and one.write is not None]
        file, one = (target, "jsonl" if "jsonl" in names else names[0]) if names else (f"{stem}.jsonl", "jsonl")
        return _refuse(what, file, one, shlex.quote(stem) + option)
    if name is None and (meant := find_name(target)):
        what = f"'{target}' is the name of a format. You may have meant the format."
        return _refuse(what, BY_NAME[meant].file or "FOLDER", meant, f"{shlex.quote(target)}/")
    return format


def _refuse(what: str, file: str, format: str, folder_: str) -> Format:
    file = file if file in (STDOUT, "FOLDER") else shlex.quote(file)
    raise WrongTarget(f"{what} Use `satchel export {file} --format {format}` or `satchel export {folder_}`")


def make(database: Database, scope: Scope, format: Format, *, is_whole: bool = False) -> Export:
    """Return the files of the scope's project, or of all projects."""
    entries, notes, by_project = _read(database, scope, is_whole=is_whole)
    if format.name == "satchel":
        written = Written(_write_folders(by_project) if is_whole else folder.write(entries, scope.project))
    else:
        assert format.write is not None, "`choose_format` refuses formats that are only read"
        if is_whole:  # the entries name their projects; the keys of tasks are unique in the store
            entries = [replace(one, project=name or "") for name, some in by_project.items() for one in some]
        written = format.write(entries)
    counts = {kind: sum(one.kind == kind for one in entries if kind in format.kinds) for kind in KINDS}
    return Export(written.files, counts, (*notes, *written.notes))


def _read(
    database: Database, scope: Scope, *, is_whole: bool
) -> tuple[list[Entry], list[str], dict[str | None, list[Entry]]]:
    notes: list[str] = []
    by_project: dict[str | None, list[Entry]] = {}
    with database.read(scope) as tx:
        loose = storing.take_tasks(tx, scope, None).values()
        names = [one.name for one, _ in projects.list_all(tx, scope)] if is_whole else [scope.project]
        for name in names:
            taken = storing.take_snapshot(tx, projects.enter(scope, name))
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


def write(export: Export, target: str, format: Format, *, prunes: bool = False, forces: bool = False) -> ExportReport:
    """Write an export into a folder, or into one file.

    Raises:
        Unreadable: the target holds something else, or cannot be written.
    """
    if not format.file:
        return write_folder(export, target, format, prunes=prunes, forces=forces)
    is_file = "." in os.path.basename(target) and target.rpartition(".")[2].lower() in _ENDINGS
    is_file = is_file and not os.path.isdir(target)
    path = target if is_file else os.path.join(target, format.file)
    if not is_file and os.path.lexists(target) and not os.path.isdir(target):
        raise Unreadable(f"{target} is not a folder")
    if os.path.exists(path) and not forces:
        try:
            is_same = sources.read_bytes(path, follow=True) == export.files[format.file]
        except Unreadable as wrong:
            raise Unreadable(f"{path}: {wrong}") from None
        if not is_same:
            raise Unreadable(f"{path} exists. Name another file, or replace it with --force")
    root, name = os.path.split(os.path.abspath(path))
    changed = sources.write_file(root, name, export.files[format.file])
    return ExportReport(where=path, counts=export.counts, files=1, changed=int(changed), notes=[*export.notes])


def write_folder(
    export: Export, root: str, format: Format, *, prunes: bool = False, forces: bool = False
) -> ExportReport:
    """Write an export into a folder.

    Raises:
        Unreadable: the folder holds something else, or cannot be written.
    """
    _check_folder(root, format, forces=forces)
    report = ExportReport(where=root, counts=export.counts, files=len(export.files), changed=0, notes=[*export.notes])
    report.changed = sum(sources.write_file(root, path, data) for path, data in export.files.items())
    stale = sorted(_list_own(root) - {*export.files}) if format.name == "satchel" else []
    if prunes:
        for path in stale:
            sources.remove_file(root, path)
        report.removed = stale
    else:
        report.stale = stale
    return report


def _check_folder(root: str, format: Format, *, forces: bool) -> None:
    if os.path.lexists(root) and not os.path.isdir(root):
        raise Unreadable(f"{root} is not a folder")
    try:
        names = os.listdir(root) if os.path.isdir(root) else []
    except OSError as error:
        raise Unreadable(f"{root} cannot be read: {error.strerror}") from error
    is_ours = format.name == "satchel" and (sources.MARKER in names or not [one for one in names if one[0] != "."])
    if names and not is_ours and not forces and [one for one in names if one != ".git"]:
        raise Unreadable(f"{root} is not empty. Name another folder, or write into it with --force")


def _list_own(root: str) -> set[str]:
    """Return the files in those parts of a folder that only Satchel writes."""
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
