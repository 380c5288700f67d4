"""Queries about documents."""

from typing import Any, Literal

from msgspec.structs import asdict, replace

from satchel.model import Document, DocumentDraft
from satchel.storage.database import Row, Tx

_COLUMNS = "number, id, project, name, uri, description, mime_type, created_at, updated_at, version"  # as in Document
_WHOLE = f"{_COLUMNS}, 0, content, data, expires, replaced_by"
_IN_PROJECT = (
    "project = (select number from projects where name = :project and deleted_at is null) and deleted_at is null"
)
_FIND = f"select {_WHOLE} from documents where {_IN_PROJECT}"
_BY = {column: f"{_FIND} and {column} = :key" for column in ("name", "uri", "number")}
_WITHOUT_CONTENT = f"""
    select {_COLUMNS}, coalesce(octet_length(content), octet_length(data)), null, null, expires, replaced_by
    from documents where project = :project and deleted_at is null
"""


# Versions continue after a deleted document of the same name, so that a version identifies one content.
_LAST = "select max(version) from documents where project = :project and name = :name and deleted_at is not null"
_VALUES = ":id, :project, :name, :uri, :description, :mime_type, :content, :data, :expires, :replaced_by, :now, :now"
_INTO = (
    "id, project, name, uri, description, mime_type, content, data, expires, replaced_by, "
    "created_at, updated_at, version"
)
_ADD = f"""
    insert into documents ({_INTO}) values ({_VALUES}, coalesce(({_LAST}), 0) + 1)
    on conflict do nothing returning number, version
"""


def add(tx: Tx, project: int, draft: DocumentDraft) -> Document | None:
    """Insert a document, and return it; return None if its name or its URI is taken."""
    text, data = _split(draft.content)
    id = tx.new_id()
    row = tx.one(_ADD, **asdict(draft) | {"id": id, "project": project, "content": text, "data": data}, now=tx.now)
    if row is None:
        return None
    facts = (row[0], id, project, draft.name, draft.uri, draft.description, draft.mime_type, tx.now, tx.now, row[1])
    return _document((*facts, 0, text, data, draft.expires, draft.replaced_by))


def find(tx: Tx, project: str, column: Literal["name", "uri", "number"], key: str) -> Document | None:
    """Return the whole document whose `column` has the value `key`, in the project with the name `project`."""
    sql = _BY[column]
    row = tx.one(sql, project=project, key=key)
    return _document(row) if row else None


def find_to_change(tx: Tx, project: str, _column: Literal["name"], key: str) -> Document | None:
    """Return the whole document with this name, in order to update or delete it."""
    row = tx.one_to_change(_WHOLE, "documents", f"{_IN_PROJECT} and name = :key", project=project, key=key)
    return _document(row) if row else None


def list_after(tx: Tx, project: int, *, after: int = 0, limit: int = 2**31) -> list[Document]:
    """List the documents numbered above `after`, without content, in order of creation."""
    sql = f"{_WITHOUT_CONTENT} and number > :after order by number limit :limit"
    return [_document(row) for row in tx.all(sql, project=project, after=after, limit=limit)]


def list_changed(tx: Tx, project: str, largest: int, limit: int) -> list[Document]:
    """List whole documents of up to `largest` bytes that have older versions, last changed first."""
    sql = f"""
        {_FIND} and version > 1 and coalesce(octet_length(content), octet_length(data)) <= :largest
        order by updated_at desc, number desc limit :limit
    """
    return [_document(row) for row in tx.all(sql, project=project, largest=largest, limit=limit)]


def list_whole(tx: Tx, project: str, after: int, limit: int) -> list[Document]:
    """List whole documents numbered above `after`, in order of creation, in the project with the name `project`."""
    sql = f"{_FIND} and number > :after order by number limit :limit"
    return [_document(row) for row in tx.all(sql, project=project, after=after, limit=limit)]


def update(tx: Tx, seen: Document, new: Document) -> Document:
    """Store the changed fields of a document, and return it with its new version.

    Raises:
        Violation: documents_name or documents_uri, if name or URI is taken.
    """
    assert new.content is not None, "a document is changed whole"
    changes = """
        name = :name, uri = :uri, mime_type = :mime_type, description = :description, content = :content, data = :data,
        expires = :expires, replaced_by = :replaced_by
    """
    text, data = _split(new.content)
    names = ("name", "uri", "mime_type", "description", "expires", "replaced_by")
    values: dict[str, Any] = {**{name: getattr(new, name) for name in names}, "content": text, "data": data}
    where = {"number": seen.number, "project": seen.project}
    row = tx.renew("documents", changes, _IS_SEEN, columns="updated_at, version", **where, **values)
    assert row is not None, "it is locked"
    return replace(new, updated_at=row[0], version=row[1], size=_size(new.content))


def move(tx: Tx, seen: Document, project: int, name: str, uri: str) -> Document:
    """Move a document that is locked, with its links, to a project in which it gets this name and URI.

    Raises:
        Violation: documents_name or documents_uri, if name or URI is taken.
    """
    where = "number = :number and project = :old and deleted_at is null"
    values: dict[str, Any] = {"number": seen.number, "old": seen.project, "project": project, "name": name, "uri": uri}
    changes = "project = :project, name = :name, uri = :uri"
    row = tx.renew("documents", changes, where, columns="updated_at, version", **values)
    assert row is not None, "it is locked"
    tx.run("update links set project = :project where document = :number", project=project, number=seen.number)
    return replace(seen, project=project, name=name, uri=uri, updated_at=row[0], version=row[1])


def delete(tx: Tx, seen: Document) -> None:
    """Mark a document as deleted."""
    tx.renew("documents", "deleted_at = :now", _IS_SEEN, columns="number", number=seen.number, project=seen.project)


def find_deleted(tx: Tx, number: int) -> Document | None:
    """Return a deleted document with its content."""
    sql = f"select {_WHOLE} from documents where number = :number and deleted_at is not null"
    row = tx.one(sql, number=number)
    return _document(row) if row else None


def restore(tx: Tx, seen: Document, name: str, uri: str) -> Document | None:
    """Mark a document as not deleted, with this name and URI; return None if it was restored or purged meanwhile.

    Raises:
        Violation: documents_name or documents_uri, if name or URI is taken.
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
    *columns, size, text, data, expires, replaced_by = row
    content = bytes(data) if data is not None else text
    columns += [size if content is None else _size(content), content, expires, replaced_by]
    return Document(*columns)


def _size(content: str | bytes) -> int:
    return len(content if isinstance(content, bytes) else content.encode())
