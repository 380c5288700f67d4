"""The personal layer: every project also reads the items of the personal project, after its own.

If both have an item of the same name, the project's own item is used. A change finds items in the project itself only,
without the layer. An item that neither project has is NotFound.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from satchel import clock
from satchel.errors import AmbiguousItem, LabelMissing, NotFound, WrongArgument
from satchel.model import (
    Document,
    Item,
    Outdated,
    Prompt,
    PromptHeader,
    PromptQuery,
    PromptSummary,
    Scope,
    TagCount,
    uri_of,
)
from satchel.services import documents, lookup, projects, prompts, rules
from satchel.storage import documents as document_rows
from satchel.storage import projects as project_rows
from satchel.storage import prompts as prompt_rows
from satchel.storage import search as search_rows
from satchel.storage.database import Tx
from satchel.storage.projects import LayeredKind

Listed = TypeVar("Listed", bound=PromptHeader | PromptSummary | Document)
Key = tuple[str, str]  # a column, and the value to look for

KINDS: tuple[LayeredKind, ...] = ("prompt", "document")

_LARGEST_BATCH = 1000  # how many items to read at once if most names are in both projects


class Position(Struct, frozen=True):
    """The item after which a page begins, in a project's own list or in the personal one."""

    key: Any = None  # None: at the beginning
    is_personal: bool = False


def enter_personal(scope: Scope) -> Scope | None:
    """Return the scope of the personal project that the call's project reads, too; None if the caller may not."""
    is_open = scope.projects is None or scope.personal in scope.projects
    if not scope.personal or scope.personal == scope.project or not is_open:
        return None
    return replace(scope, project=scope.personal, personal="", makes="")


def find_personal(tx: Tx, scope: Scope) -> Scope | None:
    """Return the scope of the personal project that the call's project reads, too; None if that does not exist."""
    lower = enter_personal(scope)
    return lower if lower is not None and project_rows.by_name(tx, lower.project) is not None else None


# -- one item ---------------------------------------------------------------------------------------------------


_ROWS: dict[LayeredKind, Callable[[Tx, str, Any, str], Any]] = {
    "prompt": prompt_rows.find,
    "document": document_rows.find,
}


def find_prompt(tx: Tx, scope: Scope, reference: str, *, to_change: bool = False) -> Prompt:
    """Find a prompt by id, name or title, or by an unambiguous other spelling, in the project or the personal one.

    A name takes precedence over a title, and both over another spelling, so every listed item is found by its name.
    NAME@LABEL is the version with that label; it cannot be changed.
    """
    text = lookup.without_scheme("prompt", reference)
    name, _, label = text.rpartition("@")
    if name and label and not to_change:
        return _find_labelled(tx, scope, reference, text)
    found: Prompt = _find(tx, scope, "prompt", reference, _list_rounds(text), alike=text, to_change=to_change)
    return found


def _list_rounds(text: str) -> list[list[Key]]:
    id = clock.parse_id(text)
    names: list[Key] = [*([] if id is None else [("id", id)]), ("name", text)]
    return [names, [("title", text)]]


def enter_layer(scope: Scope, prompt: Prompt) -> Scope:
    """Return the scope of the project that a prompt is in: the call's, or the personal one."""
    return (enter_personal(scope) or scope) if prompt.layer else scope


def _find_labelled(tx: Tx, scope: Scope, reference: str, text: str) -> Prompt:
    """Find a prompt by a text with @: its exact title, else NAME@LABEL, else another spelling of its title."""
    found: Prompt
    with suppress(NotFound):
        found = _find(tx, scope, "prompt", reference, _list_rounds(text))
        return found
    name, _, label = text.rpartition("@")
    try:
        found = _find(tx, scope, "prompt", name, _list_rounds(name), alike=name)
        return prompts.read_labelled(tx, enter_layer(scope, found), found, label)
    except (NotFound, LabelMissing) as error:
        unlabelled = error
    try:
        found = _find(tx, scope, "prompt", reference, _list_rounds(text), alike=text)
    except NotFound as missing:
        raise (unlabelled if isinstance(unlabelled, LabelMissing) else missing) from None
    return found


