"""Projects: find the current one; add, rename, delete and restore one; count and list what it holds.

Functions that take a scope raise Forbidden and NotFound as `current` does; those that change a project raise NotFound
if there is none, WrongArgument if its name breaks a rule, and Taken if another project has the name.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeVar

from msgspec.structs import replace

from satchel.errors import Forbidden, NotFound, Taken
from satchel.model import (
    DEFAULT_PROJECT,
    Document,
    Item,
    Project,
    ProjectCounts,
    Prompt,
    PromptHeader,
    Reviewer,
    Scope,
    StoreChange,
    TaskNote,
    Timestamp,
)
from satchel.services import recording, rules
from satchel.services.texts import closest_name
from satchel.storage import projects as rows
from satchel.storage import tasks as task_rows
from satchel.storage import trash
from satchel.storage.database import Database, Tx, Violation

MOST_EVERYWHERE = 200  # projects in a list or a search of all projects

Value = TypeVar("Value")
Numbered = TypeVar("Numbered", bound=Prompt | PromptHeader | Document)


def find(tx: Tx, name: str) -> Project | None:
    """Return the project with a name, if there is one."""
    return rows.by_name(tx, name) if rules.is_storable(name) else None


def find_deleted(tx: Tx, name: str) -> Item | None:
    """Return the last deleted project with a name, if it can still be restored."""
    if not rules.is_storable(name):
        return None
    with tx.in_all_projects():
        return next(iter(trash.named(tx, "project", None, name, trash.kept_since(tx))), None)


def exists(database: Database, name: str) -> bool:
    """Return whether there is a project of this name."""
    with database.read() as tx:
        return find(tx, name) is not None


def suggest(database: Database, name: str) -> str | None:
    """Return the existing project whose name is most similar to a mistyped one."""
    with database.read() as tx:
        return closest_name(name, rows.names(tx))


def current(tx: Tx, scope: Scope) -> Project:
    """Return the project that a call works in.

    If the project is missing, but is personal or one that the scope makes, readers see it empty and writers create it,
    unless there is a deleted one of the same name. The first write restores a deleted `default`.

    Raises:
        Forbidden: the scope may not enter the project, whether it exists or not.
        NotFound: the project does not exist.
    """
    check_access(scope)
    project = find(tx, scope.project)
    if project is not None:
        return project
    deleted = find_deleted(tx, scope.project) if tx.writes and tx.restores is None else None
    if deleted is not None and scope.project == DEFAULT_PROJECT and scope.projects is None:
        return restore(tx, deleted.number)
    if deleted is not None:
        raise NotFound("project", scope.project, scope)
    if not scope.project or scope.project not in (scope.makes, scope.personal):
        raise NotFound("project", scope.project, scope)
    if not tx.writes:
        tx.absent_project = scope.project
        return Project(0, "", scope.project, tx.now, tx.now, 0)  # no row has this project number
    rules.clean_new_name("project", scope.project)
    tx.made_project = scope.project
    return (
        _record_new(tx, scope.project)
        if rows.add(tx, scope.project)
        else current(tx, replace(scope, makes="", personal=""))
    )


def check_access(scope: Scope) -> None:
    """Raise Forbidden unless a scope may enter its project, which need not exist."""
    if scope.projects is not None and scope.project not in scope.projects:
        raise Forbidden("project", scope.project, scope)


def check_unlimited(scope: Scope, name: str) -> None:
    """Raise Forbidden unless a scope may enter all projects, as changing a project itself requires."""
    if scope.projects is not None:
        raise Forbidden("project", name, scope)


def find_within(
    tx: Tx, scope: Scope, kind: str, find: Callable[..., Value | None], column: Literal["id", "name", "uri"], key: str
) -> Value:
    """Return the item of the scope's project whose `column` has the value `key`.

    `find` is a query by the name of the project, so that one statement is enough.
    """
    check_access(scope)
    is_storable = rules.is_storable(key) and rules.is_storable(scope.project)
    found = find(tx, scope.project, column, key) if is_storable else None
    if found is None:
        current(tx, scope)  # raises if the project itself does not exist
        raise NotFound(kind, key, scope)
    return found


def read_batches(read: Callable[[int, int], Sequence[Numbered]], size: int) -> Iterator[Sequence[Numbered]]:
    """Yield the items of a list in batches; `read` takes the last item's number and the size of a batch."""
    after, has_more = 0, True
    while has_more:
        batch = read(after, size)
        yield batch
        after, has_more = (batch[-1].number if batch else 0), len(batch) == size


def enter(scope: Scope, name: str) -> Scope:
    """Return the scope of the same caller in another project."""
    return replace(scope, project=name)


def get(tx: Tx, scope: Scope, name: str) -> Project:
    """Return the project with a name."""
    return current(tx, enter(scope, name))


def get_existing(tx: Tx, scope: Scope, name: str) -> Project:
    """Return the project with a name, without creating it."""
    return current(tx, replace(scope, project=name, makes="", personal=""))


def require(database: Database, scope: Scope) -> None:
    """Make sure that the project of a server or command exists, unless the first write creates it.

    Only `default` is created, or restored.
    """
    if scope.project in (scope.makes, scope.personal) or exists(database, scope.project):
        return
    if scope.project != DEFAULT_PROJECT:
        raise NotFound("project", scope.project, scope)
    with database.write() as tx:
        current(tx, Scope(makes=DEFAULT_PROJECT))


def add(tx: Tx, name: str) -> Project:
    """Create a project."""
    rules.clean_new_name("project", name)
    scope = Scope(project=name)
    if not rows.add(tx, name):
        raise Taken("project", "name", name, scope)
    return _record_new(tx, name)


