"""Reads history: the versions of an item, an item at a version, the feed of changes; and prunes it.

Errors about an item are those of `lookup.find`, and about the scope's project those of `projects.current`;
VersionMissing is raised if history does not have a version.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from satchel import clock
from satchel.errors import Forbidden, NotFound, StoreConflict, UnknownAuthor, VersionMissing, WrongArgument
from satchel.model import (
    EVERY_CHANGE,
    KINDS,
    Action,
    Author,
    ChangeQuery,
    Item,
    ItemKind,
    Scope,
    Task,
    TaskNote,
    TaskQuery,
    Timestamp,
    Version,
    uri_of,
)
from satchel.services import lookup, projects, recording, rules, tasks
from satchel.storage import documents as document_rows
from satchel.storage import projects as project_rows
from satchel.storage import revisions, trash
from satchel.storage.database import Cutoffs, Database, Tx
from satchel.storage.deltas import apply_delta
from satchel.storage.revisions import LAST, Position
from satchel.storage.search_words import make_key

LONGEST_NOTE = 120  # characters of a note in a list of changes

_MOST_AUTHORS = 10  # authors that an error names
_SHOWN = 20  # versions that an error names
_MOST_SEARCHED = 600  # changes to read for the names of authors
_MOST_READ = 5000  # changes to read for bursts, and in other projects
_MOST_MOVES = 500  # moves out of a project among which a name is sought
_MOST_RENAMED = 20  # documents to search for an old name, and versions of each
_LARGEST_RENAMED = 256 * 1024  # bytes of such a document
_PAUSE = 60  # the longest pause within a burst, in minutes


class FeedEntry(Struct, frozen=True, kw_only=True):
    """One change, and the current name of the item."""

    revision: Version
    key: str  # a name, or for a task #NUMBER
    title: str
    project: str | None  # its name; None for a task of no project, or if the project was deleted
    note: str = ""  # the beginning of the note that was added


class Burst(Struct, frozen=True, kw_only=True):
    """Changes of the same sort by one author to items of one kind, at short intervals."""

    action: Action
    revisions: tuple[Version, ...]  # of each item its last change, or the one that added it, newest first
    entries: tuple[FeedEntry, ...] = ()  # the oldest of them, with their names, oldest first
    to: str | None = None  # the project to which the items were moved from here
    is_own: bool = False  # by the caller's client
    is_cut: bool = False  # there may be more, because not all changes were read

    @property
    def newest(self) -> Version:
        """Return the last of the changes."""
        return self.revisions[0]


class Completion(Struct, frozen=True, kw_only=True):
    """A closed task, the author who closed it if known, and its last note."""

    task: Task
    author: Author | None
    note: TaskNote | None


def list_versions(
    tx: Tx,
    scope: Scope,
    reference: lookup.Reference,
    *,
    query: ChangeQuery = EVERY_CHANGE,
    before: Position = LAST,
    limit: int = 50,
    with_notes: bool = False,
) -> tuple[Item, list[Version], bool]:
    """Return an item, those of its revisions that precede `before`, newest first, and whether there are more.

    Raises:
        UnknownAuthor: nobody of the name in the query changed the item.
    """
    item = lookup.find(tx, scope, reference)
    _check(query)
    read = partial(_list_versions, tx, scope, item, with_notes=with_notes)
    found = read(query=query, before=before, limit=limit + 1)
    if query.by and not found and not read(query=ChangeQuery(by=query.by), limit=1):
        _refuse_author(scope, query.by, read(limit=_MOST_SEARCHED))
    return item, found[:limit], len(found) > limit


def read_version(tx: Tx, scope: Scope, reference: lookup.Reference, version: int | None = None) -> Item:
    """Return an item at a version; by default as it is now, or as it was when it was deleted."""
    old = read_version_of(tx, scope, lookup.find(tx, scope, reference), version)
    if old.kind != "task" or scope.projects is None:
        return old
    visible = tasks.keep_existing_blockers(tx, scope, old.state.blocked_by)
    parent = tasks.choose_former_parent(tx, scope, None, old.state.parent)
    return replace(old, state=replace(old.state, blocked_by=tuple(visible), parent=parent))


def read_version_of(tx: Tx, scope: Scope, item: Item, version: int | None = None) -> Item:
    """Read a version of an item that is already known, including blockers that the scope may not see.

    The result has the item's present name. Its number may be that of a deleted item of the same name.
    """
    wanted = version
    if wanted is None:
        wanted = item.version - 1 if item.is_deleted else item.version
    if wanted == item.version and not item.is_deleted:
        return item
    found = _list_versions(tx, scope, item, before=(min(wanted + 1, 2**53), 0), limit=1 + len(item.former))
    # A new project with the name of a deleted one has its own versions with the same numbers.
    for revision in sorted(found, key=lambda revision: revision.item != item.number):
        if revision.version == wanted and revision.action != "delete":
            state, content = recording.decode(item.kind, _rebuild(tx, item, revision))
            return replace(
                item,
                number=revision.item,
                version=wanted,
                updated_at=revision.at,
                project=revision.project,
                state=state,
                content=content,
            )
    raise VersionMissing(item.kind, item.key, wanted, kept_versions(tx, scope, item))


def kept_versions(tx: Tx, scope: Scope, item: Item) -> tuple[int, ...]:
    """Return those of an item's versions that can still be read, newest first."""
    found = _list_versions(tx, scope, item, limit=_SHOWN)
    return tuple(revision.version for revision in found if revision.action != "delete")


