"""Pages of a project's prompts after a position, their headers, and the names beside a mistyped one."""

from collections.abc import Sequence

from satchel.model import PromptHeader, PromptPosition, PromptQuery
from satchel.storage.database import NEWEST, Tx
from satchel.storage.prompts import decode_arguments

_FEW = 300  # sorting so many prompts is faster than walking the index
_NEWEST = 200  # so many of the newest are scanned for a text or tags before an index of these is used
_MOST = 3000  # so many at most, where the first scan predicts that they fill the page

_NAMES = "select name, title from prompts where project = :project and deleted_at is null"
_AFTER = "(updated_at, number) < (:moment, :last)"
_ORDER = "order by updated_at desc, number desc"
_TAGGED = "(select count(*) from prompt_tags g where g.prompt = number and g.tag in :tags) >= :needed"
_WITH_ONE_TAG = "select prompt from prompt_tags where project = :project and tag in :tags"
_WITH_ALL_TAGS = f"{_WITH_ONE_TAG} group by prompt having count(*) = :needed"  # slower, even for a single tag
_COUNT_TAGGED = "select count(distinct prompt) from ({}) as tagged"
_PAGE = (
    f"select number from prompts where project = :project and deleted_at is null {_ORDER} limit :limit offset :offset"
)
_PAGE_TAGGED = f"""
    select number from prompts where project = :project and deleted_at is null and number in ({{}})
    {_ORDER} limit :limit offset :offset
"""
# The times come from a scalar sub-select, so that both engines begin with the tags: a plan for any tag would read all
# prompts to join them, or walk along all of them.
_COLLECT_TAGGED = """
    with tagged as materialized (
        select prompt, (select updated_at from prompts where number = prompt and project = :project) as updated_at
        from (select distinct prompt from ({}) as found) as once
    )
    select prompt from tagged where (updated_at, prompt) < (:moment, :last)
    order by updated_at desc, prompt desc limit :limit offset :offset
"""
_COLLECT_WITH_ONE_TAG = _COLLECT_TAGGED.format(_WITH_ONE_TAG)
_COLLECT_WITH_ALL_TAGS = _COLLECT_TAGGED.format(_WITH_ALL_TAGS)
_CONTAINING = "(instr(t.title, :text) > 0 or instr(t.content, :text) > 0)"
_RECENT = f"""
    select number, updated_at from prompts
    where project = :project and deleted_at is null and {_AFTER} {_ORDER} limit :newest
"""
_TAGGED_AMONG_NEWEST = f"select number from ({_RECENT}) as newest where {_TAGGED} {_ORDER} limit :limit"
_CONTAINING_AMONG_NEWEST = f"""
    select number from ({_RECENT}) as newest join prompt_texts t on t.prompt = number
    where {_CONTAINING} and {_TAGGED} {_ORDER} limit :limit
"""
# `project + 0` keeps SQLite off the index of the project, which it would walk whole to find these few numbers.
_AMONG_FEW = f"project + 0 = :project and deleted_at is null and number in :few and {_AFTER} and {_TAGGED}"


def numbers(tx: Tx, project: int, query: PromptQuery, limit: int, after: PromptPosition | None) -> list[int]:
    """The numbers of the prompts that a query with folded text and tags asks for, the last updated first."""
    moment, last = after or NEWEST
    values = {
        "project": project,
        "text": query.text,
        "tags": list(query.tags),
        "needed": query.needed_tags,
        "moment": moment,
        "last": last,
        "limit": limit,
    }
    few = _few(tx, project, query) if query.tags else None
    if query.text and few is None:
        found = _scan_newest(tx, _CONTAINING_AMONG_NEWEST, values, limit)
        return found or tx.prompts_containing(project, query, limit, after=after)[0]
    if query.tags and few is None:
        return _scan_newest(tx, _TAGGED_AMONG_NEWEST, values, limit) or _collect_tagged(tx, query, values)
    sql = (
        f"select number from prompts where project = :project and deleted_at is null and {_AFTER} {_ORDER} limit :limit"
    )
    if query.text:
        sql = f"""
            select number from prompts join prompt_texts t on t.prompt = number
            where {_AMONG_FEW} and {_CONTAINING} {_ORDER} limit :limit
        """
    elif few is not None:
        sql = f"select number from prompts where {_AMONG_FEW} {_ORDER} limit :limit"
    return [number for (number,) in tx.all(sql, **values, few=few or [])]


