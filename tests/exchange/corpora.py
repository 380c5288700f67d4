"""Small corpora in the formats of other tools, written for these tests, and what each file holds."""

from collections.abc import Mapping
from pathlib import Path

from satchel.exchange import importing
from satchel.exchange.entries import Entry, Problem
from satchel.exchange.formats import BY_NAME


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder."""
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def read(folder: Path, format: str | None = None) -> tuple[list[Entry], list[Problem]]:
    """What the files below a folder hold, and what is wrong with them."""
    files = importing.list_files([str(folder)])
    found = [one for file in importing.read_files(files, BY_NAME[format] if format else None) for one in file.found]
    entries = [one for one in found if not isinstance(one, Problem)]
    return entries, [one for one in found if isinstance(one, Problem)]
