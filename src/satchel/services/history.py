"""Reads history: the versions of an item, an item at a version, the feed of changes; and prunes it.

Errors about an item are those of `lookup.find`, and about the scope's project those of `projects.current`;
VersionMissing is raised if history does not have a version.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from satchel import clock
from satchel.errors import NotFound, StoreConflict, UnknownAuthor, VersionMissing, WrongArgument
from satchel.model import (
    ACTION_WORDS,
    EVERY_CHANGE,
    KINDS,
    Author,
    ChangeQuery,
    Item,
    ItemKind,
    Scope,
    Timestamp,
    Version,
    uri_of,
)
from satchel.services import lookup, projects, recording, rules, tasks
from satchel.storage import revisions, trash
from satchel.storage.database import Cutoffs, Database, Tx
from satchel.storage.deltas import apply_delta
from satchel.storage.revisions import LAST, Position

LONGEST_NOTE = 120  # characters of a note in a list of changes

_MOST_AUTHORS = 10  # authors that an error names
_SHOWN = 20  # versions that an error names
_LOOKED_AT = 600  # changes to read, because many may concern the same item
_MOST_IN_BURSTS = 3_000  # changes to read for bursts
_PAUSE = 10  # minutes without a change, after which the author's next change begins a new burst
_SAMPLES = 5  # changes of a burst with their items' names


class FeedEntry(Struct, frozen=True, kw_only=True):
    """One change, and the current name of the item."""

    revision: Version
    key: str  # a name, or for a task #NUMBER
    title: str
    project: str | None  # its name; None for a task of no project, or if the project was deleted
    note: str = ""  # the beginning of the note that was added


class Doing(Struct, frozen=True, kw_only=True):
    """The last change of an item, or of several items in one call."""

    entries: tuple[FeedEntry, ...]  # the last change of each item, newest first
    did: str  # one of: added, changed, completed, cancelled, reopened, moved, deleted, restored
    adder: Author | None = None  # the author of the first version, if another change followed

    @property
    def revision(self) -> Version:
        """Return the last of the changes."""
        return self.entries[0].revision


class Burst(Struct, frozen=True, kw_only=True):
    """Changes by one author, each at most ten minutes after the one before."""

    author: Author
    began: Timestamp
    ended: Timestamp
    counts: dict[tuple[str, ItemKind], int]  # items by what was done last and by kind, such as ("added", "prompt")
    entries: tuple[FeedEntry, ...]  # some of the changes, each of another item, newest first

    @property
    def size(self) -> int:
        """Return the number of items that were changed."""
        return sum(self.counts.values())


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
    found = _list_versions(tx, scope, item, query=query, before=before, limit=limit + 1, with_notes=with_notes)
    if query.by and not found:
        any_time = ChangeQuery(by=query.by)
        if not _list_versions(tx, scope, item, query=any_time, limit=1, with_notes=with_notes):
            _refuse_author(scope, query.by, _list_versions(tx, scope, item, limit=_LOOKED_AT, with_notes=with_notes))
    return item, found[:limit], len(found) > limit


def read_version(tx: Tx, scope: Scope, reference: lookup.Reference, version: int | None = None) -> Item:
    """Return an item at a version; by default as it is now, or as it was when it was deleted."""
    old = read_version_of(tx, scope, lookup.find(tx, scope, reference), version)
    if old.kind != "task" or scope.projects is None:
        return old
    visible = tasks.keep_existing_blockers(tx, scope, old.state.blocked_by)
    return replace(old, state=replace(old.state, blocked_by=tuple(visible)))


def read_version_of(tx: Tx, scope: Scope, item: Item, version: int | None = None) -> Item:
    """Read a version of an item that is already known, including blockers that the scope may not see.

    The result has the item's present name. Its number may be that of a deleted item of the same name.
    """
    wanted = version
    if wanted is None:
        wanted = item.version - 1 if item.is_deleted else item.version
    if wanted == item.version and not item.is_deleted:
        return item
    found = _list_versions(tx, scope, item, before=(wanted + 1, 0), limit=1 + len(item.former))
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
    """Return the revisions of an item and of deleted items with its name; of a task, only the visible ones."""
    where = projects.list_allowed(tx, scope) if item.kind == "task" else None
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
        _refuse_author(scope, query.by, read(EVERY_CHANGE, limit=_LOOKED_AT))
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


def find_last_visit(tx: Tx, scope: Scope, client: str) -> Timestamp:
    """Return the time of the user's last change through a client, or the time a day ago if that is earlier."""
    a_day_ago = clock.days_before(tx.now, 1)
    where = projects.list_allowed(tx, scope)
    last = revisions.last_change_by(tx, scope.owner, client, where) if client else None
    return min(last or a_day_ago, a_day_ago)