def _list_versions(
    tx: Tx,
    scope: Scope,
    item: Item,
    *,
    query: ChangeQuery = EVERY_CHANGE,
    before: Position = LAST,
    limit: int,
    with_notes: bool = False,
) -> list[Version]:
    """Return the visible revisions of an item and of deleted items with its name."""
    where = projects.list_allowed(tx, scope) if item.kind != "project" else None
    numbers = [item.number, *item.former]
    return revisions.of_items(
        tx, item.kind, numbers, where, query=query, before=before, limit=limit, with_notes=with_notes
    )


def _rebuild(tx: Tx, item: Item, revision: Version) -> bytes:
    """Return the state of an item at a revision, rebuilt from the newest state."""
    return deque(iterate_states(tx, item, revision.item, revision.version), maxlen=1).pop()[2]


def iterate_states(tx: Tx, item: Item, number: int, oldest: int) -> Iterator[tuple[int, int | None, bytes]]:
    """Yield version, project and state of each version of an item, from the newest one down to `oldest`.

    The number is that of the item, or of a deleted item of the same name.
    """
    is_live = number == item.number and not item.is_deleted
    newest = item if is_live else recording.read_deleted(tx, item, number)
    if newest is None:
        raise StoreConflict(f"another call restored or purged {item.kind} {item.key}")
    with tx.in_all_projects():  # the task may have been in other projects since
        since = revisions.states_since(tx, item.kind, number, oldest)
    state = recording.encode(newest)
    for version, project, kept in since:
        if version < newest.version and kept is not None:
            state = apply_delta(kept, state)
        yield version, project, state


def find_renamed(tx: Tx, scope: Scope, name: str) -> tuple[Item, Version] | None:
    """Return the document of the scope's project that had a name, and the change that renamed it.

    Only the last versions of the documents that changed last are read.
    """
    for document in document_rows.list_changed(tx, scope.project, _LARGEST_RENAMED, _MOST_RENAMED):
        item = recording.of(document)
        for version, _, state in iterate_states(tx, item, item.number, item.version - _MOST_RENAMED):
            if recording.decode(item.kind, state)[0].name == name:
                found = revisions.of_items(tx, item.kind, [item.number], before=(version + 2, 0), limit=1)
                return (item, found[0]) if found else None
    return None


def find_moved(tx: Tx, scope: Scope, kinds: Iterable[ItemKind], reference: str) -> tuple[Item, str, Version] | None:
    """Return what had a name in the scope's project until it was moved, its project now, and the change that moved it.

    Only the last moves are read. A name that was taken in the other project became one with a number.
    """
    where, reference = projects.list_allowed(tx, scope), lookup.split_project(reference)[1]
    for kind in kinds:
        name = lookup.without_scheme(kind, reference)
        moves = revisions.list_moves(tx, projects.current(tx, scope).number, kind, _MOST_MOVES)
        names = revisions.names_of(tx, kind, [item for item, _ in moves], where)
        numbered = {*islice(rules.list_free_names(name, ""), 1, 9)}
        for number, version in moves:
            now = names.get(number, ("", ""))[0]
            if now not in numbered and make_key(now) != make_key(name):
                continue
            change = revisions.of_items(tx, kind, [number], before=(version + 1, 0), limit=1)[0]
            try:
                item = find_known(tx, scope, change)
                old = now if now not in numbered else read_version_of(tx, scope, item, version - 1).state.name
            except (NotFound, Forbidden, VersionMissing):
                continue
            project = projects.names_of(tx, [item.project or 0]).get(item.project or 0, scope.project)
            if not item.is_deleted and project != scope.project and old in (now, name):
                return item, project, change
    return None


