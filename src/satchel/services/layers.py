"""The personal layer: every project also reads the items of the personal project, after its own.

If both have a name, the project's own item counts. Only reads come here; a change finds the item in its own project.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from satchel import clock
from satchel.errors import AmbiguousItem, NotFound
from satchel.model import Document, Item, Prompt, PromptHeader, PromptQuery, PromptSummary, Scope, TagCount
from satchel.services import documents, lookup, projects, prompts, rules
from satchel.storage import documents as document_rows
from satchel.storage import projects as project_rows
from satchel.storage import prompts as prompt_rows
from satchel.storage.database import Tx
from satchel.storage.projects import LayeredKind

Listed = TypeVar("Listed", bound=PromptHeader | PromptSummary | Document)
Key = tuple[str, str]  # a column, and what is looked for in it

_LARGEST_BATCH = 1000  # items that are read at once, where most names are in both projects


class Position(Struct, frozen=True):
    """The item after which a page begins, in a project's own list or in the personal one."""

    key: Any = None  # None: at the beginning
    is_personal: bool = False


def enter_personal(scope: Scope) -> Scope | None:
    """Return the scope of the personal project below the call's project, or None if the caller may not read it."""
    is_open = scope.projects is None or scope.personal in scope.projects
    if not scope.personal or scope.personal == scope.project or not is_open:
        return None
    return replace(scope, project=scope.personal, personal="", makes="")


def find_personal(tx: Tx, scope: Scope) -> Scope | None:
    """Return the scope of the personal project below the call's project if that project exists."""
    lower = enter_personal(scope)
    return lower if lower is not None and project_rows.by_name(tx, lower.project) is not None else None


# -- one item ---------------------------------------------------------------------------------------------------


class _Finder(Struct, frozen=True):
    """The look-ups of one kind of items."""

    kind: LayeredKind
    find: Callable[[Tx, str, Any, str], Any]  # the row of a project, given by name, with a key in a column
    find_exactly: Callable[[Tx, Scope, str], Any]
    find_alike: Callable[[Tx, Scope, str], Any]  # exactly, else in another spelling


_PROMPTS = _Finder("prompt", prompt_rows.find, prompts.find_exactly, prompts.find)
_DOCUMENTS = _Finder("document", document_rows.find, documents.find_exactly, documents.find)


def find_prompt(tx: Tx, scope: Scope, reference: str) -> Prompt:
    """Find a prompt as `prompts.find` does, in the project or else in the personal one.

    A name takes precedence over a title, and both over another spelling, so every listed item is found by its name.

    Raises:
        NotFound: neither has such a prompt.
    """
    lower = enter_personal(scope)
    if lower is None:
        return prompts.find(tx, scope, reference)
    projects.check_access(scope)
    text = lookup.without_scheme("prompt", reference)
    id = clock.parse_id(text)
    names: list[Key] = [*([] if id is None else [("id", id)]), ("name", text)]
    found = _look(tx, scope, _PROMPTS, names) or _look_below(tx, scope, lower, _PROMPTS, names)
    if found is None:
        found = _find(tx, scope, lower, _PROMPTS, reference, [("title", text)])
    assert isinstance(found, Prompt), "prompts are looked up"
    return found


def find_document(tx: Tx, scope: Scope, reference: str) -> Document:
    """Find a document as `documents.find` does, in the project or else in the personal one.

    Raises:
        NotFound: neither has such a document.
    """
    lower = enter_personal(scope)
    if lower is None:
        return documents.find(tx, scope, reference)
    keys: list[Key] = [("name", lookup.without_scheme("document", reference)), ("uri", reference.strip())]
    found = _find(tx, scope, lower, _DOCUMENTS, reference, keys)
    assert isinstance(found, Document), "documents are looked up"
    return found


def get_document_by_uri(tx: Tx, scope: Scope, uri: str) -> Document:
    """Return the document with a URI, from the project or else from the personal one.

    Raises:
        NotFound: neither has such a document.
    """
    try:
        return documents.get_by_uri(tx, scope, uri)
    except NotFound as missing:
        lower = enter_personal(scope) if missing.kind == "document" else None
        found = None if lower is None else _look_below(tx, scope, lower, _DOCUMENTS, [("uri", uri)])
        if not isinstance(found, Document):
            raise
    return found


def has_personal(tx: Tx, scope: Scope, kind: str, name: str) -> bool:
    """Return whether the personal project has a prompt or document of a name that the project does not shadow."""
    lower, finder = enter_personal(scope), _PROMPTS if kind == "prompt" else _DOCUMENTS
    return lower is not None and _look_below(tx, scope, lower, finder, [("name", name)]) is not None


def _find(tx: Tx, scope: Scope, lower: Scope, finder: _Finder, reference: str, keys: list[Key]) -> Any:
    """Find an item by its exact name in either project, else in another spelling; the upper project comes first."""
    text = lookup.without_scheme(finder.kind, reference)
    try:
        return finder.find_exactly(tx, scope, text if finder.kind == "prompt" else reference)
    except NotFound as missing:
        if missing.kind != finder.kind:
            raise
    found = _look_below(tx, scope, lower, finder, keys)
    if found is not None:
        return found
    try:
        return finder.find_alike(tx, scope, reference)
    except NotFound:
        numbers = lookup.find_alike(tx, lower, finder.kind, text)
        found = _look_below(tx, scope, lower, finder, [("number", str(one)) for one in numbers if not numbers[1:]])
        if found is None:
            raise
    return found


