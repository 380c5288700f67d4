"""Notes of basic-memory: Markdown files with a permalink, as documents."""

from collections.abc import Iterator

from satchel.exchange.entries import DocumentEntry, Found, Problem
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.services import documents


def recognise(file: SourceFile) -> bool:
    """Recognise Markdown whose front matter has a permalink."""
    return file.extension == "md" and file.fields is not None and "permalink" in file.fields


def read(file: SourceFile) -> Iterator[Found]:
    """Read a document with the whole file as its text, which keeps observations, relations and fields as they are."""
    fields = file.fields or {}
    link = shared.text_of(fields, "permalink").strip("/")
    title = shared.text_of(fields, "title")
    name = documents.make_name(f"{link or file.stem}.md")
    if not name or len(name) > 200:
        name = documents.make_name(f"{file.stem[:150]}.md")
    text = file.text.replace("\r\n", "\n")
    if not name:
        yield Problem(file.shown, "no name can be made from its permalink or file name")
    elif not file.body.strip():
        yield Problem(file.shown, "it has no text")
    else:
        yield DocumentEntry(
            name=name,
            content=text,
            mime_type="text/markdown",
            description=title[:1000] or None,
            where=file.shown,
        )