def list_changes(
    tx: Tx, scope: Scope, query: ChangeQuery = EVERY_CHANGE, *, limit: int = 50, is_everything: bool = False
) -> tuple[list[FeedEntry], bool]:
    """List changes of the scope's project and the user's tasks, newest first, and whether there are more.

    `is_everything` lists all projects and all users; only the owner of the store may ask for that.

    Raises:
        UnknownAuthor: nobody of the name in the query made such a change.
    """
    found, has_more = _read_feed(tx, scope, query, limit, is_everything=is_everything)
    return label(tx, scope, found), has_more


def _read_feed(
    tx: Tx, scope: Scope, query: ChangeQuery, limit: int, *, is_everything: bool = False
) -> tuple[list[Version], bool]:
    numbers = None if is_everything else [projects.current(tx, scope).number]
    owner = None if is_everything else scope.user or ""
    return _read_known(tx, scope, query, numbers, owner, limit)


def _read_known(
    tx: Tx, scope: Scope, query: ChangeQuery, numbers: Sequence[int] | None, owner: str | None, limit: int
) -> tuple[list[Version], bool]:
    """Read a feed, and whether there is more; refuse the name of an author who changed nothing in it at any time."""
    _check(query)
    read = partial(revisions.feed, tx, projects=numbers, has_loose=scope.projects is None, owner=owner)
    found = read(query, limit=limit + 1)
    if query.by and not found and not read(ChangeQuery(by=query.by), limit=1):
        _refuse_author(scope, query.by, read(EVERY_CHANGE, limit=_MOST_SEARCHED))
    return found[:limit], len(found) > limit


def _refuse_author(scope: Scope, by: str, changes: Sequence[Version]) -> None:
    """Raise UnknownAuthor with the authors of some changes, unless the name stands for any person or any model."""
    if by.lower() not in ("person", "model"):
        names = dict.fromkeys(name_author(one.author, scope) for one in changes)
        raise UnknownAuthor(by, tuple(names)[:_MOST_AUTHORS])


def name_author(author: Author, scope: Scope) -> str:
    """Return the name of a change's author: the program, and the user unless it is the caller."""
    program = f"{author.client} {author.client_version}".strip() or author.contract or "unknown"
    if author.caller == "person":
        program = f"a person with {program}"
    is_other = author.user not in ("", scope.user)
    return f"user {author.user[:8]}, {program}" if is_other else program


def name_authors(authors: Iterable[Author], scope: Scope) -> dict[Author, str]:
    """Name the authors of some changes, and their sessions if a client made these changes in two."""
    names = {one: name_author(one, scope) for one in authors}
    counts = Counter(name for name, _ in {(name, one.session) for one, name in names.items()})
    return {one: f"{name} ({one.session})" if one.session and counts[name] > 1 else name for one, name in names.items()}


def list_visible_changes(
    tx: Tx, scope: Scope, query: ChangeQuery = EVERY_CHANGE, *, limit: int = 50
) -> tuple[list[FeedEntry], bool]:
    """List changes of all projects of the scope and the user's tasks, newest first, and whether there are more."""
    found, has_more = _read_known(tx, scope, query, projects.list_allowed(tx, scope), scope.user or "", limit)
    return label(tx, scope, found), has_more


def list_audit_trail(tx: Tx, query: ChangeQuery, limit: int) -> list[FeedEntry]:
    """List changes of all projects and users, oldest first; only the owner of the store may call this."""
    _check(query)
    return label(tx, Scope(), revisions.list_oldest(tx, query, limit))


