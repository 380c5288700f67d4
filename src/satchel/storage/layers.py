"""Queries about two projects of which one lies under the other: a name in both is that of the upper one."""

from collections.abc import Sequence
from typing import Literal

from satchel.model import TagCount
from satchel.storage.database import Tx

LayeredKind = Literal["prompt", "resource"]

_SAME_PROMPT = "exists (select 1 from prompts o where o.project = :upper and o.name = one.name)"
_SHADOWED_PROMPTS = f"select number from prompts one where number in :numbers and {_SAME_PROMPT}"
# Clients know a resource by its URI.
_SHADOWED_RESOURCES = """
    select number from resources one where number in :numbers and (
        exists (select 1 from resources o where o.project = :upper and o.name = one.name)
        or exists (select 1 from resources o where o.project = :upper and o.uri = one.uri)
    )
"""
_TAGS = f"""
    select tag, count(*) from prompt_tags join prompts one on one.number = prompt
    where prompt_tags.project = :lower and not {_SAME_PROMPT} group by tag order by tag
"""


def find_shadowed(tx: Tx, kind: LayeredKind, upper: int, numbers: Sequence[int]) -> set[int]:
    """Those of some items of the lower project whose name, or URI, is one of the upper project."""
    sql = _SHADOWED_PROMPTS if kind == "prompt" else _SHADOWED_RESOURCES
    return {number for (number,) in tx.all(sql, upper=upper, numbers=list(numbers))} if numbers else set()


def tag_counts(tx: Tx, upper: int, lower: int) -> list[TagCount]:
    """The tags of those prompts of the lower project that the upper one does not shadow, by name."""
    return [TagCount(tag, prompts) for tag, prompts in tx.all(_TAGS, upper=upper, lower=lower)]
