"""Finds items by the references that people and agents use, deleted ones too.

A reference is `#4` or `4` for a task, a `satchel://` URI, the URI of a document, a UUID, or a name or title; a name
that no other item has may be that of a project. Exact matches take precedence over others.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from msgspec import Struct

from satchel import clock
from satchel.errors import AmbiguousItem, Forbidden, NotFound
from satchel.model import KINDS, Item, ItemKind, Scope, TrashedItem, Version, uri_of
from satchel.services import projects, recording, rules
from satchel.services.search_ranking import mend
from satchel.services.texts import closest_entries
from satchel.storage import documents as document_rows
from satchel.storage import lookup as rows
from satchel.storage import projects as project_rows
from satchel.storage import prompts as prompt_rows
from satchel.storage import revisions, search, trash
from satchel.storage import tasks as task_rows
from satchel.storage.database import Tx, WordList
from satchel.storage.search import FoundKind
from satchel.storage.search_words import make_key, split

NAMED: tuple[FoundKind, ...] = ("prompt", "document", "task")  # the kinds that a name or a title alone may mean

_SCHEME = "satchel://"
_MOST_NAMED = 3  # tasks of one title that an error names
_MOST_DELETED = 500  # of the last deleted items that are compared: a wrong reference must cost little
_LONGEST_NUMBER = 19  # digits, with which not all numbers are those of rows
_TITLE_LEVELS = "abc"  # of words in titles
_MOST_WORDS = 4
_MOST_LISTED = 10  # items of each word


class FoundItem(Struct, frozen=True, kw_only=True):
    """The item that a reference names, live or in the trash.

    Deleted items of the same name belong to its history: their versions come before its own.
    """

    kind: ItemKind
    key: str  # its name; of a task #NUMBER
    live: Item | None
    trashed: tuple[TrashedItem, ...] = ()  # the last deleted first
    projects: tuple[int, ...] | None = None  # of a task: where the scope may see it; None: everywhere

    @property
    def numbers(self) -> list[int]:
        """The numbers that its history is kept under."""
        return [*([self.live.number] if self.live else []), *(one.number for one in self.trashed)]


# -- references -------------------------------------------------------------------------------------------------


def without_scheme(kind: ItemKind, reference: str) -> str:
    """Return the name or number in a `satchel://` URI of a kind of items; any other reference as it is."""
    text = reference.strip()
    start = uri_of(kind, "")
    if not text.startswith(start):
        return text
    from urllib.parse import unquote  # 3 ms of a start, and few references are URIs

    return unquote(text.removeprefix(start))


def is_number(text: str) -> bool:
    """Return whether a reference is a number, even one that no task can have."""
    digits = text.removeprefix("#").removeprefix("-")
    return digits.isascii() and digits.isdigit()


def name_item(item: Item) -> str:
    """Return the reference of an item in a call: its name, or the number of a task."""
    return f"#{item.number}" if item.kind == "task" else item.name


def _parse(reference: str) -> tuple[ItemKind | None, str]:
    """Return the kind that a reference names, if any, and the key."""
    text = reference.strip()
    if text.removeprefix("#").isdigit() and text.isascii():
        return "task", text.removeprefix("#")
    for kind in KINDS:
        if kind != "document" and text.startswith(uri_of(kind, "")):
            return kind, without_scheme(kind, text)
    return ("document", text) if "://" in text else (None, text)


# -- exactly ----------------------------------------------------------------------------------------------------


def find_all(tx: Tx, scope: Scope, references: Sequence[str]) -> list[Item | None]:
    """Return the items that references name exactly, without their content, in one statement.

    None stands for a reference that names no item or several; `find` says which.
    """
    parsed = [_parse(one) for one in references]
    keys = {key: None for kind, key in parsed for key in _list_keys(kind, key)}
    named = _find_named(tx, scope, list(keys))
    chosen = [_choose(named, kind, key) for kind, key in parsed]
    return [one[0] if len(one) == 1 else None for one in chosen]


def _list_keys(kind: ItemKind | None, key: str) -> list[str]:
    """Return the texts that a column may hold for a key, preferred ones first."""
    texts = [without_scheme("document", key), key] if kind == "document" else [key]
    return [text for text in dict.fromkeys(texts) if rules.is_storable(text)]


def _find_named(tx: Tx, scope: Scope, keys: Sequence[str]) -> dict[str, list[tuple[int, Item]]]:
    """Return for each key the matches in the project, if that is open, and among the user's tasks."""
    named: dict[str, list[tuple[int, Item]]] = {}
    is_open = scope.projects is None or scope.project in scope.projects
    project = scope.project if is_open and rules.is_storable(scope.project) else ""
    if keys:
        ids = {key: clock.parse_id(key) for key in keys}
        texts = [ids[key] or (str(int(key.removeprefix("#"))) if is_number(key) else key) for key in keys]
        for text, rank, item in rows.find_exactly(tx, project, scope.user, texts, scope.projects):
            for key, wanted in zip(keys, texts, strict=True):
                if wanted == text:
                    named.setdefault(key, []).append((rank, item))
    return named


