"""Queries about resources."""

from typing import Literal

from msgspec.structs import asdict

from satchel.model import UNSET, Resource, ResourceDraft, ResourcePatch
from satchel.storage.database import Row, Tx, patch_values

_COLUMNS = "number, id, name, uri, description, mime_type, created_at, updated_at, version"  # as in Resource
_WHOLE = f"""
    select {_COLUMNS}, 0, content, data from resources
    where project = (select number from projects where name = :project)
"""
_BY = {column: f"{_WHOLE} and {column} = :key" for column in ("name", "uri")}
_WITHOUT_CONTENT = f"""
    select {_COLUMNS}, coalesce(octet_length(content), octet_length(data)), null, null
    from resources where project = :project
"""


def add(tx: Tx, project: int, draft: ResourceDraft) -> bool:
    """Insert a resource, unless its name or its URI is taken; says whether it was inserted."""
    sql = """
        insert into resources
            (id, project, name, uri, description, mime_type, content, data, created_at, updated_at)
        values (:id, :project, :name, :uri, :description, :mime_type, :content, :data, :now, :now)
        on conflict do nothing returning number
    """
    text, data = _split(draft.content)
    values = asdict(draft) | {"id": tx.new_id(), "project": project, "content": text, "data": data, "now": tx.now}
    row = tx.one(sql, **values)
    return row is not None


def find(tx: Tx, project: str, column: Literal["name", "uri"], key: str) -> Resource | None:
    """The resource of a project with a key in one of its columns, whole. The project is given by name."""
    sql = _BY[column]
    row = tx.one(sql, project=project, key=key)
    return _resource(row) if row else None


def list_after(tx: Tx, project: int, *, after: int = 0, limit: int = 2**31) -> list[Resource]:
    """The resources after a number without their content, in order of creation."""
    sql = f"{_WITHOUT_CONTENT} and number > :after order by number limit :limit"
    return [_resource(row) for row in tx.all(sql, project=project, after=after, limit=limit)]


def names_beside(tx: Tx, project: int, text: str, limit: int) -> list[tuple[str, str]]:
    """Names and URIs of the resources next to a text in the order of names, and in that of URIs."""
    names = "select name, uri from resources where project = :project"
    found = tx.all_beside(names, "name", text, limit, project=project)
    found += tx.all_beside(names, "uri", text, limit, project=project)
    return list(dict(found).items())


def update(tx: Tx, project: int, seen: Resource, patch: ResourcePatch, version: int | None = None) -> bool:
    """Change a resource, if it still has the MIME type that was seen, and this version; says whether it had."""
    changes = """
        mime_type = coalesce(:mime_type, mime_type),
        description = case when :has_description then :description else description end,
        content = case when :has_content then :content else content end,
        data = case when :has_content then :data else data end
    """
    where = "project = :project and id = :id and mime_type = :seen"
    text, data = (None, None) if patch.content is UNSET else _split(patch.content)
    values = patch_values(patch) | {"project": project, "id": seen.id, "seen": seen.mime_type}
    values |= {"content": text, "data": data}
    row = tx.renew("resources", changes, where, columns="number", version=version, **values)
    return row is not None


def delete(tx: Tx, project: int, name: str) -> str | None:
    """Delete a resource; its URI, or None where there is none."""
    sql = "delete from resources where project = :project and name = :name returning uri"
    row = tx.one(sql, project=project, name=name)
    return row[0] if row else None


def _split(content: str | bytes) -> tuple[str | None, bytes | None]:
    return (content, None) if isinstance(content, str) else (None, content)


def _resource(row: Row) -> Resource:
    *columns, size, text, data = row
    content = bytes(data) if data is not None else text
    if content is not None:
        size = len(content) if isinstance(content, bytes) else len(content.encode())
    columns += [size, content]
    return Resource(*columns)
