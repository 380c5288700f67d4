"""Finds items by the references that people and agents use, deleted ones too.

A reference is `#4` or `4` for a task, a `satchel://` URI, the URI of a document, a UUID, a name or a title. A name may
also be a project's if no other item has it. Exact matches take precedence over others.
"""

from collections.abc import Iterable, Sequence
from operator import itemgetter

from msgspec.structs import replace

from satchel import clock
from satchel.errors import AmbiguousItem, Forbidden, NotFound
from satchel.model import KINDS, Item, ItemKind, Scope, Version, uri_of
from satchel.services import projects, recording, rules
from satchel.services.search_ranking import rank
from satchel.services.texts import closest_entries, closest_names
from satchel.storage import documents as document_rows
from satchel.storage import lookup as rows
from satchel.storage import projects as project_rows
from satchel.storage import prompts as prompt_rows
from satchel.storage import revisions, search, trash
from satchel.storage import tasks as task_rows
from satchel.storage.database import Tx
from satchel.storage.links import split_key
from satchel.storage.search import FoundKind
from satchel.storage.search_words import make_key

Reference = str | Item

NAMED: tuple[FoundKind, ...] = ("prompt", "document", "task")  # the kinds that a bare name or title may mean

_SCHEME = "satchel://"
_DOCUMENT = "satchel://document/"
_MOST_NAMED = 3  # tasks of one title that an error names
_MOST_DELETED = 500  # deleted items to compare, newest first: a wrong reference must cost little
_LONGEST_NUMBER = 19  # digits; a number of this length may exceed the 64 bits of a key
_NEIGHBOURS = 40  # names to compare on either side of a mistyped one
_MOST_SPACES = 16  # spaces to search for these names


# -- references -------------------------------------------------------------------------------------------------


def without_scheme(kind: ItemKind, reference: str) -> str:
    """Return the name or number in a `satchel://` URI for items of `kind`; return any other reference unchanged."""
    text = reference.strip()
    start = uri_of(kind, "")
    if not text.startswith(start):
        return text
    from urllib.parse import unquote  # 3 ms of a start, and few references are URIs

    return unquote(text.removeprefix(start))


def split_project(reference: str) -> tuple[str, str]:
    """Split a link with a project, `satchel://prompt/web/tone`, into the project and the link in that project.

    The project is empty for any other reference. `satchel://document/NAME` becomes `satchel://resource/NAME`: agents
    write so, because the kind has this name everywhere else.
    """
    if reference.strip().startswith(_DOCUMENT):
        reference = uri_of("document", reference.strip().removeprefix(_DOCUMENT))
    for kind in NAMED[:2]:  # a task has the same number in every project
        name = without_scheme(kind, reference)
        if name != reference.strip():
            project, name = split_key(name)
            return project, uri_of(kind, name) if project else reference
    return "", reference


def is_number(text: str) -> bool:
    """Return whether a reference has the form of a number, even if no task can have it."""
    digits = text.removeprefix("#").removeprefix("-")
    return digits.isascii() and digits.isdigit()


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
    """Return the items that references name exactly, without content; this takes one statement for each project.

    None stands for a reference that matches nothing or several items; `find` raises the error.
    """
    found: list[Item | None] = [None] * len(references)
    split = [split_project(one) for one in references]
    for project in dict.fromkeys(project for project, _ in split):
        there = projects.enter(scope, project) if project else scope
        parsed = {place: _parse(one) for place, (where, one) in enumerate(split) if where == project}
        keys = {key: None for kind, key in parsed.values() for key in _list_keys(kind, key)}
        named = _find_named(tx, there, list(keys))
        chosen = {place: _choose(named, kind, key) for place, (kind, key) in parsed.items()}
        for place, items in chosen.items():
            found[place] = items[0] if len(items) == 1 else None
    return found


def _list_keys(kind: ItemKind | None, key: str) -> list[str]:
    """Return the forms of a key that a column may hold, preferred forms first."""
    texts = [without_scheme("document", key), key] if kind == "document" else [key]
    return [text for text in dict.fromkeys(texts) if rules.is_storable(text)]


def _find_named(tx: Tx, scope: Scope, keys: Sequence[str]) -> dict[str, list[tuple[int, Item]]]:
    """Return the matches of each key in the project, if the scope may enter it, and among the user's tasks."""
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
    """Return the items that a key names: by id or number, else, within each kind, by name, else by title."""
    matches = [one for text in _list_keys(kind, key) for one in named.get(text, ()) if kind in (None, one[1].kind)]
    by_id = [item for rank, item in matches if rank == 0]
    if by_id or is_number(key) or (clock.parse_id(key) is not None and kind in (None, "task")):
        return by_id[:1]
    chosen: list[Item] = []
    for one in NAMED:
        found = [match for match in matches if match[1].kind == one]
        kept = found if one == "task" else sorted(found, key=itemgetter(0))[:1]
        chosen += [item for _, item in kept]
    return chosen


