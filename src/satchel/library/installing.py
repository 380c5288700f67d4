"""Adds, updates and removes libraries from elsewhere.

A library is unpacked into a hidden folder beside the others, checked there, and renamed to its place. After an
interruption, readers find either the old state or the new one.
"""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from msgspec import Struct, structs

from satchel import clock, files
from satchel.library import sources
from satchel.library.catalog import Libraries, library_name
from satchel.library.manifest import NAME, Problem
from satchel.library.sources import SourceRefused, Unpacking, digest_folder
from satchel.library.validate import Report, check_library

_LOCK, _WORK, _OLD = ".lock", ".adding-", ".old-"
_ORIGIN = ".satchel-origin.json"  # in the library's folder, so that both are replaced together
_MOST_ORIGIN = 64 * 1024  # bytes


class Invalid(SourceRefused):
    """A library was refused because it has problems."""

    def __init__(self, what: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(what)
        self.problems = problems


class Wish(Struct, frozen=True, kw_only=True):
    """A library to add."""

    source: str
    ref: str | None = None
    path: str = ""  # the folder of the library in the source
    name: str | None = None  # the name of its new folder; None: derived from the source
    takes_problems: bool = False  # add it despite problems


class Origin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The source of an installed library, and its version."""

    kind: str  # git, folder or archive
    source: str  # an address or a path
    version: str  # the commit, or a digest of the archive or folder
    ref: str | None = None  # the requested branch, tag or commit
    path: str = ""  # the folder of the library in the source
    digest: str  # of the files when they were added
    added: str  # the time

    @property
    def short_version(self) -> str:
        """The version in a short form for people."""
        return self.version.removeprefix("sha256:")[:12]


class Installed(Struct, frozen=True):
    """A library after it was added or updated."""

    folder: str
    origin: Origin
    report: Report
    was: str = ""  # the version before an update


def add(root: str, wish: Wish) -> Installed:
    """Add a library to a folder of libraries.

    Raises:
        SourceRefused: the source cannot be read or used, or the name is taken; nothing was changed.
        Invalid: the library has problems.
    """
    folder = wish.name or _make_name(wish.source)
    if "/" in folder or folder.startswith(".") or not library_name(folder):
        raise SourceRefused(f"'{folder}' cannot be the folder of a library. Give another one with --name.", 2)
    with _working(root) as work:
        _check_free(root, folder)
        found = _unpack(work, wish)
        installed = _prepare(work, folder, found, wish)
        os.rename(os.path.join(work, folder), os.path.join(root, folder))
        return installed


def update(root: str, folder: str, *, takes_problems: bool = False) -> Installed | None:
    """Update a library to the newest version of its source; return None if that version is already installed.

    Raises:
        SourceRefused: the source cannot be read or used, or local files were changed; the old version stays.
        Invalid: the new version has problems; the old one stays.
    """
    with _working(root) as work:
        origin = _get_origin(root, folder)
        if _is_changed(root, folder, origin) and not takes_problems:
            raise SourceRefused(f"files of {folder} were changed here. Keep a copy, then update with --anyway.")
        wish = Wish(source=origin.source, ref=origin.ref, path=origin.path, takes_problems=takes_problems)
        found = _unpack(work, wish)
        if found.version == origin.version and not _is_changed(root, folder, origin):
            return None
        installed = _prepare(work, folder, found, wish)
        _swap(os.path.join(work, folder), root, folder)
        return structs.replace(installed, was=origin.version)


def remove(root: str, folder: str, *, is_forced: bool = False) -> Origin:
    """Remove a library that was added.

    Raises:
        SourceRefused: the library was not added, or local files were changed.
    """
    with _working(root) as work:
        origin = _get_origin(root, folder)
        if _is_changed(root, folder, origin) and not is_forced:
            raise SourceRefused(f"files of {folder} were changed here. Keep a copy, then remove it with --anyway.")
        os.rename(os.path.join(root, folder), os.path.join(work, folder))
        return origin


def list_added(root: str) -> dict[str, Origin]:
    """List the folders of libraries that were added, with their origins."""
    try:
        names = sorted(name for name in os.listdir(root) if not name.startswith("."))
    except OSError:
        return {}
    found = {name: read_origin(root, name) for name in names}
    return {name: origin for name, origin in found.items() if origin is not None}


def read_origin(root: str, folder: str) -> Origin | None:
    """Return the origin of a library; None if it was not added."""
    try:
        with files.open_folder(root, folder) as opened:
            content = files.read_file(_ORIGIN, _MOST_ORIGIN, folder=opened, is_single=True)
            return msgspec.json.decode(content, type=Origin)
    except (OSError, files.TooLarge, msgspec.DecodeError):
        return None


# -- steps ------------------------------------------------------------------------------------------------------


class _Unpacked(Struct, frozen=True):
    """The files of a source in a separate folder."""

    folder: str  # the library's folder
    kind: str
    source: str
    version: str
    path: str  # the library's path in the source


def _unpack(work: str, wish: Wish) -> _Unpacked:
    whole = os.path.join(work, ".all")
    os.mkdir(whole, 0o755)
    into = Unpacking(whole)
    protocol = sources.find_protocol(wish.source)
    source = wish.source if protocol else os.path.abspath(os.path.expanduser(wish.source))
    if wish.ref is not None:
        sources.check_ref(wish.ref)
    if protocol or sources.is_repository(source):
        repository = os.path.join(work, ".git")
        os.mkdir(repository)
        kind = "git"
        version = sources.unpack_repository(source, protocol or "file", wish.ref, repository, into)
    elif wish.ref is not None:
        raise SourceRefused(f"{source} is not a git repository, so it has no '{wish.ref}'.", 2)
    elif os.path.isdir(source):
        sources.copy_folder(source, into)
        kind, version = "folder", digest_folder(whole)
    elif os.path.isfile(source):
        kind, version = "archive", sources.unpack_archive(source, into)
    else:
        raise SourceRefused(f"there is no {source}: give the address of a git repository, a folder or an archive.", 3)
    path = _find_library(whole, wish.path)
    return _Unpacked(os.path.join(whole, path), kind, source, version, path)


def _find_library(whole: str, path: str) -> str:
    """Return the library's folder in a source: the requested one, the whole source, or the only library in it."""
    if path:
        plain = os.path.normpath(path)
        if plain.startswith((os.pardir, os.sep)) or not os.path.isdir(os.path.join(whole, plain)):
            raise SourceRefused(f"there is no folder '{path}' in the source.", 3)
        return plain
    if _is_library(whole):
        return ""
    above, names = "", _list_folders(whole)
    if len(names) == 1 and not _is_library(os.path.join(whole, names[0])):
        above = names[0]  # archives of repositories have one top folder
        names = _list_folders(os.path.join(whole, above))
    found = [os.path.join(above, name) for name in names if _is_library(os.path.join(whole, above, name))]
    if len(found) == 1:
        return found[0]
    if not found:
        raise SourceRefused(f"there is no library in the source: no {NAME}, no text with front matter, and no skills.")
    raise SourceRefused(f"there are several libraries in the source. Choose one with --path: {', '.join(found)}", 2)


def _list_folders(path: str) -> list[str]:
    return sorted(name for name in os.listdir(path) if os.path.isdir(os.path.join(path, name)))


def _is_library(path: str) -> bool:
    if os.path.lexists(os.path.join(path, NAME)):
        return True
    root, folder = os.path.split(path)
    libraries = Libraries([root], is_quiet=True)
    try:
        return libraries.is_library(folder)
    finally:
        libraries.renderer.close()


def _prepare(work: str, folder: str, found: _Unpacked, wish: Wish) -> Installed:
    """Check a library in the work folder, under its future name."""
    path = os.path.join(work, folder)
    os.rename(found.folder, path)
    report = check_library(path)
    problems = tuple(problem for problem in report.problems if not problem.is_warning)
    if problems and not wish.takes_problems:
        raise Invalid("the library has problems, so nothing was changed. --anyway accepts them.", problems)
    origin = Origin(
        kind=found.kind,
        source=found.source,
        version=found.version,
        ref=wish.ref,
        path=found.path,
        digest=digest_folder(path),
        added=clock.now(),
    )
    with open(os.path.join(path, _ORIGIN), "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(origin)) + b"\n")
    return Installed(folder, origin, report)


def _swap(new: str, root: str, folder: str) -> None:
    """Put a new library in place of an old one by two renames; if it is interrupted, `_clear_up` undoes the first."""
    old, aside = os.path.join(root, folder), os.path.join(root, _OLD + folder)
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except BaseException:
        os.rename(aside, old)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _clear_up(root: str) -> None:
    """Clean up after a command that was killed."""
    for name in os.listdir(root):
        path, place = os.path.join(root, name), os.path.join(root, name.removeprefix(_OLD))
        if name.startswith(_OLD) and not os.path.lexists(place):
            os.rename(path, place)
        elif name.startswith((_OLD, _WORK)):
            shutil.rmtree(path, ignore_errors=True)


def _is_changed(root: str, folder: str, origin: Origin) -> bool:
    """Return whether files of a library were changed after it was added."""
    try:
        return digest_folder(os.path.join(root, folder)) != origin.digest
    except SourceRefused:
        return True


def _check_free(root: str, folder: str) -> None:
    for name in os.listdir(root):
        if name == folder or (not name.startswith(".") and library_name(name) == library_name(folder)):
            what = f"there is a library {name} already."
            raise SourceRefused(f"{what} Update it with: satchel library update {name}; or give another --name.", 5)


def _get_origin(root: str, folder: str) -> Origin:
    origin = read_origin(root, folder)
    if origin is None:
        raise SourceRefused(f"{folder} was not added by a command: change or delete its folder yourself.", 2)
    return origin


def _make_name(source: str) -> str:
    """Return the name of a library: the last part of its address, without its ending."""
    last = re.split(r"[/:]", source.rstrip("/"))[-1]
    for ending in (".git", *sources.ENDINGS):
        if last.lower().endswith(ending):
            return last[: -len(ending)]
    return last if last not in ("", ".", "..") else os.path.basename(os.path.abspath(source))


@contextmanager
def _working(root: str) -> Iterator[str]:
    """Make a hidden folder beside the libraries, and delete it after the block; one process at a time may do this.

    Raises:
        SourceRefused: another process has one, or the library folder cannot be written.
    """
    try:
        os.makedirs(root, exist_ok=True)
        lock = os.open(os.path.join(root, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise SourceRefused(f"cannot write to {root}: {error.strerror}.") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SourceRefused(
                f"another command changes the libraries in {root}. Try again when it is done."
            ) from None
        try:
            _clear_up(root)
            with tempfile.TemporaryDirectory(prefix=_WORK, dir=root, ignore_cleanup_errors=True) as work:
                yield work
        except OSError as error:
            raise SourceRefused(f"cannot write to {root}: {error.strerror or error}.") from None
    finally:
        os.close(lock)
