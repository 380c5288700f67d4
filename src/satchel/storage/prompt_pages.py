"""Pages of a project's prompts: those with some tags, those that MCP lists, those beside a name."""

from collections.abc import Sequence

from satchel.model import Offered
from satchel.storage.database import Tx
from satchel.storage.prompts import read_arguments

_FEW = 300  # so many prompts are sorted faster than an index is walked


def tagged(tx: Tx, project: int, tags: Sequence[str], *, needs_all: bool, limit: int, offset: int) -> list[int]:
    """The numbers of the prompts with at least one of some tags, or with all, the last updated first."""
    values = {
        "project": project,
        "tags": list(tags),
        "needed": len(tags) if needs_all else 1,
        "limit": limit,
        "offset": offset,
    }
    few = _few(tx, project, tags, needs_all=needs_all)
    sql = """
        select number from prompts where project = :project and number in :few
            and (select count(*) from prompt_tags where prompt = number and tag in :tags) >= :needed
        order by updated_at desc, number desc limit :limit offset :offset
    """
    if few is None:
        sql = """
            select number from prompts where project = :project
                and (select count(*) from prompt_tags where prompt = number and tag in :tags) >= :needed
            order by updated_at desc, number desc limit :limit offset :offset
        """
    return [number for (number,) in tx.all(sql, **values, few=few or [])]


def _few(tx: Tx, project: int, tags: Sequence[str], *, needs_all: bool) -> list[int] | None:
    """The prompts with a tag, or with one of the tags, where those are few."""
    sql = "select prompt from prompt_tags where project = :project and tag in :tags limit :limit"
    for group in [[tag] for tag in tags] if needs_all else [list(tags)]:
        rows = tx.all(sql, project=project, tags=group, limit=_FEW + 1)
        if len(rows) <= _FEW:
            return [prompt for (prompt,) in rows]
    return None


def offered(tx: Tx, project: int, *, after: int, limit: int) -> list[Offered]:
    """What one has to know of the prompts behind a number, in order of creation."""
    sql = """
        select number, name, title, description, arguments from prompts
        where project = :project and number > :after order by number limit :limit
    """
    return [
        Offered(number=number, name=name, title=title, description=description, arguments=read_arguments(arguments))
        for number, name, title, description, arguments in tx.all(sql, project=project, after=after, limit=limit)
    ]


def beside(tx: Tx, project: int, *, name: str, title: str, limit: int) -> list[tuple[str, str]]:
    """Names and titles of the prompts that stand before and behind a name or a title in the order of these."""
    statements = (
        """
        select name, title from prompts where project = :project and name < :name order by name desc limit :limit
        """,
        """
        select name, title from prompts where project = :project and name >= :name order by name limit :limit
        """,
        """
        select name, title from prompts where project = :project and title < :title order by title desc limit :limit
        """,
        """
        select name, title from prompts where project = :project and title >= :title order by title limit :limit
        """,
    )
    found: dict[str, str] = {}
    for sql in statements:
        found.update(tx.all(sql, project=project, name=name, title=title, limit=limit))
    return list(found.items())


def newest(tx: Tx, project: int, limit: int) -> list[tuple[str, str]]:
    """Names and titles of the prompts that were updated last."""
    sql = """
        select name, title from prompts where project = :project order by updated_at desc, number desc limit :limit
    """
    return [(name, title) for name, title in tx.all(sql, project=project, limit=limit)]