def _choose(named: dict[str, list[tuple[int, Item]]], kind: ItemKind | None, key: str) -> list[Item]:
    """Return the items that a key means: by id or number, else of each kind by name, else by title."""
    matches = [one for text in _list_keys(kind, key) for one in named.get(text, ()) if kind in (None, one[1].kind)]
    by_id = [item for rank, item in matches if rank == 0]
    if by_id or is_number(key) or (clock.parse_id(key) is not None and kind in (None, "task")):
        return by_id[:1]
    chosen: list[Item] = []
    for one in NAMED:
        found = [(rank, item) for rank, item in matches if item.kind == one]
        chosen += [item for _, item in found] if one == "task" else [item for _, item in sorted(found, key=_rank)[:1]]
    return chosen


def _rank(match: tuple[int, Item]) -> int:
    return match[0]


# -- one item, whole, deleted ones and other spellings too ------------------------------------------------------


def find(tx: Tx, scope: Scope, reference: str) -> FoundItem:
    """Return the item that a reference names.

    Raises:
        NotFound: there is none that the scope may see.
        AmbiguousItem: several items have this name.
    """
    kind, key = _parse(reference)
    if rules.is_storable(without_scheme("document", key)) and rules.is_storable(scope.project):
        # A transaction that writes sees on PostgreSQL what others commit meanwhile: an item may be restored between
        # the look for it and the look into the trash.
        for _ in range(2 if tx.writes else 1):
            match = _find_any(tx, scope, key) if kind is None else _find(tx, scope, kind, key)
            if match is not None:
                return match
    raise NotFound(kind or "item", reference, scope)


def find_deleted(tx: Tx, scope: Scope, kind: ItemKind | None, reference: str) -> FoundItem | None:
    """Return the deleted item of a kind, or of any, that a reference names; None if there is none, or it exists."""
    text = reference.strip()
    key = without_scheme("task" if kind == "task" else "prompt", text)
    if not rules.is_storable(text) or not rules.is_storable(key) or not rules.is_storable(scope.project):
        return None
    try:
        if kind is None:
            found: FoundItem | None = find(tx, scope, text)
        else:
            found = _find(tx, scope, kind, key.removeprefix("#") if kind == "task" else key)
            found = found or _find_deleted_id(tx, scope, key)
    except (NotFound, Forbidden, AmbiguousItem):
        return None
    return found if found is not None and found.live is None and kind in (None, found.kind) else None


def find_deletion(tx: Tx, item: FoundItem) -> Version | None:
    """Return the change that deleted an item."""
    last = item.trashed[0]
    found = revisions.of_items(tx, last.kind, [last.number], before=last.version + 1, limit=1)
    return found[0] if found and found[0].action == "delete" else None


def name_of_deleted(tx: Tx, project: int | None) -> str:
    """Return the name that a deleted project had; empty if nothing is left of it."""
    return next((one.name for one in trash.by_number(tx, "project", [project or 0])), "")


def may_see(tx: Tx, scope: Scope, item: TrashedItem) -> bool:
    """Return whether the project of a deleted item is open to a scope."""
    return scope.projects is None or item.project in projects.allowed_numbers(tx, scope)


def _find_any(tx: Tx, scope: Scope, key: str) -> FoundItem | None:
    """Return the items with an id, else with a name or title: live ones, then deleted ones, then other spellings."""
    projects.check_access(scope)
    live = _choose(_find_named(tx, scope, [key]), None, key)
    if not live and clock.parse_id(key) is not None:
        deleted = _find_deleted_id(tx, scope, key)
        if deleted is not None:
            return deleted
    if not live:
        projects.current(tx, scope)  # raises where it is the project that does not exist
    for is_exact in (True, False):
        live = live if is_exact else [item for kind in NAMED for item in _find_alike(tx, scope, kind, key)]
        deleted_items = [] if live else [one for kind in NAMED for one in _find_trashed(tx, scope, kind, key, is_exact)]
        same = [item for item in live if item.kind == "task"]
        named = [uri_of(item.kind, item.name) for item in live if item.kind != "task"]
        named += [uri_of("task", item.number) for item in same[:_MOST_NAMED]]
        named += [uri_of(one.kind, one.key.removeprefix("#")) for one in deleted_items]
        if len(named) > 1:
            raise AmbiguousItem(key, tuple(named))
        if live or deleted_items:
            return _make_found(tx, scope, live[0]) if live else deleted_items[0]
        project = _find_project(tx, scope, key) if is_exact else None
        if project is not None:
            return project
    return None


