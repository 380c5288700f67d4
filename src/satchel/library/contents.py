"""The texts of a library on disk: which prompts have one, and what is in it."""

import os

from msgspec import Struct

from satchel import files
from satchel.library.heads import find_head
from satchel.library.manifest import NAME, PROMPTS, LibraryPrompt, Problem
from satchel.library.render import MAX_TEMPLATE, RenderFailed

_MAX_FOLDERS = 32  # of a library that are watched, beside its own
_MAX_DEPTH = 4  # folders in each other that are watched
_SKILLS = "skills"  # not watched: their files are read when they are asked for


class Library(Struct, frozen=True):
    """One folder with a manifest, or with texts that declare themselves."""

    name: str
    root: str
    folder: str
    prompts: tuple[LibraryPrompt, ...]
    available: tuple[LibraryPrompt, ...]  # the prompts whose file exists
    signatures: tuple[tuple[int, ...] | None, ...]  # of the files of those
    problems: tuple[Problem, ...]
    is_broken: bool  # its manifest cannot be parsed; the prompts are those of its last good version
    skipped: frozenset[str] = frozenset()  # the keys of prompts that its manifest declares wrongly
    has_manifest: bool = True  # without, each text has front matter


class Source(Struct, frozen=True):
    """The template of a prompt."""

    text: str
    offset: int = 0  # lines of its file that are before it


class ContentMissing(Exception):
    """The file of a prompt does not exist, or is not a regular file in its library."""


class Unreadable(RenderFailed):
    """The file of a prompt is too large, or no text."""


class PartsOfPrompts:
    """Which files of its library each prompt was found to take something from."""

    def __init__(self) -> None:
        self._paths: dict[tuple[str, str, str], tuple[str, ...]] = {}  # by root, folder and file

    def list(self, root: str, folder: str, file: str) -> tuple[str, ...]:
        """The paths of these files in the library."""
        return self._paths.get((root, folder, file), ())

    def of_library(self, root: str, folder: str) -> frozenset[str]:
        """All such files of a library."""
        known = (paths for key, paths in self._paths.items() if key[:2] == (root, folder))
        return frozenset(path for paths in known for path in paths)

    def remember(self, root: str, folder: str, file: str, paths: tuple[str, ...]) -> None:
        """Keep what a render found out."""
        if paths:
            self._paths[root, folder, file] = paths
        else:
            self._paths.pop((root, folder, file), None)


def read_source(library: Library, prompt: LibraryPrompt) -> Source:
    """Read the text of a prompt, without its front matter where that declares it.

    Raises:
        ContentMissing: there is no such file.
        Unreadable: the file is too large, or not UTF-8.
    """
    try:
        with files.open_folder(library.root, library.folder, PROMPTS) as folder:
            text = files.decode(files.read_file(prompt.file, MAX_TEMPLATE, folder=folder, is_single=True))
    except OSError:
        raise ContentMissing from None
    except files.TooLarge:
        raise Unreadable(f"it is larger than {MAX_TEMPLATE} bytes") from None
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None
    return Source(text) if prompt.declared_in == NAME else _drop_head(text)


def read_part(library: Library, path: str) -> str | None:
    """A text that a template names, by its path in the library; None where there is none.

    The worker checks paths too; but it runs templates, so that its word is not trusted.

    Raises:
        RenderFailed: it is too large, or not UTF-8.
    """
    *folders, name = path.split("/")
    if any(not one or one.startswith(".") or "\0" in one for one in (*folders, name)):
        return None
    try:
        with files.open_folder(library.root, library.folder, *folders) as opened:
            text = files.decode(files.read_file(name, MAX_TEMPLATE, folder=opened, is_single=True))
    except OSError:
        return None
    except UnicodeDecodeError:
        raise RenderFailed(f"{path} is not UTF-8") from None
    except files.TooLarge:
        raise RenderFailed(f"{path} is larger than {MAX_TEMPLATE} bytes") from None
    return text if library.has_manifest else _drop_head(text).text


def _drop_head(text: str) -> Source:
    head = find_head(text)
    return Source(text) if head is None else Source(text[head.end :], head.lines)


Contents = tuple[tuple[LibraryPrompt, ...], tuple[tuple[int, ...] | None, ...], tuple[Problem, ...]]


def find_contents(root: str, folder: str, prompts: tuple[LibraryPrompt, ...], parts: PartsOfPrompts) -> Contents:
    """The prompts that have a regular file, the signatures of these files, and the problems of the other prompts."""
    try:
        with files.open_folder(root, folder, PROMPTS) as opened:
            present = files.list_files(opened)
            available = tuple(prompt for prompt in prompts if prompt.file in present)
            signatures = tuple(
                _sign(root, folder, files.sign(opened, prompt.file), parts.list(root, folder, prompt.file))
                for prompt in available
            )
            missing = tuple(
                _skip(prompt, files.find_obstacle(opened, prompt.file) or "does not exist")
                for prompt in prompts
                if prompt.file not in present
            )
            return available, signatures, missing
    except FileNotFoundError:
        why = "does not exist"
    except OSError as error:
        is_other = isinstance(error, NotADirectoryError)
        reason = "is a symbolic link or no folder" if is_other else f"cannot be opened: {error.strerror}"
        why = f"is not read, because {PROMPTS} {reason}"
    return (), (), tuple(_skip(prompt, why) for prompt in prompts)


def _skip(prompt: LibraryPrompt, why: str) -> Problem:
    return Problem(prompt.declared_in, prompt.line, f"prompt {prompt.key} is skipped: {PROMPTS}/{prompt.file} {why}")


def _sign(root: str, folder: str, own: tuple[int, ...] | None, paths: tuple[str, ...]) -> tuple[int, ...] | None:
    """The signature of a text and of the files that it takes something from: a change of those is one of the text."""
    found = own
    for path in paths:
        *folders, name = path.split("/")
        try:
            with files.open_folder(root, folder, *folders) as opened:
                part = files.sign(opened, name)
        except OSError:
            part = None
        found = None if found is None else (*found, *(part or (0,)))
    return found


def _is_watched(name: str, only: str | None) -> bool:
    return name == only if only is not None else name != _SKILLS


def list_folders(root: str, folder: str, only: str | None = None) -> list[str]:
    """The folders in a library that may hold texts, to watch them; or `only` one of them."""
    found: list[tuple[str, ...]] = []
    waiting: list[tuple[str, ...]] = [()]
    while waiting and len(found) < _MAX_FOLDERS:
        path = waiting.pop(0)
        try:
            with files.open_folder(root, folder, *path) as opened:
                names, _ = files.list_folders(opened)
        except OSError:
            continue
        if path:
            found.append(path)
        if len(path) < _MAX_DEPTH:
            waiting += [(*path, name) for name in names if path or _is_watched(name, only)]
    return [os.path.join(root, folder, *path) for path in found]
