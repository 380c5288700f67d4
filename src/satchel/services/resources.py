"""Rules and use cases of resources: named documents with a URI, text or bytes as their MIME type says."""

from collections.abc import Callable

from satchel.errors import NotFound, Taken, VersionConflict, WrongArgument
from satchel.model import UNSET, Resource, Scope, StoreChange, UnsetType
from satchel.services import rules
from satchel.services.projects import current
from satchel.services.suggestions import closest_names
from satchel.storage import resources as rows
from satchel.storage.database import Tx, Violation

# Gives the content once the MIME type is known: text for a text type, bytes for any other.
Content = Callable[[str], str | bytes]

_NEIGHBOURS = 60  # on either side of a mistyped name
_BATCH = 500  # of those that are looked through for a text


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
    tx.changed(StoreChange("project", scope.project))
    _tell(tx, scope, uri)
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


def page(
    tx: Tx, scope: Scope, *, query: str | None = None, limit: int, after: int = 0
) -> tuple[tuple[Resource, ...], bool]:
    """The resources behind a number without their content, in order of creation, and whether there are more.

    The query is literal text in name, URI or description, whatever its case.
    """
    project = current(tx, scope).number
    if not query:
        found = rows.behind(tx, project, after=after, limit=limit + 1)
        return tuple(found[:limit]), len(found) > limit
    folded = query.casefold()
    hits: list[Resource] = []
    while len(hits) <= limit:
        batch = rows.behind(tx, project, after=after, limit=_BATCH)
        hits += [one for one in batch if folded in f"{one.name}\n{one.uri}\n{one.description or ''}".casefold()]
        if len(batch) < _BATCH:
            break
        after = batch[-1].number
    return tuple(hits[:limit]), len(hits) > limit


def find(tx: Tx, scope: Scope, reference: str) -> Resource:
    """The resource that a person means, whole: by name, else by URI.

    Raises:
        NotFound: the project has no such resource.
    """
    project = current(tx, scope).number
    text = reference.strip()
    resource = rows.by_name(tx, project, text) or rows.by_uri(tx, project, text)
    if resource is None:
        raise NotFound("resource", reference, scope)
    return resource


def near(tx: Tx, scope: Scope, reference: str) -> tuple[str, ...]:
    """The names of up to three resources that somebody may have meant."""
    known = rows.beside(tx, current(tx, scope).number, reference.strip(), _NEIGHBOURS)
    called = {uri: name for name, uri in known} | {name: name for name, _ in known}
    return tuple(dict.fromkeys(called[one] for one in closest_names(reference.strip(), called, 6)))[:3]


def update(
    tx: Tx,
    scope: Scope,
    name: str,
    *,
    content: Content | UnsetType = UNSET,
    mime_type: str | UnsetType = UNSET,
    description: str | UnsetType | None = UNSET,
    expected_version: int | None = None,
) -> Resource:
    """Change what is given of a resource.

    Raises:
        WrongArgument: what is given cannot be such, or the MIME type turns text into bytes without new content.
        NotFound: the project has no such resource.
        VersionConflict: the resource has not the version that is expected.
    """
    rules.check_name("resource", name)
    if mime_type is not UNSET:
        rules.check_mime_type(mime_type)
        if content is not UNSET:
            _checked(content, mime_type)  # what can be told without a look at the resource is told first
    project = current(tx, scope).number
    while True:
        seen = named(tx, scope, name)
        if expected_version is not None and seen.version != expected_version:
            raise VersionConflict("resource", name, expected=expected_version, actual=seen.version)
        becomes = seen.mime_type if mime_type is UNSET else mime_type
        if content is UNSET:
            _check_border(seen.mime_type, becomes)
        given = UNSET if content is UNSET else _checked(content, becomes)
        cleaned = description if description is UNSET else description or None
        if rows.update(
            tx, project, seen, mime_type=becomes, description=cleaned, content=given, version=expected_version
        ):
            _tell(tx, scope, seen.uri)
            return named(tx, scope, name)
        # Somebody changed it or removed it since we looked: look again.


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
    tx.changed(StoreChange("project", scope.project))
    _tell(tx, scope, uri)


def _tell(tx: Tx, scope: Scope, uri: str) -> None:
    tx.changed(StoreChange("resources", scope.project))  # lists tell the size
    tx.changed(StoreChange("resource", scope.project, key=uri))


def _checked(content: Content, mime_type: str) -> str | bytes:
    given = content(mime_type)
    rules.check_size("resource", given)
    return given


def _check_border(before: str, after: str) -> None:
    kinds = {True: "text", False: "binary"}
    was, becomes = (kinds[rules.is_text(mime_type)] for mime_type in (before, after))
    if was != becomes:
        raise WrongArgument("content", "dependentRequired", limit=(was, becomes), kind="resource")
