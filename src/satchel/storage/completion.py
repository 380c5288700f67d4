"""Queries for completing a half-typed name. Each looks along an index, and no further than a bound."""

from satchel.storage.database import Row, Tx

# What is looked at for a text in the middle of a name; beyond that only beginnings are found.
_NAMES = 20_000
_TAGS = 2_000

_BEHIND_ALL = "\U0010ffff"  # no text that begins with a prefix comes behind prefix and this


def projects_starting(tx: Tx, text: str, limit: int) -> list[str]:
    """Projects whose name starts with a text."""
    sql = "select name from projects where name >= :text and name < :end order by name limit :limit"
    return _firsts(tx.all(sql, text=text, end=text + _BEHIND_ALL, limit=limit))


def projects_containing(tx: Tx, folded: str, limit: int) -> list[str]:
    """Projects with a text in the name, whatever its case."""
    sql = """
        select name from (select name from projects order by name limit :most) as names
        where instr(lower(name), :text) > 0 order by name limit :limit
    """
    return _firsts(tx.all(sql, text=folded, limit=limit, most=_NAMES))


def prompts_starting(tx: Tx, project: int, text: str, limit: int) -> list[str]:
    """Prompts whose name starts with a text."""
    sql = """
        select name from prompts where project = :project and name >= :text and name < :end
        order by name limit :limit
    """
    return _firsts(tx.all(sql, project=project, text=text, end=text + _BEHIND_ALL, limit=limit))


def prompts_containing(tx: Tx, project: int, folded: str, limit: int) -> list[str]:
    """Prompts with a text in the name, whatever its case."""
    sql = """
        select name from (select name from prompts where project = :project order by name limit :most) as names
        where instr(lower(name), :text) > 0 order by name limit :limit
    """
    return _firsts(tx.all(sql, project=project, text=folded, limit=limit, most=_NAMES))


def uris_starting(tx: Tx, project: int, text: str, limit: int) -> list[str]:
    """URIs of resources that start with a text."""
    sql = """
        select uri from resources where project = :project and uri >= :text and uri < :end order by uri limit :limit
    """
    return _firsts(tx.all(sql, project=project, text=text, end=text + _BEHIND_ALL, limit=limit))


def uris_containing(tx: Tx, project: int, folded: str, limit: int) -> list[str]:
    """URIs of resources with a text in them, whatever the case of its ASCII letters."""
    sql = """
        select uri from (select uri from resources where project = :project order by uri limit :most) as uris
        where instr(lower(uri), :text) > 0 order by uri limit :limit
    """
    return _firsts(tx.all(sql, project=project, text=folded, limit=limit, most=_NAMES))


# From tag to next tag, not from row to row: a tag may be on every prompt.


def prompt_tags(tx: Tx, project: int, *, start: str, containing: str, limit: int) -> list[str]:
    """Tags of prompts that start with one text and contain another."""
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
    most = limit if not containing else _TAGS
    end = start + _BEHIND_ALL
    return _firsts(tx.all(sql, project=project, start=start, end=end, containing=containing, limit=limit, most=most))


def _firsts(rows: list[Row]) -> list[str]:
    return [first for (first,) in rows]
