"""The first page: search over everything, and recent changes."""

from msgspec.structs import replace

from satchel.errors import WrongArgument
from satchel.model import TaskQuery
from satchel.page.visit import MOST_COUNTED, Answer, Shown, Visit
from satchel.services import history, projects, prompts, search, tasks
from satchel.services.search import Hit, SearchQuery
from satchel.storage.database import Tx
from satchel.storage.search import FoundKind

_HITS = 10  # hits in each project
_PROJECTS = 20  # the limit of projects in one search; the address can name a project
_CHANGES = 15
_READY = 8
_PINNED = 12


def show(visit: Visit) -> Answer:
    """Show hits for ?q=, or else the projects, the ready tasks and recent changes."""
    text = visit.query.get("q", "").strip()
    if text:
        return _search(visit, text)
    with visit.read() as tx:
        counted = projects.list_all(tx, visit.scope, MOST_COUNTED + 1)
        ready, has_more = tasks.list_page(tx, visit.scope, TaskQuery(filter="ready"), limit=_READY)
        pinned = prompts.list_pinned(tx, visit.scope, _PINNED)
        changes, _ = history.list_visible_changes(tx, visit.scope, limit=_CHANGES)
    values = {"projects": counted, "ready": ready, "has_more_ready": has_more, "changes": changes}
    values |= {"pinned": pinned}
    return Shown("home.html", values)


def _search(visit: Visit, text: str) -> Shown:
    """Search items by words, in all projects that the caller may enter or in ?project=."""
    wanted = visit.query.get("project", "")
    with visit.read() as tx:
        names = projects.list_names(tx, visit.scope)
        searched = [wanted] if wanted else names[:_PROJECTS]
        found = [(name, _find(tx, visit.within(name), text, ("prompt", "document"))) for name in searched]
        anywhere = wanted or next((one for one in (visit.scope.project, *names) if one in names), "")
        listed = _find(tx, visit.within(anywhere), text, ("task",), has_project=bool(wanted)) if anywhere else []
    values = {"text": text, "found": [pair for pair in found if pair[1]], "tasks": listed, "names": names}
    return Shown("search.html", values | {"wanted": wanted, "is_cut": not wanted and len(names) > _PROJECTS})


def _find(tx: Tx, visit: Visit, text: str, kinds: tuple[FoundKind, ...], *, has_project: bool = True) -> list[Hit]:
    try:
        query = SearchQuery(text=text, kinds=kinds, has_project=has_project, limit=_HITS)
        # Search each project alone: items of the personal one would be found again in every other.
        return search.search(tx, replace(visit.scope, personal=""), query)[0]
    except WrongArgument:
        return []
