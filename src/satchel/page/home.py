"""The first page: search over everything, and what changed last."""

from satchel.errors import WrongArgument
from satchel.model import TaskQuery
from satchel.page.visit import Answer, Shown, Visit
from satchel.services import history, projects, search, tasks
from satchel.services.search import Hit, SearchQuery
from satchel.storage.database import Tx

_HITS = 10  # of each project
_PROJECTS = 50  # that one search reads
_CHANGES = 15
_READY = 8


def show(visit: Visit) -> Answer:
    """The hits of a search for ?q=, else the projects, the tasks that are ready and what changed last."""
    text = visit.query.get("q", "").strip()
    with visit.read() as tx:
        counted = projects.list_all(tx, visit.scope)
        if text:
            names = [project.name for project, _ in counted]
            wanted = [visit.query["project"]] if visit.query.get("project") else names[:_PROJECTS]
            hits = [(name, _search(tx, visit.within(name), text)) for name in wanted]
            return Shown("search.html", {"text": text, "found": [pair for pair in hits if pair[1]], "names": names})
        ready, has_more = tasks.list_page(tx, visit.scope, TaskQuery(filter="ready"), limit=_READY)
        changes, _ = history.list_visible_changes(tx, visit.scope, limit=_CHANGES)
    values = {"projects": counted, "ready": ready, "has_more_ready": has_more, "changes": changes}
    return Shown("home.html", values)


def _search(tx: Tx, visit: Visit, text: str) -> list[Hit]:
    try:
        query = SearchQuery(text=text, has_project=True, limit=_HITS)
        return search.search(tx, visit.scope, query)[0]
    except WrongArgument:
        return []
