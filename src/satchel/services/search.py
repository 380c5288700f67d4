"""Finds prompts, documents and tasks by words, or by a literal text, the best first."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from satchel.errors import WrongArgument
from satchel.model import PromptQuery, Scope, TaskFilter, TaskQuery, uri_of
from satchel.services import layers, projects, rules, search_lines, search_ranking, tasks
from satchel.services.search_query import Term
from satchel.services.search_ranking import RankedItem
from satchel.storage import projects as project_rows
from satchel.storage import search as rows
from satchel.storage import search_texts as texts
from satchel.storage.database import Tx
from satchel.storage.search import FoundKind, IndexedItem, Place
from satchel.storage.search_text import make_key
from satchel.storage.search_texts import FoundText
from satchel.storage.search_words import ItemText, make_words

KINDS: Final[tuple[FoundKind, ...]] = ("prompt", "document", "task")

_BATCH = 10  # documents that are read at once for a literal text, because each may have 4 MiB
_MOST_DOCUMENTS = 2000
_CLOSED = 0.9  # of its score has a closed task
_STATUSES: Final[tuple[TaskFilter, ...]] = ("pending", "completed", "cancelled")  # in the order of literal hits


class SearchQuery(Struct, frozen=True, kw_only=True):
    """What is searched for, and where."""

    text: str  # in double quotes: literally
    kinds: Sequence[FoundKind] = KINDS
    has_project: bool = False  # named by the caller, so that tasks are those of the project only
    limit: int = 10
    offset: int = 0


class LibraryText(Struct, frozen=True):
    """A prompt of a library, which is not in the store."""

    name: str
    description: str
    text: str


class Hit(Struct, frozen=True, kw_only=True):
    """An item that was found."""

    kind: FoundKind
    reference: str
    title: str
    status: str = "pending"  # of a task
    layer: str = ""  # the personal project, where it is from there
    line: int | None = None  # of the text, where the best match is in it
    text: str = ""


def search(tx: Tx, scope: Scope, query: SearchQuery, libraries: Sequence[LibraryText] = ()) -> tuple[list[Hit], bool]:
    """The best hits from an offset on, and whether there are more.

    Raises:
        WrongArgument: there is nothing to search for.
        NotFound, Forbidden: as `projects.current`.
    """
    text = query.text.strip()
    literal = _read_literal(text)
    if not text or literal == "":
        raise WrongArgument("query", "minLength", limit=1, value=query.text)
    where = _find_layers(tx, scope)
    libraries = libraries if "prompt" in query.kinds else ()
    if literal is not None:
        return _search_literally(tx, scope, where, query, literal, libraries)
    rules.check_text("query", text)
    spaces, last = _find_spaces(tx, scope, query, where)
    if not spaces and not last and not libraries:
        return [], False
    where = replace(where, spaces=last)
    others = [_index(place, one) for place, one in enumerate(libraries)]
    found = search_ranking.rank(tx, spaces, text, others, last)
    items = _drop_shadowed(tx, where, found.items)
    end = query.offset + query.limit
    ranked = _put_open_first(tx, items)[query.offset : end]
    return _describe(tx, scope, where, ranked, found.terms, libraries), len(items) > end


class _Layers(Struct, frozen=True):
    """The numbers of the project that is searched and of the personal one, which may be absent."""

    upper: int
    lower: int | None
    name: str  # of the lower one
    spaces: frozenset[int] = frozenset()  # of the lower one, where words are searched for

    @property
    def numbers(self) -> list[int]:
        return [self.upper] if self.lower is None else [self.upper, self.lower]


def _find_layers(tx: Tx, scope: Scope) -> _Layers:
    upper, lower = projects.current(tx, scope).number, layers.find_personal(tx, scope)
    return _Layers(upper, None if lower is None else projects.current(tx, lower).number, scope.personal)


def _read_literal(text: str) -> str | None:
    """What a query in double quotes asks for; None where it is not in quotes."""
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] == '"' else None


def _find_spaces(tx: Tx, scope: Scope, query: SearchQuery, where: _Layers) -> tuple[list[int], frozenset[int]]:
    """The spaces that a search reads, and no others, and those of the personal project among them."""
    places = [Place(kind, where.upper) for kind in ("prompt", "document") if kind in query.kinds]
    if "task" in query.kinds and scope.user is not None and query.has_project:
        places.append(Place("task", where.upper, scope.user))
    spaces = [space for place in places if (space := rows.find_space(tx, place)) is not None]
    if "task" in query.kinds and scope.user is not None and not query.has_project:
        spaces += rows.task_spaces(tx, scope.user, scope.projects)
    places = [Place(kind, where.lower) for kind in ("prompt", "document") if where.lower and kind in query.kinds]
    last = [space for place in places if (space := rows.find_space(tx, place)) is not None]
    return [*spaces, *last], frozenset(last)


def _drop_shadowed(tx: Tx, where: _Layers, found: Sequence[RankedItem]) -> Sequence[RankedItem]:
    """What was found, without items of the personal project whose names are those of the project itself."""
    shadowed: set[tuple[FoundKind, int]] = set()
    for kind in KINDS:
        numbers = [one.item.item for one in found if one.item.kind == kind and one.item.space in where.spaces]
        if numbers and kind != "task":
            shadowed |= {(kind, number) for number in project_rows.find_shadowed(tx, kind, where.upper, numbers)}
    return [one for one in found if (one.item.kind, one.item.item) not in shadowed] if shadowed else found


def _index(place: int, one: LibraryText) -> IndexedItem:
    """A prompt of a library as the index would know it; its number says which it is."""
    text = ItemText(title=one.name, description=one.description, text=one.text)
    return IndexedItem(-1 - place, "prompt", -1 - place, make_key(one.name), "", make_words(text))


def _put_open_first(tx: Tx, found: Sequence[RankedItem]) -> list[IndexedItem]:
    """The items in their order, but closed tasks after open ones that have the words as well."""
    numbers = [one.item.item for one in found if one.item.kind == "task"]
    closed = texts.keep_closed(tx, numbers) if numbers else set()
    weights = {True: _CLOSED, False: 1.0}
    ranked = sorted(found, key=lambda one: -one.score * weights[one.item.kind == "task" and one.item.item in closed])
    return [one.item for one in ranked]


def _read_statuses(tx: Tx, scope: Scope, numbers: Sequence[int]) -> dict[int, str]:
    """The status of some tasks, by number."""
    return {task.number: task.status for task in tasks.list_some(tx, scope, numbers)} if numbers else {}


def _describe(
    tx: Tx,
    scope: Scope,
    where: _Layers,
    items: Sequence[IndexedItem],
    terms: Sequence[Term],
    libraries: Sequence[LibraryText],
) -> list[Hit]:
    """Items as hits, with the lines that show best why."""
    found: dict[tuple[FoundKind, int], FoundText] = {}
    for kind in KINDS:
        numbers = [item.item for item in items if item.kind == kind and item.item > 0]
        if numbers:
            texts_found = texts.read_texts(tx, kind, numbers, scope.user or "", scope.projects)
            found |= {(kind, one.number): one for one in texts_found}
    for item in items:
        if item.item < 0:
            one = libraries[-1 - item.item]
            found["prompt", item.item] = FoundText(item.item, one.name, one.name, one.description, one.text)
    shared = texts.names_of_both(tx, where.numbers, [one.name for one in found.values() if one.name])
    statuses = _read_statuses(tx, scope, [number for kind, number in found if kind == "task"])
    hits = []
    for item in items:
        text = found.get((item.kind, item.item))
        if text is not None:  # a task that the index has, but the caller may not see any more
            line = search_lines.find_line(text.text, terms)
            if item.space in where.spaces:
                text = replace(text, layer=where.name)
            hit = _make_hit(item.kind, text, line, is_shared=text.name in shared)
            hits.append(_add_status(hit, text.number, statuses))
    return hits


def _make_hit(kind: FoundKind, one: FoundText, line: tuple[int, str] | None, *, is_shared: bool = False) -> Hit:
    reference = f"#{one.number}" if kind == "task" else one.name
    if is_shared:
        reference = uri_of(kind, one.name)
    number, text = (None, search_lines.show_start(one.description or one.text)) if line is None else line
    return Hit(kind=kind, reference=reference, title=one.title, layer=one.layer, line=number, text=text)


def _add_status(hit: Hit, number: int, statuses: dict[int, str]) -> Hit:
    return replace(hit, status=statuses.get(number, "pending")) if hit.kind == "task" else hit


# -- literal texts ----------------------------------------------------------------------------------------------


def _search_literally(
    tx: Tx, scope: Scope, where: _Layers, query: SearchQuery, literal: str, libraries: Sequence[LibraryText]
) -> tuple[list[Hit], bool]:
    """Items with a text literally, in any case: prompts and documents, the newest first; then tasks, the open first."""
    folded = rules.fold_query(literal)
    wanted = query.offset + query.limit + 1
    found: list[tuple[FoundKind, FoundText]] = []
    if "prompt" in query.kinds:
        asked_prompts = PromptQuery(text=literal)
        page, _ = layers.list_prompts(tx, scope, asked_prompts, limit=wanted, after=layers.Position())
        personal = {one.number for one in page if one.layer}
        found += [
            (kind, replace(one, layer=where.name) if one.number in personal else one)
            for kind, one in _read_in_order(tx, scope, "prompt", [one.number for one in page])
        ]
        found += [
            ("prompt", FoundText(0, one.name, one.name, one.description, one.text))
            for one in libraries
            if folded in f"{one.name}\n{one.description}\n{one.text}".casefold()
        ]
    if "document" in query.kinds and len(found) < wanted:
        found += [("document", one) for one in _scan_layers(tx, where, folded, wanted - len(found))]
    if "task" in query.kinds and scope.user is not None and len(found) < wanted:
        for status in _STATUSES:
            asked = TaskQuery(text=literal, filter=status, project=scope.project if query.has_project else None)
            if len(found) < wanted:
                listed, _ = tasks.list_page(tx, scope, asked, limit=wanted - len(found))
                found += _read_in_order(tx, scope, "task", [one.number for one in listed])
    page_of = found[query.offset : wanted - 1]
    shared = texts.names_of_both(tx, where.numbers, [one.name for _, one in page_of if one.name])
    statuses = _read_statuses(tx, scope, [one.number for kind, one in page_of if kind == "task"])
    hits = []
    for kind, one in page_of:
        line = search_lines.find_literal_line(one.text, folded)
        hits.append(_add_status(_make_hit(kind, one, line, is_shared=one.name in shared), one.number, statuses))
    return hits, len(found) >= wanted


def _read_in_order(tx: Tx, scope: Scope, kind: FoundKind, numbers: Sequence[int]) -> list[tuple[FoundKind, FoundText]]:
    found = {one.number: one for one in texts.read_texts(tx, kind, numbers, scope.user or "", scope.projects)}
    return [(kind, found[number]) for number in numbers if number in found]


def _scan_layers(tx: Tx, where: _Layers, folded: str, wanted: int) -> list[FoundText]:
    """The newest documents with a text in name, description or content, those of the personal project last.

    Only so many documents are read.
    """
    hits: list[FoundText] = []
    seen = 0
    for project in where.numbers:
        before, has_more = 2**62, True
        while has_more and seen < _MOST_DOCUMENTS and len(hits) < wanted:
            batch = texts.read_documents(tx, project, before, _BATCH)
            found = [one for one in batch if folded in f"{one.name}\n{one.description or ''}\n{one.text}".casefold()]
            if project == where.lower:
                shadowed = project_rows.find_shadowed(tx, "document", where.upper, [one.number for one in found])
                found = [replace(one, layer=where.name) for one in found if one.number not in shadowed]
            hits += found
            seen, has_more = seen + len(batch), len(batch) == _BATCH
            before = batch[-1].number if batch else before
    return hits[:wanted]
