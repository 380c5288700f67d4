"""The project that a command works in, by the rule that servers have too, and what to do where it does not exist."""

from functools import partial

import click

from satchel.app import project_discovery
from satchel.app.startup import explain_missing_project
from satchel.config import Settings
from satchel.errors import NotFound, SatchelError
from satchel.model import Scope
from satchel.services import project_names
from satchel.storage.database import Database


def find_scope(settings: Settings, database: Database) -> Scope:
    """The scope of the current project: the one that a setting names, else the one that the folder does."""
    why = settings.why_project or "the default"
    scope = Scope(project=settings.project, why=why, user=settings.user, personal=settings.personal)
    if settings.why_project is not None:
        return scope
    return project_discovery.find_current(scope, partial(project_names.exists, database))


def check_file(error: SatchelError, database: Database, scope: Scope) -> None:
    """Refuse a command whose project does not exist, where a `.satchel` file names that project.

    Raises:
        click.UsageError: so it is.
    """
    is_current = isinstance(error, NotFound) and error.kind == "project" and error.key == scope.project
    if is_current and scope.is_named_by_file:
        raise click.UsageError(explain_missing_project(database, scope))


def explain_personal(error: NotFound, database: Database) -> str | None:
    """Where to change an item that a project only reads from the personal one; None for any other."""
    from satchel.services import references  # loads all of history, which most commands do not need

    with database.read(error.scope) as tx:
        found = references.find_personal(tx, error)
    if found is None:
        return None
    there, here = error.scope.personal, error.scope.project
    return (
        f"{found.kind} '{found.name}' is in project '{there}', not in '{here}'. Say -p {there} to change it for every "
        f"project, or copy it first: satchel {found.kind} copy {found.name} --to {here}"
    )
