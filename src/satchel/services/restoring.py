"""Restores old versions and deleted items, undoes a user's last changes, and removes items for good.

Errors about an item are those of `lookup.find`. VersionMissing is raised if history does not have a version; Taken if
another item has the old title; StoreConflict if another call changed, restored or purged the item meanwhile; NotFound
if its project does not exist; and Forbidden if the scope may not enter it or, for a project itself, only some projects.
"""

from collections.abc import Sequence
from contextlib import nullcontext

from msgspec import Struct, structs

from satchel.errors import Forbidden, NotFound, StoreConflict, VersionConflict, VersionMissing
from satchel.model import KINDS, UNSET, DocumentPatch, Item, PromptPatch, Scope, TaskPatch, Version, uri_of
from satchel.services import documents, history, links, lookup, projects, prompts, recording, tasks, templates
from satchel.services.history import FeedEntry
from satchel.services.recording import restoring
from satchel.storage import pruning, revisions, trash
from satchel.storage.database import Tx, Violation

_AGE = ("expires", "replaced_by")


class Restored(Struct, frozen=True, kw_only=True):
    """The result of a restore."""

    item: Item  # in its present state
    from_version: int | None  # the version that was restored
    was_deleted: bool = False
    is_changed: bool = True  # False: it already had that state
    notes: tuple[str, ...] = ()  # the differences from the old version, in sentences


def restore(tx: Tx, scope: Scope, reference: lookup.Reference, version: int | None = None) -> Restored:
    """Restore an old version of an item, or a deleted item.

    Without a version, a deleted item is restored as it was, and an existing one to the version before its last change.
    An existing item that was never changed stays, and a deleted item of the same name is restored beside it. An item
    that already has the wanted state is not changed.
    """
    item = find(tx, scope, reference)
    if item.is_deleted:
        return bring_back(tx, scope, item, version)
    if version is None:
        where = projects.list_allowed(tx, scope) if item.kind != "project" else None
        own = revisions.of_items(tx, item.kind, [item.number], where, limit=2)
        if item.former and own and own[0].action == "add":
            return bring_back(tx, scope, _read_former(tx, item))
        version = _version_before_last_change(item, own)
        return put(tx, scope, item, history.read_version_of(tx, scope, item, version), moves=True)
    return put(tx, scope, item, history.read_version_of(tx, scope, item, version))


def find(tx: Tx, scope: Scope, reference: lookup.Reference) -> Item:
    """Find the item to restore; this does not create the scope's project.

    If that project does not exist, the reference names the deleted project.
    """
    scope = structs.replace(scope, makes="", personal="")
    with restoring(tx):  # so that this lookup restores or creates nothing
        try:
            return lookup.find(tx, scope, reference)
        except NotFound as missing:
            if missing.kind != "project" or str(reference).strip() != scope.project:
                raise
            return lookup.find(tx, scope, uri_of("project", scope.project))


def bring_back(tx: Tx, scope: Scope, item: Item, version: int | None = None, *, undone: int = 0) -> Restored:
    """Restore a deleted item in its last state, or in the state of an older version."""
    with restoring(tx, undone):
        try:
            now = _bring_back(tx, scope, item)
        except Violation as violation:
            raise StoreConflict(f"{item.kind} {item.key}: {violation}") from violation
    notes = []
    if now.name != item.name:
        notes.append(f"The name {item.name} is taken; the item is now called {now.name}.")
    if item.kind == "prompt" and now.title != item.title:
        notes.append(f"The title {item.title} is taken; it is now {now.title}.")
    if version in (None, item.version - 1):
        notes += _missing_includes(tx, scope, now)
        return Restored(item=now, from_version=item.version - 1, was_deleted=True, notes=tuple(notes))
    wanted = history.read_version_of(tx, scope, structs.replace(now, former=item.former), version)
    if now.name != item.name:  # that was said already
        wanted = structs.replace(wanted, state=structs.replace(wanted.state, name=now.name))
    again = put(tx, scope, now, wanted, undone=undone)
    return Restored(item=again.item, from_version=wanted.version, was_deleted=True, notes=(*notes, *again.notes))


