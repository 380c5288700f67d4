"""Notes of basic-memory: Markdown files with a permalink, as documents."""

from collections.abc import Iterator

from satchel.exchange.entries import Found, Unreadable
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile


def recognise(file: SourceFile) -> bool:
    """Recognise Markdown whose front matter has a permalink."""
    return file.extension == "md" and file.fields is not None and "permalink" in file.fields


def read(file: SourceFile) -> Iterator[Found]:
    """Read a document with the whole file as its text, which keeps observations, relations and fields as they are."""
    fields = file.fields or {}
    if not file.body.strip():
        raise Unreadable("it has no text")
    link = shared.text_of(fields, "permalink").strip("/")
    yield shared.make_document(file, f"{link or file.stem}.md", shared.text_of(fields, "title"))
