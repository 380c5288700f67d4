"""Finds the item that a reference names, deleted ones too.

A reference is `#4` or `4` for a task, a `satchel://` URI, the URI of a document, a UUID, or a name or title; a name
that no other item has may be that of a project. What matches exactly goes before what differs in case and separators.
"""

from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

from satchel import clock
from satchel.errors import AmbiguousItem, Forbidden, NotFound
from satchel.model import KINDS, Item, ItemKind, Scope, TrashedItem, Version, uri_of
from satchel.services import alike, deleted_items, documents, layers, projects, prompts, rules, states, tasks
from satchel.storage import revisions, trash
from satchel.storage.database import Tx

Value = TypeVar("Value")

NAMED: tuple[ItemKind, ...] = ("prompt", "document", "task")  # what a name or title may be of, without a kind
_SCHEME = "satchel://"


class FoundItem(Struct, frozen=True, kw_only=True):
    """What a reference names: an item, or what is left of it in the trash.

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


def find(tx: Tx, scope: Scope, reference: str) -> FoundItem:
    """The item that a reference names.

    Raises:
        NotFound: there is none that the scope may see.
        AmbiguousItem: several items have this name.
    """
    kind, key = _parse(reference.strip())
    if rules.is_storable(key) and rules.is_storable(scope.project):
        # A transaction that writes sees on PostgreSQL what others commit meanwhile: an item may come back between the
        # look for it and the look into the trash.
        for _ in range(2 if tx.writes else 1):
            match = _find_named(tx, scope, key) if kind is None else _find(tx, scope, kind, key)
            if match is not None:
                return match
    raise NotFound(kind or "item", reference, scope)


def find_deleted(tx: Tx, scope: Scope, kind: ItemKind | None, reference: str) -> FoundItem | None:
    """The deleted item of a kind, or of any, that a reference names; None where there is none, or it exists."""
    text = reference.strip()
    if not rules.is_storable(text) or not rules.is_storable(scope.project):
        return None
    try:
        if kind is None:
            found: FoundItem | None = find(tx, scope, text)
        else:
            key = alike.without_scheme("task" if kind == "task" else "prompt", text)
            found = _find(tx, scope, kind, key.removeprefix("#") if kind == "task" else key)
            found = found or _find_by_id(tx, scope, key)
    except (NotFound, Forbidden, AmbiguousItem):
        return None
    return found if found is not None and found.live is None and kind in (None, found.kind) else None


def find_personal(tx: Tx, missing: NotFound) -> Item | None:
    """The prompt or document that a project lacks and only reads from the personal one; None where there is none."""
    lower = layers.enter_personal(missing.scope)
    if lower is None or missing.kind not in ("prompt", "document", "item"):
        return None
    try:
        found = find(tx, lower, missing.key).live
    except (NotFound, AmbiguousItem):
        return None
    kinds = ("prompt", "document") if missing.kind == "item" else (missing.kind,)
    return found if found is not None and found.kind in kinds else None


def find_deletion(tx: Tx, item: FoundItem) -> Version | None:
    """The change that deleted an item."""
    last = item.trashed[0]
    found = revisions.of_items(tx, last.kind, [last.number], before=last.version + 1, limit=1)
    return found[0] if found and found[0].action == "delete" else None


def suggest(tx: Tx, scope: Scope, kinds: Sequence[ItemKind], reference: str) -> tuple[str, ...]:
    """Up to three names, or numbers of tasks, of items that a mistyped reference may mean, deleted ones too."""
    near: list[str] = []
    if "prompt" in kinds:
        near += prompts.suggest(tx, scope, reference)
    if "document" in kinds:
        near += documents.suggest(tx, scope, reference)
    if "task" in kinds and scope.user is not None:
        near += [f"#{number}" for number, _ in tasks.suggest(tx, scope, reference)]
    gone = deleted_items.suggest(tx, scope, kinds, reference)
    return tuple(dict.fromkeys([*gone[:2], *near, *gone]))[:3]


def name_of_deleted(tx: Tx, project: int | None) -> str:
    """The name that a deleted project had; empty where nothing is left of it."""
    return next((one.name for one in trash.by_number(tx, "project", [project or 0])), "")


def _find_named(tx: Tx, scope: Scope, key: str) -> FoundItem | None:
    """The item of an id, or else of a name or title: one that exists, one that was deleted, one of another spelling."""
    if (by_id := _find_by_id(tx, scope, key)) is not None:
        return by_id
    for is_exact in (True, False):
        found = [one for kind in NAMED if (one := _find(tx, scope, kind, key, is_exact=is_exact))]
        same = _find_same_titles(tx, scope, key, is_exact=is_exact)
        best = [one for one in found if one.live] or ([] if same else found)
        if len(best) + len(same) > 1:
            raise AmbiguousItem(key, (*(make_uri(one) for one in best), *same))
        other = None if best or not is_exact else _find(tx, scope, "project", key)
        if best or other:
            return best[0] if best else other
    return None


def _find_same_titles(tx: Tx, scope: Scope, key: str, *, is_exact: bool) -> list[str]:
    """The URIs of tasks of one title, none of which is meant more than the others; a single task is found by itself."""
    numbers = tasks.find_by_title(tx, scope, key, is_exact=is_exact)[0] if scope.user is not None else ()
    return [f"{_SCHEME}task/{number}" for number in numbers] if len(numbers) > 1 else []


def make_uri(item: FoundItem) -> str:
    """The reference of an item that no other has."""
    return uri_of(item.kind, item.key.removeprefix("#"))


def _parse(text: str) -> tuple[ItemKind | None, str]:
    """The kind that a reference names, where it does, and the key."""
    if text.removeprefix("#").isdigit() and text.isascii():
        return "task", text.removeprefix("#")
    if text.startswith(_SCHEME):
        kind, _, key = text.removeprefix(_SCHEME).partition("/")
        for one in KINDS:
            if kind == one and one != "document":
                from urllib.parse import unquote  # 3 ms of a start, and few references are URIs

                return one, unquote(key)
    return ("document", text) if "://" in text else (None, text)


def _find(tx: Tx, scope: Scope, kind: ItemKind, key: str, *, is_exact: bool = False) -> FoundItem | None:
    if kind == "task":
        return _find_task(tx, scope, key, is_exact=is_exact)
    if kind == "project":
        return _find_project(tx, scope, key)
    projects.check_access(scope)
    short = key.removeprefix(uri_of("document", ""))
    live = _find_live(tx, scope, kind, key, is_exact=is_exact)
    name = live.name if live else short
    project = projects.current(tx, scope).number
    trashed = trash.named(tx, kind, project, name, trash.kept_since(tx))
    if not live and not trashed:
        known = deleted_items.find_alike(tx, scope, kind, short, is_exact=is_exact)
        trashed = trash.named(tx, kind, project, known.name, trash.kept_since(tx)) if known else []
        name = known.name if known else name
    return FoundItem(kind=kind, key=name, live=live, trashed=tuple(trashed)) if live or trashed else None


def _find_live(tx: Tx, scope: Scope, kind: ItemKind, key: str, *, is_exact: bool) -> Item | None:
    try:
        if kind == "prompt":
            return states.of_prompt((prompts.find_exactly if is_exact else prompts.find)(tx, scope, key))
        return states.of_document((documents.find_exactly if is_exact else documents.find)(tx, scope, key))
    except NotFound as missing:
        if missing.kind == "project":
            raise
        return None


def _find_task(tx: Tx, scope: Scope, key: str, *, is_exact: bool = False) -> FoundItem | None:
    if scope.user is None:
        return None
    where = None if scope.projects is None else tuple(projects.allowed_numbers(tx, scope))
    try:
        task = tasks.find_whole(tx, scope, key)
        if is_exact and task.title.strip() != key and not key.isdigit() and clock.parse_id(key) is None:
            return None
        return FoundItem(kind="task", key=f"#{task.number}", live=states.of_task(task), projects=where)
    except NotFound:
        if len(key) > 18 and key.isdigit():
            return None
    if key.isascii() and key.isdigit():
        trashed = trash.task(tx, scope.owner, int(key), trash.kept_since(tx))
    else:
        trashed = deleted_items.find_alike(tx, scope, "task", key, is_exact=is_exact)
    if trashed is None or not may_see(tx, scope, trashed):
        return None
    return FoundItem(kind="task", key=f"#{trashed.number}", live=None, trashed=(trashed,), projects=where)


def _find_project(tx: Tx, scope: Scope, key: str) -> FoundItem | None:
    live: Item | None = None
    try:
        live = states.of_project(projects.get_existing(tx, scope, key))
    except Forbidden:
        return None
    except NotFound:
        if scope.projects is not None:  # a deleted project is open to no token that is limited to some
            return None
    trashed = trash.named(tx, "project", None, key, trash.kept_since(tx)) if scope.projects is None else []
    return FoundItem(kind="project", key=key, live=live, trashed=tuple(trashed)) if live or trashed else None


def _find_by_id(tx: Tx, scope: Scope, key: str) -> FoundItem | None:
    """The prompt, the deleted item, or the task, with a UUID."""
    id = clock.parse_id(key)
    if id is None:
        return None
    projects.check_access(scope)
    prompt = _find_prompt_with(tx, scope, id)
    if prompt is not None:
        return prompt
    trashed = trash.by_id(tx, id, trash.kept_since(tx))
    if trashed is not None and trashed.kind == "task":
        return _find_task(tx, scope, str(trashed.number)) if trashed.owner == scope.user else None
    if trashed is not None and may_see(tx, scope, trashed):
        return FoundItem(kind=trashed.kind, key=trashed.name, live=None, trashed=(trashed,))
    return _find_task(tx, scope, id) if scope.user is not None else None


def _find_prompt_with(tx: Tx, scope: Scope, id: str) -> FoundItem | None:
    """The prompt of the scope's project with an id, with what is left of those that had its name before."""
    try:
        live = states.of_prompt(prompts.get(tx, scope, id))
    except NotFound:
        return None
    trashed = trash.named(tx, "prompt", live.project, live.name, trash.kept_since(tx))
    return FoundItem(kind="prompt", key=live.name, live=live, trashed=tuple(trashed))


def may_see(tx: Tx, scope: Scope, item: TrashedItem) -> bool:
    """Whether the project of a deleted item is open to a scope."""
    return scope.projects is None or item.project in projects.allowed_numbers(tx, scope)
