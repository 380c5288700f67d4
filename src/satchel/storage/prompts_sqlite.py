"""Prompts of a project with a text in title or content, on SQLite."""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from satchel.model import PromptPosition, PromptQuery

if TYPE_CHECKING:
    from satchel.storage.sqlite import SqliteTx

# With fewer hits than this, sorting the hits is cheaper than walking through all prompts in order.
_FEW = 300

# `glob` takes half the time of `instr` on a short text, and the product of both lengths on a long one: on 4 MiB of the
# same letter that was 5 s, in which SQLite cannot be interrupted.
_SHORT = 8  # characters of a text that `glob` looks for
_GLOB = "(title glob :pattern or content glob :pattern)"
_INSTR = "(instr(title, :text) > 0 or instr(content, :text) > 0)"
_OWN = "prompt in (select number from prompts where project = :project and deleted_at is null)"
_WHERE = "select prompt from prompt_texts where"

_AFTER = "(updated_at, number) < (:moment, :last) order by updated_at desc, number desc"


def find_prompts(
    tx: "SqliteTx", project: int, query: PromptQuery, limit: int, *, offset: int, after: PromptPosition
) -> tuple[list[int], int]:
    """Find prompts for `Tx.prompts_containing`."""
    is_confined = tx.scope.projects is not None
    hits = _scan_texts(tx, query.text, project) if is_confined else _recall_texts(tx, query.text)
    if hits and query.tags:
        tagged = _find_tagged(tx, project, query.tags, needs_all=query.needs_all_tags)
        hits = [number for number in hits if number in tagged]
    elif hits and not is_confined and _has_other_projects(tx, project):
        sql = "select number from prompts where project = :project and deleted_at is null"
        own = {number for (number,) in tx.all(sql, project=project)}
        hits = [number for number in hits if number in own]
    if len(hits) > _FEW:
        return _walk(tx, project, set(hits), limit, offset, after), len(hits)
    sql = f"select number from prompts where number in :numbers and {_AFTER}"
    moment, last = after
    numbers = [number for (number,) in tx.all(sql, numbers=hits, moment=moment, last=last)]
    return numbers[offset : offset + limit], len(hits)


def _recall_texts(tx: "SqliteTx", folded: str) -> list[int]:
    """Search all projects once for the two that a list reads."""
    if tx.writes or tx.hits is None or tx.hits[0] != folded:
        tx.hits = (folded, _search_texts(tx, folded))
    return tx.hits[1]


def _search_texts(tx: "SqliteTx", folded: str) -> list[int]:
    """Return the numbers of prompts with a text in title or content, of all projects, in no particular order."""
    if len(folded) < 3 or any("\ufffd" <= character <= "\uffff" for character in folded):
        # Too short for trigrams, or with one of three characters that FTS5 does not tell apart.
        sql = f"{_WHERE} {_GLOB}" if len(folded) <= _SHORT else f"{_WHERE} {_INSTR}"
        rows = tx.all(sql, text=folded, pattern=_to_glob(folded))
    else:
        # In double quotes the query is literal, even where it looks like operators of FTS5.
        sql = """
            select rowid from prompt_index where prompt_index match :phrase
            union
            select prompt from prompt_texts where is_indexed = 0 and instr(content, :text) > 0
        """
        rows = tx.all(sql, phrase='"' + folded.replace('"', '""') + '"', text=folded)
    return [number for (number,) in rows]


def _scan_texts(tx: "SqliteTx", folded: str, project: int) -> list[int]:
    """Return the numbers of a project's prompts with a text in title or content.

    For callers who may not enter all projects: the index has the texts of all, so that the time it takes would tell
    them what is in the others.
    """
    sql = f"{_WHERE} {_OWN} and {_GLOB}" if len(folded) <= _SHORT else f"{_WHERE} {_OWN} and {_INSTR}"
    return [number for (number,) in tx.all(sql, project=project, text=folded, pattern=_to_glob(folded))]


def _find_tagged(tx: "SqliteTx", project: int, tags: Sequence[str], *, needs_all: bool) -> set[int]:
    """Return the numbers of a project's prompts with one of some tags, or with all."""
    sql = "select prompt from prompt_tags where project = :project and tag = :tag"
    sets = [{number for (number,) in tx.all(sql, project=project, tag=tag)} for tag in tags]
    return set.intersection(*sets) if needs_all else set.union(*sets)


def _has_other_projects(tx: "SqliteTx", project: int) -> bool:
    sql = """
        select exists (select 1 from prompts where project < :project)
            or exists (select 1 from prompts where project > :project)
    """
    return tx.one(sql, project=project) == (1,)


def _walk(tx: "SqliteTx", project: int, wanted: set[int], limit: int, offset: int, after: PromptPosition) -> list[int]:
    """Read a project's prompts after a position, last updated first, until the page is full."""
    sql = f"select number from prompts where project = :project and deleted_at is null and {_AFTER}"
    moment, last = after
    rows = tx.walk(sql, project=project, moment=moment, last=last)
    found = (number for (number,) in rows if number in wanted)
    return list(islice(found, offset, offset + limit)) if offset < len(wanted) else []


def _to_glob(text: str) -> str:
    """Return a pattern for a literal text."""
    literal = "".join(f"[{character}]" if character in "*?[" else character for character in text)
    return f"*{literal}*"
