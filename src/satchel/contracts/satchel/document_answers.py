"""How answers describe a document: a short row in lists and echoes, and the whole where one is read."""

from msgspec import Struct, field

from satchel.contracts.content import encode_document, format_count
from satchel.contracts.contract import Context, Reply
from satchel.contracts.satchel import answers, texts
from satchel.contracts.satchel.pages import GeneratedPage
from satchel.contracts.satchel.texts import Reading
from satchel.model import Document
from satchel.services import mime_types

URI = "satchel://resource/"


class DocumentRow(Struct, omit_defaults=True):
    """A document in a list, or as the echo of a change; what is empty or follows from the name is left out."""

    name: str
    size: int = -1
    version: int | None = None  # in echoes
    uri: str | None = None
    mime_type: str | None = None
    description: str | None = None
    layer: str = field(default="", name="from")  # the personal project


class DocumentAnswer(Struct, omit_defaults=True, kw_only=True):
    """A whole document; empty members are left out."""

    name: str
    layer: str = field(default="", name="from")  # the personal project
    mime_type: str | None = None  # this and more only where the document is read from its beginning
    size: int = -1
    version: int = 0
    uri: str | None = None
    description: str | None = None
    created: str | None = None
    updated: str | None = None
    lines: str = ""
    of: int = 0
    outline: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    linked_from: tuple[str, ...] = ()
    text: str | None = None


# -- rows -------------------------------------------------------------------------------------------------------


def echo_document(document: Document) -> DocumentRow:
    """A document that was just written."""
    return DocumentRow(document.name, document.size, document.version, _other_uri(document), _other_type(document))


def list_document(document: Document) -> DocumentRow:
    """A document in a list."""
    about = answers.shorten(document.description) if document.description else None
    return DocumentRow(
        document.name,
        document.size,
        uri=_other_uri(document),
        mime_type=_other_type(document),
        description=about,
        layer=document.layer,
    )


def format_row(row: DocumentRow) -> str:
    """A row as a line."""
    facts = [row.uri, format_count(row.size, "byte"), row.mime_type]
    facts.append(f"version {row.version}" if row.version else None)
    facts.append(f"from {row.layer}" if row.layer else None)
    about = f": {row.description}" if row.description else ""
    return f"- {row.name} ({', '.join(filter(None, facts))}){about}"


def _other_uri(document: Document) -> str | None:
    return None if document.uri == URI + document.name else document.uri


def _other_type(document: Document) -> str | None:
    return None if document.mime_type == mime_types.guess(document.name) else document.mime_type


# -- whole documents --------------------------------------------------------------------------------------------


def reply_document(context: Context, document: Document, read: Reading) -> Reply:
    """A document of text."""
    answer = _describe(context, document, read)
    link = texts.make_link(document.uri, document.name, document.mime_type, document.size)
    return texts.reply_text(
        read, {"project": context.scope.project, "resource": answer}, _format_facts(answer, read), link
    )


def reply_binary(context: Context, document: Document) -> Reply:
    """A document of bytes: images and sound so that clients show them, anything else embedded.

    The bytes are in the content only: a model that is shown the structured answer cannot see them in base64.
    """
    answer = _describe(context, document, None)
    encoded = encode_document(document)
    kind = document.mime_type.partition("/")[0].lower()
    if kind == "image" or (kind == "audio" and context.revision.has_audio):
        block = {"type": kind, "data": encoded["blob"], "mimeType": document.mime_type}
    else:
        block = {"type": "resource", "resource": encoded}
    # Some clients show neither, so a text stands beside it.
    facts = {"type": "text", "text": _format_facts(answer, None)}
    return Reply([facts, block], {"project": context.scope.project, "resource": answer})


def reply_page(uri: str, page: GeneratedPage, read: Reading) -> Reply:
    """A page behind a satchel:// URI."""
    size = len(page.text.encode())
    answer = DocumentAnswer(
        name=uri, mime_type=page.mime_type, size=size, version=page.version, text=read.text, **read.members
    )
    link = texts.make_link(uri, uri, page.mime_type, size)
    return texts.reply_text(read, {"project": page.project, "resource": answer}, _format_facts(answer, read), link)


def _describe(context: Context, document: Document, read: Reading | None) -> DocumentAnswer:
    if read and read.is_part:
        return DocumentAnswer(
            name=document.name, layer=document.layer, version=document.version, text=read.text, **read.members
        )
    linked, linked_from = texts.find_links(context, "document", document)
    return DocumentAnswer(
        name=document.name,
        layer=document.layer,
        mime_type=document.mime_type,
        size=document.size,
        version=document.version,
        uri=_other_uri(document),
        description=document.description,
        created=texts.format_time(document.created_at),
        updated=texts.format_time(document.updated_at),
        links=linked,
        linked_from=linked_from,
        text=read.text if read else None,
        **(read.members if read else {}),
    )


def _format_facts(answer: DocumentAnswer, read: Reading | None) -> str:
    """What the text of a document does not say about it."""
    head = [f"document {answer.name}", *([f"from {answer.layer}"] if answer.layer else [])]
    head += [f"version {answer.version}"] if answer.version else []
    head += [f"{format_count(answer.size, 'byte')} of {answer.mime_type}"] if answer.mime_type else []
    if answer.updated:
        head += [f"updated {answer.updated}", f"created {answer.created}"]
    lines = [f"[{', '.join(head)}]"]
    lines += [f"uri: {answer.uri}"] if answer.uri else []
    lines += [f"description: {answer.description}"] if answer.description else []
    lines += texts.format_links(answer.links, answer.linked_from)
    return "\n".join([*lines, *(read.facts if read else [])])