def _find(tx: Tx, scope: Scope, kind: ItemKind, key: str) -> FoundItem | None:
    """Return the item of a kind with a key, live or deleted, exactly or in another spelling."""
    if kind == "project":
        return _find_project(tx, scope, key)
    if kind == "task" and scope.user is None:
        return None
    if kind != "task":
        projects.check_access(scope)
    live = _choose(_find_named(tx, scope, _list_keys(kind, key)), kind, key) or _find_alike(tx, scope, kind, key)
    if len(live) == 1:
        return _make_found(tx, scope, live[0])
    return next((one for is_exact in (True, False) for one in _find_trashed(tx, scope, kind, key, is_exact)), None)


def _find_project(tx: Tx, scope: Scope, key: str) -> FoundItem | None:
    live: Item | None = None
    try:
        live = recording.of_project(projects.get_existing(tx, scope, key))
    except Forbidden:
        return None
    except NotFound:
        if scope.projects is not None:  # a deleted project is open to no token that is limited to some
            return None
    trashed = trash.named(tx, "project", None, key, trash.kept_since(tx)) if scope.projects is None else []
    return FoundItem(kind="project", key=key, live=live, trashed=tuple(trashed)) if live or trashed else None


def _find_deleted_id(tx: Tx, scope: Scope, key: str) -> FoundItem | None:
    """Return the deleted item with an id."""
    id = clock.parse_id(key)
    found = None if id is None else trash.by_id(tx, id, trash.kept_since(tx))
    if found is None or not may_see(tx, scope, found) or (found.kind == "task" and found.owner != scope.user):
        return None
    return _make_trashed(tx, scope, [found])


def _find_trashed(tx: Tx, scope: Scope, kind: ItemKind, key: str, is_exact: bool) -> list[FoundItem]:
    """Return the deleted item of a kind with a key as its name or title, if any."""
    since = trash.kept_since(tx)
    if kind == "task":
        digits = key.removeprefix("#")
        if scope.user is None:
            return []
        if is_number(key):
            task = trash.task(tx, scope.owner, int(digits) if len(digits) < _LONGEST_NUMBER else 0, since)
        else:
            task = _find_deleted_alike(tx, scope, kind, key, is_exact)
        return [_make_trashed(tx, scope, [task])] if task is not None and may_see(tx, scope, task) else []
    project = projects.current(tx, scope).number
    found = trash.named(tx, kind, project, without_scheme("document", key), since)
    if not found:
        known = _find_deleted_alike(tx, scope, kind, without_scheme("document", key), is_exact)
        found = [] if known is None else trash.named(tx, kind, project, known.name, since)
    return [_make_trashed(tx, scope, found)] if found else []


def _find_deleted_alike(tx: Tx, scope: Scope, kind: ItemKind, key: str, is_exact: bool) -> TrashedItem | None:
    """Return the last deleted item with a title, or else, unless it must be exact, with another spelling of it."""
    known = _list_deleted(tx, scope, kind)
    found = next((one for one in known if one.title.strip() == key.strip()), None)
    if found is not None or is_exact or not make_key(key):
        return found
    return next((one for one in known if make_key(key) in (make_key(one.name), make_key(one.title))), None)


def _list_deleted(tx: Tx, scope: Scope, kind: ItemKind) -> list[TrashedItem]:
    since = trash.kept_since(tx)
    if kind != "task":
        return trash.newest(tx, kind, projects.current(tx, scope).number, since, _MOST_DELETED)
    if scope.user is None:
        return []
    return trash.newest_tasks(tx, scope.owner, _list_allowed(tx, scope), since, _MOST_DELETED)


def _list_allowed(tx: Tx, scope: Scope) -> list[int] | None:
    return None if scope.projects is None else sorted(projects.allowed_numbers(tx, scope))


def _find_alike(tx: Tx, scope: Scope, kind: ItemKind, key: str) -> list[Item]:
    """Return the tasks, or the one prompt or document, whose name or title differs from a key only in spelling."""
    assert kind != "project", "projects are named exactly"
    if kind == "task" and (is_number(key) or clock.parse_id(key) is not None):
        return []
    numbers = find_alike(tx, scope, kind, without_scheme("document", key))
    if kind != "task" and len(numbers) > 1:
        return []
    return [item for number in numbers if (item := _read(tx, scope, kind, number)) is not None]


