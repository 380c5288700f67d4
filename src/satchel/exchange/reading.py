"""Reads files of any format into entries. One bad file never stops the rest."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from satchel.exchange import sources
from satchel.exchange.entries import Found, Problem, TaskEntry, Unreadable
from satchel.exchange.formats import recognise
from satchel.exchange.formats.shared import Format
from satchel.exchange.formats.skills import is_part
from satchel.exchange.sources import SourceFile

# Pictures, programs and archives are not looked into.
_FOREIGN = {
    "png",
    "jpg",
    "jpeg",
    "gif",
    "webp",
    "svg",
    "ico",
    "pdf",
    "zip",
    "gz",
    "tar",
    "mp3",
    "mp4",
    "db",
    "pyc",
    "exe",
}
_COMPILED = {"pyc", "so", "exe", "db", "wal"}
_FOREIGN |= {"py", "js", "ts", "go", "rs", "sh", "css", "html", "lock", "toml", "woff", "woff2", "bin", "so", "wal"}


class FileRead(Struct, frozen=True):
    """What a file holds; `format` is empty where it is of no known one."""

    where: str
    format: str
    found: tuple[Found, ...]


def read_files(files: Sequence[SourceFile | Problem], format: Format | None = None) -> Iterator[FileRead]:
    """What each file holds, in the format named, or else the one that is recognised."""
    for file in files:
        if isinstance(file, Problem):
            yield FileRead(file.where, "", (file,))
            continue
        if format is not None and not _can_be(file, format):
            yield FileRead(file.shown, "", ())
            continue
        yield _read_file(file, format)
        file.release()


def _can_be(file: SourceFile, format: Format) -> bool:
    is_named = not file.extension or file.extension in format.extensions or not format.extensions
    return is_named or file.is_given


def _read_file(file: SourceFile, format: Format | None) -> FileRead:
    used = format
    try:
        if used is None and file.extension in _FOREIGN and (file.extension in _COMPILED or not is_part(file)):
            return FileRead(file.shown, "", ())
        used = used or recognise(file)
        if used is None:
            return FileRead(file.shown, "", ())
        return FileRead(file.shown, used.name, tuple(_qualify(one, used, file) for one in _guard(used, file)))
    except Unreadable as wrong:
        return FileRead(file.shown, used.name if used else "", (Problem(file.shown, str(wrong)),))


def _qualify(found: Found, format: Format, file: SourceFile) -> Found:
    """A task whose keys are not those of tasks in other files; a format with a file for each task shares them."""
    if not isinstance(found, TaskEntry):
        return found
    space = file.path if format.file or format.name == "satchel" else format.name
    key = f"{space}\0{found.key}" if found.key else ""
    return replace(found, key=key, after=tuple(f"{space}\0{one}" for one in found.after))


def _guard(format: Format, file: SourceFile) -> Iterator[Found]:
    """The entries of a file; what was read before it turned out to be broken stays."""
    try:
        yield from format.read(file)
    except Unreadable as wrong:
        yield Problem(file.shown, str(wrong))
    except RecursionError:
        yield Problem(file.shown, "it is nested too deep")
    except OSError as error:
        yield Problem(file.shown, f"it cannot be read: {error.strerror}")


def list_files(paths: Sequence[str], stdin: bytes | None = None) -> list[SourceFile | Problem]:
    """The files that some paths name; `-` is what was read from stdin.

    Raises:
        FileNotFoundError: a path does not exist.
    """
    found: list[SourceFile | Problem] = []
    for path in paths:
        if path == "-" and stdin is not None:
            found.append(SourceFile("stdin", shown="stdin", data=stdin, is_trusted=True))
        else:
            found += sources.find([path])
    return found
