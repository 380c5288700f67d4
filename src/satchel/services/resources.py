"""Rules and use cases of resources: named documents with a URI, text or bytes as their MIME type says."""

from collections.abc import Callable

from satchel.errors import NotFound, Taken, WrongArgument
from satchel.model import UNSET, Changed, Resource, Scope, UnsetType
from satchel.services import rules
from satchel.services.projects import current
from satchel.storage import resources as rows
from satchel.storage.database import Tx, Violation

# Gives the content once the MIME type is known: text for a text type, bytes for any other.
Content = Callable[[str], str | bytes]


def add(
    tx: Tx,
    scope: Scope,
    *,
    name: str,
    uri: str,
    content: Content,
    mime_type: str = "text/plain",
    description: str | None = None,
) -> Resource:
    """Keep a new resource.

    Raises:
        WrongArgument: name, URI, MIME type or content cannot be such.
        Taken: another resource of the project has this name or this URI.
    """
    rules.check_name("resource", name)
    rules.check_uri(uri)
    rules.check_mime_type(mime_type)
    given = _checked(content, mime_type)
    project = current(tx, scope).number
    try:
        is_added = rows.add(
            tx, project, name=name, uri=uri, description=description or None, mime_type=mime_type, content=given
        )
    except Violation as violation:
        # The project was deleted between our looking and our writing.
        raise NotFound("project", scope.project, scope) from violation
    if not is_added:
        holder = None if rows.by_name(tx, project, name) else rows.by_uri(tx, project, uri)
        if holder is not None:
            raise Taken("resource", "uri", uri, scope, holder=holder.name)
        raise Taken("resource", "name", name, scope)
    _tell(tx, project, uri)
    return named(tx, scope, name)


def named(tx: Tx, scope: Scope, name: str) -> Resource:
    """The resource of that name, whole.

    Raises:
        NotFound: the project has no such resource.
    """
    resource = rows.by_name(tx, current(tx, scope).number, name)
    if resource is None:
        raise NotFound("resource", name, scope)
    return resource


def read(tx: Tx, scope: Scope, uri: str) -> Resource:
    """The resource with that URI, whole.

    Raises:
        NotFound: the project has no such resource.
    """
    resource = rows.by_uri(tx, current(tx, scope).number, uri)
    if resource is None:
        raise NotFound("resource", uri, scope)
    return resource


def listed(tx: Tx, scope: Scope) -> list[Resource]:
    """Every resource of the project without its content, in order of creation."""
    return rows.listed(tx, current(tx, scope).number)


def update(
    tx: Tx,
    scope: Scope,
    name: str,
    *,
    content: Content | UnsetType = UNSET,
    mime_type: str | UnsetType = UNSET,
    description: str | UnsetType | None = UNSET,
) -> Resource:
    """Change what is given of a resource.

    Raises:
        WrongArgument: what is given cannot be such, or the MIME type turns text into bytes without new content.
        NotFound: the project has no such resource.
    """
    rules.check_name("resource", name)
    if mime_type is not UNSET:
        rules.check_mime_type(mime_type)
        if content is not UNSET:
            _checked(content, mime_type)  # what can be told without a look at the resource is told first
    project = current(tx, scope).number
    while True:
        seen = named(tx, scope, name)
        becomes = seen.mime_type if mime_type is UNSET else mime_type
        if content is UNSET:
            _check_border(seen.mime_type, becomes)
        given = UNSET if content is UNSET else _checked(content, becomes)
        cleaned = description if description is UNSET else description or None
        if rows.update(tx, project, seen, mime_type=becomes, description=cleaned, content=given):
            _tell(tx, project, seen.uri)
            return named(tx, scope, name)
        # Somebody changed its type or removed it since we looked: look again.


def delete(tx: Tx, scope: Scope, name: str) -> None:
    """Remove a resource for good.

    Raises:
        NotFound: the project has no such resource.
    """
    rules.check_name("resource", name)
    project = current(tx, scope).number
    uri = rows.delete(tx, project, name)
    if uri is None:
        raise NotFound("resource", name, scope)
    _tell(tx, project, uri)


def _tell(tx: Tx, project: int, uri: str) -> None:
    tx.changed(Changed("resources", project))  # lists tell the size
    tx.changed(Changed("resource", project, key=uri))


def _checked(content: Content, mime_type: str) -> str | bytes:
    given = content(mime_type)
    rules.check_size("resource", given)
    return given


def _check_border(before: str, after: str) -> None:
    kinds = {True: "text", False: "binary"}
    was, becomes = (kinds[rules.is_text(mime_type)] for mime_type in (before, after))
    if was != becomes:
        raise WrongArgument("content", "dependentRequired", limit=(was, becomes), kind="resource")
