"""What a new session wants to know: what was done since its client was here, notes, what is ready, tags in use."""

from msgspec import Struct
from msgspec.structs import replace

from satchel import clock
from satchel.model import Author, ChangeQuery, Scope, Task, TaskNote, TaskQuery, Timestamp, Version
from satchel.services import history, projects, tasks
from satchel.services.history import FeedEntry
from satchel.storage import overview as rows
from satchel.storage import revisions, task_pages
from satchel.storage import tasks as task_rows
from satchel.storage.database import Tx

_LOOKED_AT = 600  # changes, of which many may be of one item
_MOST_COUNTED = 1000


class Doing(Struct, frozen=True, kw_only=True):
    """What was last done to an item, or to several by one call."""

    entries: tuple[FeedEntry, ...]  # their last changes, the newest first
    did: str  # added, changed, completed, cancelled, reopened, deleted or restored
    adder: Author | None = None  # who added it, where that was another change since

    @property
    def revision(self) -> Version:
        """The last of the changes."""
        return self.entries[0].revision


def find_last_visit(tx: Tx, scope: Scope, client: str) -> Timestamp:
    """When a client of the user last changed something, but at least a day ago."""
    a_day_ago = clock.days_before(tx.now, 1)
    where = None if scope.projects is None else sorted(projects.allowed_numbers(tx, scope))
    last = rows.last_change_by(tx, scope.owner, client, where) if client else None
    return min(last or a_day_ago, a_day_ago)


def list_done(tx: Tx, scope: Scope, query: ChangeQuery, limit: int) -> tuple[list[Doing], bool]:
    """What was last done to each item, the last changed first, and whether there is more.

    Raises:
        NotFound, Forbidden: as `projects.current`.
    """
    found, has_more = history.list_changes(tx, scope, query, limit=_LOOKED_AT)
    last: dict[tuple[str, int], FeedEntry] = {}
    adders: dict[tuple[str, int], Author] = {}
    for entry in found:
        key = entry.revision.kind, entry.revision.item
        if key in last and entry.revision.action == "add":
            adders[key] = entry.revision.author
        last.setdefault(key, entry)
    done: list[Doing] = []
    for item, entry in last.items():
        one = Doing(entries=(entry,), did=entry.revision.done, adder=adders.get(item))
        if done and _is_of_same_call(done[-1], one):
            done[-1] = replace(done[-1], entries=(*done[-1].entries, entry))
        elif len(done) == limit:
            return done, True
        else:
            done.append(one)
    # The changes end somewhere in the last call: its number of items would be wrong.
    return (done[:-1] if has_more and done[1:] else done), has_more


def list_notes(tx: Tx, scope: Scope, query: ChangeQuery, limit: int) -> list[tuple[int, TaskNote]]:
    """The last notes on open tasks of the project with the numbers of their tasks, the newest first.

    A caller who may enter all projects gets those of no project too.

    Raises:
        NotFound, Forbidden: as `projects.current`.
    """
    since = revisions.time_of(tx, query.after) if query.after else query.since
    project = projects.current(tx, scope).number
    return task_rows.newest_notes_of_open(tx, scope.owner, project, since, limit, has_loose=scope.projects is None)


def count_open_tasks(tx: Tx, scope: Scope) -> dict[int, int]:
    """How many open tasks the user has that the scope may see, by the numbers of their projects."""
    return rows.count_open(tx, scope.owner, scope.projects)


def list_ready(tx: Tx, scope: Scope, query: TaskQuery, limit: int) -> tuple[tuple[Task, ...], int]:
    """The most urgent tasks of a query, and how many there are, up to a thousand.

    Raises:
        NotFound, Forbidden: as `projects.current`, about the project of the query.
    """
    found, has_more = tasks.list_page(tx, scope, query, limit=limit)
    if not has_more:
        return found, len(found)
    return found, len(task_pages.numbers(tx, scope.owner, query, scope.projects, _MOST_COUNTED))


def list_tags(tx: Tx, scope: Scope, limit: int) -> list[str]:
    """The tags that most prompts and open tasks of the project have, the most frequent first.

    Raises:
        NotFound, Forbidden: as `projects.current`.
    """
    return rows.tags_in_use(tx, projects.current(tx, scope).number, scope.owner, limit)


def _is_of_same_call(group: Doing, one: Doing) -> bool:
    """Whether one call did the same to items of the same kind."""
    first, other = group.revision, one.revision
    return (first.kind, first.at, first.author, group.did, group.adder) == (
        other.kind,
        other.at,
        other.author,
        one.did,
        one.adder,
    )
