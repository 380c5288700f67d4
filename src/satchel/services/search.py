"""Finds prompts, documents and tasks by words or by a literal text, best ones first."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Final

from msgspec import Struct

from satchel.errors import WrongArgument
from satchel.model import PromptQuery, Scope, TaskFilter, TaskQuery, uri_of
from satchel.services import layers, projects, prompts, rules, search_ranking, tasks
from satchel.services.search_ranking import Alternative, RankedItem, Term
from satchel.storage import projects as project_rows
from satchel.storage import search as rows
from satchel.storage.database import Tx
from satchel.storage.search import KINDS, FoundKind, FoundText, IndexedItem
from satchel.storage.search_words import MAX_INDEXED, ItemText, fold, make_key, make_words

_BATCH = 10  # how many documents to read at once, because each may have 4 MiB
_MOST_DOCUMENTS = 2000
_CLOSED = 0.9  # the factor for the score of a closed task
_STATUSES: Final[tuple[TaskFilter, ...]] = ("pending", "completed", "cancelled")  # the order of literal hits
_WIDTH = 160  # characters of the line in a hit
_BEFORE = 50  # characters before the first match
_JOINING = "[-_.'’]?"  # may stand between the letters of a compound
_SHORTEST_COMPOUND = 6  # letters
_MOST_PLACES = 200  # places of one word to look at
_MOST_TERMS = 32  # terms of a query that choose the line of a hit
_MOST_COMPOUNDS = 4  # terms to look for as compounds, which takes a hundred times as long


class SearchQuery(Struct, frozen=True, kw_only=True):
    """The words, kinds and project of a search."""

    text: str  # in double quotes: literal text
    kinds: Sequence[FoundKind] = KINDS
    has_project: bool = False  # the caller named the project, so only its tasks are searched
    everywhere: Mapping[int, str] | None = None  # the names of all projects by number, to search all of them
    limit: int = 10
    offset: int = 0


class LibraryText(Struct, frozen=True):
    """A prompt of a library, which is not in the store."""

    name: str
    description: str
    text: str


class Hit(Struct, frozen=True, kw_only=True):
    """A found item."""

    kind: FoundKind
    reference: str
    title: str
    status: str = "pending"  # for a task
    layer: str = ""  # the personal project, if the hit is from there
    project: str = ""  # its project, in a search of all projects
    line: int | None = None  # the line with the best match
    text: str = ""
    expires: str | None = None  # a day
    replaced_by: str | None = None


class Results(Struct, frozen=True, kw_only=True):
    """A page of hits."""

    hits: list[Hit]
    has_more: bool = False
    is_partial: bool = False  # the query has several words, and no hit has all of them
    absent: tuple[str, ...] = ()  # the words of the query that no item has


def search(tx: Tx, scope: Scope, query: SearchQuery, libraries: Sequence[LibraryText] = ()) -> tuple[list[Hit], bool]:
    """Return the hits of `find`, and whether there are more."""
    found = find(tx, scope, query, libraries)
    return found.hits, found.has_more


def find(tx: Tx, scope: Scope, query: SearchQuery, libraries: Sequence[LibraryText] = ()) -> Results:
    """Return the best hits from an offset on; items with most of the words if none has all.

    Raises:
        WrongArgument: the query is empty.
        NotFound, Forbidden: see `projects.current`.
    """
    text = query.text.strip()
    literal = text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] == '"' else None
    if not text or literal == "":
        raise WrongArgument("query", "minLength", limit=1, value=query.text)
    where = _find_place(tx, scope, query)
    libraries = libraries if "prompt" in query.kinds else ()
    if literal is not None:
        hits, has_more = _search_literally(tx, scope, where, query, literal, libraries)
        return Results(hits=hits, has_more=has_more)
    rules.check_text("query", text)
    spaces, last = _find_spaces(tx, scope, query, where)
    if not spaces and not libraries:
        return Results(hits=[])
    others = [_index(place, one) for place, one in enumerate(libraries)]
    found = search_ranking.rank(tx, spaces, text, others, last)
    end = query.offset + query.limit
    page = _put_open_first(tx, found.items)[query.offset : end]
    ranked = _read_found(tx, scope, page, libraries)
    has_all = not found.absent and any(search_ranking.match_all(found.terms, one.item.words) for one in found.items)
    return Results(
        hits=_make_hits(tx, scope, where, ranked, partial(_find_line, found.terms)),
        has_more=len(found.items) > end,
        is_partial=len(found.terms) > 1 and not has_all,
        absent=found.absent,
    )


class _Place(Struct, frozen=True):
    """The projects to search: the call's own, with the personal one if the caller may read it, or all of them."""

    names: Mapping[int, str]  # by number
    upper: int = 0  # the call's own project
    lower: int | None = None  # the personal project
    is_everywhere: bool = False


