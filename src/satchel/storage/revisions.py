"""Queries about revisions: changes, their authors, the replaced states, and sizes.

Rows are only inserted; `pruning.py` and the removal of an item delete them.
"""

import re
from collections.abc import Sequence
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import asdict

from satchel.model import EVERY_CHANGE, Action, Author, ChangeQuery, Item, ItemKind, Timestamp, Version
from satchel.storage.database import Row, Tx, explain_damage
from satchel.storage.pruning import IS_OF_REMOVED

_COLUMNS = "r.number, r.kind, r.item, r.version, r.action, r.at, r.project, r.undoes, r.note"  # as in Version
_COUNT = len(_COLUMNS.split(", "))
AUTHOR = "user_id, token, client, client_version, contract, caller, session"  # as in Author
_LABELS_AT = _COUNT + len(AUTHOR.split(", "))
_FROM = "from revisions r left join authors a on a.number = r.author"
_SELECT = f"select {_COLUMNS}, {AUTHOR} {_FROM}"
_LABELS = """
    (select string_agg(label, ' ') from prompt_labels l
        where r.kind = 'prompt' and l.prompt = r.item and l.version = r.version)
"""
_SELECT_LABELLED = f"select {_COLUMNS}, {AUTHOR}, {_LABELS} {_FROM}"
_IS_AUTHOR = """
    user_id = :user and token = :token and client = :client and client_version = :client_version
    and contract = :contract and caller = :caller and session = :session
"""

# `kind || ''` keeps SQLite from using the index by kind, which it would sort whole to find the newest.
_IS_IN_FEED = "r.number > :after and r.number < :before and r.kind || '' in :kinds"
# Only ASCII letters match in any case: SQLite's `lower` knows no others.
_IS_BY = """
    ((:program = '' or :program = client or lower(:program) in (
            lower(client), lower(client || ' ' || client_version), lower(client || ' ' || session), lower(contract),
            caller, case when client = '' and contract = '' then 'unknown' end
        ) or :is_id and (substr(user_id, 1, :size) = :id or substr(token, 1, :size) = :id))
        and :by_caller in ('', caller) and :by_session in ('', session)
        and substr(user_id, 1, length(:by_user)) = :by_user)
"""
_IS_WANTED = f"r.at >= :since and (:until = '' or r.at < :until) and (:by = '' or {_IS_BY})"
# The first braces take the condition that selects a part of an index, the second the order of its other columns. All
# columns of the index are listed, because PostgreSQL does not know that a column which `is null` has one value.
_FEED = f"""
    {_SELECT} where {{}} {_IS_IN_FEED} and {_IS_WANTED}
        and (:all_projects or r.project in :projects or (:has_loose and r.kind = 'task' and r.project is null))
        and (:all_owners or r.owner is null or r.owner = :owner)
    order by {{}} r.number desc limit :limit
"""
_FEED_OF_ALL = _FEED.format("", "")
_FEED_OF_AUTHOR = _FEED.format("r.author = :walked and", "")
# Tasks of other users and other projects are not read, because the response time would reveal them.
_BY_OWNER = "r.project desc, r.owner desc,"
_FEED_OF_PROJECT = _FEED.format("r.project = :walked and r.owner is null and", _BY_OWNER)
_FEED_OF_TASKS = _FEED.format("r.project = :walked and r.owner = :owner and", _BY_OWNER)
_FEED_OF_LOOSE_TASKS = _FEED.format("r.project is null and r.owner = :owner and", _BY_OWNER)
_MOST_WALKS = 16  # index walks, one after the other; beyond this, one walk over all changes is faster
_ACTIONS = frozenset(get_args(Action))
SHORTEST_ID = 8  # the minimum of characters that identify a user or a token
# An author as `services.history.name_author` writes it.
_AUTHOR_NAME = r"(?:user ([0-9a-f-]{8,36})(?:, |$))?(a person with )?(.*?)(?: \(([0-9a-f]{4})\))?"
Position = tuple[int, int]  # of a revision among those of an item: its version and its own number
LAST: Position = (2**53, 0)
_MOST_SESSIONS = 100  # newest sessions of a client to search for its last change
_LAST_CHANGE = f"""
    select at from revisions where number = (
        select max(newest) from (
            select (select max(number) from revisions where author = a.number) as newest
            from authors a where user_id = :user and client = :client order by a.number desc limit {_MOST_SESSIONS}
        ) as by_author
    )
"""
# This query reads project by project, so that it reads no changes in other projects.
_LAST_CHANGE_WITHIN = f"""
    select at from revisions where number = (
        select max(newest) from (
            select (
                select number from revisions r where r.author = a.number and r.project = p.number
                order by r.number desc limit 1
            ) as newest
            from (
                select number from authors where user_id = :user and client = :client
                order by number desc limit {_MOST_SESSIONS}
            ) a cross join projects p
            where p.number in :projects
        ) as by_author
    )
"""


