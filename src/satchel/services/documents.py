"""Documents of a project: text or bytes with a name, a URI and a MIME type.

All functions raise NotFound and Forbidden about the scope's project as `projects.current` does, NotFound if the project
has no such document, and WrongArgument if a value breaks a rule.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from heapq import merge
from itertools import chain, islice
from typing import Any, Literal, TypeVar

from msgspec.structs import asdict, replace

from satchel.errors import NotFound, StoreConflict, Taken, VersionConflict, WrongArgument
from satchel.model import UNSET, Document, DocumentDraft, DocumentPatch, Scope, State, StoreChange
from satchel.services import recording, rules
from satchel.services.projects import current, enter, find_within, read_batches
from satchel.storage import documents as rows
from satchel.storage.database import Tx, Violation

Changes = TypeVar("Changes", DocumentDraft, DocumentPatch)

MEMORY = "memory.md"  # the name of the document that `remember` writes
_MOST_MEMORIES = 1_000  # lines
_LARGEST_MEMORY = 64 * 1024  # bytes
_LONGEST_NAME = 60  # characters of the name of a program
_BATCH = 500  # how many documents to read at once when searching for a text


def add(tx: Tx, scope: Scope, draft: DocumentDraft) -> Document:
    """Add a document.

    Raises:
        Taken: another document of the project has this name or this URI.
    """
    draft = _clean(draft)
    rules.check_own_uri(draft.name, draft.uri)
    rules.check_new(tx, "document", "uri", draft.uri)
    project = current(tx, scope).number
    try:
        document = rows.add(tx, project, draft)
    except Violation as violation:  # another process deleted the project after this one read its number
        raise NotFound("project", scope.project, scope) from violation
    if document is None:
        holder = rows.find(tx, scope.project, "uri", draft.uri)
        if holder is not None and rows.find(tx, scope.project, "name", draft.name) is None:
            raise Taken("document", "uri", draft.uri, scope, holder=holder.name)
        raise Taken("document", "name", draft.name, scope)
    tx.changed(StoreChange("project", scope.project))
    _announce(tx, scope, draft.uri)
    recording.add(tx, document)
    return document


def make_name(given: str) -> str:
    """Make a valid name from any text; return an empty text if too little is left.

    Characters that a name cannot have become hyphens: `Q3 / Größe (new).md` is `Q3-Grosse-new.md`.
    """
    if re.fullmatch(rules.NAME, given):
        return given
    parts = [part for part in re.split(r"[/\\]", given) if part not in (".", "..")]
    plain = rules.drop_accents("-".join(parts).replace("ß", "ss"))
    made = re.sub("[^A-Za-z0-9._]+", "-", plain).strip("-")
    stem, extension = made, ""
    if found := re.search(r"\.[A-Za-z0-9]+$", made):
        stem, extension = made[: found.start()].rstrip("-"), found[0]
    return stem + extension if re.search("[A-Za-z0-9]", stem) else ""


def get_by_name(tx: Tx, scope: Scope, name: str) -> Document:
    """Return the whole document with a name."""
    return find_within(tx, scope, "document", rows.find, "name", name)


def get_by_uri(tx: Tx, scope: Scope, uri: str) -> Document:
    """Return the whole document with a URI."""
    return find_within(tx, scope, "document", rows.find, "uri", uri)


def iterate_all(tx: Tx, scope: Scope, *, size: int) -> Iterator[Sequence[Document]]:
    """Yield batches of the documents of the project, without content, in order of creation."""
    number = current(tx, scope).number
    return read_batches(lambda after, limit: rows.list_after(tx, number, after=after, limit=limit), size)


def iterate_whole(tx: Tx, scope: Scope, *, size: int) -> Iterator[Document]:
    """Yield the whole documents of the project one by one, in order of creation; they are read in batches."""
    current(tx, scope)
    read = partial(rows.list_whole, tx, scope.project)
    return chain.from_iterable(read_batches(read, size))


def list_all(tx: Tx, scope: Scope) -> list[Document]:
    """List the documents of the project without their content, in order of creation."""
    return rows.list_after(tx, current(tx, scope).number)


def list_page(
    tx: Tx, scope: Scope, query: str = "", *, limit: int, after: int = 0
) -> tuple[tuple[Document, ...], bool]:
    """List the documents numbered above `after`, without content, in order of creation; say whether there are more.

    The query is literal text in the name, URI or description, in any case.
    """
    return list_everywhere(tx, [current(tx, scope).number], query, limit=limit, after=after)


def list_everywhere(
    tx: Tx, where: Iterable[int], query: str = "", *, limit: int, after: int = 0
) -> tuple[tuple[Document, ...], bool]:
    """Return what `list_page` returns for several projects, given by number, in one order."""
    folded = rules.fold_query(query)
    size = _BATCH if folded else limit + 1

    def iterate(project: int) -> Iterator[Document]:
        def read(last: int, limit: int) -> list[Document]:
            return rows.list_after(tx, project, after=max(last, after), limit=limit)

        return chain.from_iterable(read_batches(read, size))

    found = merge(*map(iterate, where), key=lambda one: one.number)
    matching = (one for one in found if folded in rules.fold(f"{one.name}\n{one.uri}\n{one.description or ''}"))
    hits = tuple(islice(matching, limit + 1))
    return hits[:limit], len(hits) > limit


def update(tx: Tx, scope: Scope, name: str, patch: DocumentPatch, expected_version: int | None = None) -> Document:
    """Change a document; an update without a difference makes no version.

    Raises:
        Taken: another document of the project has the new name.
        WrongArgument: a value breaks a rule, or the MIME type turns text into bytes without new content.
        VersionConflict: the document has another version than expected.
    """
    rules.clean_name("document", name)
    patch = _clean(patch)  # before the read: these errors do not depend on the document
    before = find_within(tx, scope, "document", rows.find_to_change, "name", name)
    if expected_version not in (None, before.version):
        raise VersionConflict("document", name, expected=expected_version or 0, actual=before.version)
    given = {name: value for name, value in asdict(_fit(patch, before)).items() if value is not UNSET}
    after = replace(before, **given)
    if after.name != before.name and before.uri == rules.make_own_uri(before.name):
        after = replace(after, uri=rules.make_own_uri(after.name))
    if after == before and tx.restores is None:  # a restore is always recorded
        return before
    try:
        after = rows.update(tx, before, after)
    except Violation as violation:  # a URI that is made from a free name is free, too
        raise Taken("document", "name", after.name, scope) from violation
    recording.update(tx, before, after)
    for uri in {before.uri, after.uri}:
        _announce(tx, scope, uri)
    return after


def move(tx: Tx, scope: Scope, name: str, to: str, *, wanted: State | None = None, renames: bool = True) -> Document:
    """Move a document to another project; its versions stay with it.

    With `renames`, a name or URI that is taken there becomes the next free one; `wanted` has others than the present.

    Raises:
        Taken: a document of that project has this name or URI.
    """
    before = find_within(tx, scope, "document", rows.find_to_change, "name", name)
    there = enter(scope, to)
    project, name, uri = current(tx, there).number, (wanted or before).name, str((wanted or before).uri)
    if renames:
        name, uri = choose_free(tx, there, name, uri, before.id)
    elif not is_free(tx, there, "name", name):
        raise Taken("document", "name", name, there)
    elif (holder := rows.find(tx, to, "uri", uri)) is not None:
        raise Taken("document", "uri", uri, there, holder=holder.name)
    try:
        document = rows.move(tx, before, project, name, uri)
    except Violation as violation:
        raise Taken("document", "name", name, there) from violation
    for one, announced in ((scope, before.uri), (there, uri)):
        tx.changed(StoreChange("project", one.project))
        _announce(tx, one, announced)
    recording.update(tx, before, document)
    return document


def is_free(tx: Tx, scope: Scope, field: Literal["name", "uri"], key: str) -> bool:
    """Return whether a name or a URI is free in the scope's project."""
    return rows.find(tx, scope.project, field, key) is None


