"""Pages of a project's prompts: the last updated, those with some tags, those that MCP lists, those beside a name."""

from collections.abc import Sequence

from satchel.model import PromptHeader
from satchel.storage.database import Place, PromptQuery, Tx
from satchel.storage.prompts import read_arguments

_FEW = 300  # so many prompts are sorted faster than an index is walked
_NEWEST = 200  # so many are looked through for a text before the index of texts is asked
_MOST = 3000  # so many at most, where it seems that a page will be full with them


def recent(tx: Tx, project: int, *, limit: int, behind: Place) -> list[int]:
    """The numbers of the prompts behind a place, the last updated first."""
    sql = """
        select number from prompts where project = :project and (updated_at, number) < (:moment, :last)
        order by updated_at desc, number desc limit :limit
    """
    moment, last = behind
    return [number for (number,) in tx.all(sql, project=project, moment=moment, last=last, limit=limit)]


def containing(
    tx: Tx, project: int, folded: str, tags: Sequence[str], *, needs_all: bool, limit: int, behind: Place
) -> list[int]:
    """The numbers of the prompts behind a place with a text in title or content, and with some tags.

    A word that is in many is in many of the newest, and then nobody has to collect all that have it; how many of the
    newest have it tells how many have to be looked through. Nor where a tag leaves few to look through.
    """
    sql = """
        select n.number from (
            select number, updated_at from prompts
            where project = :project and (updated_at, number) < (:moment, :last)
            order by updated_at desc, number desc limit :newest
        ) as n join prompt_texts t on t.prompt = n.number
        where (instr(t.title, :text) > 0 or instr(t.content, :text) > 0)
            and (select count(*) from prompt_tags g where g.prompt = n.number and g.tag in :tags) >= :needed
        order by n.updated_at desc, n.number desc limit :limit
    """
    moment, last = behind
    values = {
        "project": project,
        "text": folded,
        "tags": list(tags),
        "needed": len(tags) if needs_all else min(1, len(tags)),
        "moment": moment,
        "last": last,
        "limit": limit,
    }
    few = _few(tx, project, tags, needs_all=needs_all) if tags else None
    if few is not None:
        among = """
            select number from prompts join prompt_texts t on t.prompt = number
            where project + 0 = :project and number in :few and (updated_at, number) < (:moment, :last)
                and (instr(t.title, :text) > 0 or instr(t.content, :text) > 0)
                and (select count(*) from prompt_tags g where g.prompt = number and g.tag in :tags) >= :needed
            order by updated_at desc, number desc limit :limit
        """
        return [number for (number,) in tx.all(among, **values, few=few)]
    newest = _NEWEST
    while newest <= _MOST:
        found = [number for (number,) in tx.all(sql, **values, newest=newest)]
        if len(found) == limit:
            return found
        if newest > _NEWEST or not found:
            break
        newest = max(_NEWEST + 1, _NEWEST * limit * 3 // (2 * len(found)))
    sought = PromptQuery(project=project, text=folded, tags=tags, needs_all=needs_all, behind=behind)
    return tx.prompts_containing(sought, limit)[0]


def tagged(tx: Tx, project: int, tags: Sequence[str], *, needs_all: bool, limit: int, behind: Place) -> list[int]:
    """The numbers of the prompts behind a place with at least one of some tags, or with all, the last updated first."""
    moment, last = behind
    values = {
        "project": project,
        "tags": list(tags),
        "needed": len(tags) if needs_all else 1,
        "moment": moment,
        "last": last,
        "limit": limit,
    }
    few = _few(tx, project, tags, needs_all=needs_all)
    # The project plus nothing, or SQLite goes through all of its prompts for these few.
    sql = """
        select number from prompts
        where project + 0 = :project and number in :few and (updated_at, number) < (:moment, :last)
            and (select count(*) from prompt_tags where prompt = number and tag in :tags) >= :needed
        order by updated_at desc, number desc limit :limit
    """
    if few is None:
        sql = """
            select number from prompts where project = :project and (updated_at, number) < (:moment, :last)
                and (select count(*) from prompt_tags where prompt = number and tag in :tags) >= :needed
            order by updated_at desc, number desc limit :limit
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


def offered(tx: Tx, project: int, *, after: int, limit: int) -> list[PromptHeader]:
    """What one has to know of the prompts behind a number, in order of creation."""
    sql = """
        select number, name, title, description, arguments from prompts
        where project = :project and number > :after order by number limit :limit
    """
    return [
        PromptHeader(
            number=number, name=name, title=title, description=description, arguments=read_arguments(arguments)
        )
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