def put(
    tx: Tx,
    scope: Scope,
    live: Item,
    old: Item,
    *,
    undone: int = 0,
    moves: bool = False,
    is_always_recorded: bool = False,
) -> Restored:
    """Give an item the state of another version; if it already has that state, do so only if `is_always_recorded`.

    A task returns to the project of that version; a prompt or document only with `moves`.
    """
    wanted, notes = old, _missing_blockers(tx, scope, old)
    if live.kind == "task":
        blockers = tuple(_choose_blockers(tx, scope, live, old))
        parent = tasks.choose_former_parent(tx, scope, live.state.parent, old.state.parent)
        wanted = structs.replace(old, state=structs.replace(old.state, blocked_by=blockers, parent=parent))
    is_renamed = live.kind == "document" and old.state.name != live.name and not (moves and old.project != live.project)
    if is_renamed and not documents.is_free(tx, _enter(tx, scope, live.project), "name", old.state.name):
        wanted = structs.replace(old, state=structs.replace(old.state, name=live.name))
        notes = [f"The name {old.state.name} is taken; the document keeps the name {live.name}."]
    if live.kind == "prompt" and old.project != live.project and not moves and old.state.title != live.title:
        wanted = structs.replace(old, state=structs.replace(old.state, title=live.title))
        notes = [f"The prompt was in another project then, so it keeps the title {live.title}."]
    if live.kind == "project" and not scope.is_person:  # an agent does not choose who reviews its work
        wanted = structs.replace(old, state=structs.replace(old.state, review=live.state.review))
    project = old.project
    if project != live.project and project not in projects.names_of(tx, [project or 0]):
        project = None
    is_moved = live.project != project and (live.kind == "task" or (moves and project is not None))
    if _is_same(live, wanted) and not is_moved and not is_always_recorded:
        return Restored(item=live, from_version=old.version, is_changed=False, notes=tuple(notes))
    if live.kind == "project":
        projects.check_unlimited(scope, live.name)
    with restoring(tx, undone):
        try:
            now = _put(tx, scope, live, wanted, project if is_moved else live.project)
        except (VersionConflict, NotFound) as conflict:
            if conflict.kind != live.kind:
                raise
            raise StoreConflict(str(conflict)) from conflict
    notes += _missing_includes(tx, scope, now)
    return Restored(item=now, from_version=old.version, notes=tuple(notes))


def delete(tx: Tx, scope: Scope, live: Item, *, undone: int = 0) -> None:
    """Delete an item of any kind, as its own service does."""
    # Without a revision to undo this is a plain deletion, and its effects on other items are not restores.
    with restoring(tx, undone) if undone else nullcontext():
        if live.kind == "prompt":
            prompts.delete(tx, _enter(tx, scope, live.project), live.id)
        elif live.kind == "document":
            documents.delete(tx, _enter(tx, scope, live.project), live.name)
        elif live.kind == "task":
            tasks.delete(tx, scope, live.number)
        else:
            projects.check_unlimited(scope, live.name)
            projects.delete(tx, live.name)


def _read_former(tx: Tx, item: Item) -> Item:
    """Return the last deleted item that had the same name as `item`."""
    found = trash.by_number(tx, item.kind, item.former[:1])
    if not found:
        raise StoreConflict(f"another call restored or purged {item.kind} {item.key}")
    return found[0]


def _version_before_last_change(item: Item, own: Sequence[Version]) -> int | None:
    """Return the version before the newest one; None stands for the newest, if it is a restore or the only one."""
    if not own or own[0].version != item.version or own[0].action == "restore":
        return None
    if len(own) == 2:
        return own[1].version
    return None if own[0].action == "add" else own[0].version - 1  # the version before, which was pruned