def delete(tx: Tx, scope: Scope, name: str) -> None:
    """Delete a document; it can be restored from the trash, if the store keeps any."""
    rules.clean_name("document", name)
    document = find_within(tx, scope, "document", rows.find_to_change, "name", name)
    rows.delete(tx, document)
    recording.delete(tx, document)
    tx.changed(StoreChange("project", scope.project))
    _announce(tx, scope, document.uri)


def restore(tx: Tx, scope: Scope, number: int) -> Document:
    """Restore a deleted document of the scope's project; a taken name or URI becomes the next free one."""
    current(tx, scope)
    was = recording.check_deleted(rows.find_deleted(tx, number), "document")
    name, uri = choose_free(tx, scope, was.name, was.uri, was.id)
    document = recording.check_deleted(rows.restore(tx, was, name, uri), "document")
    tx.changed(StoreChange("project", scope.project))
    _announce(tx, scope, uri)
    recording.restore(tx, was, document)
    return document


def choose_free(tx: Tx, scope: Scope, name: str, uri: str, id: str) -> tuple[str, str]:
    """Return the next free name and URI for a document of the scope's project."""
    name = rules.choose_free(rules.list_free_names(name, id), lambda one: is_free(tx, scope, "name", one))
    wanted = rules.make_own_uri(name) if rules.is_own_uri(uri) else uri
    uris = rules.list_free_uris(wanted, id)
    return name, rules.choose_free(uris, lambda one: is_free(tx, scope, "uri", one))