def label(tx: Tx, scope: Scope, found: Sequence[Version]) -> list[FeedEntry]:
    """Return changes with the names that their items have now, or had when they were deleted.

    A task in a project that the scope may not enter gets no title.
    """
    names: dict[tuple[ItemKind, int], tuple[str, str]] = {}
    allowed = projects.list_allowed(tx, scope)
    for kind in dict.fromkeys(revision.kind for revision in found):
        numbers = sorted({revision.item for revision in found if revision.kind == kind})
        known = revisions.names_of(tx, kind, numbers, allowed)
        names |= {(kind, number): label for number, label in known.items()}
    where = projects.names_of(tx, [revision.project for revision in found if revision.project is not None])
    notes = read_notes(tx, scope, found)
    return [
        FeedEntry(
            revision=one,
            key=f"#{one.item}" if one.kind == "task" else names.get((one.kind, one.item), ("?", ""))[0],
            title=names.get((one.kind, one.item), ("", ""))[1],
            project=where.get(one.project or 0),
            note=notes.get(one.note, ""),
        )
        for one in found
    ]


def find_newest(tx: Tx, scope: Scope, elsewhere: Sequence[Version]) -> int:
    """Return the number of the newest change in the project or among those elsewhere; 0 if there is none."""
    found, _ = _read_feed(tx, scope, EVERY_CHANGE, 1)
    return max((one.number for one in [*found, *elsewhere[:1]]), default=0)


def find_last_change(tx: Tx, scope: Scope, task: int) -> int:
    """Return the number of the last change of a task or note on it that the scope may see; 0 if there is none."""
    found = revisions.of_items(tx, "task", [task], projects.list_allowed(tx, scope), limit=1, with_notes=True)
    return found[0].number if found else 0


def read_notes(tx: Tx, scope: Scope, changes: Sequence[Version], longest: int = LONGEST_NOTE) -> dict[int, str]:
    """Return the beginnings of the notes among some changes, by the numbers of the notes.

    A note on a task in a project that the scope may not enter is left out.
    """
    numbers = [one.note for one in changes if one.note]
    return revisions.note_texts(tx, numbers, projects.list_allowed(tx, scope), longest) if numbers else {}


# -- what happened since the last visit --------------------------------------------------------------------------


def find_last_visit(tx: Tx, scope: Scope, client: str) -> Timestamp | None:
    """Return the time of the user's last change through a client, or the time a day ago if that is earlier.

    None means that the client never changed anything.
    """
    where = projects.list_allowed(tx, scope)
    last = revisions.last_change_by(tx, scope.owner, client, where) if client else None
    return None if last is None else min(last, clock.days_before(tx.now, 1))


def find_active_days(tx: Tx, scope: Scope, query: ChangeQuery, days: int) -> Timestamp | None:
    """Return the beginning of the last days on which the project changed; None if it never changed."""
    found, _ = _read_feed(tx, scope, query, _MOST_READ)
    active = list(dict.fromkeys(one.at[:10] for one in found))[:days]
    return f"{active[-1]}T00:00:00.000000Z" if active else None


def find_time(tx: Tx, scope: Scope, query: ChangeQuery) -> Timestamp:
    """Return the time from which a query asks for changes.

    If it asks for the changes after a given one, return the time of that one, or of the last before it that the scope
    may see.
    """
    if not query.after:
        return query.since
    until = ChangeQuery(before=query.after + 1)
    where, has_loose, owner = projects.list_allowed(tx, scope), scope.projects is None, scope.user or ""
    found = revisions.feed(tx, until, projects=where, has_loose=has_loose, owner=owner, limit=1)
    return found[0].at if found else ""


def list_elsewhere(tx: Tx, scope: Scope, query: ChangeQuery) -> list[Version]:
    """List the last changes in the other projects of the scope, newest first."""
    here = projects.current(tx, scope).number
    others = [one for one in project_rows.numbers(tx, scope.projects) if one != here]
    query, has_loose, owner = _skip_older(tx, scope, query), scope.projects is None, scope.user or ""
    found = revisions.feed(tx, query, projects=others, has_loose=has_loose, owner=owner, limit=_MOST_READ)
    return [one for one in found if one.project is not None]


_Who = tuple[bool, str, str, bool]  # is it the caller, the user, the program, is it a person


