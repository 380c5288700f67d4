"""The literal search for prompts on PostgreSQL: one statement for the total and a page."""

import re

from satchel.model import PromptPosition, PromptQuery
from satchel.storage.database import NEWEST

_SEARCH = """
    with hits as materialized (select p.number, p.updated_at from {} {})
    select (select count(*) from hits),
        array(
            select number from hits where (updated_at collate "C", number) < (:moment, :last)
            order by updated_at collate "C" desc, number desc limit :limit offset :offset
        )
"""
_HITS = "prompt_texts t join prompts p on p.number = t.prompt where p.project = :project and ({})"
# For callers who may not enter all projects: the index has the texts of all, so that the time it takes would tell them
# what is in the others. `offset 0` makes the planner start with the prompts of the project.
_HITS_OF_PROJECT = """
    prompts p, lateral (
        select from prompt_texts t where t.prompt = p.number
        and (strpos(t.title, :text) > 0 or strpos(t.content, :text) > 0) offset 0
    ) as t where p.project = :project
"""
# Row-level security would keep the planner off the trigram index; a function of the owner uses it, see migrations.
_HITS_BY_FUNCTION = "satchel_prompts_containing(:project, :text) p where true"
_LIKE = r"t.title like :pattern escape '\' or t.content like :pattern escape '\'"
_POSITION = "strpos(t.title, :text) > 0 or strpos(t.content, :text) > 0"
_TAGGED = """
    and (select count(*) from prompt_tags g where g.prompt = p.number and g.tag = any (:tags)) >= :needed
"""
_LARGEST = 2**63 - 1


def choose_search(query: PromptQuery, *, is_guarded: bool, is_confined: bool) -> str:
    """Return the statement for the prompts with a folded text and tags: it gives their total and a page of numbers.

    `is_guarded`: row-level security applies to our role. `is_confined`: the caller may not enter all projects.
    """
    # `like` uses the trigram index; for a text too short for trigrams, `strpos` is faster.
    hits = _HITS.format(_LIKE if len(query.text) >= 3 else _POSITION)
    if is_confined:
        hits = _HITS_OF_PROJECT
    return _SEARCH.format(_HITS_BY_FUNCTION if is_guarded else hits, _TAGGED if query.tags else "")


def make_values(
    project: int, query: PromptQuery, limit: int, offset: int, after: PromptPosition | None
) -> dict[str, object]:
    """Return the values of the statement."""
    moment, last = after or NEWEST
    return {
        "project": project,
        "text": query.text,
        "pattern": "%" + re.sub(r"([\\%_])", r"\\\1", query.text) + "%",
        "tags": list(query.tags),
        "needed": query.needed_tags,
        "moment": moment,
        "last": last,
        "limit": limit,
        "offset": min(offset, _LARGEST),
    }