# -- one item, whole, deleted ones and other spellings too ------------------------------------------------------


def find(tx: Tx, scope: Scope, reference: Reference) -> Item:
    """Return the item that a reference names: whole if it exists, otherwise as it is in the trash.

    Exact matches come before other spellings, and in both groups existing items before deleted ones. A reference that
    is already an item is returned unchanged.

    Raises:
        NotFound: the scope may see no such item.
        AmbiguousItem: several items have this name.
    """
    if isinstance(reference, Item):
        return reference
    project, short = split_project(reference)
    scope = projects.enter(scope, project) if project else scope
    kind, key = _parse(short)
    found = _find_again(tx, scope, kind, key)
    if found is None:
        raise NotFound(kind or "item", reference, scope)
    return found


def find_deleted(tx: Tx, scope: Scope, kind: ItemKind | None, reference: str) -> Item | None:
    """Return the deleted item of the scope's project, of one kind or of any, that a reference names; else None."""
    reference = split_project(reference)[1]
    if kind is None:
        kind, key = _parse(reference)
    else:
        key = without_scheme("task" if kind == "task" else "prompt", reference)
    try:
        found = _find_again(tx, scope, kind, key.removeprefix("#") if kind == "task" else key)
    except (NotFound, Forbidden, AmbiguousItem):
        return None
    return found if found is not None and found.is_deleted else None


def find_deletion(tx: Tx, item: Item) -> Version | None:
    """Return the change that deleted an item."""
    found = revisions.of_items(tx, item.kind, [item.number], before=(item.version + 1, 0), limit=1)
    return found[0] if found and found[0].action == "delete" else None


def name_of_deleted(tx: Tx, project: int | None) -> str:
    """Return the name of a deleted project; empty if its history was removed."""
    return next((one.name for one in trash.by_number(tx, "project", [project or 0])), "")


def may_see(tx: Tx, scope: Scope, item: Item) -> bool:
    """Return whether a scope may see a deleted item: its project is open to the scope, and a task is the user's own."""
    allowed = projects.list_allowed(tx, scope)
    return (item.kind != "task" or item.owner == scope.user) and (allowed is None or item.project in allowed)


def _find_again(tx: Tx, scope: Scope, kind: ItemKind | None, key: str) -> Item | None:
    """Return the item with a key; a writing transaction looks for it twice.

    On PostgreSQL, another transaction may commit in between: an item may be restored after the search among existing
    items and before the search in the trash.
    """
    if not rules.is_storable(without_scheme("document", key)) or not rules.is_storable(scope.project):
        return None
    found = (_find(tx, scope, kind, key) for _ in range(2 if tx.writes else 1))
    return next((one for one in found if one is not None), None)


def _find(tx: Tx, scope: Scope, kind: ItemKind | None, key: str) -> Item | None:
    if kind == "project":
        return _find_project(tx, scope, key)
    kinds: Sequence[FoundKind] = NAMED if kind is None else (kind,)
    if kind != "task":
        projects.check_access(scope)
    found = _choose(_find_named(tx, scope, _list_keys(kind, key)), kind, key) or _find_deleted_id(tx, scope, kinds, key)
    if not found and not (is_number(key) and "task" in kinds):
        name = without_scheme("document", key)
        deleted = _list_deleted(tx, scope, kinds, name)
        found = _choose_deleted(tx, deleted, kinds, name, is_exact=True)
        if not found and kind is None and (project := _find_project(tx, scope, key)) is not None:
            return project
        found = found or [item for one in kinds for item in _find_alike(tx, scope, one, key)]
        found = found or _choose_deleted(tx, deleted, kinds, name, is_exact=False)
    if len(found) > 1:
        same = [one for one in found if one.kind == "task"]
        named = [*(one for one in found if one.kind != "task"), *same[:_MOST_NAMED]]
        raise AmbiguousItem(key, tuple(uri_of(one.kind, one.key.removeprefix("#")) for one in named))
    return _complete(tx, scope, found[0]) if found else None


def _find_project(tx: Tx, scope: Scope, key: str) -> Item | None:
    try:
        live = [recording.of(projects.get_existing(tx, scope, key))]
    except Forbidden:
        return None
    except NotFound:
        live = []
    # A token that is limited to some projects cannot open a deleted one.
    deleted = trash.named(tx, "project", None, key, trash.kept_since(tx)) if scope.projects is None else []
    return _gather([*live, *deleted])