def list_bursts(
    tx: Tx, scope: Scope, query: ChangeQuery, elsewhere: Sequence[Version], client: str, *, limit: int, names: int
) -> tuple[list[Burst], bool]:
    """List what each author did, in bursts, and return whether there was more; `client` is the caller's.

    `elsewhere` are the changes in other projects, because an item that was moved has its last change there. The authors
    are in the order of their last changes, but the caller comes last. Each burst has the names of some items.
    Completions and cancellations are left out, because `list_closed` lists them.
    """
    query = _skip_older(tx, scope, query)
    found, has_more = _read_feed(tx, scope, query, _MOST_READ)
    to = _find_destinations(tx, scope, elsewhere)
    found = sorted([*found, *(one for one in elsewhere if one.number in to)], key=lambda one: -one.number)
    bursts: dict[tuple[_Who, ItemKind, Action, str | None], list[list[Version]]] = {}
    for revision in _find_last_changes(found):
        author, there = revision.author, to.get(revision.number)
        is_own = author.client == client and author.user in ("", scope.user)
        who = (is_own, author.user, author.client or author.contract, author.caller == "person")
        of_kind = bursts.setdefault((who, revision.kind, "move" if there else revision.action, there), [])
        if of_kind and clock.minutes_after(revision.at, _PAUSE) >= of_kind[-1][-1].at:
            of_kind[-1].append(revision)
        else:
            of_kind.append([revision])
    oldest = found[-1].number if has_more else 0
    listed = [
        (who, Burst(action=action, revisions=tuple(one), to=there, is_own=who[0], is_cut=one[-1].number == oldest))
        for (who, _, action, there), of_kind in bursts.items()
        for one in of_kind
    ]
    newest: dict[_Who, int] = {}
    for who, burst in listed:
        newest[who] = max(newest.get(who, 0), burst.newest.number)
    listed.sort(key=lambda one: (one[0][0], -newest[one[0]], -one[1].newest.number))
    shown = [burst for _, burst in listed[:limit]]
    labels = iter(label(tx, scope, [one for burst in shown for one in burst.revisions[::-1][:names]]))
    done = [replace(burst, entries=tuple(islice(labels, min(names, len(burst.revisions))))) for burst in shown]
    return done, has_more or len(listed) > limit


def _find_destinations(tx: Tx, scope: Scope, elsewhere: Sequence[Version]) -> dict[int, str]:
    """Map the changes that moved an item out of the project to the name of the project where it is now."""
    moves = {one.number: one.project for one in elsewhere if one.action == "move"}
    here = projects.current(tx, scope).number
    to = {number: moves[number] or 0 for number in revisions.find_moved_from(tx, here, list(moves))}
    names = projects.names_of(tx, list(to.values()))
    is_open = set(names.values()) if scope.projects is None else {*scope.projects}
    return {number: names[project] for number, project in to.items() if names.get(project) in is_open}


def _find_last_changes(found: Sequence[Version]) -> list[Version]:
    """Return the last change of each item by each author, newest first, except notes.

    If they added and updated an item, return the addition. Items that were completed or cancelled last are left
    out.
    """
    last: dict[tuple[Author, ItemKind, int], Version] = {}
    for one in found:
        if one.note:
            continue
        key = replace(one.author, session=""), one.kind, one.item
        newest = last.setdefault(key, one)
        if one.action == "add" and newest.action in ("update", "reopen"):
            last[key] = one
    kept = [one for one in last.values() if one.action not in ("complete", "cancel")]
    return sorted(kept, key=lambda one: -one.number)


def list_closed(
    tx: Tx, scope: Scope, status: Literal["completed", "cancelled"], since: Timestamp, limit: int, *, after: int
) -> tuple[list[Completion], bool]:
    """List the project's tasks completed or cancelled since a time, last first, and return whether there are more.

    Tasks that were not closed by a change after the one numbered `after` are left out. A caller who may enter all
    projects also gets the tasks of no project. A task that was imported counts from the time at which it was completed,
    not imported.
    """
    wanted = TaskQuery(
        filter=status,
        project=scope.project,
        takes_unfiled=scope.projects is None,
        completed_since=since,
    )
    found, has_more = tasks.list_page(tx, scope, wanted, limit=limit)
    numbers = [task.number for task in found]
    where = projects.list_allowed(tx, scope)
    done: dict[int, Version] = {}
    for one in revisions.of_items(tx, "task", numbers, where, query=ChangeQuery(since=since)) if numbers else []:
        if one.action == ("complete" if status == "completed" else "cancel"):
            done.setdefault(one.item, one)
    notes = tasks.last_notes(tx, scope, numbers)
    listed = [
        Completion(
            task=task,
            author=done[task.number].author if task.number in done else None,
            note=notes.get(task.number),
        )
        for task in found
        if task.number not in done or done[task.number].number > after
    ]
    return listed, has_more