def _bring_back(tx: Tx, scope: Scope, deleted: Item) -> Item:
    if deleted.kind == "prompt":
        return recording.of(prompts.restore(tx, _enter(tx, scope, deleted.project), deleted.number))
    if deleted.kind == "document":
        return recording.of(documents.restore(tx, _enter(tx, scope, deleted.project), deleted.number))
    if deleted.kind == "task":
        return recording.of(tasks.restore(tx, scope, deleted.number))
    return _bring_back_project(tx, scope, deleted)


def _bring_back_project(tx: Tx, scope: Scope, deleted: Item) -> Item:
    """Restore a project and, if an undo deleted the project, also the items in it that the same undo deleted."""
    deletions = revisions.of_items(tx, "project", [deleted.number], limit=1)
    project = recording.of(projects.restore(tx, deleted.number))
    for one in deletions:
        inside = revisions.of_transaction(tx, one.author.user, one.at, [deleted.number]) if one.undoes else []
        for kind in KINDS:
            numbers = [other.item for other in inside if other.kind == kind and other.action == "delete"]
            for item in trash.by_number(tx, kind, numbers):
                if item.owner in (None, scope.user):
                    _bring_back(tx, scope, item)
    return project


def _choose_blockers(tx: Tx, scope: Scope, live: Item, old: Item) -> list[int]:
    """Return the blockers of an old version that still exist, and those present blockers that the scope cannot see."""
    present = live.state.blocked_by
    hidden = {*present} - {*tasks.keep_existing_blockers(tx, scope, present)}
    former = tasks.keep_existing_blockers(tx, scope, old.state.blocked_by)
    return sorted({*former, *hidden})


def _is_same(live: Item, wanted: Item) -> bool:
    """Return whether an item has the content of an old version, and a document or a project also its name."""
    kept = structs.replace(wanted.state, id=live.state.id, created_at=live.state.created_at, uri=live.state.uri)
    if live.kind == "prompt":
        kept = structs.replace(kept, name=live.name)
    return kept == live.state and wanted.content == live.content


def _put(tx: Tx, scope: Scope, live: Item, old: Item, project: int | None) -> Item:
    state = old.state
    is_moved = project != live.project
    if is_moved and live.kind in ("prompt", "document"):  # a move changes nothing else, except a name taken there
        here, to = _enter(tx, scope, live.project), _enter(tx, scope, project).project
        if live.kind == "prompt":
            return recording.of(prompts.move(tx, here, live.id, to, wanted=state))
        return recording.of(documents.move(tx, here, live.name, to, wanted=state))
    if live.kind == "prompt":
        names = ("title", "description", "tags", "arguments", "is_constant", *_AGE)
        fields = {name: getattr(state, name) for name in names}
        patch = PromptPatch(content=str(old.content), **fields)
        return recording.of(prompts.update(tx, _enter(tx, scope, live.project), live.id, patch, live.version))
    if live.kind == "document":
        fields = {name: getattr(state, name) for name in ("name", "mime_type", "description", *_AGE)}
        changes = DocumentPatch(content=old.content, **fields)
        within = _enter(tx, scope, live.project)
        return recording.of(documents.update(tx, within, live.name, changes, live.version))
    if live.kind == "project":
        return recording.of(projects.put(tx, live.name, state.name, state.review))
    changed = TaskPatch(
        title=state.title,
        description=str(old.content) or None,
        project=projects.names_of(tx, [project or 0]).get(project or 0) if is_moved else UNSET,
        tags=state.tags,
        priority=state.priority,
        due=state.due,
        blocked_by=state.blocked_by,
        parent=state.parent,
        completed_at=state.completed_at,
        is_cancelled=state.is_cancelled,
        review_at=state.review_at,
    )
    return recording.of(tasks.update(tx, scope, live.number, changed, live.version))