def _find_place(tx: Tx, scope: Scope, query: SearchQuery) -> _Place:
    if query.everywhere is not None:
        return _Place(query.everywhere, is_everywhere=True)
    upper, personal = projects.current(tx, scope).number, layers.find_personal(tx, scope)
    if personal is None:
        return _Place({upper: scope.project}, upper)
    lower = projects.current(tx, personal).number
    return _Place({upper: scope.project, lower: personal.project}, upper, lower)


def _find_spaces(tx: Tx, scope: Scope, query: SearchQuery, where: _Place) -> tuple[list[int], frozenset[int]]:
    """Return the spaces that a search reads, and which of them belong to the personal project."""
    found = rows.list_spaces(tx, [*where.names], query.kinds)
    spaces = [number for number, _ in found]
    if "task" in query.kinds and scope.user is not None:
        within = where.upper if query.has_project else None
        spaces += rows.list_task_spaces(tx, scope.user, scope.projects, within)
    return spaces, frozenset(number for number, project in found if project == where.lower)


def _index(place: int, one: LibraryText) -> IndexedItem:
    """Convert a library's prompt to an indexed item; its number is its index in the list of library prompts."""
    text = ItemText(title=one.name, description=one.description, text=one.text)
    return IndexedItem(-1 - place, "prompt", -1 - place, make_key(one.name), "", make_words(text))


def _put_open_first(tx: Tx, found: Sequence[RankedItem]) -> list[IndexedItem]:
    """Rank expired and replaced items last, and closed tasks below open ones with about the same score."""
    numbers = [one.item.item for one in found if one.item.kind == "task"]
    closed = rows.keep_closed(tx, numbers) if numbers else set()
    weights = {True: _CLOSED, False: 1.0}
    ranked = sorted(found, key=lambda one: -one.score * weights[one.item.kind == "task" and one.item.item in closed])
    outdated = rows.keep_outdated(tx, [(one.item.kind, one.item.item) for one in found])
    return sorted((one.item for one in ranked), key=lambda item: (item.kind, item.item) in outdated)


def _read_found(
    tx: Tx, scope: Scope, items: Sequence[IndexedItem], libraries: Sequence[LibraryText]
) -> list[tuple[FoundKind, FoundText]]:
    """Read the texts of items, except of tasks that are in the index but no longer visible to the caller."""
    found: dict[tuple[FoundKind, int], FoundText] = {}
    for kind in KINDS:
        numbers = [item.item for item in items if item.kind == kind and item.item > 0]
        if numbers:
            texts = rows.read_texts(tx, kind, numbers, scope.user or "", scope.projects)
            found |= {(kind, one.number): one for one in texts}
    for item in items:
        if item.item < 0:
            found["prompt", item.item] = _read_library(libraries[-1 - item.item])
    keys = [(item.kind, item.item) for item in items]
    return [(kind, found[kind, number]) for kind, number in keys if (kind, number) in found]


def _read_library(one: LibraryText) -> FoundText:
    return FoundText(0, one.name, one.name, one.description, one.text)


def _make_hits(
    tx: Tx,
    scope: Scope,
    where: _Place,
    found: Sequence[tuple[FoundKind, FoundText]],
    find_line: Callable[[str], tuple[int, str] | None],
) -> list[Hit]:
    """Return the hits for the given items, each with a line of its text."""
    shared = rows.find_shared_names(tx, [*where.names], [one.name for _, one in found if one.name])
    shadowed = _find_shadowed(tx, where, found)
    numbers = [one.number for kind, one in found if kind == "task"]
    listed = {task.number: task for task in tasks.list_some(tx, scope, numbers)} if numbers else {}
    hits = []
    for kind, one in found:
        task = listed.get(one.number) if kind == "task" else None
        home = (task.project or "") if task else where.names.get(one.project or 0, "")
        if kind == "task":
            reference = f"#{one.number}"
        elif (kind, one.number) in shadowed or (where.is_everywhere and home not in ("", scope.project)):
            reference = uri_of(kind, one.name, home)
        else:
            reference = uri_of(kind, one.name) if one.name in shared else one.name
        line, text = (
            find_line(one.text) or _show_note(one, find_line) or (None, _show_start(one.description or one.text))
        )
        hit = Hit(
            kind=kind,
            reference=reference,
            title=one.title,
            status=task.status if task else "pending",
            layer=home if kind != "task" and one.project is not None and one.project == where.lower else "",
            project=home if where.is_everywhere else "",
            line=line,
            text=text,
            expires=one.expires,
            replaced_by=one.replaced_by,
        )
        hits.append(hit)
    return hits