def add(tx: Tx, item: Item, action: Action, version: int, size: int = 0, note: int = 0) -> None:
    """Record that the transaction's author made this version of an item, or added a note to it.

    `size` is the number of bytes by which the store grew.
    """
    # The casts tell PostgreSQL the types of parameters that may be null.
    sql = f"""
        insert into revisions (kind, item, version, action, at, author, project, owner, undoes, size, note)
        select :kind, :item, :version, :action, :now, number, cast(:project as bigint), cast(:owner as text),
            cast(:undoes as bigint), :size, :note
        from authors where {_IS_AUTHOR} returning number
    """
    author = _author_values(tx)
    values: dict[str, object] = {"kind": item.kind, "item": item.number, "version": version, "action": action}
    values |= {"now": tx.scope.began or tx.now, "project": item.project, "owner": item.owner}
    values |= {"undoes": tx.restores or None, "size": size, "note": note}
    while not tx.all(sql, **author, **values):
        _add_author(tx)


def find_author(tx: Tx) -> int:
    """Return the number of the transaction's author, who is added if needed."""
    sql = f"select number from authors where {_IS_AUTHOR}"
    while (row := tx.one(sql, **_author_values(tx))) is None:
        _add_author(tx)
    return int(row[0])


def make_author(row: Row) -> Author:
    """Make an author from the columns of AUTHOR; the unknown author if the columns are null."""
    return Author() if row[0] is None else Author(*row)


def keep_state(tx: Tx, item: Item, state: bytes) -> None:
    """Store the state of a version that is being replaced."""
    sql = """
        insert into revision_states (revision, state)
        select number, :state from revisions
        where kind = :kind and item = :item and version = :version and note = 0
    """
    tx.run(sql, kind=item.kind, item=item.number, version=item.version, state=state)


def of_items(
    tx: Tx,
    kind: ItemKind,
    items: Sequence[int],
    projects: Sequence[int] | None = None,
    *,
    query: ChangeQuery = EVERY_CHANGE,
    before: Position = LAST,
    limit: int = 2**31,
    with_notes: bool = False,
) -> list[Version]:
    """Return matching revisions of the given items, older than `before`, newest first, in all or some projects.

    Those of prompts have their labels.
    """
    sql = f"""
        {_SELECT_LABELLED} where r.kind = :kind and r.item in :items and (r.version, r.number) < (:version, :number)
            and r.number > :after and (:with_notes or r.note = 0)
            and (:all_projects or r.project in :projects) and {_IS_WANTED}
        order by r.version desc, r.number desc limit :limit
    """
    version, number = before
    values = {"all_projects": projects is None, "projects": list(projects or ()), "with_notes": with_notes}
    values |= {"version": version, "number": number, "limit": limit, **_filter_values(query)}
    return [_revision(row) for row in tx.all(sql, kind=kind, items=items, **values)]


def states_since(tx: Tx, kind: ItemKind, item: int, version: int) -> list[tuple[int, int | None, bytes | None]]:
    """Return version, project and stored state of each revision of an item, from the newest one down to `version`."""
    sql = """
        select version, project, state from revisions left join revision_states on revision = number
        where kind = :kind and item = :item and version >= :version and note = 0 order by version desc
    """
    rows = tx.all(sql, kind=kind, item=item, version=version)
    return [(version, project, None if state is None else bytes(state)) for version, project, state in rows]


def last_before(tx: Tx, moment: Timestamp) -> int:
    """Return the number of the last revision before a time; 0 if there is none."""
    sql = "select number from revisions where at < :moment order by number desc limit 1"
    return tx.value(sql, moment=moment) or 0


def find_moved_from(tx: Tx, project: int, changes: Sequence[int]) -> set[int]:
    """Return the given changes whose items were in a project just before."""
    sql = """
        select n.number from revisions n join revisions o
            on o.kind = n.kind and o.item = n.item and o.version = n.version - 1
        where n.number in :changes and o.project = :project
    """
    return {number for (number,) in tx.all(sql, changes=list(changes), project=project)} if changes else set()


