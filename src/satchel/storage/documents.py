"""Queries about documents."""

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import asdict, replace

from satchel.model import UNSET, Document, DocumentDraft, DocumentPatch
from satchel.storage.database import Row, Tx, patch_values

_COLUMNS = "number, id, project, name, uri, description, mime_type, created_at, updated_at, version"  # as in Document
_WHOLE = f"{_COLUMNS}, 0, content, data"
_IN_PROJECT = (
    "project = (select number from projects where name = :project and deleted_at is null) and deleted_at is null"
)
_FIND = f"select {_WHOLE} from documents where {_IN_PROJECT}"
_BY = {column: f"{_FIND} and {column} = :key" for column in ("name", "uri", "number")}
_WITHOUT_CONTENT = f"""
    select {_COLUMNS}, coalesce(octet_length(content), octet_length(data)), null, null
    from documents where project = :project and deleted_at is null
"""


# Versions go on where a deleted document of the same name left off, so that a version names one content.
_LAST = "select max(version) from documents where project = :project and name = :name and deleted_at is not null"
_VALUES = ":id, :project, :name, :uri, :description, :mime_type, :content, :data, :now, :now"
_INTO = "id, project, name, uri, description, mime_type, content, data, created_at, updated_at, version"
_ADD = f"""
    insert into documents ({_INTO}) values ({_VALUES}, coalesce(({_LAST}), 0) + 1)
    on conflict do nothing returning number
"""


def add(tx: Tx, project: int, draft: DocumentDraft) -> bool:
    """Insert a document, unless its name or its URI is taken; says whether it was inserted."""
    text, data = _split(draft.content)
    values = asdict(draft) | {"id": tx.new_id(), "project": project, "content": text, "data": data}
    return tx.one(_ADD, **values, now=tx.now) is not None


def find(tx: Tx, project: str, column: Literal["name", "uri", "number"], key: str) -> Document | None:
    """The document of a project with a key in one of its columns, whole. The project is given by name."""
    sql = _BY[column]
    row = tx.one(sql, project=project, key=key)
    return _document(row) if row else None


def find_to_change(tx: Tx, project: str, name: str) -> Document | None:
    """The document of a name, whole, which is updated or deleted next."""
    row = tx.one_to_change(_WHOLE, "documents", f"{_IN_PROJECT} and name = :key", project=project, key=name)
    return _document(row) if row else None


def list_after(tx: Tx, project: int, *, after: int = 0, limit: int = 2**31) -> list[Document]:
    """The documents after a number without their content, in order of creation."""
    sql = f"{_WITHOUT_CONTENT} and number > :after order by number limit :limit"
    return [_document(row) for row in tx.all(sql, project=project, after=after, limit=limit)]


def list_whole(tx: Tx, project: str, after: int, limit: int) -> list[Document]:
    """Return the documents of a project after a number, whole, in order of creation. The project is given by name."""
    sql = f"{_FIND} and number > :after order by number limit :limit"
    return [_document(row) for row in tx.all(sql, project=project, after=after, limit=limit)]


def names_beside(tx: Tx, project: int, text: str, limit: int) -> list[tuple[str, str]]:
    """Names and URIs of the documents next to a text in the order of names, and in that of URIs."""
    names = "select name, uri from documents where project = :project and deleted_at is null"
    found = tx.all_beside(names, "name", text, limit, project=project)
    found += tx.all_beside(names, "uri", text, limit, project=project)
    return list(dict(found).items())


def names_of(tx: Tx, project: int, numbers: Sequence[int]) -> list[str]:
    """The names of some documents of a project, in the order given."""
    sql = """
        select number, name from documents
        where project + 0 = :project and deleted_at is null and number in :numbers
    """
    found: dict[int, str] = {row[0]: row[1] for row in tx.all(sql, project=project, numbers=list(numbers))}
    return [found[number] for number in numbers if number in found]


def update(tx: Tx, seen: Document, patch: DocumentPatch) -> None:
    """Change a document."""
    changes = """
        mime_type = coalesce(:mime_type, mime_type),
        description = case when :has_description then :description else description end,
        content = case when :has_content then :content else content end,
        data = case when :has_content then :data else data end
    """
    text, data = (None, None) if patch.content is UNSET else _split(patch.content)
    values = patch_values(patch) | {"number": seen.number, "project": seen.project, "content": text, "data": data}
    tx.renew("documents", changes, _IS_SEEN, columns="number", **values)


def delete(tx: Tx, seen: Document) -> None:
    """Mark a document as deleted."""
    tx.renew("documents", "deleted_at = :now", _IS_SEEN, columns="number", number=seen.number, project=seen.project)


def find_deleted(tx: Tx, number: int) -> Document | None:
    """Return a deleted document, whole."""
    sql = f"select {_WHOLE} from documents where number = :number and deleted_at is not null"
    row = tx.one(sql, number=number)
    return _document(row) if row else None


def restore(tx: Tx, seen: Document, name: str, uri: str) -> Document | None:
    """Mark a document as no longer deleted, under a name and a URI; None where it was restored or purged meanwhile.

    Raises:
        Violation: documents_name or documents_uri, where one is taken.
    """
    where = "number = :number and project = :project and deleted_at is not null"
    values = {"number": seen.number, "project": seen.project, "name": name, "uri": uri}
    changes = "deleted_at = null, name = :name, uri = :uri"
    columns = "updated_at, version"
    row = tx.renew("documents", changes, where, columns=columns, version=seen.version, **values)
    return replace(seen, name=name, uri=uri, updated_at=row[0], version=row[1]) if row else None


_IS_SEEN = "number = :number and project = :project and deleted_at is null"


def _split(content: str | bytes) -> tuple[str | None, bytes | None]:
    return (content, None) if isinstance(content, str) else (None, content)


def _document(row: Row) -> Document:
    *columns, size, text, data = row
    content = bytes(data) if data is not None else text
    if content is not None:
        size = len(content) if isinstance(content, bytes) else len(content.encode())
    columns += [size, content]
    return Document(*columns)