def _find_shadowed(tx: Tx, where: _Place, found: Sequence[tuple[FoundKind, FoundText]]) -> set[tuple[FoundKind, int]]:
    """Return the personal items that need their link with the project, because the call's project uses their name."""
    shadowed: set[tuple[FoundKind, int]] = set()
    for kind in layers.KINDS if where.lower is not None else ():
        numbers = [one.number for each, one in found if each == kind and one.project == where.lower]
        shadowed |= {(kind, number) for number in project_rows.find_shadowed(tx, kind, where.upper, numbers)}
    return shadowed


def _show_note(found: FoundText, find_line: Callable[[str], tuple[int, str] | None]) -> tuple[None, str] | None:
    """Return the matching line of the notes on a task, without a number: tools return notes apart from the text."""
    line = find_line(found.notes) if found.notes else None
    return (None, f"note: {line[1]}") if line else None


# -- literal texts ----------------------------------------------------------------------------------------------


def _search_literally(
    tx: Tx, scope: Scope, where: _Place, query: SearchQuery, literal: str, libraries: Sequence[LibraryText]
) -> tuple[list[Hit], bool]:
    """Search for a literal text in any case: prompts and documents, newest first, then tasks, open ones first.

    If all hits fit into one answer, expired and replaced items come last.
    """
    folded = rules.fold_query(literal)
    wanted = query.offset + query.limit + 1
    found: list[tuple[FoundKind, FoundText]] = []
    if "prompt" in query.kinds:
        asked_prompts = PromptQuery(text=literal)
        layered = [{number: name} for number, name in where.names.items()]
        for names in [where.names] if where.is_everywhere else layered:
            page, _ = prompts.list_everywhere(tx, names, asked_prompts, limit=wanted - len(found))
            found += _read_in_order(tx, scope, "prompt", [one.number for one in page])
        found += [
            ("prompt", _read_library(one))
            for one in libraries
            if folded in rules.fold(f"{one.name}\n{one.description}\n{one.text}")
        ]
    if "document" in query.kinds and len(found) < wanted:
        found += [("document", one) for one in _scan_documents(tx, [*where.names], folded, wanted - len(found))]
    if "task" in query.kinds and scope.user is not None and len(found) < wanted:
        for status in _STATUSES:
            within = scope.project if query.has_project else None
            asked = TaskQuery(text=literal, filter=status, project=within, reads_notes=True)
            if len(found) < wanted:
                listed, _ = tasks.list_page(tx, scope, asked, limit=wanted - len(found))
                found += _read_in_order(tx, scope, "task", [one.number for one in listed])
    if not query.offset and len(found) < wanted:  # on one of several pages, their order would change between calls
        found.sort(key=lambda one: one[1].replaced_by is not None or rules.is_expired(one[1].expires))
    hits = _make_hits(tx, scope, where, found[query.offset : wanted - 1], partial(_find_literal_line, folded))
    return hits, len(found) >= wanted


def _read_in_order(tx: Tx, scope: Scope, kind: FoundKind, numbers: Sequence[int]) -> list[tuple[FoundKind, FoundText]]:
    found = {one.number: one for one in rows.read_texts(tx, kind, numbers, scope.user or "", scope.projects)}
    return [(kind, found[number]) for number in numbers if number in found]


def _scan_documents(tx: Tx, where: Sequence[int], folded: str, wanted: int) -> list[FoundText]:
    """Scan the newest documents of each project for a text in name, description or content, up to a limit."""
    hits: list[FoundText] = []
    seen = 0
    for project in where:
        before, has_more = 2**62, True
        while has_more and seen < _MOST_DOCUMENTS and len(hits) < wanted:
            batch = rows.read_documents(tx, project, before, _BATCH)
            hits += [one for one in batch if folded in rules.fold(f"{one.name}\n{one.description or ''}\n{one.text}")]
            seen, has_more = seen + len(batch), len(batch) == _BATCH
            before = batch[-1].number if batch else before
    return hits[:wanted]


# -- the line that a hit shows ----------------------------------------------------------------------------------------