def _find_deleted_id(tx: Tx, scope: Scope, kinds: Sequence[FoundKind], key: str) -> list[Item]:
    """Return the deleted item whose id, or task whose number, is `key`; deleted items of the same name are left out."""
    since, id = trash.kept_since(tx), clock.parse_id(key)
    found: list[Item] = []
    if is_number(key):
        digits = key.removeprefix("#")
        found = trash.by_number(tx, "task", [int(digits)], since) if len(digits) < _LONGEST_NUMBER else []
    elif id is not None:
        found = trash.by_id(tx, id, since)
    return [one for one in found if (one.kind in kinds or kinds == NAMED) and may_see(tx, scope, one)]


def _list_deleted(tx: Tx, scope: Scope, kinds: Sequence[ItemKind], name: str = "") -> list[Item]:
    """List the deleted items of some kinds: those with this name, then those that were deleted last."""
    since = trash.kept_since(tx)
    texts = [kind for kind in kinds if kind in ("prompt", "document")]
    found: list[Item] = []
    if texts:
        project = projects.current(tx, scope).number  # raises if the project itself does not exist
        found += [one for kind in texts if name for one in trash.named(tx, kind, project, name, since)]
        found += trash.list_newest(tx, texts, projects=[project], owner=None, since=since, limit=_MOST_DELETED)
    if "task" in kinds and scope.user is not None:
        where = projects.list_allowed(tx, scope)
        found += trash.list_newest(tx, ["task"], projects=where, owner=scope.user, since=since, limit=_MOST_DELETED)
    return found


def _choose_deleted(
    tx: Tx, deleted: Sequence[Item], kinds: Sequence[FoundKind], key: str, *, is_exact: bool
) -> list[Item]:
    """Return, for each kind, the last deleted item with `key` as its name, else its title, else another spelling."""
    chosen: list[Item | None] = []
    for kind in kinds:
        own = [one for one in deleted if one.kind == kind]
        if is_exact:
            same = [one for one in own if one.name == key] or [one for one in own if one.title.strip() == key.strip()]
        else:
            spelled = make_key(key)
            same = [one for one in own if spelled and spelled in (make_key(one.name), make_key(one.title))]
        if same:
            last = same[0]
            named = [last] if kind == "task" else trash.named(tx, kind, last.project, last.name, trash.kept_since(tx))
            chosen.append(_gather(named))
    return [one for one in chosen if one is not None]


def _find_alike(tx: Tx, scope: Scope, kind: FoundKind, key: str) -> list[Item]:
    """Return the tasks, or the one prompt or document, whose name or title differs from a key only in spelling."""
    if kind == "task" and (is_number(key) or clock.parse_id(key) is not None):
        return []
    numbers = find_alike(tx, scope, kind, without_scheme("document", key))
    if kind != "task" and len(numbers) > 1:
        return []
    return [item for number in numbers if (item := _read(tx, scope, kind, number)) is not None]


def _read(tx: Tx, scope: Scope, kind: ItemKind, number: int) -> Item | None:
    """Read a whole item of the scope's project or user; a task comes with the blockers that the scope may not see."""
    if kind == "task":
        return next(map(recording.of, task_rows.details(tx, scope.owner, [number], scope.projects)), None)
    find = prompt_rows.find if kind == "prompt" else document_rows.find
    found = find(tx, scope.project, "number", str(number))
    return None if found is None else recording.of(found)


def _complete(tx: Tx, scope: Scope, item: Item) -> Item | None:
    """Return an existing item whole, with deleted ones of its name in `former`; return a deleted item unchanged."""
    if item.is_deleted:
        return item
    whole = item if item.state.id else _read(tx, scope, item.kind, item.number)
    if whole is None or whole.kind == "task":
        return whole
    return _gather([whole, *trash.named(tx, whole.kind, whole.project, whole.name, trash.kept_since(tx))])


def _gather(named: Sequence[Item]) -> Item | None:
    """Return the newest of several items of one name, with the numbers of the others in `former`."""
    return replace(named[0], former=tuple(one.number for one in named[1:])) if named else None


# -- other spellings, and suggestions ---------------------------------------------------------------------------


def find_alike(tx: Tx, scope: Scope, kind: FoundKind, reference: str) -> list[int]:
    """Return the first items whose name, or else title, equals a reference apart from case, accents and separators."""
    if not rules.is_storable(reference):
        return []
    return search.find_alike(tx, _list_spaces(tx, scope, kind), kind, reference)


