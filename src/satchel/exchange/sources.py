"""Finds, reads and writes files safely: no links, only regular files of limited size, always whole."""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property

from satchel import files, yaml_reader
from satchel.exchange.entries import Problem, Unreadable
from satchel.files import printable
from satchel.yaml_reader import Fields, WrongYaml

MAX_FILE = 64 * 1024 * 1024  # bytes
MAX_FILES = 200_000  # in one import
MAX_DEPTH = 40  # nested folders

MARKER = "satchel.json"  # in a folder that `satchel export` wrote

# Hidden folders are skipped, except those of agents; other folders are read, except these.
_HIDDEN = {".claude", ".cursor", ".github", ".taskmaster", ".beads", ".backlog", ".agents", ".codex", ".vscode"}
_HIDDEN |= {".claude-plugin", ".gemini", ".opencode", ".windsurf", ".prompts", ".copilot"}
_SKIPPED = {"node_modules", "__pycache__", "venv"}


class SourceFile:
    """A file to import; its content is read on first use."""

    def __init__(self, path: str, *, shown: str = "", is_trusted: bool = False, data: bytes | None = None) -> None:
        self.path = path
        self.shown = printable(shown or path)
        self.name = os.path.basename(path)
        self.folders = tuple(os.path.dirname(os.path.abspath(path)).split(os.sep)[1:])
        self.is_given = is_trusted  # a path that the user named may be a link
        self._given = data

    @property
    def stem(self) -> str:
        """The name up to the first dot."""
        return self.name.lstrip(".").partition(".")[0] or self.name

    @property
    def extension(self) -> str:
        """The last ending of the name, in lower case, without its dot."""
        return self.name.rpartition(".")[2].lower() if "." in self.name else ""

    @cached_property
    def data(self) -> bytes:
        """The bytes of the file.

        Raises:
            Unreadable: the file cannot be read, is not a regular file, or is too large.
        """
        return self._given if self._given is not None else read_bytes(self.path, follow=self.is_given)

    @cached_property
    def text(self) -> str:
        """The text, decoded from UTF-8, or from UTF-16 with a byte order mark; the mark is removed.

        Line ends of old Macs (a lone CR) become LF.
        """
        text = decode(self.data)
        return text if "\n" in text else text.replace("\r", "\n")

    @cached_property
    def parts(self) -> tuple[Fields | None, str, str]:
        """The front matter, the body with LF as line endings, and the problem if the front matter is not YAML."""
        text = self.text.replace("\r\n", "\n")
        try:
            return *yaml_reader.read_front_matter(text), ""
        except WrongYaml as wrong:
            return *read_front_matter(text), str(wrong)

    @property
    def fields(self) -> Fields | None:
        """The front matter."""
        return self.parts[0]

    @property
    def body(self) -> str:
        """The text after the front matter."""
        return self.parts[1]

    def release(self) -> None:
        """Drop the content that was read."""
        for name in ("data", "text", "parts"):
            self.__dict__.pop(name, None)

    def beside(self, name: str) -> "SourceFile":
        """Return a file in the same folder, which need not exist."""
        where = os.path.dirname(self.path)
        return SourceFile(os.path.join(where, name), shown=os.path.join(os.path.dirname(self.shown), name))

    @property
    def exists(self) -> bool:
        """Whether the path leads to a regular file."""
        return os.path.isfile(self.path) and not os.path.islink(self.path)


def find(paths: Sequence[str]) -> Iterator[SourceFile | Problem]:
    """Yield the files at the given paths and below folders, in the order of their names.

    Raises:
        FileNotFoundError: a path does not exist.
    """
    for path in paths:
        os.stat(path)
    count = 0
    for path in paths:
        for found in _walk(path, path, 0) if os.path.isdir(path) else [SourceFile(path, is_trusted=True)]:
            count += 1
            if count > MAX_FILES:
                yield Problem(printable(path), f"it has more than {MAX_FILES} files; the rest is left out")
                return
            yield found