# -- the memory of a project: a document with one line for each thing to remember ------------------------------------


def remember(tx: Tx, scope: Scope, text: str) -> tuple[str, bool]:
    """Add a line to the project's memory, with the day and the author; return the line, and whether it was added.

    A text that the memory has already, in any case and with any white space, is not added; the old line is returned.

    Raises:
        WrongArgument: the memory is full, or the document of its name is not text.
    """
    rules.check_text("text", text)
    text = " ".join(text.split())
    if not text:
        raise WrongArgument("text", "minLength", limit=1)
    rules.check_shown("document", "text", text)  # every new session reads it
    current(tx, scope)
    before = rows.find_to_change(tx, scope.project, "name", MEMORY)
    content = "" if before is None else before.content
    if not isinstance(content, str):
        raise WrongArgument("text", "memory", value=MEMORY)
    lines = content.splitlines()
    wanted = rules.fold(text)
    if known := next((line for line in lines if _fold_memory(line) == wanted), None):
        return known.removeprefix("- "), False
    added = f"{tx.now[:10]} {_name_author(scope)}: {text}"
    content += "" if not content or content.endswith("\n") else "\n"
    content += f"- {added}\n"
    if len(lines) >= _MOST_MEMORIES or len(content.encode()) > _LARGEST_MEMORY:
        raise WrongArgument("text", "maxItems", limit=_MOST_MEMORIES, value=MEMORY)
    if before is not None:
        update(tx, scope, MEMORY, DocumentPatch(content=content))
        return added, True
    uri, mime_type = rules.make_own_uri(MEMORY), guess_type(MEMORY)
    try:
        add(tx, scope, DocumentDraft(name=MEMORY, uri=uri, content=content, mime_type=mime_type))
    except Taken as taken:
        raise StoreConflict(f"another call added {MEMORY}") from taken
    return added, True


def list_memories(tx: Tx, scope: Scope) -> list[str]:
    """Return the lines of the project's memory, oldest first; empty if it has none."""
    current(tx, scope)
    document = rows.find(tx, scope.project, "name", MEMORY)
    content = document.content if document else ""
    lines = content.splitlines() if isinstance(content, str) else []
    return [line.removeprefix("- ") for line in lines if line.startswith("- ")]


def _fold_memory(line: str) -> str:
    """Return the text of a line of the memory, without day and author, in the form for comparison."""
    found = re.fullmatch(r"- (?:\d{4}-\d\d-\d\d [^:]*: )?(.*)", line)
    return rules.fold(" ".join((found[1] if found else line).split()))


def _name_author(scope: Scope) -> str:
    """Return the name of the calling program, without the colon that ends it in a line, or `a person`."""
    client = scope.author.client if rules.is_storable(scope.author.client) else ""
    name = " ".join(rules.drop_hidden(client[:_LONGEST_NAME].replace(":", " ")).split())
    return "a person" if scope.is_person else name or "unknown"


