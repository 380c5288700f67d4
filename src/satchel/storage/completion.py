"""Queries that complete a half-typed name. Each follows an index and reads a bounded number of rows."""

from satchel.storage.database import Tx

# The lists of names that can be completed, each between two texts.
PROJECTS = (
    "select name from projects where name >= :start and name < :end and deleted_at is null order by name limit :most"
)
PROMPTS = """
    select name from prompts where project = :project and deleted_at is null and name >= :start and name < :end
    order by name limit :most
"""
URIS = """
    select uri as name from documents where project = :project and deleted_at is null and uri >= :start and uri < :end
    order by uri limit :most
"""
# Steps from tag to tag, not from row to row: every prompt may have the same tag.
PROMPT_TAGS = """
    with recursive steps (name, step) as (
        select min(tag), 1 from prompt_tags where project = :project and tag >= :start and tag < :end
        union all
        select (select min(t.tag) from prompt_tags t
            where t.project = :project and t.tag > steps.name and t.tag < :end), steps.step + 1
        from steps where steps.name is not null and steps.step < :most
    )
    select name from steps where name is not null order by name
"""

# How many names are searched for a text in the middle; of the others, only those that start with it are found.
_MOST_NAMES = 20_000
_MOST_TAGS = 2_000

_LAST = "\U0010ffff"  # a prefix followed by this sorts after every text that starts with the prefix

_CONTAINING = "select name from ({}) as names where instr(lower(name), :text) > 0 order by name limit :limit"


def names_starting(tx: Tx, names: str, project: int | None, text: str, limit: int) -> list[str]:
    """Return the names in one of the lists above that start with a text."""
    return [name for (name,) in tx.all(names, project=project, start=text, end=text + _LAST, most=limit)]


def names_containing(tx: Tx, names: str, project: int | None, folded: str, limit: int) -> list[str]:
    """Return the names in one of the lists above that contain a text, ignoring the case of ASCII letters."""
    sql = _CONTAINING.format(names)
    most = _MOST_TAGS if names is PROMPT_TAGS else _MOST_NAMES
    return [name for (name,) in tx.all(sql, project=project, start="", end=_LAST, text=folded, most=most, limit=limit)]