def find_document(tx: Tx, scope: Scope, reference: str, *, to_change: bool = False) -> Document:
    """Find a document by name or URI, or by an unambiguous other spelling, in the project or the personal one.

    `satchel://resource/NAME` means the document with that name; if there is none, the document with that URI.
    """
    name = lookup.without_scheme("document", reference)
    keys: list[Key] = [("name", name), ("uri", reference.strip())]
    found: Document = _find(tx, scope, "document", reference, [keys], alike=name, to_change=to_change)
    return found


def find_replacement(
    tx: Tx, scope: Scope, item: Prompt | Document, reference: str | UnsetType | None
) -> str | UnsetType | None:
    """Return the name of the prompt or document that replaces an item of the same kind; its link in another project.

    UNSET and None are returned unchanged. A replacement that is set already stays valid, even if it no longer exists.

    Raises:
        WrongArgument: the reference names the item itself.
    """
    if not reference or reference.strip() == item.replaced_by:
        return reference and item.replaced_by
    kind: LayeredKind = "prompt" if isinstance(item, Prompt) else "document"
    find = find_prompt if kind == "prompt" else find_document
    project, reference = lookup.split_project(reference)
    there = projects.enter(scope, project) if project else scope
    found: Prompt | Document = find(tx, there, reference, to_change=True)
    if found.number == item.number:
        raise WrongArgument("replaced_by", "not", value=found.name, kind=kind)
    return found.name if there.project == scope.project else uri_of(kind, found.name, there.project)


def list_outdated(tx: Tx, scope: Scope, kinds: Sequence[LayeredKind], limit: int) -> list[Outdated]:
    """Return the project's items of these kinds that are expired or replaced, the last ones first."""
    return search_rows.list_outdated(tx, projects.current(tx, scope).number, kinds, limit)


def get_document_by_uri(tx: Tx, scope: Scope, uri: str) -> Document:
    """Return the document with a URI from the project or, if it has none, from the personal project."""
    found: Document = _find(tx, scope, "document", uri, [[("uri", uri)]])
    return found


def has_personal(tx: Tx, scope: Scope, kind: LayeredKind, name: str) -> bool:
    """Return whether the personal project has this prompt or document, and the call's project does not hide it."""
    lower = enter_personal(scope)
    return lower is not None and _look(tx, scope, lower, kind, [("name", name)]) is not None


def _find(
    tx: Tx,
    scope: Scope,
    kind: LayeredKind,
    reference: str,
    rounds: Sequence[Sequence[Key]],
    *,
    alike: str = "",
    to_change: bool = False,
) -> Any:
    """Try each round of keys in the project, then in the personal one; return the first item found.

    The last round matches other spellings of `alike`, if only one item does. With `to_change`, the item must be
    in the project itself.
    """
    projects.check_access(scope)
    lower = None if to_change else enter_personal(scope)
    for keys in (*rounds, None):
        for place in [scope] if lower is None else [scope, lower]:
            found = _look(tx, scope, place, kind, _list_alike(tx, place, kind, alike) if keys is None else keys)
            if found is not None:
                return found
    projects.current(tx, scope)  # raises if the project itself does not exist
    raise NotFound(kind, reference, scope)


def _list_alike(tx: Tx, place: Scope, kind: LayeredKind, text: str) -> list[Key]:
    """Return the key of the only item whose name is another spelling of a text; empty if there is none, or several."""
    numbers = lookup.find_alike(tx, place, kind, text) if text else []
    return [("number", str(numbers[0]))] if len(numbers) == 1 else []


def _look(tx: Tx, scope: Scope, place: Scope, kind: LayeredKind, keys: Sequence[Key]) -> Any:
    """Return the item for the first of the keys that matches in `place`: the call's project, or the personal one.

    Return None if there is none, or if the call's project hides it.
    """
    pairs = [(column, key) for column, key in keys if rules.is_storable(key) and rules.is_storable(place.project)]
    found = next((one for column, key in pairs if (one := _ROWS[kind](tx, place.project, column, key))), None)
    if found is None or place is scope:
        return found
    upper = projects.current(tx, scope).number
    return None if project_rows.find_shadowed(tx, kind, upper, [found.number]) else replace(found, layer=place.project)