def _find_line(terms: Sequence[Term], text: str) -> tuple[int, str] | None:
    """Find the line with the most different terms; return its number, from 1, and the part around the match.

    Of several such lines, the one with the closest spelling is chosen, else the first. Only the indexed part of the
    text is read, because the rest would hold up other threads for too long.
    """
    text = text[:MAX_INDEXED]
    lines = text.split("\n")
    # Fold line by line: most lines of a non-ASCII text are ASCII, and folding them costs nothing.
    folded = text.lower().split("\n") if text.isascii() else [fold(line) for line in lines]
    whole = "\n".join(folded)
    matches: list[tuple[Term, dict[int, _Match]]] = []
    compounds = 0
    for term in terms[:_MOST_TERMS]:
        found = _find_term(term, whole)
        if not found and len(term.word) >= _SHORTEST_COMPOUND and compounds < _MOST_COMPOUNDS:
            compounds += 1
            found = _find_compound(term, whole)
        matches.append((term, found))
    wanted = {number for _, found in matches for number in found}
    if not wanted:
        return None
    for term, found in matches:
        if found and whole.count(term.word) > _MOST_PLACES:  # its last places are missing
            last = max(found)
            beyond = islice((number for number in sorted(wanted) if number > last), _MOST_PLACES)
            found |= {number: one[0] for number in beyond if (one := _find_term(term, folded[number]))}
    in_line = {number: [found[number] for _, found in matches if number in found] for number in wanted}
    best = max(wanted, key=lambda number: (len(in_line[number]), sum(one.factor for one in in_line[number]), -number))
    return best + 1, _cut(lines[best], min(one.place for one in in_line[best]))


def _find_literal_line(folded: str, text: str) -> tuple[int, str] | None:
    """Find the line of a text where a folded text first begins."""
    whole = rules.fold(text)
    start = whole.find(folded)
    if start < 0:
        return None
    number = whole.count("\n", 0, start)
    line = text.split("\n", number + 1)[number]
    return number + 1, _cut(line, max(0, rules.fold(line).find(folded.partition("\n")[0])))


def _show_start(text: str) -> str:
    """Return the beginning of the first line that is not blank."""
    return _cut(next((line for line in text[:2000].split("\n") if line.strip()), ""), 0)


class _Match(Struct, frozen=True):
    """A term in a line of a text."""

    place: int  # in the line
    factor: float  # the weight of the spelling


def _find_term(term: Term, text: str) -> dict[int, _Match]:
    """Find the lines of a folded text that contain a term, by their numbers from 0."""
    roots = {one.word for one in term.alternatives if one.is_prefix}
    sought = [one for one in term.alternatives if one.is_prefix or not one.word.startswith(tuple(roots))]
    sought += [one for one in term.alternatives if one.word == term.word and one not in sought]
    return _find_lines([(place, one.factor) for one in sought for place in _find_places(text, one)], text)


def _find_compound(term: Term, text: str) -> dict[int, _Match]:
    """Find lines as `_find_term` does, for a word that texts write as a compound."""
    pattern = re.compile(_JOINING.join(map(re.escape, term.word)))
    return _find_lines([(match.start(), 1.0) for match in islice(pattern.finditer(text), _MOST_PLACES)], text)


def _find_lines(places: list[tuple[int, float]], text: str) -> dict[int, _Match]:
    """Return the first place in each line, and the highest weight of the spellings that occur in it."""
    found: dict[int, _Match] = {}
    number, start = 0, 0  # the last counted line
    for place, factor in sorted(places):
        number += text.count("\n", start, place)
        start = max(start, place)
        before = found.get(number)
        if before is None:
            found[number] = _Match(place - text.rfind("\n", 0, place) - 1, factor)
        elif before.factor < factor:
            found[number] = _Match(before.place, factor)
    return found


def _find_places(text: str, wanted: Alternative) -> Iterator[int]:
    """Yield the first positions in a text at which the word begins, alone or as the start of a longer word."""
    place = text.find(wanted.word)
    for _ in range(_MOST_PLACES):
        if place == -1:
            return
        end = place + len(wanted.word)
        is_start = place == 0 or not text[place - 1].isalnum()
        if is_start and (wanted.is_prefix or not text[end : end + 1].isalnum()):
            yield place
        place = text.find(wanted.word, end)


def _cut(line: str, place: int) -> str:
    """Cut a line to a part around a position."""
    line = line.rstrip()
    if len(line.strip()) <= _WIDTH:
        return line.strip()
    start = 0 if place <= _WIDTH - _BEFORE else place - _BEFORE
    part = line[start : start + _WIDTH].strip()
    return f"{'…' if start else ''}{part}{'…' if start + _WIDTH < len(line) else ''}"
