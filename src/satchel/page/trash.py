"""What was deleted, and bringing it back."""

from satchel.page.visit import Answer, Redirect, Shown, Visit, link
from satchel.services import history, projects, restoring

_MOST = 200


def show(visit: Visit) -> Answer:
    """The deleted items of all projects that the caller may enter, the last deleted first."""
    with visit.read() as tx:
        found = history.list_trash(tx, visit.scope, is_everything=True, limit=_MOST)
        names = projects.names_of(tx, [one.project or 0 for one in found])
    days = visit.server.database.retention.trash_days
    return Shown("trash.html", {"found": found, "names": names, "days": days})


def restore(visit: Visit) -> Answer:
    """Bring a deleted item back."""
    visit = visit.within(visit.field("project")) if visit.field("project") else visit
    restored = visit.write(lambda tx: restoring.restore(tx, visit.scope, visit.field("item")))
    title = restored.item.title or restored.item.name
    return Redirect(link("trash"), " ".join([f"“{title}” is back.", *restored.notes]), can_undo=True)
