"""Queries about resources."""

from satchel.model import UNSET, Resource, UnsetType
from satchel.storage.database import Row, Tx


def add(
    tx: Tx, project: int, *, name: str, uri: str, description: str | None, mime_type: str, content: str | bytes
) -> bool:
    """Insert a resource, unless its name or its URI is taken; says whether it was inserted."""
    sql = """
        insert into resources
            (id, project, name, uri, description, mime_type, content, data, created_at, updated_at)
        values (:id, :project, :name, :uri, :description, :mime_type, :content, :data, :now, :now)
        on conflict do nothing returning number
    """
    text, data = _columns(content)
    row = tx.one(
        sql,
        id=tx.new_id(),
        project=project,
        name=name,
        uri=uri,
        description=description,
        mime_type=mime_type,
        content=text,
        data=data,
        now=tx.now,
    )
    return row is not None


def by_name(tx: Tx, project: int, name: str) -> Resource | None:
    """The resource of that name, whole."""
    sql = """
        select number, id, name, uri, description, mime_type, created_at, updated_at, version, 0, content, data
        from resources where project = :project and name = :name
    """
    return _resource(tx.one(sql, project=project, name=name))


def by_uri(tx: Tx, project: int, uri: str) -> Resource | None:
    """The resource with that URI, whole."""
    sql = """
        select number, id, name, uri, description, mime_type, created_at, updated_at, version, 0, content, data
        from resources where project = :project and uri = :uri
    """
    return _resource(tx.one(sql, project=project, uri=uri))


def listed(tx: Tx, project: int) -> list[Resource]:
    """Every resource without its content, in order of creation."""
    sql = """
        select number, id, name, uri, description, mime_type, created_at, updated_at, version,
            coalesce(octet_length(content), octet_length(data)), null, null
        from resources where project = :project order by number
    """
    return [resource for row in tx.all(sql, project=project) if (resource := _resource(row))]


def behind(tx: Tx, project: int, *, after: int, limit: int) -> list[Resource]:
    """The resources behind a number without their content, in order of creation."""
    sql = """
        select number, id, name, uri, description, mime_type, created_at, updated_at, version,
            coalesce(octet_length(content), octet_length(data)), null, null
        from resources where project = :project and number > :after order by number limit :limit
    """
    rows = tx.all(sql, project=project, after=after, limit=limit)
    return [resource for row in rows if (resource := _resource(row))]


def beside(tx: Tx, project: int, text: str, limit: int) -> list[tuple[str, str]]:
    """Names and URIs of the resources that stand before and behind a text in the order of either."""
    statements = (
        """
        select name, uri from resources where project = :project and name < :text order by name desc limit :limit
        """,
        """
        select name, uri from resources where project = :project and name >= :text order by name limit :limit
        """,
        """
        select name, uri from resources where project = :project and uri < :text order by uri desc limit :limit
        """,
        """
        select name, uri from resources where project = :project and uri >= :text order by uri limit :limit
        """,
    )
    found: dict[str, str] = {}
    for sql in statements:
        found.update(tx.all(sql, project=project, text=text, limit=limit))
    return list(found.items())


def update(
    tx: Tx,
    project: int,
    seen: Resource,
    *,
    mime_type: str,
    description: str | UnsetType | None = UNSET,
    content: str | bytes | UnsetType = UNSET,
    version: int | None = None,
) -> bool:
    """Change what is given of a resource, if it still has the MIME type that was seen, and the version that is given.

    Says whether it had.
    """
    sql = """
        update resources set
            mime_type = :mime_type,
            description = case when :has_description then :description else description end,
            content = case when :has_content then :content else content end,
            data = case when :has_content then :data else data end,
            updated_at = :now,
            version = version + 1
        where project = :project and id = :id and mime_type = :seen and (:any_version or version = :version)
            and updated_at < :now
        returning number
    """
    last = """
        select updated_at from resources
        where project = :project and id = :id and mime_type = :seen and (:any_version or version = :version)
    """
    text, data = (None, None) if content is UNSET else _columns(content)
    row = tx.renew(
        sql,
        last,
        project=project,
        id=seen.id,
        seen=seen.mime_type,
        mime_type=mime_type,
        has_description=description is not UNSET,
        description=None if description is UNSET else description,
        has_content=content is not UNSET,
        content=text,
        data=data,
        any_version=version is None,
        version=version,
    )
    return row is not None


def delete(tx: Tx, project: int, name: str) -> str | None:
    """Remove a resource; its URI, or None where it was not there."""
    sql = "delete from resources where project = :project and name = :name returning uri"
    row = tx.one(sql, project=project, name=name)
    return row[0] if row else None


def _columns(content: str | bytes) -> tuple[str | None, bytes | None]:
    return (content, None) if isinstance(content, str) else (None, content)


def _resource(row: Row | None) -> Resource | None:
    if row is None:
        return None
    number, id, name, uri, description, mime_type, created_at, updated_at, version, size, text, data = row
    content = bytes(data) if data is not None else text
    if content is not None:
        size = len(content) if isinstance(content, bytes) else len(content.encode())
    return Resource(
        number=number,
        id=id,
        name=name,
        uri=uri,
        description=description,
        mime_type=mime_type,
        created_at=created_at,
        updated_at=updated_at,
        version=version,
        size=size,
        content=content,
    )
