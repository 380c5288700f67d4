"""Files that belong to something that is imported, and come along as documents."""

from satchel.exchange.entries import DocumentEntry, Unreadable
from satchel.exchange.folder import read_document
from satchel.exchange.sources import SourceFile
from satchel.services import resources

_LONGEST_NAME = 200  # characters


def make_document(file: SourceFile, path: str, description: str) -> DocumentEntry:
    """A document with the whole file as its content; its name is made from `path`.

    Raises:
        Unreadable: no name can be made of it, or it is too large.
    """
    name = resources.make_name(path)
    if len(name) > _LONGEST_NAME:
        name = resources.make_name(f"{file.stem[:100]}.{file.extension}")
    if not name:
        raise Unreadable("no name can be made of its file name")
    return read_document(name, file.data, {"description": description[:1000]}, file.shown)