def list_alike(tx: Tx, scope: Scope, name: str) -> list[str]:
    """List the projects whose names differ from a name only in case."""
    return [one for one in rows.names(tx, scope.projects) if one != name and one.casefold() == name.casefold()]


def list_all(tx: Tx, scope: Scope | None = None, most: int = 2**31) -> list[tuple[Project, ProjectCounts]]:
    """List the projects that a scope may enter, by name, each with counts of its items, which stop at `most`."""
    return rows.list_all(tx, None if scope is None else scope.projects, most)


def describe_why(scope: Scope, *, exists: bool) -> str:
    """Explain why the scope's project is the current one and, if the project does not exist, what creates it."""
    if exists:
        return scope.why
    return f"{scope.why}, {'made by the first write' if scope.project == scope.makes else 'which names no project'}"


def list_everywhere(tx: Tx, scope: Scope) -> dict[int, str]:
    """Return the names of the projects that a scope may enter, by number, newest first and up to a limit."""
    return rows.newest(tx, scope.projects, MOST_EVERYWHERE)


def list_names(tx: Tx, scope: Scope) -> list[str]:
    """List the names of the projects that a scope may enter, in order."""
    return rows.names(tx, scope.projects)


def count_tasks(tx: Tx, name: str) -> int:
    """Count the tasks in an existing project: the user's or, in an embedded store, all users'."""
    return rows.count_tasks(tx, name)


def count_current(tx: Tx, scope: Scope) -> ProjectCounts:
    """Count the items of the scope's project."""
    project = current(tx, scope)
    found = rows.list_all(tx, (scope.project,)) if project.number else []
    return found[0][1] if found else ProjectCounts(0, 0)


def count_open_tasks(tx: Tx, scope: Scope) -> dict[int, int]:
    """Count the open tasks of the user that the scope may see, by the numbers of their projects."""
    return rows.count_open_tasks(tx, scope.owner, scope.projects)


def list_tags(tx: Tx, scope: Scope, limit: int) -> list[str]:
    """List the most frequent tags of the project's prompts and open tasks, most frequent first."""
    return rows.tags_in_use(tx, current(tx, scope).number, scope.owner, limit)


def list_notes(tx: Tx, scope: Scope, since: Timestamp, limit: int, *, has_seen: bool) -> list[tuple[int, TaskNote]]:
    """List the last notes on open tasks of the project, with their task numbers, newest first.

    `has_seen` leaves out the notes of exactly the time `since`. A caller who may enter all projects also gets the notes
    on tasks of no project.
    """
    where, has_loose = current(tx, scope).number, scope.projects is None
    seen = since if has_seen else ""
    return task_rows.newest_notes_of_open(tx, scope.owner, where, since, limit, seen=seen, has_loose=has_loose)


def rename(tx: Tx, old: str, new: str) -> Project:
    """Rename a project."""
    rules.clean_new_name("project", new)
    before = _find_to_change(tx, old)
    return _update(tx, before, replace(before, name=new))


def set_review(tx: Tx, name: str, review: Reviewer | None) -> Project:
    """Set who must accept the tasks that agents complete in a project; None means nobody."""
    before = _find_to_change(tx, name)
    return before if before.review == review else _update(tx, before, replace(before, review=review))


def put(tx: Tx, old: str, name: str, review: Reviewer | None) -> Project:
    """Give a project the name and the review of an old version."""
    rules.clean_new_name("project", name)
    before = _find_to_change(tx, old)
    return _update(tx, before, replace(before, name=name, review=review))


def _update(tx: Tx, before: Project, after: Project) -> Project:
    """Store and announce the new state of a locked project."""
    try:
        rows.update(tx, before.number, after.name, after.review)
    except Violation as violation:
        raise Taken("project", "name", after.name, Scope(project=after.name)) from violation
    after = current(tx, Scope(project=after.name))
    recording.update(tx, before, after)
    for name in dict.fromkeys((before.name, after.name)):
        _announce(tx, name)
    return after


def delete(tx: Tx, name: str) -> None:
    """Delete a project with its prompts and documents; its tasks stay, in no project.

    `restore` brings it back whole, if the store keeps any trash.
    """
    project = _find_to_change(tx, name)
    rows.delete(tx, project.number)
    recording.delete(tx, project)
    _announce(tx, name)


def restore(tx: Tx, number: int) -> Project:
    """Restore a deleted project with everything in it; a taken name becomes the next free one."""
    was = recording.check_deleted(rows.find_deleted(tx, number), "project")
    name = rules.choose_free(rules.list_free_names(was.name, was.id), lambda one: rows.by_name(tx, one) is None)
    project = recording.check_deleted(rows.restore(tx, was, name), "project")
    recording.restore(tx, was, project)
    _announce(tx, name)
    return project


def list_allowed(tx: Tx, scope: Scope) -> list[int] | None:
    """Return the numbers of the projects that a scope may enter; None means all, and tasks of no project."""
    return None if scope.projects is None else rows.numbers(tx, scope.projects)


def names_of(tx: Tx, numbers: Sequence[int]) -> dict[int, str]:
    """Map the numbers of some projects to their names; omit deleted ones."""
    return rows.names_of(tx, sorted(set(numbers)))


def _find_to_change(tx: Tx, name: str) -> Project:
    project = rows.find_to_change(tx, name) if rules.is_storable(name) else None
    if project is None:
        raise NotFound("project", name, Scope(project=name))
    return project


def _record_new(tx: Tx, name: str) -> Project:
    """Record and announce a project that was just added."""
    project = current(tx, Scope(project=name))
    recording.add(tx, project)
    _announce(tx, name)
    return project


def _announce(tx: Tx, name: str) -> None:
    for what in ("project", "prompts", "documents"):
        tx.changed(StoreChange(what, name))