def find_by_words(tx: Tx, scope: Scope, kind: FoundKind, reference: str) -> list[int]:
    """Return up to three items that have a word of a reference, even a mistyped one, in their name or title."""
    spaces = _list_spaces(tx, scope, kind)
    if not spaces or not rules.is_storable(reference):
        return []
    found = rank(tx, spaces, reference[:200])
    words = {one.word for term in found.terms for one in term.alternatives}
    items = [one.item for one in found.items]
    return [one.item for one in items if any(word in f"{one.name_key} {one.title_key}" for word in words)][:3]


def suggest(
    tx: Tx, scope: Scope, kind: FoundKind, reference: str, *, by_words: bool = True
) -> list[tuple[int, str, str]]:
    """Return number, name and title of up to three items whose name or title resembles a reference or has its words.

    Without `by_words`, only the spelling is compared, which is much faster.

    A task's number or id gets no suggestions: the caller might delete the suggested task, and the next number is
    unrelated.
    """
    text = without_scheme(kind, split_project(reference)[1])
    spaces = _list_spaces(tx, scope, kind)[:_MOST_SPACES]
    if not rules.is_storable(text) or (kind == "task" and (is_number(text) or clock.parse_id(text) is not None)):
        return []
    beside = [one for space in spaces for one in search.list_beside(tx, space, kind, make_key(text), _NEIGHBOURS)]
    worded = find_by_words(tx, scope, kind, text) if by_words else []
    known = revisions.names_of(tx, kind, sorted({*beside, *worded}), projects.list_allowed(tx, scope))
    named: dict[str, list[int]] = {}
    for number in sorted(known):
        for name in filter(None, known[number]):
            named.setdefault(name, []).append(number)
    closest = [number for name in closest_names(text, named, 6) for number in named[name]]
    return [(number, *known[number]) for number in list(dict.fromkeys((*closest, *worded)))[:3]]


def find_elsewhere(tx: Tx, scope: Scope, kinds: Iterable[ItemKind], reference: str) -> list[tuple[str, str]]:
    """Find a name in other projects; return for each item a reference that works everywhere, and the project.

    These are prompts and documents, and the user's own tasks; the project is empty for a task of no project.
    """
    text = split_project(reference)[1]
    if not rules.is_storable(text):
        return []
    where = project_rows.numbers(tx, scope.projects)
    found: list[tuple[str, str]] = []
    for kind in NAMED:
        key = without_scheme(kind, text)
        if kind == "task" and kind in kinds:
            found += _find_tasks_elsewhere(tx, scope, key)
        elif kind in kinds:
            alike = search.find_anywhere(tx, kind, key, where, _MOST_NAMED + 1)
            found += [(uri_of(kind, name, project), project) for project, name in alike if project != scope.project]
    return found[:_MOST_NAMED]


def _find_tasks_elsewhere(tx: Tx, scope: Scope, title: str) -> list[tuple[str, str]]:
    if scope.user is None or is_number(title) or clock.parse_id(title) is not None:
        return []
    numbers = task_rows.numbers_with_title(tx, scope.user, title, _MOST_NAMED, scope.projects)
    numbers = numbers or find_alike(tx, scope, "task", title)
    found = task_rows.details(tx, scope.user, numbers, scope.projects)
    return [(f"#{one.number}", one.project or "") for one in found if one.project != scope.project]


def suggest_deleted(tx: Tx, scope: Scope, kinds: Iterable[ItemKind], reference: str) -> tuple[str, ...]:
    """Return references of those deleted items of the given kinds whose names are most similar to a mistyped one."""
    if not rules.is_storable(reference) or reference.lstrip("#").isdigit():
        return ()
    known = _list_deleted(tx, scope, [*kinds])
    wanted = reference.rpartition("/")[2] if reference.startswith(_SCHEME) else reference
    names = [(f"#{one.number}" if one.kind == "task" else one.name, one.title) for one in known]
    return closest_entries(wanted, names)


def _list_spaces(tx: Tx, scope: Scope, kind: FoundKind) -> list[int]:
    """Return the spaces in which the items of `kind` are that a scope may refer to."""
    if kind == "task":
        return search.list_task_spaces(tx, scope.user, scope.projects) if scope.user is not None else []
    is_open = scope.projects is None or scope.project in scope.projects
    project = project_rows.by_name(tx, scope.project) if is_open and rules.is_storable(scope.project) else None
    return [] if project is None else [space for space, _ in search.list_spaces(tx, [project.number], [kind])]