def _skip_older(tx: Tx, scope: Scope, query: ChangeQuery) -> ChangeQuery:
    """Narrow a query to newer changes by number, if the caller may know how many changes the store has."""
    if scope.projects is not None or not query.since:
        return query
    # Numbers are not quite in the order of time: a command of several transactions dates all changes to its beginning.
    before = revisions.last_before(tx, clock.days_before(query.since))
    return replace(query, after=max(query.after, before))


def list_trash(tx: Tx, scope: Scope, *, is_everything: bool = False, limit: int = 1000) -> list[Item]:
    """List the deleted items of the scope's project and of the user's tasks, last deleted first."""
    where = projects.list_allowed(tx, scope) if is_everything else [projects.current(tx, scope).number]
    has_loose, since = scope.projects is None, trash.kept_since(tx)
    return trash.list_newest(tx, KINDS, projects=where, has_loose=has_loose, owner=scope.user, since=since, limit=limit)


def find_known(tx: Tx, scope: Scope, revision: Version) -> Item:
    """Find the item of a revision, wherever it is now.

    Raises:
        NotFound: the item was removed permanently, its project was deleted, or the scope may not see it.
    """
    [entry] = label(tx, scope, [revision])
    if entry.key == "?":
        raise NotFound(revision.kind, str(revision.item), scope)
    for deleted in trash.by_number(tx, revision.kind, [revision.item]):
        if deleted.updated_at < trash.kept_since(tx) or not lookup.may_see(tx, scope, deleted):
            raise NotFound(revision.kind, entry.key, scope)
        return deleted
    if revision.kind in ("prompt", "document"):
        where = projects.list_allowed(tx, scope)
        home = next((one.project for one in revisions.of_items(tx, revision.kind, [revision.item], where, limit=1)), 0)
        name = projects.names_of(tx, [home or 0]).get(home or 0)
        if name is None:
            raise NotFound("project", lookup.name_of_deleted(tx, home), scope)
        scope = projects.enter(scope, name)
    return lookup.find(tx, scope, uri_of(revision.kind, entry.key.removeprefix("#")))


def _check(query: ChangeQuery) -> None:
    if not rules.is_storable(query.by):
        raise WrongArgument("by", "pattern", value=query.by)


# -- retention, in steps that hold the write lock for a few milliseconds each -----------------------------------------


def prune(database: Database, *, pause: Callable[[], object] = lambda: None, empty_trash: bool = False) -> int:
    """Remove rows older than the retention, or with `empty_trash` all deleted items; return the number of rows."""
    now, kept = clock.now(), database.retention
    cutoffs = Cutoffs(
        history=clock.days_before(now, kept.history_days),
        versions=kept.history_versions,
        trash=now if empty_trash or not kept.trash_days else clock.days_before(now, kept.trash_days),
    )
    removed, position = 0, 0
    while (step := database.prune(cutoffs, position)) is not None:
        position, count = step
        removed += count
        if pause():
            return removed
    if removed:
        clean_words(database, pause=pause)
    return removed


def clean_words(database: Database, *, pause: Callable[[], object] = lambda: None) -> None:
    """Remove from the index the words that no item has any more."""
    position: tuple[int, str] | None = (0, "")
    while position is not None and not pause():
        with database.write() as tx:
            position = tx.clean_words(position)


def forget_values(database: Database, libraries: Sequence[str] | None) -> int:
    """Remove the argument values of prompts that no longer exist; return their number.

    Values of a library's prompt are kept as long as the trash, because a library missing from `libraries` may come
    back, or another server may have it. None means that the libraries are unknown.
    """
    before = clock.days_before(clock.now(), database.retention.trash_days)
    return database.forget_values(libraries, before)