def _read(tx: Tx, scope: Scope, kind: ItemKind, number: int) -> Item | None:
    """Read an item of the project or the user of a scope whole; a task with the blockers that the scope may not see."""
    if kind == "task":
        return next(map(recording.of_task, task_rows.details(tx, scope.owner, [number], scope.projects)), None)
    if kind == "prompt":
        prompt = prompt_rows.find(tx, scope.project, "number", str(number))
        return None if prompt is None else recording.of_prompt(prompt)
    document = document_rows.find(tx, scope.project, "number", str(number))
    return None if document is None else recording.of_document(document)


def _make_found(tx: Tx, scope: Scope, item: Item) -> FoundItem | None:
    live = item if item.fields is not None else _read(tx, scope, item.kind, item.number)
    if live is None:
        return None
    if live.kind == "task":
        allowed = _list_allowed(tx, scope)
        return FoundItem(kind="task", key=name_item(live), live=live, projects=None if allowed is None else (*allowed,))
    trashed = trash.named(tx, live.kind, live.project, live.name, trash.kept_since(tx))
    return FoundItem(kind=live.kind, key=live.name, live=live, trashed=tuple(trashed))


def _make_trashed(tx: Tx, scope: Scope, found: Sequence[TrashedItem]) -> FoundItem:
    first = found[0]
    if first.kind != "task":
        return FoundItem(kind=first.kind, key=first.name, live=None, trashed=tuple(found))
    allowed = _list_allowed(tx, scope)
    where = None if allowed is None else tuple(allowed)
    return FoundItem(kind="task", key=f"#{first.number}", live=None, trashed=(first,), projects=where)


# -- other spellings, and what may have been meant --------------------------------------------------------------


def find_alike(tx: Tx, scope: Scope, kind: FoundKind, reference: str) -> list[int]:
    """Return the first items whose name, or else title, matches a reference apart from case, accents and separators."""
    if not rules.is_storable(reference):
        return []
    return search.find_alike(tx, _list_spaces(tx, scope, kind), kind, reference)


def find_by_words(tx: Tx, scope: Scope, kind: FoundKind, reference: str) -> list[int]:
    """Return items whose titles have most of the words of a reference, a mistyped one too.

    Only the beginnings of a few lists are read, because a wrong reference must not cost more than a good one.
    """
    spaces = _list_spaces(tx, scope, kind)
    words = [word for word in dict.fromkeys(split(reference[:200])) if len(word) > 2][:_MOST_WORDS]
    if not spaces or not words or not rules.is_storable(reference):
        return []
    found = _read_titles(tx, spaces, words)
    missed = [word for word, numbers in zip(words, found, strict=True) if not numbers]
    if missed:
        mended = search.keep_known(tx, spaces, list(chain.from_iterable(mend(word) for word in missed)))[:_MOST_WORDS]
        found += _read_titles(tx, spaces, mended)
    counts: dict[int, int] = {}
    for number in chain.from_iterable(found):
        counts[number] = counts.get(number, 0) + 1
    best = sorted(counts, key=lambda number: (-counts[number], -number))[:3]
    items = {one.number: one.item for one in search.read_items(tx, spaces, best)}
    return [items[number] for number in best if number in items]


def suggest_deleted(tx: Tx, scope: Scope, kinds: Iterable[ItemKind], reference: str) -> tuple[str, ...]:
    """Return the references of the deleted items of some kinds that are most similar to a mistyped name."""
    if not rules.is_storable(reference) or reference.lstrip("#").isdigit():
        return ()
    known = [one for kind in kinds for one in _list_deleted(tx, scope, kind)]
    wanted = reference.rpartition("/")[2] if reference.startswith(_SCHEME) else reference
    names = [(f"#{one.number}" if one.kind == "task" else one.name, one.title) for one in known]
    return closest_entries(wanted, names)


def _read_titles(tx: Tx, spaces: Sequence[int], words: Sequence[str]) -> list[list[int]]:
    """Return for each word the items whose titles have it, or a word that it begins."""
    lists: list[WordList] = [(level, word, True) for word in words for level in _TITLE_LEVELS]
    found = [numbers for numbers, _ in tx.find_words(spaces, lists, _MOST_LISTED)] if lists else []
    size = len(_TITLE_LEVELS)
    return [list(chain.from_iterable(found[start : start + size])) for start in range(0, len(found), size)]


def _list_spaces(tx: Tx, scope: Scope, kind: FoundKind) -> list[int]:
    """Return the spaces in which a scope refers to items of a kind."""
    if kind == "task":
        return search.list_task_spaces(tx, scope.user, scope.projects) if scope.user is not None else []
    is_open = scope.projects is None or scope.project in scope.projects
    project = project_rows.by_name(tx, scope.project) if is_open and rules.is_storable(scope.project) else None
    return [] if project is None else [space for space, _ in search.list_spaces(tx, [project.number], [kind])]
