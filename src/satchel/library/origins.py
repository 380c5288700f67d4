"""Where a library was added from: a small file in its folder, which is replaced together with the folder."""

import os

import msgspec
from msgspec import Struct

from satchel import files
from satchel.library.unpacking import SourceRefused, digest_folder

FILE = ".satchel-origin.json"
_MOST = 64 * 1024  # bytes of the file


class Origin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The source of a library, and which version of it is here."""

    kind: str  # git, folder or archive
    source: str  # an address or a path
    version: str  # the commit, or a digest of the archive or folder
    ref: str | None = None  # the branch, tag or commit that was asked for
    path: str = ""  # the folder of the library in the source
    digest: str  # of the files as they were added
    added: str  # when

    @property
    def short_version(self) -> str:
        """As people compare them."""
        return self.version.removeprefix("sha256:")[:12]


def read_origin(root: str, folder: str) -> Origin | None:
    """Where a library was added from; None where it was not added."""
    try:
        with files.open_folder(root, folder) as opened:
            return msgspec.json.decode(files.read_file(FILE, _MOST, folder=opened, is_single=True), type=Origin)
    except (OSError, files.TooLarge, msgspec.DecodeError):
        return None


def write_origin(path: str, origin: Origin) -> None:
    """Write it into the folder of a library."""
    with open(os.path.join(path, FILE), "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(origin)) + b"\n")


def is_changed(root: str, folder: str, origin: Origin) -> bool:
    """Whether files of a library are not as they were added."""
    try:
        return digest_folder(os.path.join(root, folder)) != origin.digest
    except SourceRefused:
        return True
