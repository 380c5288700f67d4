"""Takes back what a user did last, one transaction after the other."""

from msgspec import Struct

from satchel.errors import NotFound, VersionConflict, VersionMissing
from satchel.model import Scope, Version
from satchel.services import history, projects, restoring
from satchel.services.history import FeedEntry
from satchel.storage import revisions
from satchel.storage.database import Tx


class Step(Struct, frozen=True):
    """One transaction of a user that can be taken back: its changes, the last one first."""

    at: str
    changes: tuple[FeedEntry, ...]


def plan(tx: Tx, scope: Scope, last: int = 1) -> list[Step]:
    """Return the user's last transactions that were not undone yet, last one first.

    For a scope that may enter only some projects: what they did in these, and nothing that was done to projects.
    """
    user = scope.user or ""
    where = None if scope.projects is None else sorted(projects.allowed_numbers(tx, scope))
    times = revisions.last_by(tx, user, where, last)
    return [Step(at, tuple(history.label(tx, scope, revisions.of_transaction(tx, user, at, where)))) for at in times]


def undo(tx: Tx, scope: Scope, last: int = 1) -> list[Step]:
    """Take back the last transactions of the scope's user; returns them.

    Raises:
        VersionConflict: something was changed since.
        NotFound: something was removed for good.
        VersionMissing: what it was before was pruned.
        Taken: as `restoring.restore`.
    """
    steps = plan(tx, scope, last)
    for step in steps:
        # What was deleted comes back first: other changes of the transaction may refer to it.
        for entry in sorted(step.changes, key=lambda entry: entry.revision.action != "delete"):
            take_back(tx, scope, entry.revision)
    return steps


def take_back(tx: Tx, scope: Scope, revision: Version) -> None:
    """Take back one change of one item.

    Raises:
        VersionConflict, NotFound, VersionMissing, Taken: as `undo`.
        Forbidden: it was done to a project, and the scope may enter only some.
    """
    item = history.find_known(tx, scope, revision)
    found = revisions.of_items(tx, revision.kind, [revision.item])
    later = [one for one in found if one.version > revision.version and one.undoes is None]
    if len(revisions.taken_back(tx, later)) < len({(one.at, one.author.user) for one in later}):
        raise VersionConflict(revision.kind, item.key, expected=revision.version, actual=found[0].version)
    if item.live is None:
        if revision.action != "delete":
            raise NotFound(revision.kind, item.key, scope)
        restoring.bring_back(tx, scope, item, undone=revision.number)
        return
    before = next((one for one in found if one.version < revision.version), None)
    if revision.action == "add" or (before is not None and before.action == "delete"):
        restoring.delete(tx, scope, item.live, undone=revision.number)
        return
    if before is None:
        raise VersionMissing(revision.kind, item.key, revision.version - 1, history.kept_versions(tx, item))
    old = history.read_version_of(tx, item, before.version)
    # A change that made no difference is taken back by a version of its own, or it would be the next one to undo again.
    is_taken_back = bool(revisions.taken_back(tx, [revision]))
    restoring.put(tx, scope, item.live, old, undone=revision.number, is_always_recorded=not is_taken_back)
