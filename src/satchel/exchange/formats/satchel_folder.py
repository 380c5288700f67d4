"""The folder that `satchel export` writes, for one project or for all."""

import os
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from satchel.exchange import folder
from satchel.exchange.entries import Entry, Found, Problem, TaskEntry, Unreadable
from satchel.exchange.formats import shared
from satchel.exchange.sources import MARKER, SourceFile


def recognise(file: SourceFile) -> bool:
    """Recognise the marker file of a folder."""
    return file.name == MARKER


def read(file: SourceFile) -> Iterator[Found]:
    """Read a folder; if it is a whole store's, each entry gets the project of its subfolder."""
    root, shown = os.path.dirname(file.path), os.path.dirname(file.shown)
    kind, _ = folder.read_marker(file.data)
    if kind == "project":
        yield from (found for found, _ in folder.read_files(root, shown))
        return
    for name in sorted(os.listdir(root)):
        inner = os.path.join(root, name)
        if os.path.isfile(os.path.join(inner, MARKER)) and not os.path.islink(inner):
            try:
                below = folder.read_marker(SourceFile(os.path.join(inner, MARKER)).data)
                for found, _ in folder.read_files(inner, os.path.join(shown, name)):
                    yield _put_into(found, below[1] or name)
            except Unreadable as wrong:
                yield Problem(os.path.join(shown, name), str(wrong))
    for found, _ in folder.read_files(root, shown):  # tasks of no project
        yield _put_into(found, "")


def _put_into(found: Found, project: str) -> Found:
    """Put an entry into a project; make the keys of tasks unique to the project."""
    if isinstance(found, TaskEntry):
        after = tuple(f"{project}/{one}" for one in found.after)
        key, parent = (f"{project}/{one}" if one else "" for one in (found.key, found.parent))
        return replace(found, project=project, key=key, after=after, parent=parent)
    return found if isinstance(found, Problem) else replace(found, project=project)


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write the folder of one project."""
    return shared.Written(folder.write(entries, ""))
