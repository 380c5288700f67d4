"""Documents: list, read as text, Markdown or picture, add, edit, download."""

from typing import Any

from msgspec.structs import replace

from satchel.errors import NotFound, SatchelError, VersionConflict
from satchel.model import Document, DocumentDraft, DocumentPatch
from satchel.page import words
from satchel.page.versions import Conflict, find_conflict
from satchel.page.visit import Answer, File, Redirect, Shown, Upload, Visit, link
from satchel.services import documents, layers, links, rules
from satchel.services.links import Link
from satchel.storage.database import Tx

_PAGE = 100
_LONGEST_SHOWN = 512 * 1024  # bytes of a text on a page; the rest is in the download
_PICTURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


def show_list(visit: Visit) -> Answer:
    """Show the documents of a project."""
    with visit.read() as tx:
        found, has_more = documents.list_page(tx, visit.scope, limit=_PAGE, after=visit.number("after"))
    values = {"found": found, "next": str(found[-1].number) if found and has_more else ""}
    return Shown("documents.html", values)


def show(visit: Visit) -> Answer:
    """Show one document."""
    document = _find(visit)
    with visit.read() as tx:
        to, back = links.of(tx, visit.scope, "document", document)
    text = document.content if isinstance(document.content, str) else ""
    values = {
        "document": document,
        "is_text": isinstance(document.content, str),
        "is_markdown": document.mime_type.partition(";")[0] == "text/markdown",
        "is_picture": _is_picture(document),
        "text": text[:_LONGEST_SHOWN],
        "is_cut": len(text) > _LONGEST_SHOWN,
        "links": to,
        "referrers": back,
    }
    return Shown("document.html", values)


def download(visit: Visit) -> Answer:
    """Send the bytes of a document; pictures may be shown inside the page."""
    document = _find(visit)
    content = document.content.encode() if isinstance(document.content, str) else document.content or b""
    return File(document.name, document.mime_type, content, is_inline=_is_picture(document))


def show_new(visit: Visit) -> Answer:
    """Show the form for a new document."""
    visit.check_writes()
    return _show_form(visit, None)


def show_edit(visit: Visit) -> Answer:
    """Show the form for an existing text."""
    visit.check_writes()
    document = _find(visit)
    if not isinstance(document.content, str):
        raise NotFound("text of the document", document.name, visit.scope)
    version = visit.number("version")
    newer = _find_conflict(visit, document, version) if version not in (0, document.version) else None
    return _show_form(visit, document, newer=newer)


def add(visit: Visit) -> Answer:
    """Add a document: typed text, or a file."""
    file = visit.files.get("file")
    if file is not None and visit.field("content").strip():
        return _show_form(visit, None, error="You gave a file and a text. Choose the file again, and empty the text.")
    try:
        given = visit.field("name").strip() or (file.name if file else "")
        name = documents.make_name(given)
        guess = documents.guess_type(given, file.name if file else "")
        content, kind = _read_content(visit, file, visit.field("mime_type").strip() or guess)
        draft = DocumentDraft(
            name=name,
            uri=visit.field("uri").strip() or rules.make_own_uri(name),
            content=content,
            mime_type=kind,
            description=visit.field("description").strip() or None,
        )
        document = visit.write(lambda tx: documents.add(tx, visit.scope, draft))
    except SatchelError as error:
        return _show_form(visit, None, error=words.explain(error))
    return Redirect(_link(visit, document.name), f"Added “{document.name}”.", can_undo=True)


def save(visit: Visit) -> Answer:
    """Save a text document, or show the difference first."""
    document = _find(visit)
    stored = document.content if isinstance(document.content, str) else ""
    if visit.field("do") == "compare":
        return _show_form(visit, document, compared=(stored, visit.field("content")))
    patch = DocumentPatch(
        name=visit.field("name").strip() or document.name,
        content=visit.field("content"),
        mime_type=visit.field("mime_type").strip(),
        description=visit.field("description").strip() or None,
        expires=visit.field("expires").strip() or None,
    )
    version = visit.number("version")

    def change(tx: Tx) -> Document:
        name = layers.find_replacement(tx, visit.scope, document, visit.field("replaced_by").strip() or None)
        return documents.update(tx, visit.scope, document.name, replace(patch, replaced_by=name), version)

    try:
        saved = visit.write(change)
    except VersionConflict:
        return _show_form(visit, document, conflict=_find_conflict(visit, document, version))
    except SatchelError as error:
        return _show_form(visit, document, error=words.explain(error))
    return Redirect(_link(visit, saved.name), f"Saved “{saved.name}”.", can_undo=True)


def delete(visit: Visit) -> Answer:
    """Move a document to the trash."""
    name = visit.path["name"]

    def run(tx: Tx) -> list[Link]:
        found = documents.get_by_name(tx, visit.scope, name)
        referrers = links.referrers(tx, visit.scope, "document", found)
        documents.delete(tx, visit.scope, name)
        return referrers

    said = words.describe_deleted(name, visit.write(run))
    return Redirect(link("p", visit.scope.project, "documents"), said, can_undo=True)


def _read_content(visit: Visit, file: Upload | None, kind: str) -> tuple[str | bytes, str]:
    """Return the content and the type of a new document; the type that the browser sends is ignored."""
    if file is None:
        return visit.field("content"), kind if rules.is_text(kind) else "text/plain"
    if not rules.is_text(kind):
        return file.content, kind
    try:
        return file.content.decode("utf-8-sig").replace("\r\n", "\n"), kind
    except UnicodeDecodeError:
        return file.content, "application/octet-stream"  # it is not text, whatever its name suggests


def _find(visit: Visit) -> Document:
    with visit.read() as tx:
        return documents.get_by_name(tx, visit.scope, visit.path["name"])


def _find_conflict(visit: Visit, document: Document, version: int) -> Conflict:
    theirs = document.content if isinstance(document.content, str) else ""
    return find_conflict(visit, f"satchel://resource/{document.name}", theirs, version)


def _is_picture(document: Document) -> bool:
    """Return whether the type and the first bytes belong to a picture; SVG is excluded, because it can run scripts."""
    starts = _PICTURES.get(document.mime_type.partition(";")[0].strip().lower(), ())
    return isinstance(document.content, bytes) and document.content.startswith(tuple(starts))


def _show_form(visit: Visit, document: Document | None, **more: Any) -> Shown:
    stored = {
        "name": document.name if document else visit.query.get("name", ""),
        "uri": document.uri if document else "",
        "mime_type": document.mime_type if document else "",
        "content": str(document.content or "") if document else "",
        "description": (document.description or "") if document else "",
        "expires": (document.expires or "") if document else "",
        "replaced_by": (document.replaced_by or "") if document else "",
        "version": str(document.version) if document else "",
    }
    fields = {name: visit.field(name, value) for name, value in stored.items()}
    if document is not None and "conflict" in more:
        fields["version"] = str(document.version)
    values = {"document": document, "fields": fields, "error": ""}
    return Shown("document_form.html", values | {"compared": None, "conflict": None, "newer": None} | more)


def _link(visit: Visit, name: str) -> str:
    return link("p", visit.scope.project, "documents", name)