def _walk(folder: str, shown: str, depth: int) -> Iterator[SourceFile | Problem]:
    if depth > MAX_DEPTH:
        yield Problem(printable(shown), f"it is nested deeper than {MAX_DEPTH} folders, and left out")
        return
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        yield Problem(printable(shown), f"the folder cannot be read: {error.strerror}")
        return
    names = {entry.name for entry in entries}
    if MARKER in names:  # the reader of this folder reads all of it
        yield SourceFile(os.path.join(folder, MARKER), shown=os.path.join(shown, MARKER))
        return
    for entry in entries:
        below = os.path.join(shown, entry.name)
        if entry.is_symlink():
            yield Problem(printable(below), "it is a symbolic link, and links are not followed", is_harmless=True)
        elif entry.is_dir(follow_symlinks=False):
            if (not entry.name.startswith(".") or entry.name in _HIDDEN) and entry.name not in _SKIPPED:
                yield from _walk(entry.path, below, depth + 1)
        elif not entry.name.startswith(".") or entry.name == ".cursorrules":
            yield SourceFile(entry.path, shown=below)


def read_bytes(path: str, *, follow: bool = False) -> bytes:
    """Read a regular file.

    Raises:
        Unreadable: the file cannot be read, is not a regular file, or is too large.
    """
    try:
        return files.read_file(path, MAX_FILE, follows_links=follow)
    except files.TooLarge:
        raise Unreadable(f"it has more than {MAX_FILE} bytes") from None
    except files.NotAFile:
        raise Unreadable("it is not a regular file") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable("it is a symbolic link, and links are not followed") from None
        raise Unreadable(f"it cannot be read: {error.strerror}") from None


def read_front_matter(text: str) -> tuple[Fields | None, str]:
    """Return the front matter of a text, or None if it has none, and the text after the front matter.

    Raises:
        Unreadable: the front matter is too large, or a YAML bomb.
    """
    try:
        return yaml_reader.read_front_matter(text, is_lenient=True)
    except WrongYaml as wrong:
        raise Unreadable(str(wrong)) from None


def decode(data: bytes) -> str:
    """Decode UTF-8, or UTF-16 with a byte order mark; drop the mark.

    Raises:
        Unreadable: the text has another encoding.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError:
            raise Unreadable("it begins like a text in UTF-16, but is not one") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if b"\0" in data:
            raise Unreadable("it is not a text") from None
        what = f"it is not a text in UTF-8 (byte {data[error.start]:#04x} at {error.start})"
        raise Unreadable(f"{what}. Convert it first, for example with: iconv -f latin1 -t utf-8") from None
    if "\0" in text:
        raise Unreadable("it is not a text: it contains NUL")
    return text


# -- writing ----------------------------------------------------------------------------------------------------


def write_file(root: str, path: str, data: bytes) -> bool:
    """Write a file below a folder; return whether its content changed.

    Raises:
        Unreadable: a part of the path is a link or not a folder, or the file cannot be written.
    """
    parts = path.split("/")
    target = os.path.join(root, *parts)
    if any(part in ("", ".", "..") for part in parts):
        raise Unreadable(f"{path} is not a path below the folder")
    try:
        _make_folders(root, parts[:-1])
        if os.path.islink(target):
            raise Unreadable(f"{path} is a symbolic link, and links are not followed")
        with suppress(OSError, files.TooLarge):
            if files.read_file(target, len(data)) == data:
                return False
        files.write_file(target, data, mode=None)
    except OSError as error:
        raise Unreadable(f"cannot write to {target}: {error.strerror}") from error
    return True


def remove_file(root: str, path: str) -> None:
    """Remove a file below a folder, if it exists."""
    try:
        os.unlink(os.path.join(root, *path.split("/")))
    except FileNotFoundError:
        pass
    except OSError as error:
        raise Unreadable(f"{path} cannot be removed: {error.strerror}") from error


def _make_folders(root: str, folders: Sequence[str]) -> None:
    os.makedirs(root, exist_ok=True)
    here = root
    for folder in folders:
        here = os.path.join(here, folder)
        if os.path.islink(here):
            raise Unreadable(f"{here} is a symbolic link, and links are not followed")
        os.makedirs(here, exist_ok=True)
