"""Rules and use cases of projects."""

from msgspec.structs import replace

from satchel.errors import Forbidden, NotFound, Taken
from satchel.model import DEFAULT_PROJECT, Project, ProjectCounts, Scope, StoreChange
from satchel.services import rules
from satchel.services.suggestions import closest_name
from satchel.storage import projects as rows
from satchel.storage.database import Database, Tx, Violation


def current(tx: Tx, scope: Scope) -> Project:
    """The project a call works in.

    Raises:
        Forbidden: the scope may not enter it, whether it is there or not.
        NotFound: it was deleted, or never there.
    """
    check_open(scope)
    project = rows.by_name(tx, scope.project) if "\0" not in scope.project else None  # ?project=%00, over HTTP
    if project is None:
        raise NotFound("project", scope.project, scope)
    return project


def check_open(scope: Scope) -> None:
    """Refuse a project that the scope may not enter, whether it is there or not.

    Raises:
        Forbidden: it may not.
    """
    if scope.projects is not None and scope.project not in scope.projects:
        raise Forbidden("project", scope.project, scope)


def entered(scope: Scope, name: str) -> Scope:
    """The scope of the same caller in another project."""
    return replace(scope, project=name)


def named(tx: Tx, scope: Scope, name: str) -> Project:
    """The project of a name, as far as the scope may enter it.

    Raises:
        Forbidden, NotFound: as `current`.
    """
    return current(tx, entered(scope, name))


def require(database: Database, scope: Scope) -> None:
    """Make sure that the project of a server is there before it serves; only `default` is made by itself.

    Raises:
        NotFound: there is no such project.
    """
    with database.read() as tx:
        if rules.is_storable(scope.project) and rows.by_name(tx, scope.project) is not None:
            return
    if scope.project != DEFAULT_PROJECT:
        raise NotFound("project", scope.project, scope)
    with database.write() as tx:
        if rows.add(tx, DEFAULT_PROJECT):
            _tell(tx, DEFAULT_PROJECT)


def is_there(database: Database, name: str) -> bool:
    """Whether there is a project of a name."""
    with database.read() as tx:
        return rules.is_storable(name) and rows.by_name(tx, name) is not None


def near(database: Database, name: str) -> str | None:
    """The project that somebody may have meant."""
    with database.read() as tx:
        return closest_name(name, [project.name for project, _ in rows.listed(tx)])


def add(tx: Tx, name: str) -> Project:
    """Make a project.

    Raises:
        WrongArgument: the name cannot be a name.
        Taken: there is a project of that name.
    """
    rules.check_name("project", name)
    scope = Scope(project=name)
    if not rows.add(tx, name):
        raise Taken("project", "name", name, scope)
    _tell(tx, name)
    return current(tx, scope)


def listed(tx: Tx, scope: Scope | None = None) -> list[tuple[Project, ProjectCounts]]:
    """Every project that a scope may enter by name, and how much it holds."""
    return rows.listed(tx, None if scope is None else scope.projects)


def contents(tx: Tx, name: str) -> ProjectCounts:
    """How much a project holds.

    Raises:
        NotFound: there is no such project.
    """
    return rows.contents(tx, current(tx, Scope(project=name)).number)


def rename(tx: Tx, old: str, new: str) -> Project:
    """Give a project another name.

    Raises:
        WrongArgument: the new name cannot be a name.
        NotFound: there is no such project.
        Taken: another project has the new name.
    """
    rules.check_name("project", new)
    scope = Scope(project=new)
    try:
        is_renamed = rows.rename(tx, old, new)
    except Violation as violation:
        raise Taken("project", "name", new, scope) from violation
    if not is_renamed:
        raise NotFound("project", old, Scope(project=old))
    _tell(tx, old)
    _tell(tx, new)
    return current(tx, scope)


def delete(tx: Tx, name: str) -> None:
    """Remove a project with all that is in it.

    Raises:
        NotFound: there is no such project.
    """
    if not rows.delete(tx, name):
        raise NotFound("project", name, Scope(project=name))
    _tell(tx, name)


def _tell(tx: Tx, name: str) -> None:
    for what in ("project", "prompts", "resources"):
        tx.changed(StoreChange(what, name))
