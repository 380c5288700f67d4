"""What items are called now, by their numbers, for lists of changes."""

from collections.abc import Sequence

from satchel.model import ItemKind
from satchel.storage.database import Tx

_NAMES: dict[ItemKind, str] = {
    "prompt": "select number, name, title from prompts where number in :numbers",
    "document": "select number, name, name from documents where number in :numbers",
    "task": """
        select number, '', title from tasks where number in :numbers and (:all_projects or project in :projects)
    """,
    "project": "select number, name, name from projects where number in :numbers",
}


def names(tx: Tx, kind: ItemKind, numbers: Sequence[int], projects: Sequence[int] | None) -> dict[int, tuple[str, str]]:
    """Return the names and titles of some items, deleted or not; of tasks only those in some projects.

    With None these are all projects, and tasks of none.
    """
    sql = _NAMES[kind]
    values = {"all_projects": projects is None, "projects": list(projects or ())} if kind == "task" else {}
    return {number: (name, title) for number, name, title in tx.all(sql, numbers=list(numbers), **values)}