def list_moves(tx: Tx, project: int, kind: ItemKind, limit: int) -> list[tuple[int, int]]:
    """List the items of one kind that were moved out of a project, each with the version of the move, last first."""
    sql = """
        select n.item, n.version from revisions o join revisions n
            on n.kind = o.kind and n.item = o.item and n.version = o.version + 1 and n.note = 0
        where o.project = :project and o.kind = :kind and n.action = 'move' and n.project <> o.project
        order by n.number desc limit :limit
    """
    return [(item, version) for item, version in tx.all(sql, project=project, kind=kind, limit=limit)]


def feed(
    tx: Tx, query: ChangeQuery, *, projects: Sequence[int] | None, has_loose: bool, owner: str | None, limit: int
) -> list[Version]:
    """Return changes in some or all projects, newest first; for tasks, only those of `owner`, or of anyone if None.

    `has_loose` adds the tasks of no project.
    """
    values = _filter_values(query) | {"all_projects": projects is None, "projects": list(projects or ())}
    values |= {"has_loose": has_loose, "all_owners": owner is None, "owner": owner or "", "limit": limit}
    rows: list[Row] = []
    for sql, walked in _choose_walks(tx, query, projects, has_loose=has_loose):
        rows += tx.all(sql, **values, **({} if walked is None else {"walked": walked}))
    return [_revision(row) for row in sorted(rows, key=lambda row: -row[0])[:limit]]


def _choose_walks(
    tx: Tx, query: ChangeQuery, projects: Sequence[int] | None, *, has_loose: bool
) -> list[tuple[str, int | None]]:
    """Choose the statements that together find the changes, each with the number of the author or project to read.

    If the caller is limited to some projects (not `has_loose`), run one statement for each project.
    """
    is_confined = projects is not None and not has_loose
    if query.by and not is_confined:
        sql = f"select number from authors where {_IS_BY} limit :most"
        authors = [number for (number,) in tx.all(sql, **_author_filter(query.by), most=_MOST_WALKS + 1)]
        if len(authors) <= _MOST_WALKS:
            return [(_FEED_OF_AUTHOR, number) for number in authors]
    if projects is None or (len(projects) > _MOST_WALKS and not is_confined):
        return [(_FEED_OF_ALL, None)]
    walks: list[tuple[str, int | None]] = [
        (sql, number) for number in projects for sql in (_FEED_OF_PROJECT, _FEED_OF_TASKS)
    ]
    return [*walks, (_FEED_OF_LOOSE_TASKS, None)] if has_loose else walks


def list_oldest(tx: Tx, query: ChangeQuery, limit: int) -> list[Version]:
    """Return changes of all projects and users, oldest first."""
    sql = f"{_SELECT} where {_IS_IN_FEED} and {_IS_WANTED} order by r.number limit :limit"
    return [_revision(row) for row in tx.all(sql, **_filter_values(query), limit=limit)]


# A caller limited to some projects may not change a project itself.
_IS_WITHIN = "(:all_projects or r.kind <> 'project' and r.project in :projects)"


def last_by(tx: Tx, user: str, projects: Sequence[int] | None, limit: int) -> list[str]:
    """Return the times of a user's last transactions, newest first, except undone ones and undos.

    With `projects`, return only transactions that changed something in one of these. Transactions that only removed
    items permanently, or only added notes, are omitted.
    """
    sql = f"""
        select at from revisions r
        where undoes is null and note = 0 and not ({IS_OF_REMOVED}) and {_IS_WITHIN}
            and author in (select number from authors where user_id = :user)
            and (at, author) not in (select t.at, t.author from revisions u join revisions t on t.number = u.undoes)
        group by at order by at desc limit :limit
    """
    values = {"all_projects": projects is None, "projects": list(projects or ())}
    return [at for (at,) in tx.all(sql, user=user, limit=limit, **values)]


def last_change_by(tx: Tx, user: str, client: str, projects: Sequence[int] | None = None) -> str | None:
    """Return the time of the last change by a user's client, in some projects or anywhere; None if there is none."""
    sql = _LAST_CHANGE if projects is None else _LAST_CHANGE_WITHIN
    found: str | None = tx.value(sql, user=user, client=client, projects=list(projects or ()))
    return found


def taken_back(tx: Tx, changes: Sequence[Version]) -> set[tuple[str, str]]:
    """Return the time and the user of each of the given changes that was undone."""
    sql = """
        select distinct t.at, a.user_id from revisions u join revisions t on t.number = u.undoes
            join authors a on a.number = t.author where t.at in :times
    """
    found = {(at, user) for at, user in tx.all(sql, times=[one.at for one in changes])}
    return found & {(one.at, one.author.user) for one in changes}


