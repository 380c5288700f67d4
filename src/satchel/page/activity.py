"""The list of changes with their authors, undo, and the trash."""

from satchel.errors import NotFound, UnknownAuthor
from satchel.model import KINDS, ChangeQuery
from satchel.page.visit import Answer, Redirect, Shown, Visit, link
from satchel.services import history, projects, restoring
from satchel.services.history import FeedEntry
from satchel.storage.database import Tx

_PAGE = 50
_MOST_DELETED = 200
_MOST_NAMED = 20  # items that an undo took back


def show(visit: Visit) -> Answer:
    """Show changes, newest first; ?by= and ?kind= narrow the list."""
    kind = visit.query.get("kind", "")
    query = ChangeQuery(
        by=visit.query.get("by", ""),
        kinds=[one for one in KINDS if one == kind] or KINDS,
        before=visit.number("before") or 2**53,
    )
    try:
        with visit.read() as tx:
            changes, has_more = history.list_visible_changes(tx, visit.scope, query, limit=_PAGE)
    except UnknownAuthor:
        changes, has_more = [], False
    last = str(changes[-1].revision.number) if changes and has_more else ""
    return Shown("activity.html", {"changes": changes, "next": last, "by": query.by, "kind": kind, "kinds": KINDS})


def undo_change(visit: Visit) -> Answer:
    """Undo one change, or the user's last call or command if no number is given."""
    number = visit.number("revision")

    def act(tx: Tx) -> list[FeedEntry]:
        if not number:
            return [entry for step in restoring.undo(tx, visit.scope) for entry in step.changes]
        around = ChangeQuery(after=number - 1, before=number + 1)
        changes, _ = history.list_visible_changes(tx, visit.scope, around, limit=1)
        if not changes:
            raise NotFound("change", str(number), visit.scope)
        restoring.take_back(tx, visit.scope, changes[0].revision)
        return changes

    done = visit.write(act)
    more = f" and {len(done) - _MOST_NAMED} more" if len(done) > _MOST_NAMED else ""
    named = ", ".join(entry.title or entry.key for entry in done[:_MOST_NAMED])
    said = f"Took back: {named}{more}." if done else "Nothing to undo."
    return Redirect(visit.back or link("activity"), said)


# -- trash --------------------------------------------------------------------------------------------------------


def show_trash(visit: Visit) -> Answer:
    """Show the deleted items of all projects that the caller may enter, last deleted first."""
    with visit.read() as tx:
        found = history.list_trash(tx, visit.scope, is_everything=True, limit=_MOST_DELETED)
        names = projects.names_of(tx, [one.project or 0 for one in found])
    days = visit.server.database.retention.trash_days
    return Shown("trash.html", {"found": found, "names": names, "days": days})


def restore(visit: Visit) -> Answer:
    """Restore a deleted item."""
    visit = visit.within(visit.field("project")) if visit.field("project") else visit
    restored = visit.write(lambda tx: restoring.restore(tx, visit.scope, visit.field("item")))
    title = restored.item.title or restored.item.name
    return Redirect(link("trash"), " ".join([f"“{title}” is back.", *restored.notes]), can_undo=True)