def _enter(tx: Tx, scope: Scope, project: int | None) -> Scope:
    """Return the scope in the project of an item."""
    name = projects.names_of(tx, [project or 0]).get(project or 0)
    if name is None:
        raise NotFound("project", lookup.name_of_deleted(tx, project), scope)
    if scope.projects is not None and name not in scope.projects:
        raise Forbidden("project", name, scope)
    return projects.enter(scope, name)


def _missing_blockers(tx: Tx, scope: Scope, old: Item) -> list[str]:
    if old.kind != "task" or scope.projects is not None:
        return []
    left = tasks.keep_existing_blockers(tx, scope, old.state.blocked_by)
    gone = [f"#{number}" for number in old.state.blocked_by if number not in left]
    return [f"Blockers that no longer exist were left out: {', '.join(gone)}."] if gone else []


def _missing_includes(tx: Tx, scope: Scope, now: Item) -> list[str]:
    if not links.list_included(now):
        return []
    return templates.describe_missing(tx, _enter(tx, scope, now.project), now)


# -- undo -------------------------------------------------------------------------------------------------------------


class Step(Struct, frozen=True):
    """One call or command of a user, which can be undone: its changes, newest first."""

    at: str
    changes: tuple[FeedEntry, ...]


def plan_undo(tx: Tx, scope: Scope, last: int = 1) -> list[Step]:
    """Return the user's last calls and commands that were not undone yet, newest first.

    A scope limited to some projects gets only changes in these, and no changes of projects themselves.
    """
    user = scope.user or ""
    where = projects.list_allowed(tx, scope)
    times = revisions.last_by(tx, user, where, last)
    return [Step(at, tuple(history.label(tx, scope, revisions.of_transaction(tx, user, at, where)))) for at in times]


def undo(tx: Tx, scope: Scope, last: int = 1) -> list[Step]:
    """Undo the last calls and commands of the scope's user; return them.

    Raises:
        VersionConflict: something was changed since.
        NotFound: something was removed permanently.
        VersionMissing: the previous version was pruned.
    """
    steps = plan_undo(tx, scope, last)
    for step in steps:
        # Deleted items are restored first, because other changes of the call may refer to them.
        for entry in sorted(step.changes, key=lambda entry: entry.revision.action != "delete"):
            take_back(tx, scope, entry.revision)
    return steps


def take_back(tx: Tx, scope: Scope, revision: Version) -> None:
    """Undo one change of one item, except a note, which stays; the errors are those of `undo`."""
    if revision.note:
        return
    item = history.find_known(tx, scope, revision)
    found = revisions.of_items(tx, revision.kind, [revision.item])
    later = [one for one in found if one.version > revision.version and one.undoes is None]
    if len(revisions.taken_back(tx, later)) < len({(one.at, one.author.user) for one in later}):
        raise VersionConflict(revision.kind, item.key, expected=revision.version, actual=found[0].version)
    if item.is_deleted:
        if revision.action != "delete":
            raise NotFound(revision.kind, item.key, scope)
        bring_back(tx, scope, item, undone=revision.number)
        return
    before = next((one for one in found if one.version < revision.version), None)
    if revision.action == "add" or (before is not None and before.action == "delete"):
        delete(tx, scope, item, undone=revision.number)
        return
    if before is None:
        raise VersionMissing(revision.kind, item.key, revision.version - 1, history.kept_versions(tx, scope, item))
    old = history.read_version_of(tx, scope, item, before.version)
    # Undoing a change without effect also makes a version; otherwise, it would be the next change to undo again.
    is_taken_back = bool(revisions.taken_back(tx, [revision]))
    put(tx, scope, item, old, undone=revision.number, moves=True, is_always_recorded=not is_taken_back)


# -- removal for good -------------------------------------------------------------------------------------------------


def purge(tx: Tx, scope: Scope, reference: str) -> Item:
    """Permanently remove an item and the deleted items of the same name, with their history; return the item."""
    item = lookup.find(tx, scope, reference)
    if not item.is_deleted:
        delete(tx, scope, item)
    for number in (item.number, *item.former):
        pruning.remove(tx, item.kind, number)
    return item
