"""Queries for completing a half-typed name. Each follows an index, and reads no more rows than a bound."""

from satchel.storage.database import Tx

# The lists of names that can be completed.
PROJECTS = "select name from projects"
PROMPTS = "select name from prompts where project = :project"
URIS = "select uri as name from resources where project = :project"

# So many are searched for a text in the middle of a name; after them, only names that start with it are found.
_MOST_NAMES = 20_000
_MOST_TAGS = 2_000

_LAST = "\U0010ffff"  # a prefix followed by this sorts after every text that starts with the prefix

_STARTING = "select name from ({}) as names where name >= :text and name < :end order by name limit :limit"
_CONTAINING = """
    select name from (select name from ({}) as names order by name limit :most) as first
    where instr(lower(name), :text) > 0 order by name limit :limit
"""


def names_starting(tx: Tx, names: str, project: int | None, text: str, limit: int) -> list[str]:
    """The names in one of the lists above that start with a text."""
    sql = _STARTING.format(names)
    rows = tx.all(sql, project=project, text=text, end=text + _LAST, limit=limit)
    return [name for (name,) in rows]


def names_containing(tx: Tx, names: str, project: int | None, folded: str, limit: int) -> list[str]:
    """The names in one of the lists above that contain a text, whatever the case of ASCII letters."""
    sql = _CONTAINING.format(names)
    rows = tx.all(sql, project=project, text=folded, limit=limit, most=_MOST_NAMES)
    return [name for (name,) in rows]


def prompt_tags(tx: Tx, project: int, *, start: str, containing: str, limit: int) -> list[str]:
    """Tags of prompts that start with one text and contain another."""
    # Goes from tag to next tag, not from row to row: every prompt may have the same tag.
    sql = """
        with recursive steps (tag, step) as (
            select min(tag), 1 from prompt_tags where project = :project and tag >= :start and tag < :end
            union all
            select (select min(t.tag) from prompt_tags t
                where t.project = :project and t.tag > steps.tag and t.tag < :end), steps.step + 1
            from steps where steps.tag is not null and steps.step < :most
        )
        select tag from steps where tag is not null and instr(tag, :containing) > 0 order by tag limit :limit
    """
    most = limit if not containing else _MOST_TAGS
    end = start + _LAST
    rows = tx.all(sql, project=project, start=start, end=end, containing=containing, limit=limit, most=most)
    return [tag for (tag,) in rows]
