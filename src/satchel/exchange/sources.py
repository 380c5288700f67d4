"""Finds and reads the files to import: no links inside a folder, only regular files, and none too large."""

import os
import stat
from collections.abc import Iterator, Sequence
from functools import cached_property

from satchel.exchange import front_matter
from satchel.exchange.entries import Problem, Unreadable

MAX_FILE = 64 * 1024 * 1024  # bytes
MAX_FILES = 200_000  # of one import
MAX_DEPTH = 40  # folders below each other

MARKER = "satchel.json"  # in a folder that `satchel export` wrote

# Of hidden folders, those that agents keep their files in are looked into; of others, these are not.
_HIDDEN = {".claude", ".cursor", ".github", ".taskmaster", ".beads", ".backlog", ".agents", ".codex", ".vscode"}
_HIDDEN |= {".claude-plugin", ".gemini", ".opencode", ".windsurf", ".prompts", ".copilot"}
_SKIPPED = {"node_modules", "__pycache__", "venv"}

_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not make us wait for its writer


class SourceFile:
    """A file to import. What it holds is read when it is first asked for."""

    def __init__(self, path: str, *, shown: str = "", is_trusted: bool = False, data: bytes | None = None) -> None:
        self.path = path
        self.shown = printable(shown or path)
        self.name = os.path.basename(path)
        self.folders = tuple(os.path.dirname(os.path.abspath(path)).split(os.sep)[1:])
        self.is_given = is_trusted  # named by the user, so that it may be a link
        self._given = data

    @property
    def stem(self) -> str:
        """The name up to its first dot."""
        return self.name.lstrip(".").partition(".")[0] or self.name

    @property
    def extension(self) -> str:
        """The last ending of the name, in lower case, without its dot."""
        return self.name.rpartition(".")[2].lower() if "." in self.name else ""

    @cached_property
    def data(self) -> bytes:
        """The bytes.

        Raises:
            Unreadable: it cannot be read, is no regular file, or is too large.
        """
        return self._given if self._given is not None else read_bytes(self.path, follow=self.is_given)

    @cached_property
    def text(self) -> str:
        """The text, in UTF-8 or with the byte order mark of UTF-16, without that mark.

        Lines that end as on an old Mac, with CR alone, end as on Unix.

        Raises:
            Unreadable: as `data`, or it is no such text.
        """
        text = decode(self.data)
        return text if "\n" in text else text.replace("\r", "\n")

    @cached_property
    def parts(self) -> tuple[front_matter.Fields | None, str]:
        """The front matter and the rest, with the line ends of Unix.

        Raises:
            Unreadable: as `text`, or the front matter is too large.
        """
        return front_matter.split(self.text.replace("\r\n", "\n"))

    @property
    def fields(self) -> front_matter.Fields | None:
        """The front matter."""
        return self.parts[0]

    @property
    def body(self) -> str:
        """What follows the front matter."""
        return self.parts[1]

    def release(self) -> None:
        """Forget what was read."""
        for name in ("data", "text", "parts"):
            self.__dict__.pop(name, None)

    def beside(self, name: str) -> "SourceFile":
        """A file in the same folder, which need not exist."""
        where = os.path.dirname(self.path)
        return SourceFile(os.path.join(where, name), shown=os.path.join(os.path.dirname(self.shown), name))

    @property
    def exists(self) -> bool:
        """Whether there is such a regular file."""
        return os.path.isfile(self.path) and not os.path.islink(self.path)


def find(paths: Sequence[str]) -> Iterator[SourceFile | Problem]:
    """The files that some paths name, in the order of their names: files, and those below folders.

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
    if MARKER in names:  # its reader looks into the folder by itself
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


def read_bytes(path: str, *, follow: bool = False, limit: int = MAX_FILE) -> bytes:
    """The bytes of a regular file.

    Raises:
        Unreadable: it cannot be read, is something else, or is too large.
    """
    try:
        file = os.open(path, _FILE | (0 if follow else os.O_NOFOLLOW))
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}") from None
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable("it is no regular file")
        pieces, left = [], limit + 1
        while left and (piece := os.read(file, left)):
            pieces.append(piece)
            left -= len(piece)
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror}") from None
    finally:
        os.close(file)
    if not left:
        raise Unreadable(f"it has more than {limit} bytes")
    return b"".join(pieces)


def decode(data: bytes) -> str:
    """A text in UTF-8, or with the byte order mark of UTF-16, without that mark.

    Raises:
        Unreadable: it is neither.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError:
            raise Unreadable("it begins like a text in UTF-16, and is none") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if b"\0" in data:
            raise Unreadable("it is no text") from None
        what = f"it is no text in UTF-8 (byte {data[error.start]:#04x} at {error.start})"
        raise Unreadable(f"{what}. Convert it first, for example with: iconv -f latin1 -t utf-8") from None
    if "\0" in text:
        raise Unreadable("it is no text: it has NUL in it")
    return text


def printable(text: str) -> str:
    """A text with what may be in the name of a file, without characters that end a line or are not Unicode."""
    return "".join(one if one.isprintable() else "?" for one in text)