def numbers_and_total(tx: Tx, project: int, query: PromptQuery, *, limit: int, offset: int) -> tuple[list[int], int]:
    """A page of what `numbers` gives, by an offset, and how many prompts there are in all."""
    if query.text:
        return tx.prompts_containing(project, query, limit, offset=offset)
    count = "select count(*) from prompts where project = :project and deleted_at is null"
    sql = _PAGE
    if query.tags:
        tagged = _WITH_ALL_TAGS if query.needs_all_tags else _WITH_ONE_TAG
        count, sql = _COUNT_TAGGED.format(tagged), _PAGE_TAGGED.format(tagged)
    moment, last = NEWEST
    values = {"project": project, "tags": list(query.tags), "needed": query.needed_tags}
    [total] = tx.one(count, **values) or (0,)
    if offset >= total:
        return [], total
    values |= {"moment": moment, "last": last, "limit": limit, "offset": offset}
    if query.tags and total <= _MOST:
        return _collect_tagged(tx, query, values), total
    if query.tags and offset + limit <= _FEW:
        found = _scan_newest(tx, _TAGGED_AMONG_NEWEST, values, offset + limit)
        if found is not None:
            return found[offset:], total
    return [number for (number,) in tx.all(sql, **values)], total


def _scan_newest(tx: Tx, sql: str, values: dict[str, object], wanted: int) -> list[int] | None:
    """The first prompts of a list, found by scanning only the newest prompts; None where they are not enough.

    A common word or tag is in many of the newest, so there is no need to collect every prompt that has it. How many
    hits the first scan has predicts how many prompts the second must read.
    """
    newest = _NEWEST
    while newest <= _MOST:
        found = [number for (number,) in tx.all(sql, **values | {"limit": wanted, "newest": newest})]
        if len(found) == wanted:
            return found
        if newest > _NEWEST or not found:
            break
        newest = max(_NEWEST + 1, _NEWEST * wanted * 3 // (2 * len(found)))
    return None


def _collect_tagged(tx: Tx, query: PromptQuery, values: dict[str, object]) -> list[int]:
    """A page of the prompts with the tags, all of which are read and sorted."""
    sql = _COLLECT_WITH_ALL_TAGS if query.needs_all_tags else _COLLECT_WITH_ONE_TAG
    return [number for (number,) in tx.all(sql, **{"offset": 0, **values})]


def _few(tx: Tx, project: int, query: PromptQuery) -> list[int] | None:
    """The prompts with one of the tags, or with the first tag that is rare; None where they are many."""
    sql = "select prompt from prompt_tags where project = :project and tag in :tags limit :limit"
    for tags in [[tag] for tag in query.tags] if query.needs_all_tags else [list(query.tags)]:
        rows = tx.all(sql, project=project, tags=tags, limit=_FEW + 1)
        if len(rows) <= _FEW:
            return [prompt for (prompt,) in rows]
    return None


def headers(tx: Tx, project: int, *, after: int, limit: int) -> list[PromptHeader]:
    """What MCP lists of the prompts after a number, in order of creation."""
    sql = """
        select number, name, title, description, arguments from prompts
        where project = :project and deleted_at is null and number > :after order by number limit :limit
    """
    return [
        PromptHeader(
            number=number, name=name, title=title, description=description, arguments=decode_arguments(arguments)
        )
        for number, name, title, description, arguments in tx.all(sql, project=project, after=after, limit=limit)
    ]


def names_beside(tx: Tx, project: int, name: str, title: str, limit: int) -> list[tuple[str, str]]:
    """Names and titles of the prompts next to a name in the order of names, and next to a title in that of titles."""
    found = tx.all_beside(_NAMES, "name", name, limit, project=project)
    found += tx.all_beside(_NAMES, "title", title, limit, project=project)
    return list(dict(found).items())


def names_of(tx: Tx, project: int, numbers: Sequence[int]) -> list[str]:
    """The names of some prompts of a project, in the order given."""
    sql = """
        select number, name from prompts
        where project + 0 = :project and deleted_at is null and number in :numbers
    """
    found: dict[int, str] = {row[0]: row[1] for row in tx.all(sql, project=project, numbers=list(numbers))}
    return [found[number] for number in numbers if number in found]


def names_of_newest(tx: Tx, project: int, limit: int) -> list[tuple[str, str]]:
    """Names and titles of the last updated prompts."""
    sql = f"{_NAMES} {_ORDER} limit :limit"
    return [(name, title) for name, title in tx.all(sql, project=project, limit=limit)]


def tagged_anywhere(tx: Tx, tag: str, allowed: tuple[str, ...] | None, limit: int) -> list[tuple[str, str, str]]:
    """Project, name and title of the prompts with a tag, in all projects or in the allowed ones."""
    # `cross join` makes SQLite begin with the projects: it would walk all tags, and look whose each is.
    sql = """
        select j.name, p.name, p.title from projects j cross join prompt_tags g cross join prompts p
        where g.project = j.number and g.tag = :tag and p.number = g.prompt and j.deleted_at is null
            and (not :is_confined or j.name in :allowed)
        order by p.title, p.number limit :limit
    """
    values = {"is_confined": allowed is not None, "allowed": allowed or ()}
    return [(project, name, title) for project, name, title in tx.all(sql, tag=tag, limit=limit, **values)]
