"""Which projects there are, by name: what a start asks before any call. `projects` has the rest, with history."""

from satchel.model import Project
from satchel.services import rules
from satchel.services.suggestions import closest_name
from satchel.storage import projects as rows
from satchel.storage.database import Database, Tx


def find(tx: Tx, name: str) -> Project | None:
    """The project of a name, if there is one."""
    return rows.by_name(tx, name) if rules.is_storable(name) else None


def exists(database: Database, name: str) -> bool:
    """Whether there is a project of this name."""
    with database.read() as tx:
        return find(tx, name) is not None


def suggest(database: Database, name: str) -> str | None:
    """The existing project whose name is most like a mistyped one."""
    with database.read() as tx:
        return closest_name(name, [project.name for project, _ in rows.list_all(tx)])
