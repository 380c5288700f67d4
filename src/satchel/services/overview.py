"""What a new session wants to know: what was done since its client was here, what is ready, which tags are in use."""

from msgspec import Struct

from satchel import clock
from satchel.model import ChangeQuery, Scope, TaskDetails, TaskQuery, Timestamp
from satchel.services import history, projects, tasks
from satchel.services.history import FeedEntry
from satchel.services.users import owner
from satchel.storage import overview as rows
from satchel.storage import task_pages
from satchel.storage.database import Tx

_LOOKED_AT = 300  # changes, of which many may be of one item
_MOST_COUNTED = 1000


class Doing(Struct, frozen=True, kw_only=True):
    """What was done to one item."""

    entry: FeedEntry  # its last change
    did: str  # added, changed, completed, cancelled, deleted or restored


def find_last_visit(tx: Tx, scope: Scope, client: str) -> Timestamp:
    """When a client of the user last changed something, but at least a day ago."""
    a_day_ago = clock.days_before(tx.now, 1)
    last = rows.last_change_by(tx, owner(scope), client) if client else None
    return min(last or a_day_ago, a_day_ago)


def list_done(tx: Tx, scope: Scope, query: ChangeQuery, limit: int) -> tuple[list[Doing], bool]:
    """What was done to each item, the last changed first, and whether there is more.

    Raises:
        NotFound, Forbidden: as `projects.current`.
    """
    found, has_more = history.list_changes(tx, scope, query, limit=_LOOKED_AT)
    last: dict[tuple[str, int], FeedEntry] = {}
    added: set[tuple[str, int]] = set()
    for entry in found:
        key = entry.revision.kind, entry.revision.item
        last.setdefault(key, entry)
        if entry.revision.action == "add":
            added.add(key)
    shown = list(last.items())[:limit]
    numbers = [entry.revision.item for _, entry in shown if entry.revision.kind == "task"]
    known = {task.number: task for task in tasks.list_some(tx, scope, numbers)}
    done = [
        Doing(entry=entry, did=_say(entry, known.get(entry.revision.item), query.since, is_new=key in added))
        for key, entry in shown
    ]
    return done, has_more or len(last) > limit


def list_ready(tx: Tx, scope: Scope, query: TaskQuery, limit: int) -> tuple[tuple[TaskDetails, ...], int]:
    """The most urgent tasks of a query, and how many there are, up to a thousand.

    Raises:
        NotFound, Forbidden: as `projects.current`, about the project of the query.
    """
    found, has_more = tasks.list_page(tx, scope, query, limit=limit)
    if not has_more:
        return found, len(found)
    return found, len(task_pages.numbers(tx, owner(scope), query, scope.projects, _MOST_COUNTED))


def count_open(tx: Tx, scope: Scope) -> dict[int, int]:
    """How many open tasks the user has in each project, by its number; of projects that are closed to the scope too."""
    return rows.open_tasks(tx, owner(scope))


def list_tags(tx: Tx, scope: Scope, limit: int) -> list[str]:
    """The tags that most prompts and open tasks of the project have, the most frequent first.

    Raises:
        NotFound, Forbidden: as `projects.current`.
    """
    return rows.tags_in_use(tx, projects.current(tx, scope).number, owner(scope), limit)


def _say(entry: FeedEntry, task: TaskDetails | None, since: Timestamp, *, is_new: bool) -> str:
    """What was done to an item, in a word."""
    action = entry.revision.action
    if action == "delete":
        return "deleted"
    if entry.revision.kind == "task" and task is not None and (task.completed_at or "") > since:
        return task.status
    if is_new:
        return "added"
    return "restored" if action == "restore" else "changed"