def list_done(tx: Tx, scope: Scope, query: ChangeQuery, limit: int) -> tuple[list[Doing], bool]:
    """List the last change of each item except notes, newest first, and return whether there are more."""
    found, has_more = list_changes(tx, scope, query, limit=_LOOKED_AT)
    found = [one for one in found if not one.revision.note]
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
    # Drop the last call: it may be cut off, and its number of items would be wrong.
    return (done[:-1] if has_more and done[1:] else done), has_more


def _is_of_same_call(group: Doing, one: Doing) -> bool:
    """Return whether the call that made the changes in a group also made this one, to the same kind of item."""
    first, other = group.revision, one.revision
    return (first.kind, first.at, first.author, group.did, group.adder) == (
        other.kind,
        other.at,
        other.author,
        one.did,
        one.adder,
    )


def list_bursts(tx: Tx, scope: Scope, query: ChangeQuery) -> tuple[list[Burst], bool]:
    """Group changes of the scope's project and the user's tasks, except notes, by author and time, latest first.

    An item counts once in a group: as added, even if it was changed afterwards, or by the last change. Also return
    whether there were too many changes to read; the oldest group may be incomplete then.
    """
    found, has_more = _read_feed(tx, scope, query, _MOST_IN_BURSTS)
    groups: list[list[Version]] = []
    last: dict[tuple[str, str, str], list[Version]] = {}  # the oldest group of each author so far
    for one in found:
        if one.note:
            continue
        author = one.author
        key = author.user, author.client or author.contract, author.caller
        group = last.get(key)
        if group is None or one.at < clock.minutes_after(group[-1].at, -_PAUSE):
            group = last[key] = []
            groups.append(group)
        group.append(one)
    samples = [_pick_last(group) for group in groups]
    entries = iter(label(tx, scope, [one for some in samples for one in some]))
    bursts = [
        _make_burst(group, tuple(islice(entries, len(some)))) for group, some in zip(groups, samples, strict=True)
    ]
    return bursts, has_more


def _pick_last(group: Sequence[Version]) -> list[Version]:
    """Return the last change of each of the first items in a group of changes, newest first."""
    last: dict[tuple[ItemKind, int], Version] = {}
    for one in group:
        last.setdefault((one.kind, one.item), one)
    return list(last.values())[:_SAMPLES]


def _make_burst(group: Sequence[Version], entries: tuple[FeedEntry, ...]) -> Burst:
    """Count the items of a group of changes, newest first."""
    did: dict[tuple[ItemKind, int], str] = {}
    for one in group:
        is_new = one.action == "add" and did.get((one.kind, one.item)) == ACTION_WORDS["update"]
        did[one.kind, one.item] = one.done if is_new else did.get((one.kind, one.item), one.done)
    counts = Counter((done, kind) for (kind, _), done in did.items())
    return Burst(
        author=group[0].author,
        began=group[-1].at,
        ended=group[0].at,
        counts=dict(counts.most_common()),
        entries=entries,
    )


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
        if entry.project is None:
            raise NotFound("project", lookup.name_of_deleted(tx, revision.project), scope)
        scope = projects.enter(scope, entry.project)
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
