"""Deleted items whose title is a reference, or whose name but for its spelling, and those that are called nearly so."""

from collections.abc import Sequence

from satchel.model import ItemKind, Scope, TrashedItem
from satchel.services import projects, rules
from satchel.services.suggestions import closest_entries
from satchel.storage import trash
from satchel.storage.database import Tx
from satchel.storage.search_words import make_key

_LOOKED_AT = 500  # of the last deleted ones: a wrong reference must not cost more than a good one


def find_alike(tx: Tx, scope: Scope, kind: ItemKind, key: str, *, is_exact: bool = False) -> TrashedItem | None:
    """The last deleted item of a title, or else of a name or title that differs in case and separators only."""
    known = _list_newest(tx, scope, kind)
    same = (one for one in known if one.title.strip() == key.strip())
    found = next(same, None)
    if found is not None or is_exact or not make_key(key):
        return found
    return next((one for one in known if make_key(key) in (make_key(one.name), make_key(one.title))), None)


def suggest(tx: Tx, scope: Scope, kinds: Sequence[ItemKind], reference: str) -> tuple[str, ...]:
    """What names the deleted items of some kinds whose name or title is most like a mistyped one."""
    if not rules.is_storable(reference) or reference.lstrip("#").isdigit():
        return ()
    known = [one for kind in kinds for one in _list_newest(tx, scope, kind)]
    wanted = reference.rpartition("/")[2] if reference.startswith("satchel://") else reference
    names = [(f"#{one.number}" if one.kind == "task" else one.name, one.title) for one in known]
    return closest_entries(wanted, names)


def _list_newest(tx: Tx, scope: Scope, kind: ItemKind) -> list[TrashedItem]:
    since = trash.kept_since(tx)
    if kind != "task":
        project = projects.current(tx, scope).number
        return trash.newest(tx, kind, project, since, _LOOKED_AT)
    if scope.user is None:
        return []
    where = None if scope.projects is None else sorted(projects.allowed_numbers(tx, scope))
    return trash.newest_tasks(tx, scope.owner, where, since, _LOOKED_AT)