def find_missing(tx: Tx, missing: NotFound) -> Item | None:
    """Return the missing prompt or document if the personal project has it."""
    lower = enter_personal(missing.scope)
    names_project = bool(lookup.split_project(missing.key)[0])
    if lower is None or names_project or missing.kind not in ("prompt", "document", "item"):
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
    return _list(tx, scope, "prompt", partial(prompts.list_page, query=query), limit, after)


def list_headers(tx: Tx, scope: Scope, *, limit: int, after: Position) -> tuple[tuple[PromptHeader, ...], bool]:
    """List prompts as `prompts.list_headers` does, then those of the personal project."""
    return _list(tx, scope, "prompt", prompts.list_headers, limit, after)


def list_documents(
    tx: Tx, scope: Scope, query: str = "", *, limit: int, after: Position
) -> tuple[tuple[Document, ...], bool]:
    """List documents as `documents.list_page` does, then those of the personal project."""
    return _list(tx, scope, "document", partial(documents.list_page, query=query), limit, after)


def list_all_documents(tx: Tx, scope: Scope, *, limit: int, after: Position) -> tuple[tuple[Document, ...], bool]:
    """List documents as `list_documents` does, and those that the project hides, with their links."""
    return _list(tx, scope, "document", documents.list_page, limit, after, has_hidden=True)


def position_of(one: PromptHeader | PromptSummary | Document) -> Position:
    """Return the position of an item in its list; the next page starts after it."""
    key = prompts.position_of(one) if isinstance(one, PromptSummary) else one.number
    return Position(key, is_personal=bool(one.layer))


def _list(
    tx: Tx,
    scope: Scope,
    kind: LayeredKind,
    read: Callable[..., tuple[tuple[Listed, ...], bool]],
    limit: int,
    after: Position,
    *,
    has_hidden: bool = False,
) -> tuple[tuple[Listed, ...], bool]:
    """Return a page, which may begin in the project's list and end in the personal one, and whether there are more.

    `has_hidden` adds the documents that the project hides; their URIs are their links.
    """
    own: tuple[Listed, ...] = ()
    has_more = False
    if after.is_personal:
        projects.current(tx, scope)  # the project may have been deleted since the last page
    else:
        own, has_more = read(tx, scope, limit=limit, **_start_after(after.key))
    lower = None if has_more else find_personal(tx, scope)
    if lower is None:
        return own, has_more
    upper = projects.current(tx, scope).number
    wanted = limit - len(own)
    kept: list[Listed] = []
    key, size, is_over = after.key if after.is_personal else None, wanted + 1, False
    while not is_over and len(kept) <= wanted:
        batch, goes_on = read(tx, lower, limit=size, **_start_after(key))
        shadowed = project_rows.find_shadowed(tx, kind, upper, [one.number for one in batch])
        for one in batch:
            if one.number not in shadowed:
                kept.append(replace(one, layer=lower.project))
            elif has_hidden:
                kept.append(replace(one, layer=lower.project, uri=uri_of(kind, one.name, lower.project)))
        key = position_of(batch[-1]).key if batch else key
        size, is_over = min(4 * size, _LARGEST_BATCH), not goes_on
    return (*own, *kept[:wanted]), len(kept) > wanted


def _start_after(key: Any) -> dict[str, Any]:
    """Return the arguments that make a query start after a position; for the first page, none."""
    return {} if key is None else {"after": key}


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


# -- unknown names ----------------------------------------------------------------------------------------------


def suggest(tx: Tx, scope: Scope, kind: LayeredKind, reference: str, *, by_words: bool = True) -> list[tuple[str, str]]:
    """Suggest name and title of up to three items similar to a mistyped one, the project's before personal ones."""
    lower = find_personal(tx, scope)
    places = [scope] if lower is None else [scope, lower]
    found = [one for place in places for one in lookup.suggest(tx, place, kind, reference, by_words=by_words)]
    return list({name: (name, title or name) for _, name, title in reversed(found)}.values())[::-1][:3]
