"""Rules about projects: finding the one a call works in."""

from satchel.errors import NotFound
from satchel.model import DEFAULT_PROJECT, Project, Scope
from satchel.storage import projects as rows
from satchel.storage.database import Database, Tx


def current(tx: Tx, scope: Scope) -> Project:
    """The project a call works in.

    Raises:
        NotFound: it was deleted, or never there.
    """
    project = rows.by_name(tx, scope.project)
    if project is None:
        raise NotFound("project", scope.project, scope)
    return project


def require(database: Database, scope: Scope) -> None:
    """Make sure that the project of a server is there before it serves; only `default` is made by itself.

    Raises:
        NotFound: there is no such project.
    """
    with database.read() as tx:
        if rows.by_name(tx, scope.project) is not None:
            return
    if scope.project != DEFAULT_PROJECT:
        raise NotFound("project", scope.project, scope)
    with database.write() as tx:
        rows.add(tx, DEFAULT_PROJECT)