def of_transaction(tx: Tx, user: str, at: str, projects: Sequence[int] | None) -> list[Version]:
    """Return a user's changes in one transaction except notes, newest first; with `projects`, only changes in these."""
    sql = f"""
        {_SELECT} where r.at = :at and user_id = :user and r.author = a.number and r.note = 0 and {_IS_WITHIN}
        order by r.number desc
    """
    values = {"all_projects": projects is None, "projects": list(projects or ())}
    return [_revision(row) for row in tx.all(sql, at=at, user=user, **values)]


def _add_author(tx: Tx) -> None:
    sql = """
        insert into authors (user_id, token, client, client_version, contract, caller, session)
        values (:user, :token, :client, :client_version, :contract, :caller, :session) on conflict do nothing
    """
    tx.run(sql, **_author_values(tx))


def _author_values(tx: Tx) -> dict[str, object]:
    author = tx.scope.author
    return {**asdict(author), "user": author.user or tx.scope.user or ""}


def _filter_values(query: ChangeQuery) -> dict[str, Any]:
    return {**asdict(query), "kinds": list(query.kinds), **_author_filter(query.by)}


def _author_filter(by: str) -> dict[str, Any]:
    """Split the name of an author, such as `user 1a2b3c4d, a person with page`, into its parts."""
    found = re.fullmatch(_AUTHOR_NAME, by, re.DOTALL | re.IGNORECASE)
    user, person, program, session = found.groups("") if found else ("", "", by, "")
    named = {"by_user": user.lower(), "by_caller": "person" if person else "", "by_session": session.lower()}
    is_id = len(program) >= SHORTEST_ID
    return {"by": by, **named, "program": program, "id": program.lower(), "size": len(program), "is_id": is_id}


def _revision(row: Row) -> Version:
    action = row[4]
    if action not in _ACTIONS:
        raise explain_damage("a change", ValueError(f"{action!r} is no action"))
    author, labels = row[_COUNT:_LABELS_AT], row[_LABELS_AT:]
    names = tuple(sorted(labels[0].split(" "))) if labels and labels[0] else ()
    return Version(*(*row[:_COUNT], make_author(author), names))


# -- current names of items ----------------------------------------------------------------------------------------

_IS_OPEN = "(:all_projects or project in :projects)"
_NAMES: dict[ItemKind, str] = {
    "prompt": f"select number, name, title from prompts where number in :numbers and {_IS_OPEN}",
    "document": f"select number, name, name from documents where number in :numbers and {_IS_OPEN}",
    "task": f"select number, '', title from tasks where number in :numbers and {_IS_OPEN}",
    "project": "select number, name, name from projects where number in :numbers",
}


def names_of(
    tx: Tx, kind: ItemKind, numbers: Sequence[int], projects: Sequence[int] | None
) -> dict[int, tuple[str, str]]:
    """Return the name and title of each of the given items, deleted or not.

    Prompts, documents and tasks must be in one of `projects`; None means any project, or none.
    """
    sql = _NAMES[kind]
    values = {"all_projects": projects is None, "projects": list(projects or ())} if kind != "project" else {}
    return {number: (name, title) for number, name, title in tx.all(sql, numbers=list(numbers), **values)}


def note_texts(tx: Tx, notes: Sequence[int], projects: Sequence[int] | None, longest: int) -> dict[int, str]:
    """Return the beginnings of the given notes on tasks in one of `projects`; None means anywhere."""
    sql = """
        select n.number, substr(n.text, 1, :longest) from task_notes n join tasks t on t.number = n.task
        where n.number in :notes and (:all_projects or t.project in :projects)
    """
    values = {"all_projects": projects is None, "projects": list(projects or ())}
    rows = tx.all(sql, notes=list(notes), longest=longest, **values)
    return {int(number): str(text) for number, text in rows}


# -- the size of history and trash, for the operator of a store -----------------------------------------------------

TABLES = ("revisions", "revision_states", "authors")  # the tables for history alone


class HistorySize(Struct, frozen=True, kw_only=True):
    """The size of the history."""

    revisions: int
    oldest: Timestamp | None  # the time of the first revision
    states: int  # stored versions, without the newest of each item
    state_bytes: int  # the size of these, compressed


def measure(tx: Tx) -> HistorySize:
    """Measure the history of all projects and users."""
    row = tx.one("""
        select (select count(*) from revisions), (select min(at) from revisions),
            (select count(*) from revision_states), (select coalesce(sum(length(state)), 0) from revision_states)
    """)
    assert row is not None, "a select without from has one row"
    revisions, oldest, states, state_bytes = row
    return HistorySize(revisions=revisions, oldest=oldest, states=states, state_bytes=int(state_bytes))