def _look(tx: Tx, scope: Scope, finder: _Finder, keys: list[Key]) -> Any:
    """Return the item of a project for the first key that matches; None without a match or a project."""
    if not rules.is_storable(scope.project):
        return None
    pairs = ((column, key) for column, key in keys if rules.is_storable(key))
    return next((found for column, key in pairs if (found := finder.find(tx, scope.project, column, key))), None)


def _look_below(tx: Tx, scope: Scope, lower: Scope, finder: _Finder, keys: list[Key]) -> Any:
    """Look in the personal project, which must exist, and skip what the project of the call shadows."""
    found = _look(tx, lower, finder, keys)
    if found is None or project_rows.find_shadowed(tx, finder.kind, projects.current(tx, scope).number, [found.number]):
        return None
    return replace(found, layer=lower.project)


def find_missing(tx: Tx, missing: NotFound) -> Item | None:
    """Return the prompt or document that a project lacks and only reads from the personal one, if any."""
    lower = enter_personal(missing.scope)
    if lower is None or missing.kind not in ("prompt", "document", "item"):
        return None
    try:
        found = lookup.find(tx, lower, missing.key)
    except (NotFound, AmbiguousItem):
        return None
    kinds = ("prompt", "document") if missing.kind == "item" else (missing.kind,)
    return found if not found.is_deleted and found.kind in kinds else None


# -- lists ------------------------------------------------------------------------------------------------------


def list_prompts(
    tx: Tx, scope: Scope, query: PromptQuery, *, limit: int, after: Position
) -> tuple[tuple[PromptSummary, ...], bool]:
    """List prompts as `prompts.list_page` does, then those of the personal project."""

    def read(where: Scope, limit: int, key: Any) -> tuple[tuple[PromptSummary, ...], bool]:
        return prompts.list_page(tx, where, query, limit=limit, after=key)

    return _list(tx, scope, "prompt", read, limit, after)


def list_headers(tx: Tx, scope: Scope, *, limit: int, after: Position) -> tuple[tuple[PromptHeader, ...], bool]:
    """List headers as `prompts.list_headers` does, then those of the personal project."""

    def read(where: Scope, limit: int, key: Any) -> tuple[tuple[PromptHeader, ...], bool]:
        return prompts.list_headers(tx, where, limit=limit, after=key or 0)

    return _list(tx, scope, "prompt", read, limit, after)


def list_documents(
    tx: Tx, scope: Scope, query: str = "", *, limit: int, after: Position
) -> tuple[tuple[Document, ...], bool]:
    """List documents as `documents.list_page` does, then those of the personal project."""

    def read(where: Scope, limit: int, key: Any) -> tuple[tuple[Document, ...], bool]:
        return documents.list_page(tx, where, query, limit=limit, after=key or 0)

    return _list(tx, scope, "document", read, limit, after)


def position_of(one: PromptHeader | PromptSummary | Document) -> Position:
    """Return the position of an item in its list, for the page after it."""
    key = prompts.position_of(one) if isinstance(one, PromptSummary) else one.number
    return Position(key, is_personal=bool(one.layer))


def _list(
    tx: Tx,
    scope: Scope,
    kind: LayeredKind,
    read: Callable[[Scope, int, Any], tuple[tuple[Listed, ...], bool]],
    limit: int,
    after: Position,
) -> tuple[tuple[Listed, ...], bool]:
    """Return a page that begins in one project and may end in the other, and whether there are more items."""
    own: tuple[Listed, ...] = ()
    has_more = False
    if after.is_personal:
        projects.current(tx, scope)  # which may have been deleted since the page before
    else:
        own, has_more = read(scope, limit, after.key)
    lower = None if has_more else find_personal(tx, scope)
    if lower is None:
        return own, has_more
    upper = projects.current(tx, scope).number
    wanted = limit - len(own)
    kept: list[Listed] = []
    key, size, is_over = after.key if after.is_personal else None, wanted + 1, False
    while not is_over and len(kept) <= wanted:
        batch, goes_on = read(lower, size, key)
        shadowed = project_rows.find_shadowed(tx, kind, upper, [one.number for one in batch])
        kept += [replace(one, layer=lower.project) for one in batch if one.number not in shadowed]
        key = position_of(batch[-1]).key if batch else key
        size, is_over = min(4 * size, _LARGEST_BATCH), not goes_on
    return (*own, *kept[:wanted]), len(kept) > wanted


def list_tags(tx: Tx, scope: Scope) -> list[TagCount]:
    """List the tags of the prompts of a project and its personal layer."""
    own, lower = prompts.list_tags(tx, scope), find_personal(tx, scope)
    if lower is None:
        return own
    counts = {tag.name: tag.prompts for tag in own}
    for tag in project_rows.count_visible_tags(
        tx, projects.current(tx, scope).number, projects.current(tx, lower).number
    ):
        counts[tag.name] = counts.get(tag.name, 0) + tag.prompts
    return [TagCount(name, counts[name]) for name in sorted(counts)]


# -- names that nothing has -------------------------------------------------------------------------------------


def suggest(tx: Tx, scope: Scope, look: Callable[[Tx, Scope, str], tuple[str, ...]], reference: str) -> tuple[str, ...]:
    """Suggest up to three names for a mistyped one: from the project, then from the personal one."""
    own, lower = look(tx, scope, reference), find_personal(tx, scope)
    more = () if lower is None else look(tx, lower, reference)
    return tuple(dict.fromkeys((*own, *more)))[:3]
