"""Writes the files of someone else's library into a new folder, within bounds: regular files only, none outside."""

import hashlib
import os
import stat
import unicodedata

from satchel import files

MOST_FILES = 5_000
MOST_BYTES = 64 * 1024 * 1024  # of all files together
MOST_FILE_BYTES = 16 * 1024 * 1024
_MOST_DEPTH = 16  # folders in each other
_LONGEST_PATH = 500  # characters


class SourceRefused(Exception):
    """A source cannot be used, or is not trusted; the message says why. `status` is the exit status of a command."""

    def __init__(self, what: str, status: int = 1) -> None:
        super().__init__(what)
        self.status = status


class Unpacking:
    """Takes files one by one. Hidden files are left out, and everything that is not plainly a file is refused."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._count = 0
        self._left = MOST_BYTES
        self._seen: set[str] = set()

    def wants(self, path: str) -> bool:
        """Whether a file is to be read at all.

        Raises:
            SourceRefused: the path leads out of the folder, or is too long; or there are too many files.
        """
        parts = path.split("/")
        is_plain = bool(path) and all(part not in ("", ".", "..") for part in parts) and "\\" not in path
        if not is_plain or not path.isprintable() or (len(parts[0]) == 2 and parts[0][1] == ":"):
            raise SourceRefused(f"{files.printable(path)!r} is no path inside of a library")
        if len(parts) > _MOST_DEPTH or len(path) > _LONGEST_PATH or any(len(one.encode()) > 255 for one in parts):
            raise SourceRefused(f"the path {path[:80]!r}… is too long, or too deep")
        if any(part.startswith(".") for part in parts):
            return False
        self._count += 1
        if self._count > MOST_FILES:
            raise SourceRefused(f"it has more than {MOST_FILES} files")
        return True

    @property
    def largest(self) -> int:
        """How many bytes the next file may have."""
        return min(MOST_FILE_BYTES, self._left)

    def add(self, path: str, content: bytes) -> None:
        """Write a file that is wanted.

        Raises:
            SourceRefused: it is too large, or there already.
        """
        if len(content) > self.largest:
            most = MOST_FILE_BYTES if len(content) > MOST_FILE_BYTES else MOST_BYTES
            raise SourceRefused(f"{path} is too large, or all files together are: more than {most} bytes")
        folded = unicodedata.normalize("NFC", path).casefold()
        if folded in self._seen:
            raise SourceRefused(f"it has {path} twice, perhaps in another case")
        self._seen.add(folded)
        self._left -= len(content)
        whole = os.path.join(self._folder, path)
        try:
            os.makedirs(os.path.dirname(whole), mode=0o755, exist_ok=True)
            with open(whole, "xb") as file:
                file.write(content)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise SourceRefused(f"{path} is a file and a folder in it") from None
        os.chmod(whole, 0o644)  # nothing of it is ever a program


def digest_folder(path: str) -> str:
    """A digest of all files in a folder that are not hidden, and of their paths."""
    whole = hashlib.sha256()
    for name, content in list_files(path):
        whole.update(f"{name}\0{len(content)}\0".encode("utf-8", "surrogateescape") + content)
    return f"sha256:{whole.hexdigest()}"


def copy_folder(path: str, into: Unpacking) -> None:
    """Take all files of a folder.

    Raises:
        SourceRefused: it has links or other things that are no files, or is too large.
    """
    for name, content in list_files(path, into):
        into.add(name, content)


def list_files(path: str, bounds: Unpacking | None = None) -> list[tuple[str, bytes]]:
    """The files of a folder that are not hidden, in the order of their paths.

    Raises:
        SourceRefused: it has something that is no plain file, or too much of it.
    """
    found: list[tuple[str, bytes]] = []
    waiting: list[tuple[str, ...]] = [()]
    left = MOST_BYTES
    while waiting:
        folder = waiting.pop()
        try:
            with files.open_folder(path, *folder) as opened:
                for name in sorted(one for one in os.listdir(opened) if not one.startswith(".")):
                    whole = "/".join((*folder, name))
                    status = os.stat(name, dir_fd=opened, follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append((*folder, name))
                        continue
                    if files.sign(opened, name) is None:
                        raise SourceRefused(f"{whole} {files.find_obstacle(opened, name) or 'is gone'}")
                    if bounds is None or bounds.wants(whole):
                        content = files.read_file(name, min(left, MOST_FILE_BYTES), folder=opened, is_single=True)
                        left -= len(content)
                        found.append((whole, content))
                    if len(found) + len(waiting) > 2 * MOST_FILES:
                        raise SourceRefused(f"it has more than {MOST_FILES} files or folders")
        except files.TooLarge as large:
            raise SourceRefused(f"{large} is too large, or all files together are: {MOST_BYTES} bytes") from None
        except OSError as error:
            raise SourceRefused(f"{path} cannot be read: {error.strerror}") from None
    return sorted(found)
