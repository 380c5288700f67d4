"""The texts of items that a search found, and those that have a text literally."""

from collections.abc import Sequence

from msgspec import Struct

from satchel.storage.database import Tx
from satchel.storage.search import FoundKind
from satchel.storage.search_text import MAX_INDEXED
from satchel.storage.tasks import CONFINED, Allowed, confine

_PROMPTS = "select number, name, title, description, substr(content, 1, :longest) from prompts where number in :numbers"
_DOCUMENTS = """
    select number, name, name, description, coalesce(substr(content, 1, :longest), '') from documents
    where number in :numbers
"""
_TASKS = f"""
    select number, '', title, null, coalesce(description, '') from tasks
    where owner || '' = :owner and number in :numbers and {CONFINED}
"""
_WHOLE_DOCUMENTS = """
    select number, name, description, content from documents
    where project = :project and number < :before order by number desc limit :batch
"""


class FoundText(Struct, frozen=True):
    """What a hit shows of an item."""

    number: int
    name: str  # empty for a task
    title: str
    description: str | None
    text: str
    layer: str = ""  # the personal project, where it is from there


def read_texts(tx: Tx, kind: FoundKind, numbers: Sequence[int], owner: str, allowed: Allowed) -> list[FoundText]:
    """Some items of a kind; of tasks only those of an owner in the allowed projects."""
    sql = {"prompt": _PROMPTS, "document": _DOCUMENTS, "task": _TASKS}[kind]
    rows = tx.all(sql, numbers=list(numbers), longest=MAX_INDEXED, owner=owner, **confine(tx, allowed))
    return [FoundText(*row) for row in rows]


def keep_closed(tx: Tx, numbers: Sequence[int]) -> set[int]:
    """Those of some tasks that are completed or cancelled."""
    sql = "select number from tasks where number in :numbers and completed_at is not null"
    return {number for (number,) in tx.all(sql, numbers=list(numbers))}


def read_documents(tx: Tx, project: int, before: int, batch: int) -> list[FoundText]:
    """The documents of a project before a number, the newest first."""
    rows = tx.all(_WHOLE_DOCUMENTS, project=project, before=before, batch=batch)
    return [FoundText(number, name, name, description, text or "") for number, name, description, text in rows]


def names_of_both(tx: Tx, projects: Sequence[int], names: Sequence[str]) -> set[str]:
    """Those of some names that a prompt and a document of some projects have."""
    sql = """
        select p.name from prompts p join documents r on r.name = p.name
        where p.project in :projects and r.project in :projects and p.name in :names
    """
    return {name for (name,) in tx.all(sql, projects=list(projects), names=list(names))} if names else set()