def _clean(value: Changes) -> Changes:
    """Return a draft or patch in its stored form; leave content without a MIME type to `_fit`."""
    value = rules.clean("document", value)
    cleaned: dict[str, Any] = {}
    if value.content is not UNSET and value.mime_type is not UNSET:
        cleaned["content"] = rules.clean_content(value.mime_type, value.content)
    if value.description is not UNSET and value.description is not None:
        cleaned["description"] = rules.clean_description("document", value.description)
    return replace(value, **cleaned)


def _fit(patch: DocumentPatch, seen: Document) -> DocumentPatch:
    """Return a patch whose content fits the MIME type that the document will have."""
    if patch.content is not UNSET:
        mime_type = seen.mime_type if patch.mime_type is UNSET else patch.mime_type
        return replace(patch, content=rules.clean_content(mime_type, patch.content))
    # Check the content, not its type: it may have been stored when fewer types counted as text.
    if patch.mime_type is not UNSET and rules.is_text(patch.mime_type) != isinstance(seen.content, str):
        kinds = ("binary", "text") if rules.is_text(patch.mime_type) else ("text", "binary")
        raise WrongArgument("content", "dependentRequired", limit=kinds, kind="document")
    return patch


def _announce(tx: Tx, scope: Scope, uri: str) -> None:
    tx.changed(StoreChange("documents", scope.project))  # even after an update: lists show the size
    tx.changed(StoreChange("document", scope.project, key=uri))


# -- MIME types -------------------------------------------------------------------------------------------------

# The table of `mimetypes` differs between machines and versions, and takes 5 ms of a start to fill.
_PLAIN, _BYTES = "text/plain", "application/octet-stream"

_TYPES = {
    **dict.fromkeys(("txt", "text", "log"), _PLAIN),
    **dict.fromkeys(("md", "markdown", "mdx"), "text/markdown"),
    **dict.fromkeys(("html", "htm"), "text/html"),
    "css": "text/css",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    **dict.fromkeys(("py", "pyi"), "text/x-python"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "text/javascript"),
    **dict.fromkeys(("ts", "tsx", "mts"), "text/x-typescript"),  # `mimetypes` says video/mp2t
    "rs": "text/x-rust",
    "go": "text/x-go",
    "java": "text/x-java",
    "rb": "text/x-ruby",
    **dict.fromkeys(("c", "h"), "text/x-c"),
    **dict.fromkeys(("cc", "cpp", "hpp"), "text/x-c++"),
    **dict.fromkeys(("sh", "bash", "zsh"), "application/x-sh"),
    "sql": "application/sql",
    "json": "application/json",
    **dict.fromkeys(("jsonl", "ndjson"), "application/jsonl"),
    **dict.fromkeys(("yaml", "yml"), "application/yaml"),
    "toml": "application/toml",
    "xml": "application/xml",
    "svg": "image/svg+xml",
    "png": "image/png",
    **dict.fromkeys(("jpg", "jpeg"), "image/jpeg"),
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
    "ico": "image/x-icon",
    "bmp": "image/bmp",
    **dict.fromkeys(("tif", "tiff"), "image/tiff"),
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "mov": "video/quicktime",
    "pdf": "application/pdf",
    "zip": "application/zip",
    **dict.fromkeys(("gz", "tgz", "svgz"), "application/gzip"),
    "bz2": "application/x-bzip2",
    "xz": "application/x-xz",
    "tar": "application/x-tar",
    "7z": "application/x-7z-compressed",
    "wasm": "application/wasm",
    "epub": "application/epub+zip",
    "doc": "application/msword",
    "xls": "application/vnd.ms-excel",
    "ppt": "application/vnd.ms-powerpoint",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
}


def guess_type(*names: str, is_text: bool = True) -> str:
    """Return the MIME type for the first known extension among the names; plain text or bytes if none is known."""
    extensions = (name.rpartition(".")[2].lower() for name in names if "." in name)
    return next((_TYPES[one] for one in extensions if one in _TYPES), _PLAIN if is_text else _BYTES)
